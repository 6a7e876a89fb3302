// SPDX-License-Identifier: BSD-3-Clause
// Times iterations of hypre's Krylov solvers on a ParCSR matrix; METHOD is pcg or bicgstab. The tolerance is zero.
// Norms cannot be turned off: BiCGSTAB computes one in every iteration, PCG none beyond its own products.
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

class Solver {
public:
    Solver(stretto::Comm& comm, const stretto::Problem& problem, const std::string& method, const std::string& precond,
           peers::ordered_json& line)
        : use_(method == "pcg" ? pcg : bicgstab),
          begin_(static_cast<HYPRE_BigInt>(problem.partition.first(comm.rank()))),
          end_(static_cast<HYPRE_BigInt>(problem.partition.first(comm.rank() + 1))),
          b_(begin_, end_),
          x_(begin_, end_),
          r_(begin_, end_) {
        if (method != "pcg" && method != "bicgstab") throw std::invalid_argument("METHOD is pcg or bicgstab");
        if (precond != "none" && precond != "jacobi") throw std::invalid_argument("no preconditioner " + precond);
        set_matrix(problem);
        HYPRE_ParVectorSetConstantValues(b_, 1);
        use_.create(MPI_COMM_WORLD, &solver_);
        use_.set_tolerance(solver_, 0);
        if (precond == "jacobi") use_.set_precond(solver_, HYPRE_ParCSRDiagScale, HYPRE_ParCSRDiagScaleSetup, nullptr);
        use_.setup(solver_, A_, b_, x_);
        line["program"] = "hypre " HYPRE_RELEASE_VERSION;
        line["rows"] = problem.partition.rows();
    }
    Solver(const Solver&) = delete;
    ~Solver() {
        use_.destroy(solver_);
        HYPRE_IJMatrixDestroy(ij_);
    }

    void prepare(int iterations) {
        HYPRE_ParVectorSetConstantValues(x_, 0);
        use_.set_max_iterations(solver_, iterations);
    }

    int solve() {
        use_.solve(solver_, A_, b_, x_);
        HYPRE_ClearAllErrors();  // not converged
        HYPRE_Int done = 0;
        use_.iterations(solver_, &done);
        return static_cast<int>(done);
    }

    double residual() {
        HYPRE_ParVectorCopy(b_, r_);
        HYPRE_ParCSRMatrixMatvec(-1, A_, x_, 1, r_);
        HYPRE_Real rr = 0, bb = 0;
        HYPRE_ParVectorInnerProd(r_, r_, &rr);
        HYPRE_ParVectorInnerProd(b_, b_, &bb);
        return std::sqrt(rr / bb);
    }

private:
    void set_matrix(const stretto::Problem& problem) {
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
        A_ = static_cast<HYPRE_ParCSRMatrix>(object);
    }

    const Functions& use_;
    HYPRE_BigInt begin_, end_;
    Vector b_, x_, r_;
    HYPRE_IJMatrix ij_ = nullptr;
    HYPRE_ParCSRMatrix A_ = nullptr;
    HYPRE_Solver solver_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
    return peers::main<Solver>(argc, argv, [](auto&& run) {
        HYPRE_Init();
        run();
        HYPRE_Finalize();
    });
}
