// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/model/fit.hpp"

namespace stretto {

/// What half a minute of measuring tells the execution-time model of a machine. Bandwidths are those of a node.
struct MeasuredMachine {
    int ranks_per_node = 1, nodes = 1;
    /// Bytes gone through again and again, bytes per second: of y = ½ y + ½ x, and of (x, y), which only reads.
    std::vector<std::pair<double, double>> sweep, reads;
    double kernel = 0;            ///< seconds of a group of statements on almost no rows
    double reduction = 0;         ///< seconds of a sum of a few values over all ranks
    std::optional<double> gamma;  ///< in the progress mode that the probe chooses; empty: too busy
    TwoLaws exchange;
    std::optional<PowerLaw> all_reduce;  ///< by ranks; empty on fewer than four: there is no law to be seen
};

/// Collective. One thread a rank, all ranks at once; of one rank no network.
MeasuredMachine measure_machine(MpiComm& comm);

}  // namespace stretto
