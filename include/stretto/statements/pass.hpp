// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

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
    /// Calls f(vector, written) with what was read before it was written, and with what was written.
    template <class F>
    void for_each_vector(F&& f) const {
        for (const Entry& entry : std::span(entries_).first(count_))
            for (std::ptrdiff_t at = 0; at < std::max<std::ptrdiff_t>(entry.length, 1);
                 at += std::max<std::ptrdiff_t>(entry.stride, 1))
                f(static_cast<const void*>(entry.first + at), entry.written);
    }

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
