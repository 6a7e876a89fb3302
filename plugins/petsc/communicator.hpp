// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "petsc.hpp"

namespace stretto::petsc {

/// Collective. A duplicate of a communicator of PETSc, one for all solvers on it, freed with it: neither messages nor
/// sums in flight meet those of PETSc.
MPI_Comm duplicate_of(MPI_Comm comm);

}  // namespace stretto::petsc
