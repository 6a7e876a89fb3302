/* SPDX-License-Identifier: BSD-3-Clause
   A PETSc program that knows nothing of Stretto: Poisson's equation on an n × n grid, solved by whatever KSP the
   options name.

   In the folder of the sources, compile it as any other:

       mpicc examples/petsc/poisson.c -o poisson $(pkg-config --cflags --libs petsc)

   and run it, with PETSc's own method first; `make petsc` builds the plug-in, whose path must be a full one:

       mpirun -n 2 ./poisson -ksp_type cg -pc_type jacobi
       mpirun -n 2 ./poisson -dll_append $PWD/build/release/libstretto_petsc.so -ksp_type stretto -pc_type jacobi
       mpirun -n 2 ./poisson -dll_append $PWD/build/release/libstretto_petsc.so -ksp_type stretto -pc_type jacobi \
           -ksp_stretto_method pipelined_cg -n 200 */
#include <petscksp.h>

int main(int argc, char** argv) {
    PetscInt n = 100, first, end, iterations;
    Mat A;
    Vec b, x, r;
    KSP ksp;
    KSPType type;
    KSPConvergedReason reason;
    PetscReal of_b, of_r;

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));

    /* Five points a row: the neighbours left, right, below and above. */
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n, 5, NULL, 4, NULL, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &end));
    for (PetscInt row = first; row < end; ++row) {
        const PetscInt i = row % n, j = row / n;
        PetscCall(MatSetValue(A, row, row, 4, INSERT_VALUES));
        if (i > 0) PetscCall(MatSetValue(A, row, row - 1, -1, INSERT_VALUES));
        if (i < n - 1) PetscCall(MatSetValue(A, row, row + 1, -1, INSERT_VALUES));
        if (j > 0) PetscCall(MatSetValue(A, row, row - n, -1, INSERT_VALUES));
        if (j < n - 1) PetscCall(MatSetValue(A, row, row + n, -1, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE)); /* who chooses a method by itself may choose cg */

    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(VecSet(b, 1));

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSetFromOptions(ksp)); /* -ksp_type, -pc_type, … */
    PetscCall(KSPSolve(ksp, b, x));

    PetscCall(KSPGetType(ksp, &type));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b)); /* r = b − A x */
    PetscCall(VecNorm(b, NORM_2, &of_b));
    PetscCall(VecNorm(r, NORM_2, &of_r));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s after %d iterations, |b - A x| / |b| = %.1e\n", type,
                          KSPConvergedReasons[reason], (int)iterations, (double)(of_r / of_b)));

    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&r));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
    return reason > 0 ? 0 : 1;
}
