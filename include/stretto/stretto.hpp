// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Everything a program needs to build or read a distributed matrix and solve with it.

#include "stretto/core/collective.hpp"
#include "stretto/core/comm.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/multivector.hpp"
#include "stretto/core/random.hpp"
#include "stretto/hmatrix/hmatrix.hpp"
#include "stretto/hmatrix/precond.hpp"
#include "stretto/matrix/csr.hpp"
#include "stretto/matrix/generators.hpp"
#include "stretto/matrix/matrix_market.hpp"
#include "stretto/operators/linear_map.hpp"
#include "stretto/precond/jacobi.hpp"
#include "stretto/precond/preconditioner.hpp"
#include "stretto/prepare/prepare.hpp"
#include "stretto/prepare/structure.hpp"
#include "stretto/solvers/registry.hpp"
#include "stretto/solvers/solve.hpp"
