// SPDX-License-Identifier: BSD-3-Clause
// Solves A x = b, b = A·ones, with PETSc, several times:
//
//     mpirun -n 2 petsc_solve MATRIX RTOL MAX_IT OPTIONS…
//     mpirun -n 2 petsc_solve poisson3d:50 1e-8 2000 "-ksp_type cg -pc_type jacobi" "-ksp_type bcgs -pc_type bjacobi"
//
// A is what stretto::load_problem makes of MATRIX, in Stretto's rows and partition. Rank 0 prints one JSON object for
// each OPTIONS: what PETSc says, and ‖b − Ax‖/‖b‖, recomputed.
#include "harness.hpp"
#include "petsc.hpp"

namespace {

using peers::must;

class System {
public:
    System(const stretto::DistributedRows& problem, const std::string& name) {
        A_ = peers::petsc_matrix(problem);
        if (name.starts_with("elasticity3d:")) peers::name_rigid_bodies(A_, stretto::generator(name).grid);
        must(MatCreateVecs(A_, &x_, &b_));
        must(VecDuplicate(b_, &r_));
        must(VecSet(x_, 1));
        must(MatMult(A_, x_, b_));
    }
    System(const System&) = delete;
    ~System() {
        must(MatDestroy(&A_));
        for (Vec* v : {&b_, &x_, &r_}) must(VecDestroy(v));
    }

    peers::ordered_json solve(const std::string& options, double rtol, int max_iterations) {
        must(PetscOptionsClear(nullptr));
        must(PetscOptionsInsertString(nullptr, options.c_str()));
        KSP ksp = nullptr;
        must(KSPCreate(PETSC_COMM_WORLD, &ksp));
        must(KSPSetOperators(ksp, A_, A_));
        must(KSPSetTolerances(ksp, rtol, 0, PETSC_DEFAULT, max_iterations));
        must(KSPSetFromOptions(ksp));
        const double setup = peers::seconds([&] {
            must(KSPSetUp(ksp));
            must(KSPSetUpOnBlocks(ksp));
        });
        must(VecSet(x_, 0));
        const double solve = peers::seconds([&] { must(KSPSolve(ksp, b_, x_)); });
        KSPConvergedReason reason{};
        PetscInt iterations = 0;
        must(KSPGetConvergedReason(ksp, &reason));
        must(KSPGetIterationNumber(ksp, &iterations));
        must(KSPDestroy(&ksp));
        const double residual = peers::relative_residual(A_, b_, x_, r_);
        return {{"options", options},
                {"reason", static_cast<int>(reason)},
                {"claims", reason > 0},
                {"iterations", static_cast<int>(iterations)},
                {"residual", std::isfinite(residual) ? peers::ordered_json(residual) : peers::ordered_json()},
                {"setup", setup},
                {"solve", solve}};
    }

private:
    Mat A_ = nullptr;
    Vec b_ = nullptr, x_ = nullptr, r_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
    return peers::with_mpi(argc, argv, [&] {
        if (argc < 5) throw std::invalid_argument("usage: petsc_solve MATRIX RTOL MAX_IT OPTIONS…");
        must(PetscInitializeNoArguments());
        {
            stretto::MpiComm comm(MPI_COMM_WORLD);
            System system(stretto::load_problem(comm, argv[1]), argv[1]);
            for (int k = 4; k < argc; ++k) {
                const auto line = system.solve(argv[k], std::stod(argv[2]), std::stoi(argv[3]));
                if (comm.rank() == 0) fmt::print("{}\n", line.dump());
                std::fflush(stdout);
            }
        }
        must(PetscFinalize());
    });
}
