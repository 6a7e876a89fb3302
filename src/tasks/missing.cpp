// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "stretto/core/error.hpp"
#include "stretto/tasks/execution.hpp"

namespace stretto {

std::unique_ptr<Device> task_execution(const std::string& text) {
    if (text == "threads") return nullptr;
    throw InputError(
        fmt::format("--execution {}: this program was built without oneTBB, which tasks need (install libtbb-dev and "
                    "configure again): --execution threads",
                    text));
}

}  // namespace stretto
