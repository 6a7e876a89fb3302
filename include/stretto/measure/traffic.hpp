// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace stretto {

/// Reads and writes of whole vectors (n × m values each).
struct Traffic {
    std::int64_t reads = 0;
    std::int64_t writes = 0;

    Traffic& operator+=(const Traffic& other) {
        reads += other.reads;
        writes += other.writes;
        return *this;
    }
    friend Traffic operator-(const Traffic& a, const Traffic& b) { return {a.reads - b.reads, a.writes - b.writes}; }
    bool operator==(const Traffic&) const = default;
};

}  // namespace stretto
