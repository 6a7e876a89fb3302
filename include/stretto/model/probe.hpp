// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/comm/comm.hpp"

namespace stretto {

/// What a few milliseconds of measuring tell of how reductions can be hidden here.
struct Probe {
    double reduction = 0;                                ///< seconds that one takes
    std::vector<std::pair<ProgressMode, double>> gamma;  ///< of the modes there are, as Overlap has it; may be empty
    double seconds = 0;                                  ///< that the probe took

    /// The mode that hides most; `none` where no other is clearly better. Without gammas the library's own progress,
    /// where it is on, or `poll`.
    ProgressMode choice() const;
    /// γ of that mode: 0 where it is not known.
    double remains() const;
    /// Whether the chosen mode hides anything to speak of, or may: without gammas that is not known.
    bool hides() const;
};

/// Collective. Measures sums of a few values on `comm`, which is `mpi` or something on top of it, in less than 50 ms;
/// where one takes longer than 5 ms, or where the machine is too busy for what was measured to make sense, there are no
/// gammas. On more ranks than cores it may take longer. Leaves the progress mode as it was.
Probe probe(Comm& comm, MpiComm& mpi);

/// For people: "poll; a reduction takes 12.3 µs, of which remain behind work: none 98 %, poll 41 %".
std::string to_string(const Probe& probe);

/// What to do about such reductions, in one sentence: hide none, one or several of them, or have fewer. `ten`: what ten
/// in flight at once take over one.
std::string advice(const Probe& probe, double ten);

}  // namespace stretto
