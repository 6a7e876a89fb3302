// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/comm.hpp"

namespace stretto {

/// What a few milliseconds of measuring tell of how reductions can be hidden here.
struct Probe {
    double reduction = 0;                                ///< seconds that one takes
    std::vector<std::pair<ProgressMode, double>> gamma;  ///< of the modes there are, as Overlap has it; may be empty
    double seconds = 0;                                  ///< that the probe took

    /// The mode that hides most; `none` where no other is clearly better.
    ProgressMode choice() const;
    /// Whether the chosen mode hides anything to speak of.
    bool hides() const;
};

/// Collective. Measures sums of a few values on `comm`, which is `mpi` or something on top of it, in less than 50 ms;
/// where one takes longer than 5 ms, there are no gammas. Leaves the progress mode as it was.
Probe probe(Comm& comm, MpiComm& mpi);

/// For people: "poll; a reduction takes 12.3 µs, of which remain behind work: none 98 %, poll 41 %".
std::string to_string(const Probe& probe);

}  // namespace stretto
