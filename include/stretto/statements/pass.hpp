// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>

#include "stretto/measure/traffic.hpp"

namespace stretto {

/// The vectors a pass over memory has touched: the first use of a vector in it is a read, what the pass wrote or
/// read before is in cache, and each vector written costs one write.
class Pass {
public:
    void read(const void* vector) {
        if (find(vector)) return;
        insert(vector, false);
        ++traffic_.reads;
        ++vectors_;
    }
    void write(const void* vector) {
        Entry* entry = find(vector);
        if (entry && entry->written) return;
        vectors_ += !entry;
        insert(vector, true);
        ++traffic_.writes;
    }
    Traffic traffic() const { return traffic_; }
    int vectors() const { return vectors_; }

private:
    /// Vectors at equal distances, as those of panels are: so that there are few entries.
    struct Entry {
        const char* first;
        std::ptrdiff_t stride, length;
        bool written;
    };
    Entry* find(const void* vector) {
        Entry* found = nullptr;
        for (std::size_t k = 0; k < count_; ++k) {
            const std::ptrdiff_t distance = static_cast<const char*>(vector) - entries_[k].first;
            const bool there = distance == 0 || (entries_[k].stride > 0 && distance > 0 &&
                                                 distance < entries_[k].length && distance % entries_[k].stride == 0);
            if (there && (!found || entries_[k].written)) found = &entries_[k];
        }
        return found;
    }
    void insert(const void* vector, bool written) {
        const auto* const address = static_cast<const char*>(vector);
        if (count_ > 0) {
            Entry& last = entries_[count_ - 1];
            const std::ptrdiff_t distance = address - last.first;
            const bool second = last.stride == 0 && distance > 0;
            if (last.written == written && (second || (last.stride > 0 && distance == last.length))) {
                last.stride = second ? distance : last.stride;
                last.length = distance + last.stride;
                return;
            }
        }
        entries_.at(count_++) = {address, 0, 0, written};
    }

    std::array<Entry, 64> entries_;
    std::size_t count_ = 0;
    int vectors_ = 0;
    Traffic traffic_;
};

}  // namespace stretto
