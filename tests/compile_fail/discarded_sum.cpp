// expect: ignoring return
// SPDX-License-Identifier: BSD-3-Clause
// A sum in flight that nobody can wait for.
#include <array>

#include "stretto/comm/comm.hpp"

void discard(stretto::Comm& comm) {
    std::array<double, 1> mine{1}, total{};
    comm.start_sum(mine, total);
}
