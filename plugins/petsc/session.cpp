// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include <algorithm>
#include <cmath>

#include "arrays.hpp"
#include "communicator.hpp"

namespace stretto::petsc {
namespace {

bool is_a(PetscObject object, const char* type) {
    PetscBool same = PETSC_FALSE;
    must(PetscObjectTypeCompare(object, type, &same));
    return same;
}

/// Whether A is applied by a program's own function, which may be noisy.
bool is_a_shell(Mat A) {
    PetscBool shell = PETSC_FALSE;
    must(PetscObjectTypeCompareAny(reinterpret_cast<PetscObject>(A), &shell, MATSHELL, MATMFFD, MATPYTHON, ""));
    return shell;
}

bool has_null_space(Mat A) {
    MatNullSpace right = nullptr, left = nullptr;
    must(MatGetNullSpace(A, &right));
    must(MatGetTransposeNullSpace(A, &left));
    return right || left;
}

/// Whether the test of a KSP is PETSc's, with targets that are known before the first iteration. From both sides a
/// guess is not solved on: the right-hand side is its residual.
bool has_usual_test(KSP ksp) {
    if (ksp->converged != KSPConvergedDefault || ksp->normtype == KSP_NORM_NONE) return false;
    if (ksp->pc_side == PC_SYMMETRIC && !ksp->guess_zero) return false;
    const auto* context = static_cast<const KSPConvergedDefaultCtx*>(ksp->cnvP);
    return !context || !(context->initialrtol || context->mininitialrtol);
}

/// Ends a solve whose numbers are not finite as PETSc's own types do, PCs that say why included.
PetscErrorCode end_not_finite(KSP ksp) {
    PetscFunctionBegin;
    const PetscReal norm = NAN;
    KSPCheckNorm(ksp, norm);
    PetscFunctionReturn(success);
}

}  // namespace

Session::Session(KSP ksp) : ksp_(ksp) { callbacks_.ksp = ksp; }

std::string Session::method() const { return settings.method == "auto" ? automatic_method(ksp_) : settings.method; }

Verify Session::verify() const {
    if (settings.verify) return *settings.verify;
    const bool unknown = ksp_->normtype == KSP_NORM_NONE || is_a_shell(callbacks_.A);
    return unknown ? Verify::recurrence : Verify::true_residual;
}

AnyOperator<double> Session::product(const CsrMatrix<double>* converted) {
    if (!converted || product_.sign < 0) return product_;
    if (!logged_) logged_ = std::make_unique<LoggedMatrix>(*converted);
    return *logged_;
}

AnyOperator<double> Session::preconditioner() {
    const bool singular = has_null_space(callbacks_.A);
    const auto pc = reinterpret_cast<PetscObject>(ksp_->pc);
    if (is_a(pc, PCNONE) && !singular) return {};
    if (is_a(pc, PCJACOBI) && !singular && preconditioning_.sign > 0) {
        diagonal_.take_from(callbacks_);
        return diagonal_;
    }
    return preconditioning_;
}

/// Makes all ready for a solve of so many columns with the operators as they are now.
void Session::prepare(int columns) {
    must(KSPGetOperators(ksp_, &callbacks_.A, nullptr));
    const Mat A = callbacks_.A;
    if (!callbacks_.in.vec()) {
        OwnedVec like;
        must(MatCreateVecs(A, like.out(), nullptr));
        callbacks_.in.make_like(ksp_->vec_sol ? ksp_->vec_sol : static_cast<Vec>(like));
        callbacks_.out.make_like(ksp_->vec_sol ? ksp_->vec_sol : static_cast<Vec>(like));
    }
    if (!comm_) comm_ = std::make_unique<MpiComm>(duplicate_of(comm_of(ksp_)));
    if (comm_->progress_mode() != settings.progress) comm_->set_progress(settings.progress);
    const auto* const converted =
        converted_.matrix(*comm_, A, ksp_->transpose_solve ? Products::mult : settings.products);
    if (converted_.is_another()) {
        product_.sign = preconditioning_.sign = 1;
        logged_.reset();
        shape_ = {};
    }
    make_solver(converted, columns);
}

void Session::make_solver(const CsrMatrix<double>* converted, int columns) {
    const auto A = product(converted);
    const auto M = preconditioner();
    Shape shape{.method = method(), .rows = callbacks_.in.rows(), .columns = columns};
    shape.converted = converted && product_.sign > 0;
    shape.preconditioner = !M ? Shape::none : M.parts() > 0 ? Shape::diagonal : Shape::callback;
    if (choose_method(shape.method).method->needs == Needs::any && ksp_->normtype != KSP_NORM_UNPRECONDITIONED)
        shape.side = ksp_->pc_side == PC_LEFT        ? Shape::left
                     : ksp_->pc_side == PC_SYMMETRIC ? Shape::symmetric
                                                     : Shape::right;
    shape.verify = verify();
    if (solver_ && shape == shape_) return;
    shape_ = shape;
    SolveOptions options;
    options.method = shape.method;
    options.verify = shape.verify;
    options.iterate = Iterate::last;
    options.interrupt = callbacks_.failure.flag();
    options.monitor = [this](const IterationInfo& info) { return told(info); };
    solver_.reset();
    left_.reset();
    symmetric_.reset();
    const auto make = [&](AnyOperator<double> of, AnyOperator<double> by) {
        solver_ = std::make_unique<Solver<double>>(*comm_, of, by, shape.rows, columns, options);
    };
    if (shape.side == Shape::left) {
        left_ = std::make_unique<LeftPreconditioned>(A, M, shape.rows, columns);
        make(*left_, {});
    } else if (shape.side == Shape::symmetric) {
        symmetric_ = std::make_unique<SymmetricallyPreconditioned>(A, callbacks_, shape.rows, columns);
        make(*symmetric_, {});
    } else {
        make(A, M);
    }
}

void Session::solve() {
    prepare(1);
    const bool direct = takes_arrays(ksp_->vec_sol) && takes_arrays(ksp_->vec_rhs);
    const auto rows = static_cast<std::size_t>(shape_.rows);
    test_is_asked_ = true;
    if (direct) {
        const ReadArray b(ksp_->vec_rhs);
        const WriteArray x(ksp_->vec_sol);
        conclude(run(b.data(), x.data()));
    } else {
        if (x_.size() != 2 * rows) x_ = Buffer<double>(2 * rows);
        copy_out(ksp_->vec_sol, x_.values().first(rows));
        copy_out(ksp_->vec_rhs, x_.values().last(rows));
        iterate_ = x_.data();
        const auto& result = run(x_.data() + rows, x_.data());
        iterate_ = nullptr;
        copy_in(x_.values().first(rows), ksp_->vec_sol);
        conclude(result);
    }
}

/// What solves with the sign of A and M as they are, or turns out to be after the first attempt.
const Result& Session::run(const double* b, double* x) {
    callbacks_.failure.reset();
    began_ = false;
    ksp_->reason = KSP_CONVERGED_ITERATING;
    ksp_->its = 0;
    const bool usual = !test_is_asked_ || has_usual_test(ksp_);
    trusts_test_ = !usual || shape_.verify == Verify::recurrence;
    for (;;) {
        solver_->set_tolerances(usual ? std::max(0.0, ksp_->rtol) : 0, usual ? std::max(0.0, ksp_->abstol) : 0,
                                static_cast<int>(std::max<PetscInt>(0, ksp_->max_it)));
        const MultiVector<const double> rhs(right_hand_side(b, x), shape_.rows, shape_.columns);
        if (symmetric_) iterate_ = x;
        const Result& result =
            solver_->solve(rhs, {symmetric_ ? symmetric_->unknowns() : x, shape_.rows, shape_.columns});
        if (symmetric_) {
            std::ranges::copy(symmetric_->solution(x), x);
            iterate_ = nullptr;
        }
        finished_by_ = result.finished_by;
        if (result.status == Status::not_finite) keep_finite({x, rhs.values().size()});
        if (result.iterations > 0 || callbacks_.failure.code() != success || !change_sign(result.status)) return result;
        make_solver(converted_.present(), shape_.columns);
    }
}

/// Collective. Zero for an x that is not finite: the next solve may begin with it.
void Session::keep_finite(std::span<double> x) const {
    const bool broken = std::ranges::any_of(x, [](double value) { return !std::isfinite(value); });
    if (any_of(*comm_, broken)) std::ranges::fill(x, 0.0);
}

/// b, or what stands in its place: M⁻¹ b for a preconditioner on the left, −b where −A is solved with.
const double* Session::right_hand_side(const double* b, const double* x) {
    if (symmetric_) return symmetric_->begin(b, x);
    if (!left_ && product_.sign > 0) return b;
    const auto size = static_cast<std::size_t>(shape_.rows) * static_cast<std::size_t>(shape_.columns);
    if (b_.size() != size) b_ = Buffer<double>(size);
    const MultiVector<double> to(b_.data(), shape_.rows, shape_.columns);
    const auto M = left_ ? preconditioner() : AnyOperator<double>();
    if (M)
        M.apply({const_cast<double*>(b), shape_.rows, shape_.columns}, to);
    else
        std::transform(b, b + size, b_.data(), [this](double value) { return product_.sign * value; });
    return b_.data();
}

/// Methods for positive definite matrices solve with −A, or with −M⁻¹, where these are.
bool Session::change_sign(Status status) {
    double& sign = status == Status::indefinite_matrix ? product_.sign : preconditioning_.sign;
    const bool has_one = status == Status::indefinite_matrix ||
                         (status == Status::indefinite_preconditioner && shape_.preconditioner != Shape::none);
    if (!has_one || sign < 0) return false;
    sign = -1;
    shape_ = {.rows = shape_.rows, .columns = shape_.columns};
    return true;
}

bool Session::told(const IterationInfo& info) {
    if (info.iteration == 0 && began_) return true;  // a second attempt, with another sign
    began_ = true;
    callbacks_.failure.watch(
        Failure::monitor, [&] { return ask(static_cast<PetscInt>(info.iteration), std::ranges::max(info.residuals)); });
    if (callbacks_.failure.code() != success) ksp_->reason = KSP_CONVERGED_ITERATING;
    return ksp_->reason == KSP_CONVERGED_ITERATING;
}

/// Tells monitors of an iteration and asks the test.
PetscErrorCode Session::ask(PetscInt iteration, PetscReal norm) {
    ksp_->its = iteration;
    ksp_->rnorm = ksp_->normtype == KSP_NORM_NONE ? 0 : norm;
    if (ksp_->vec_sol) PetscCall(PetscObjectStateIncrease(reinterpret_cast<PetscObject>(ksp_->vec_sol)));
    PetscCall(KSPLogResidualHistory(ksp_, ksp_->rnorm));
    PetscCall(KSPMonitor(ksp_, iteration, ksp_->rnorm));
    if (!test_is_asked_) return success;
    PetscCall((*ksp_->converged)(ksp_, iteration, ksp_->rnorm, &ksp_->reason, ksp_->cnvP));
    const bool passed = ksp_->reason == KSP_CONVERGED_RTOL || ksp_->reason == KSP_CONVERGED_ATOL;
    if (passed && !trusts_test_) ksp_->reason = KSP_CONVERGED_ITERATING;  // b − A x is recomputed first
    return success;
}

/// The reason and the norm for PETSc.
void Session::conclude(const Result& result) {
    if (callbacks_.failure.code() != success) throw Failed{callbacks_.failure.code()};
    converted_.solved(result.iterations);
    for (const auto& event : result.events) must(PetscInfo(ksp_, "Stretto: %s\n", to_string(event).c_str()));
    ksp_->its = result.iterations;
    if (result.status == Status::not_finite) return must(end_not_finite(ksp_));
    double norm = 0;
    for (const auto& column : result.columns)
        norm = std::max(norm, column.relative_residual * (column.norm_b > 0 ? column.norm_b : 1));
    if (ksp_->normtype != KSP_NORM_NONE && std::isfinite(norm)) ksp_->rnorm = norm;
    if (ksp_->reason != KSP_CONVERGED_ITERATING) return;
    if (result.status == Status::interrupted)
        throw InputError("a function called in this solve has failed on another rank, which says why");
    if (ksp_->normtype == KSP_NORM_NONE && (result.passed() || result.status == Status::max_iterations))
        ksp_->reason = KSP_CONVERGED_ITS;
    else if (result.passed())
        ksp_->reason = norm <= ksp_->abstol ? KSP_CONVERGED_ATOL : KSP_CONVERGED_RTOL;
    else
        ksp_->reason = static_cast<KSPConvergedReason>(petsc_reason(result.status));
}

void Session::build_solution(Vec to) {
    if (iterate_ && symmetric_)
        copy_in(symmetric_->solution(iterate_), to);
    else if (iterate_)
        copy_in({iterate_, static_cast<std::size_t>(shape_.rows)}, to);
    else if (to != ksp_->vec_sol)
        must(VecCopy(ksp_->vec_sol, to));
}

void Session::forget_operators() {
    solver_.reset();
    left_.reset();
    symmetric_.reset();
    logged_.reset();
    converted_.reset();
    callbacks_.in.reset();
    callbacks_.out.reset();
    shape_ = {};
}

/// Other viewers than text are told nothing, as by PETSc's own types.
void Session::view(PetscViewer viewer) const {
    PetscBool is_text = PETSC_FALSE;
    must(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &is_text));
    if (!is_text) return;
    if (!is_a(reinterpret_cast<PetscObject>(ksp_), "stretto"))
        must(PetscViewerASCIIPrintf(viewer, "  Stretto's, in its place\n"));
    const bool chosen = settings.method == "auto" && !shape_.method.empty();
    must(PetscViewerASCIIPrintf(viewer, "  method %s%s%s\n", settings.method.c_str(), chosen ? ": " : "",
                                chosen ? shape_.method.c_str() : ""));
    if (!solver_) return;
    if (finished_by_ != choose_method(shape_.method).spec.name)
        must(PetscViewerASCIIPrintf(viewer, "  the last solve ended with %s\n", finished_by_.c_str()));
    must(PetscViewerASCIIPrintf(viewer, "  products by %s%s\n",
                                shape_.converted ? "Stretto, of a converted matrix" : "MatMult",
                                product_.sign < 0 ? ", with the sign changed" : ""));
    must(PetscViewerASCIIPrintf(viewer, "  %s\n",
                                shape_.verify == Verify::recurrence ? "convergence as the recurrence has it"
                                                                    : "converged is said of a recomputed residual"));
}

}  // namespace stretto::petsc
