// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/core/memory.hpp"

#include <fstream>
#include <limits>
#include <string>

namespace stretto {

double free_memory() {
    std::ifstream file("/proc/meminfo");
    for (std::string key; file >> key;) {
        double kibibytes = 0;
        if (key == "MemAvailable:" && file >> kibibytes) return 1024 * kibibytes;
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return std::numeric_limits<double>::infinity();
}

}  // namespace stretto
