// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>

#include "stretto/comm/comm.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/sparse/distributed_rows.hpp"
#include "stretto/sparse/partition.hpp"

namespace stretto {

/// A matrix known by formula. `make(begin, end)` makes rows begin … end − 1, the same whoever asks.
struct Generator {
    Global rows;
    std::function<LocalRows<double>(Global begin, Global end)> make;
    std::array<Global, 3> grid;  ///< of which each cell is a row, numbered along x, then y, then z
};

/// A problem that can be generated, as `stretto list` prints it.
struct ProblemKind {
    std::string_view name, arguments, help;
    std::span<const OptionInfo> options;
    bool positive_definite;  // and symmetric
    Generator (*generator)(const Spec& spec, const ProblemKind& kind, const Options& options);
    bool singular = false;  // symmetric, positive semidefinite, with constants for its null space
};

/// The problems that can be generated, in the order to list them.
std::span<const ProblemKind> problems();

/// The generator that `spec` names, for example `poisson2d:64x32`. Throws InputError for an unknown problem,
/// size or option. Its `make` throws InputError when the rows asked for hold more nonzeros than a rank can.
Generator generator(std::string_view spec);

/// Collective. Rows dealt evenly, each rank makes its own. Throws InputError, the same on every rank.
DistributedRows generate(const Comm& comm, std::string_view spec);

}  // namespace stretto
