// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "stretto/system/device.hpp"

namespace stretto {

/// Methods as tasks (docs/tasks.md): for SystemOptions::device, which it must outlive. `text` is
/// tasks[:tiles=N,communication=any|main]: tiles of rows for each thread, and which threads call MPI. Null for
/// "threads". Not collective. Throws InputError for anything else, where this build has no tasks, and where MPI was not
/// started for what is asked.
std::unique_ptr<Device> task_execution(const std::string& text);

}  // namespace stretto
