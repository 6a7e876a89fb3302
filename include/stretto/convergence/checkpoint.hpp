// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stretto {

/// What a solve goes on from: x, and what an iteration of its loop begins with beside x, where the method says that.
struct Snapshot {
    std::string method;   ///< that was asked for, NAME[:key=value,…]
    std::string precond;  ///< Checkpoint::precond
    std::string loop;     ///< the method that ran: the one asked for, or one that took over
    int iteration = 0;    ///< after which it was
    int run = 0;          ///< runs of loops before, which choose shadow vectors
    int done = 0;         ///< iterations of this loop, after which what is done now and then is due
    /// The vectors after x are the last directions of CG, from which any of its family goes on.
    bool has_directions = false;
    std::vector<std::vector<double>> vectors;  ///< this rank's rows, row-major; x comes first
    std::vector<double> scalars;
    std::vector<int> counts;
    int columns = 1;
    bool is_complex = false;
};

/// Where a solve leaves a snapshot now and then, and when it is interrupted, and what it goes on from. Alike on every
/// rank.
class Checkpoint {
public:
    virtual ~Checkpoint() = default;
    /// Collective. Returns why it could not be kept, the same on every rank; empty: it is. The solve goes on anyway.
    virtual std::string save(const Snapshot& snapshot) = 0;

    double seconds = 600;            ///< from one to the next, by the clock of rank 0
    int iterations = 0;              ///< the same in iterations; 0: seconds count
    std::string precond = {};        ///< where it is another one, a solve goes on from x alone
    std::optional<Snapshot> from{};  ///< what the next solve goes on from; that solve takes it
};

}  // namespace stretto
