// SPDX-License-Identifier: BSD-3-Clause
// hypre's Krylov solvers on a ParCSR matrix; METHOD is pcg or bicgstab. Where iterations are timed the tolerance is
// zero. Norms cannot be turned off: BiCGSTAB computes one in every iteration, PCG none beyond its own products.
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_config.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_parcsr_mv.h>

#include <cmath>
#include <vector>

#include "harness.hpp"

namespace {

/// A Krylov solver's functions, by one name for each.
struct Functions {
    HYPRE_Int (*create)(MPI_Comm, HYPRE_Solver*);
    HYPRE_Int (*destroy)(HYPRE_Solver);
    HYPRE_Int (*setup)(HYPRE_Solver, HYPRE_ParCSRMatrix, HYPRE_ParVector, HYPRE_ParVector);
    HYPRE_Int (*solve)(HYPRE_Solver, HYPRE_ParCSRMatrix, HYPRE_ParVector, HYPRE_ParVector);
    HYPRE_Int (*set_tolerance)(HYPRE_Solver, HYPRE_Real);
    HYPRE_Int (*set_max_iterations)(HYPRE_Solver, HYPRE_Int);
    HYPRE_Int (*set_precond)(HYPRE_Solver, HYPRE_PtrToParSolverFcn, HYPRE_PtrToParSolverFcn, HYPRE_Solver);
    HYPRE_Int (*iterations)(HYPRE_Solver, HYPRE_Int*);
};

constexpr Functions pcg{HYPRE_ParCSRPCGCreate,     HYPRE_ParCSRPCGDestroy,   HYPRE_ParCSRPCGSetup,
                        HYPRE_ParCSRPCGSolve,      HYPRE_ParCSRPCGSetTol,    HYPRE_ParCSRPCGSetMaxIter,
                        HYPRE_ParCSRPCGSetPrecond, HYPRE_PCGGetNumIterations};
constexpr Functions bicgstab{HYPRE_ParCSRBiCGSTABCreate,     HYPRE_ParCSRBiCGSTABDestroy,
                             HYPRE_ParCSRBiCGSTABSetup,      HYPRE_ParCSRBiCGSTABSolve,
                             HYPRE_ParCSRBiCGSTABSetTol,     HYPRE_ParCSRBiCGSTABSetMaxIter,
                             HYPRE_ParCSRBiCGSTABSetPrecond, HYPRE_BiCGSTABGetNumIterations};

class Vector {
public:
    Vector(HYPRE_BigInt begin, HYPRE_BigInt end) {
        HYPRE_IJVectorCreate(MPI_COMM_WORLD, begin, end - 1, &ij_);
        HYPRE_IJVectorSetObjectType(ij_, HYPRE_PARCSR);
        HYPRE_IJVectorInitialize(ij_);
        HYPRE_IJVectorAssemble(ij_);
        void* object = nullptr;
        HYPRE_IJVectorGetObject(ij_, &object);
        vector_ = static_cast<HYPRE_ParVector>(object);
    }
    Vector(const Vector&) = delete;
    ~Vector() { HYPRE_IJVectorDestroy(ij_); }
    operator HYPRE_ParVector() const { return vector_; }

private:
    HYPRE_IJVector ij_ = nullptr;
    HYPRE_ParVector vector_ = nullptr;
};

class System {
public:
    System(const stretto::Comm& comm, const stretto::DistributedRows& problem, peers::ordered_json& about)
        : begin_(static_cast<HYPRE_BigInt>(problem.partition.first(comm.rank()))),
          end_(static_cast<HYPRE_BigInt>(problem.partition.first(comm.rank() + 1))),
          b(begin_, end_),
          x(begin_, end_),
          r(begin_, end_) {
        set_matrix(problem);
        HYPRE_ParVectorSetConstantValues(b, 1);
        about["program"] = "hypre " HYPRE_RELEASE_VERSION;
    }
    System(const System&) = delete;
    ~System() { HYPRE_IJMatrixDestroy(ij_); }

    void multiply() { HYPRE_ParCSRMatrixMatvec(1, A, b, 0, r); }
    double residual(const Vector& v) {
        HYPRE_Real rr = 0, bb = 0;
        HYPRE_ParVectorCopy(b, r);
        HYPRE_ParCSRMatrixMatvec(-1, A, v, 1, r);
        HYPRE_ParVectorInnerProd(r, r, &rr);
        HYPRE_ParVectorInnerProd(b, b, &bb);
        return std::sqrt(rr / bb);
    }

    class Solver;

private:
    void set_matrix(const stretto::DistributedRows& problem) {
        const auto& from = problem.rows;
        std::vector<HYPRE_Int> lengths;
        std::vector<HYPRE_BigInt> rows;
        for (std::size_t i = 0; i + 1 < from.start.size(); ++i) {
            lengths.push_back(static_cast<HYPRE_Int>(from.start[i + 1] - from.start[i]));
            rows.push_back(begin_ + static_cast<HYPRE_BigInt>(i));
        }
        const std::vector<HYPRE_BigInt> columns(from.columns.begin(), from.columns.end());
        HYPRE_IJMatrixCreate(MPI_COMM_WORLD, begin_, end_ - 1, begin_, end_ - 1, &ij_);
        HYPRE_IJMatrixSetObjectType(ij_, HYPRE_PARCSR);
        HYPRE_IJMatrixSetRowSizes(ij_, lengths.data());
        HYPRE_IJMatrixInitialize(ij_);
        HYPRE_IJMatrixSetValues(ij_, static_cast<HYPRE_Int>(rows.size()), lengths.data(), rows.data(), columns.data(),
                                from.values.data());
        HYPRE_IJMatrixAssemble(ij_);
        void* object = nullptr;
        HYPRE_IJMatrixGetObject(ij_, &object);
        A = static_cast<HYPRE_ParCSRMatrix>(object);
    }

    HYPRE_BigInt begin_, end_;
    HYPRE_IJMatrix ij_ = nullptr;

public:
    Vector b, x, r;
    HYPRE_ParCSRMatrix A = nullptr;
};

class System::Solver {
public:
    Solver(System& system, const std::string& method, const std::string& precond)
        : on_(system), use_(method == "pcg" ? pcg : bicgstab) {
        if (method != "pcg" && method != "bicgstab") throw std::invalid_argument("METHOD is pcg or bicgstab");
        if (precond != "none" && precond != "jacobi") throw std::invalid_argument("no preconditioner " + precond);
        use_.create(MPI_COMM_WORLD, &solver_);
        use_.set_tolerance(solver_, 0);
        if (precond == "jacobi") use_.set_precond(solver_, HYPRE_ParCSRDiagScale, HYPRE_ParCSRDiagScaleSetup, nullptr);
        use_.setup(solver_, on_.A, on_.b, on_.x);
    }
    Solver(const Solver&) = delete;
    ~Solver() { use_.destroy(solver_); }

    void prepare(int iterations) {
        HYPRE_ParVectorSetConstantValues(on_.x, 0);
        use_.set_max_iterations(solver_, iterations);
    }

    int solve() {
        use_.solve(solver_, on_.A, on_.b, on_.x);
        HYPRE_ClearAllErrors();  // not converged
        HYPRE_Int done = 0;
        use_.iterations(solver_, &done);
        return static_cast<int>(done);
    }

    void set_tolerance(double rtol) { use_.set_tolerance(solver_, rtol); }

    double residual() { return on_.residual(on_.x); }

private:
    System& on_;
    const Functions& use_;
    HYPRE_Solver solver_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
    return peers::main<System>(argc, argv, [](auto&& run) {
        HYPRE_Init();
        run();
        HYPRE_Finalize();
    });
}
