// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/convergence/recorder.hpp"

#include <fmt/format.h>

namespace stretto {

std::string to_string(const Event& event) {
    const std::string when = event.last > event.iteration
                                 ? fmt::format("iterations {} to {}", event.iteration, event.last)
                                 : fmt::format("iteration {}", event.iteration);
    return fmt::format("{}: {}{}", when, event.text, event.times > 1 ? fmt::format(", {} times", event.times) : "");
}

}  // namespace stretto
