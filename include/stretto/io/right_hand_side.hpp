// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include "stretto/io/matrix_market.hpp"

namespace stretto {

/// Collective. This rank's rows of the right-hand sides that `text` means, so many columns of them (0: one, or as many
/// as the file has): `ones`; `A*ones`, whose solution is ones; `random` or `random:SEED`, uniform in [−1, 1), the same
/// on any number of ranks; or the path of a Matrix Market array. `row_sum(i)` is the sum of A's local row i; null where
/// nothing but solving would tell it, and `A*ones` is refused then. Throws InputError, the same on every rank.
ArrayFile right_hand_sides(const Comm& comm, const std::string& text, int columns, const Partition& partition,
                           int threads, const std::function<double(Index row)>& row_sum, const Progress& progress = {});

/// Collective. The n × columns array of a file: initial guesses. Throws InputError, the same on every rank.
ArrayFile read_guess(const Comm& comm, const std::string& path, int columns, const Partition& partition, int threads,
                     const Progress& progress = {});

}  // namespace stretto
