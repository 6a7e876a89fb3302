// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <petscconf.h>
#ifndef PETSC_FUNCTION_NAME_CXX  // a PETSc configured without C++ lacks it, and its headers use it
#define PETSC_FUNCTION_NAME_CXX __func__
#define PETSC_CXX_RESTRICT __restrict
#endif
#include <petscksp.h>

#include <vector>

#include "stretto/io/generators.hpp"

namespace peers {

/// Ends the program on an error of PETSc, which prints what it was.
inline void must(PetscErrorCode error) { PetscCallAbort(PETSC_COMM_WORLD, error); }

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

}  // namespace peers
