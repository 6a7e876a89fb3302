// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/core/memory.hpp"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <map>
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

double last_level_cache(int cores) {
    std::map<std::string, double> caches;  // by the cores that share it
    for (int core = 0;; ++core) {
        std::string shared;
        double bytes = 0;
        for (int index = 0;; ++index) {  // from the first level to the last
            const auto folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", core, index);
            std::ifstream size(folder + "size"), sharing(folder + "shared_cpu_list");
            double kibibytes = 0;
            if (!(size >> kibibytes) || !(sharing >> shared)) break;
            bytes = 1024 * kibibytes;
        }
        if (bytes == 0) break;
        caches[shared] = bytes;
    }
    double sum = 0;
    for (const auto& [shared, bytes] : caches)
        if (cores-- > 0) sum += bytes;
    return sum;
}

}  // namespace stretto
