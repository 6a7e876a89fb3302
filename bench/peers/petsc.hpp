// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <petscconf.h>
#ifndef PETSC_FUNCTION_NAME_CXX  // a PETSc configured without C++ lacks it, and its headers use it
#define PETSC_FUNCTION_NAME_CXX __func__
#define PETSC_CXX_RESTRICT __restrict
#endif
#include <petscksp.h>

#include <array>
#include <vector>

#include "stretto/io/generators.hpp"

namespace peers {

/// Ends the program on an error of PETSc, which prints what it was.
inline void must(PetscErrorCode error) { PetscCallAbort(PETSC_COMM_WORLD, error); }

/// ‖b − Ax‖/‖b‖; r is for work.
inline double relative_residual(Mat A, Vec b, Vec x, Vec r) {
    PetscReal norm = 0, norm_b = 0;
    must(MatMult(A, x, r));
    must(VecAYPX(r, -1, b));
    must(VecNorm(r, NORM_2, &norm));
    must(VecNorm(b, NORM_2, &norm_b));
    return norm / norm_b;
}

/// PETSc's matrix of the same rows on the same ranks, in the format that its options name.
inline Mat petsc_matrix(const stretto::DistributedRows& problem) {
    const auto& rows = problem.rows;
    const std::vector<PetscInt> start(rows.start.begin(), rows.start.end());
    const std::vector<PetscInt> columns(rows.columns.begin(), rows.columns.end());
    const auto local = static_cast<PetscInt>(rows.rows()), all = static_cast<PetscInt>(problem.partition.rows());
    Mat A = nullptr;
    must(MatCreate(PETSC_COMM_WORLD, &A));
    must(MatSetSizes(A, local, local, all, all));
    must(MatSetType(A, MATAIJ));
    must(MatSetFromOptions(A));
    must(MatSeqAIJSetPreallocationCSR(A, start.data(), columns.data(), rows.values.data()));
    must(MatMPIAIJSetPreallocationCSR(A, start.data(), columns.data(), rows.values.data()));
    return A;
}

/// Tells PETSc what multigrid asks of whoever has a body of points with three displacements each: that they belong
/// together, and how it moves without being deformed. `grid` is that of elasticity3d's Generator.
inline void name_rigid_bodies(Mat A, const std::array<stretto::Global, 3>& grid) {
    constexpr PetscInt directions = 3;
    must(MatSetBlockSize(A, directions));
    PetscInt begin = 0, end = 0;
    must(MatGetOwnershipRange(A, &begin, &end));
    Vec coordinates = nullptr;
    must(MatCreateVecs(A, &coordinates, nullptr));
    must(VecSetBlockSize(coordinates, directions));
    PetscScalar* values = nullptr;
    must(VecGetArray(coordinates, &values));
    for (PetscInt row = begin; row < end; ++row) {
        const auto point = static_cast<stretto::Global>(row) / directions, x = grid[0] / directions;
        const stretto::Global place[] = {point % x, point / x % grid[1], point / x / grid[1]};
        values[row - begin] = static_cast<PetscScalar>(place[row % directions]);
    }
    must(VecRestoreArray(coordinates, &values));
    MatNullSpace rigid = nullptr;
    must(MatNullSpaceCreateRigidBody(coordinates, &rigid));
    must(MatSetNearNullSpace(A, rigid));
    must(MatNullSpaceDestroy(&rigid));
    must(VecDestroy(&coordinates));
}

}  // namespace peers
