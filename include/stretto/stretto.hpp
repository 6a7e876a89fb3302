// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Everything a program needs to build or read a distributed matrix and solve with it.

#include "stretto/comm/collective.hpp"
#include "stretto/comm/comm.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/hmatrix/hmatrix.hpp"
#include "stretto/io/checkpoint_file.hpp"
#include "stretto/io/generators.hpp"
#include "stretto/io/matrix_market.hpp"
#include "stretto/model/probe.hpp"
#include "stretto/operators/linear_map.hpp"
#include "stretto/precond/diagonal_blocks.hpp"
#include "stretto/precond/inner_iterations.hpp"
#include "stretto/precond/jacobi.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/sparse/csr.hpp"
#include "stretto/sparse/structure.hpp"
#include "stretto/statements/multivector.hpp"
#include "stretto/system/advice.hpp"
#include "stretto/system/complex_system.hpp"
#include "stretto/system/dense_system.hpp"
#include "stretto/system/linear_system.hpp"
#include "stretto/system/prepare.hpp"
