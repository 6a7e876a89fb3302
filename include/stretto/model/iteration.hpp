// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stretto/measure/step.hpp"
#include "stretto/statements/traffic.hpp"

namespace stretto {

/// What the text of a method takes on this processor whatever its vectors move, measured: seconds of an iteration on no
/// rows, and for each of the n × m values of a vector of a rank.
struct TextTime {
    double iteration = 0, value = 0;
};

/// What a period of a method's iterations does, in its order: the cycle of a restarted method, the block of an s-step
/// one, else one iteration. It comes out of the method's own text, which is run for it; safeguards are left out.
struct MethodIteration {
    struct Event {
        Step::Kind kind;
        int count;          ///< how many products; of a sum that is started, how many dot products
        double vectors;     ///< read and written by a pass, of n × m values
        int sum;            ///< which of the sums of a period is started or waited for
        int lag;            ///< of a wait: periods since its start
        double writes = 0;  ///< of the vectors of a pass
    };
    std::string method;
    bool preconditioned;
    int iterations;      ///< of a period
    int vectors_stored;  ///< beyond x and b
    std::vector<Event> events;
    bool may_be_one_kernel = false;  ///< on a device, its whole loop
    std::optional<TextTime> text{};

    int sums() const;  ///< of a period
};

/// `spec`: NAME[:key=value,…]. `rows_on`: M hands its rows on to what follows, as jacobi does. Throws InputError where
/// there is no such method, or where it does not last long enough to have a period.
MethodIteration trace_iteration(const std::string& spec, Formulation formulation, bool preconditioned,
                                bool rows_on = true);

/// The execution time of an iteration as Krasnopolsky 2019 writes it, formulas (13) to (19): "20 T_vec + 2 T_SpMV +
/// T_G(56m)". Periods are said as the mean of their iterations. Sums of which several are in flight at once:
/// max(all work + γ T_G, (what stands between wait and start + T_G) / depth).
std::string formula(const MethodIteration& iteration);

}  // namespace stretto
