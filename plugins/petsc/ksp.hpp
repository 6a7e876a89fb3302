// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "petsc.hpp"

namespace stretto::petsc {

/// Makes a KSP one of type `stretto`, with this method unless its options name another.
PetscErrorCode create(KSP ksp, const char* method);

}  // namespace stretto::petsc
