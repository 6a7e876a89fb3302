// SPDX-License-Identifier: BSD-3-Clause
// The same sequence of systems as stretto_values, with PETSc, one KSP for all:
//
//     mpirun -n 2 petsc_values PROBLEM RTOL MAX_IT OPTIONS TIMES
//
// New values are put into its matrix before the clock starts.
#include <algorithm>
#include <cmath>

#include "harness.hpp"
#include "petsc.hpp"
#include "values.hpp"

namespace {

using peers::must;

class Sequence {
public:
    Sequence(const stretto::Comm& comm, stretto::DistributedRows problem, double rtol, int max_iterations)
        : problem_(std::move(problem)), first_(problem_.partition.first(comm.rank())) {
        original_ = peers::petsc_matrix(problem_);
        must(MatDuplicate(original_, MAT_COPY_VALUES, &A_));
        must(MatCreateVecs(A_, &x_, &b_));
        for (Vec* v : {&r_, &d_}) must(VecDuplicate(b_, v));
        must(KSPCreate(PETSC_COMM_WORLD, &ksp_));
        must(KSPSetTolerances(ksp_, rtol, 0, PETSC_DEFAULT, max_iterations));
        must(KSPSetFromOptions(ksp_));
    }
    Sequence(const Sequence&) = delete;
    ~Sequence() {
        must(KSPDestroy(&ksp_));
        for (Mat* A : {&original_, &A_}) must(MatDestroy(A));
        for (Vec* v : {&x_, &b_, &r_, &d_}) must(VecDestroy(v));
    }

    /// Matrix k of the sequence.
    void solve(int k) {
        PetscScalar* d = nullptr;
        must(VecGetArray(d_, &d));
        const auto rows = static_cast<PetscInt>(problem_.rows.rows());
        for (PetscInt i = 0; i < rows; ++i) d[i] = peers::factor(first_ + i, k);
        must(VecRestoreArray(d_, &d));
        must(MatCopy(original_, A_, SAME_NONZERO_PATTERN));
        must(MatDiagonalScale(A_, d_, d_));
        must(VecSet(x_, 1));
        must(MatMult(A_, x_, b_));
        must(VecSet(x_, 0));
        setup += peers::seconds([&] {
            must(KSPSetOperators(ksp_, A_, A_));
            must(KSPSetUp(ksp_));
            must(KSPSetUpOnBlocks(ksp_));
        });
        solved += peers::seconds([&] { must(KSPSolve(ksp_, b_, x_)); });
        KSPConvergedReason reason{};
        PetscInt done = 0;
        must(KSPGetConvergedReason(ksp_, &reason));
        must(KSPGetIterationNumber(ksp_, &done));
        claims = claims && reason > 0;
        iterations.push_back(static_cast<int>(done));
        residual = std::max(residual, peers::relative_residual(A_, b_, x_, r_));
    }

    double setup = 0, solved = 0, residual = 0;
    bool claims = true;
    std::vector<int> iterations;

private:
    stretto::DistributedRows problem_;
    stretto::Global first_;
    Mat original_ = nullptr, A_ = nullptr;
    Vec x_ = nullptr, b_ = nullptr, r_ = nullptr, d_ = nullptr;
    KSP ksp_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
    return peers::with_mpi(argc, argv, [&] {
        if (argc != 6) throw std::invalid_argument("usage: petsc_values PROBLEM RTOL MAX_IT OPTIONS TIMES");
        must(PetscInitializeNoArguments());
        must(PetscOptionsInsertString(nullptr, argv[4]));
        {
            stretto::MpiComm comm(MPI_COMM_WORLD);
            Sequence sequence(comm, stretto::load_problem(comm, argv[1]), std::stod(argv[2]), std::stoi(argv[3]));
            for (int k = 0; k < std::stoi(argv[5]); ++k) sequence.solve(k);
            if (comm.rank() == 0)
                fmt::print("{}\n", peers::ordered_json{{"claims", sequence.claims},
                                                       {"iterations", sequence.iterations},
                                                       {"residual", sequence.residual},
                                                       {"setup", sequence.setup},
                                                       {"solve", sequence.solved}}
                                       .dump());
        }
        must(PetscFinalize());
    });
}
