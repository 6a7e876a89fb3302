// SPDX-License-Identifier: BSD-3-Clause
// Times iterations of PETSc's KSP. METHOD is a KSP type and, after it, options as on PETSc's command line. Norms are
// off, and the convergence test counts.
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness.hpp"
#include "petsc.hpp"

namespace {

using peers::must;

class Solver {
public:
    Solver(stretto::Comm&, const stretto::Problem& problem, const std::string& method, const std::string& precond,
           peers::ordered_json& line)
        : type_(method.substr(0, method.find(' '))) {
        A_ = peers::petsc_matrix(problem);
        must(MatCreateVecs(A_, &x_, &b_));
        must(VecDuplicate(b_, &r_));
        must(VecSet(b_, 1));

        // The shifts of pipelcg need the spectrum: 0 and a bound from the rows of A, or of D⁻¹A.
        must(PetscOptionsSetValue(nullptr, "-ksp_pipelcg_lmin", "0"));
        must(PetscOptionsSetValue(nullptr, "-ksp_pipelcg_lmax",
                                  fmt::format("{}", largest_row_sum(problem, precond == "jacobi")).c_str()));
        must(PetscOptionsSetValue(nullptr, "-ksp_pipelcg_monitor", ""));  // says when it restarts
        must(PetscOptionsInsertString(nullptr, method.substr(type_.size()).c_str()));
        must(KSPCreate(PETSC_COMM_WORLD, &ksp_));
        must(KSPSetType(ksp_, type_.c_str()));
        PC pc = nullptr;
        must(KSPGetPC(ksp_, &pc));
        must(PCSetType(pc, precond.c_str()));
        must(KSPSetNormType(ksp_, KSP_NORM_NONE));
        must(KSPSetConvergenceTest(ksp_, stop, this, nullptr));
        // As Stretto's; the others know one side only.
        if (type_ == KSPBCGS || type_.ends_with("gmres")) must(KSPSetPCSide(ksp_, PC_RIGHT));
        must(KSPSetFromOptions(ksp_));

        PetscInt major = 0, minor = 0, subminor = 0;
        must(PetscGetVersionNumber(&major, &minor, &subminor, nullptr));
        line["program"] = fmt::format("PETSc {}.{}.{}", major, minor, subminor);
        line["flags"] = STRETTO_PETSC_FLAGS;
        line["rows"] = problem.partition.rows();
    }
    Solver(const Solver&) = delete;
    ~Solver() {
        must(KSPDestroy(&ksp_));
        must(MatDestroy(&A_));
        for (Vec* v : {&b_, &x_, &r_}) must(VecDestroy(v));
    }

    void prepare(int iterations) {
        must(KSPReset(ksp_));  // pipelcg would start from what the last solve left in its vectors
        must(KSPSetOperators(ksp_, A_, A_));
        stop_at_ = iterations - uncounted();
        must(KSPSetUp(ksp_));
    }

    int solve() {
        must(KSPSolve(ksp_, b_, x_));
        PetscInt done = 0;
        must(KSPGetIterationNumber(ksp_, &done));
        return static_cast<int>(done) + uncounted();
    }

    /// With the norm of b − Ax where the method can have it; pipelcg has the natural norm only.
    void rely(double rtol, int iterations, peers::ordered_json& line) {
        must(KSPReset(ksp_));
        must(KSPSetOperators(ksp_, A_, A_));
        must(KSPSetNormType(ksp_, type_ == KSPPIPELCG ? KSP_NORM_NATURAL : KSP_NORM_UNPRECONDITIONED));
        void* context = nullptr;
        must(KSPConvergedDefaultCreate(&context));
        must(KSPSetConvergenceTest(ksp_, KSPConvergedDefault, context, KSPConvergedDefaultDestroy));
        must(KSPSetTolerances(ksp_, rtol, PETSC_DEFAULT, PETSC_DEFAULT, iterations));
        line["iterations"] = solve();
        KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
        must(KSPGetConvergedReason(ksp_, &reason));
        line["says"] = KSPConvergedReasons[reason];
        line["converged"] = reason > 0;
        line["residual"] = residual();
    }

    double residual() {
        PetscReal norm = 0, norm_b = 0;
        must(MatMult(A_, x_, r_));
        must(VecAYPX(r_, -1, b_));
        must(VecNorm(r_, NORM_2, &norm));
        must(VecNorm(b_, NORM_2, &norm_b));
        return norm / norm_b;
    }

private:
    /// In place of a limit, at which pipelcg would begin anew for the last iteration.
    static PetscErrorCode stop(KSP, PetscInt iteration, PetscReal, KSPConvergedReason* reason, void* self) {
        *reason = iteration < static_cast<Solver*>(self)->stop_at_ ? KSP_CONVERGED_ITERATING : KSP_CONVERGED_ITS;
        return {};
    }
    /// pipelcg counts from 0: its x has been updated once more often than it says.
    int uncounted() const { return type_ == KSPPIPELCG ? 1 : 0; }

    static double largest_row_sum(const stretto::Problem& problem, bool scaled) {
        const auto& rows = problem.rows;
        int rank = 0;
        MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
        const auto first = problem.partition.first(rank);
        double mine = 0, all = 0;
        for (std::size_t i = 0; i + 1 < rows.start.size(); ++i) {
            double sum = 0, diagonal = 1;
            for (auto k = static_cast<std::size_t>(rows.start[i]); k < static_cast<std::size_t>(rows.start[i + 1]);
                 ++k) {
                sum += std::abs(rows.values[k]);
                if (rows.columns[k] == first + static_cast<stretto::Global>(i)) diagonal = std::abs(rows.values[k]);
            }
            mine = std::max(mine, scaled ? sum / diagonal : sum);
        }
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
        return all;
    }

    std::string type_;
    PetscInt stop_at_ = 0;
    Mat A_ = nullptr;
    Vec b_ = nullptr, x_ = nullptr, r_ = nullptr;
    KSP ksp_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
    return peers::main<Solver>(argc, argv, [](auto&& run) {
        must(PetscInitializeNoArguments());
        run();
        must(PetscFinalize());
    });
}
