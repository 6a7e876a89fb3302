// SPDX-License-Identifier: BSD-3-Clause
// PETSc's KSP. METHOD is a KSP type and, after it, options as on PETSc's command line. Where iterations are timed norms
// are off, and the convergence test counts.
#include <algorithm>
#include <cmath>

#include "harness.hpp"
#include "petsc.hpp"

namespace {

using peers::must;

/// The largest sum of absolute values in a row of A, or of D⁻¹A.
double largest_row_sum(const stretto::DistributedRows& problem, int rank, bool scaled) {
    const auto& rows = problem.rows;
    const auto first = problem.partition.first(rank);
    double mine = 0;
    for (std::size_t i = 0; i + 1 < rows.start.size(); ++i) {
        double sum = 0, diagonal = 1;
        for (auto k = static_cast<std::size_t>(rows.start[i]); k < static_cast<std::size_t>(rows.start[i + 1]); ++k) {
            sum += std::abs(rows.values[k]);
            if (rows.columns[k] == first + static_cast<stretto::Global>(i)) diagonal = std::abs(rows.values[k]);
        }
        mine = std::max(mine, scaled ? sum / diagonal : sum);
    }
    return peers::largest(mine);
}

struct System {
    System(const stretto::Comm& comm, const stretto::DistributedRows& problem, peers::ordered_json& about)
        : A(peers::petsc_matrix(problem)),
          row_sum(largest_row_sum(problem, comm.rank(), false)),
          scaled_row_sum(largest_row_sum(problem, comm.rank(), true)) {
        must(MatCreateVecs(A, &x, &b));
        must(VecDuplicate(b, &r));
        must(VecSet(b, 1));
        PetscInt major = 0, minor = 0, subminor = 0;
        must(PetscGetVersionNumber(&major, &minor, &subminor, nullptr));
        about["program"] = fmt::format("PETSc {}.{}.{}", major, minor, subminor);
        about["flags"] = STRETTO_PETSC_FLAGS;
    }
    System(const System&) = delete;
    ~System() {
        must(MatDestroy(&A));
        for (Vec* v : {&b, &x, &r}) must(VecDestroy(v));
    }

    void multiply() { must(MatMult(A, b, r)); }
    double residual(Vec v) { return peers::relative_residual(A, b, v, r); }

    Mat A;
    double row_sum, scaled_row_sum;
    Vec b = nullptr, x = nullptr, r = nullptr;

    class Solver;
};

class System::Solver {
public:
    Solver(System& system, const std::string& method, const std::string& precond)
        : on_(system), type_(method.substr(0, method.find(' '))) {
        must(PetscOptionsClear(nullptr));
        // The shifts of pipelcg need the spectrum: 0 and a bound from the rows of A, or of D⁻¹A.
        must(PetscOptionsSetValue(nullptr, "-ksp_pipelcg_lmin", "0"));
        must(PetscOptionsSetValue(
            nullptr, "-ksp_pipelcg_lmax",
            fmt::format("{}", precond == "jacobi" ? system.scaled_row_sum : system.row_sum).c_str()));
        must(PetscOptionsInsertString(nullptr, method.substr(type_.size()).c_str()));
        must(KSPCreate(PETSC_COMM_WORLD, &ksp_));
        must(KSPSetOperators(ksp_, on_.A, on_.A));
        must(KSPSetType(ksp_, type_.c_str()));
        PC pc = nullptr;
        must(KSPGetPC(ksp_, &pc));
        must(PCSetType(pc, precond.c_str()));
        // As Stretto's; the others know one side only.
        if (type_ == KSPBCGS || type_.ends_with("gmres")) must(KSPSetPCSide(ksp_, PC_RIGHT));
        must(KSPSetFromOptions(ksp_));
    }
    Solver(const Solver&) = delete;
    ~Solver() { must(KSPDestroy(&ksp_)); }

    void prepare(int iterations) {
        must(KSPSetNormType(ksp_, KSP_NORM_NONE));
        must(KSPSetConvergenceTest(ksp_, stop, this, nullptr));
        stop_at_ = iterations;
        must(KSPSetUp(ksp_));
    }

    template <class Stamps>
    int solve(Stamps& stamps) {
        stamp_ = [](void* to, int k) { (*static_cast<Stamps*>(to))(k); };
        stamps_ = &stamps;
        return solve();
    }

    int solve() {
        must(KSPSolve(ksp_, on_.b, on_.x));
        PetscInt done = 0;
        must(KSPGetIterationNumber(ksp_, &done));
        return static_cast<int>(done) + uncounted();
    }

    /// With the norm of b − Ax where the method can have it; pipelcg has the natural norm only.
    void rely(double rtol, int iterations, peers::ordered_json& line) {
        must(KSPSetNormType(ksp_, type_ == KSPPIPELCG ? KSP_NORM_NATURAL : KSP_NORM_UNPRECONDITIONED));
        must(KSPSetTolerances(ksp_, rtol, 0, PETSC_DEFAULT, iterations));
        must(KSPSetUp(ksp_));
        line["seconds"] = peers::seconds([&] { line["iterations"] = solve(); });
        KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
        must(KSPGetConvergedReason(ksp_, &reason));
        line["says"] = KSPConvergedReasons[reason];
        line["converged"] = reason > 0;
    }

    /// As a smoother or an inner solve is set: one iteration, whatever it attains, with KSP's own norm. Verified: and
    /// b − Ax is recomputed.
    void prepare_short(bool verified) {
        verified_ = verified;
        must(KSPSetTolerances(ksp_, 0, 0, PETSC_DEFAULT, 1));
        must(KSPSetUp(ksp_));
    }
    void solve_short() {
        must(KSPSolve(ksp_, on_.b, on_.x));
        if (verified_) (void)residual();
    }

    double residual() { return on_.residual(on_.x); }

private:
    /// In place of a limit, at which pipelcg would begin anew for the last iteration.
    static PetscErrorCode stop(KSP, PetscInt iteration, PetscReal, KSPConvergedReason* reason, void* me) {
        const auto& self = *static_cast<Solver*>(me);
        const int done = static_cast<int>(iteration) + self.uncounted();
        if (self.stamps_) self.stamp_(self.stamps_, done);
        *reason = done < self.stop_at_ ? KSP_CONVERGED_ITERATING : KSP_CONVERGED_ITS;
        return {};
    }
    /// pipelcg counts from 0: its x has been updated once more often than it says.
    int uncounted() const { return type_ == KSPPIPELCG ? 1 : 0; }

    System& on_;
    std::string type_;
    KSP ksp_ = nullptr;
    int stop_at_ = 0;
    bool verified_ = false;
    void* stamps_ = nullptr;
    void (*stamp_)(void*, int) = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
    return peers::main<System>(argc, argv, [](auto&& run) {
        must(PetscInitializeNoArguments());
        run();
        must(PetscFinalize());
    });
}
