// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <vector>

#include "stretto/core/types.hpp"

namespace stretto {

/// Memory for the small things of a method: taken piece by piece, given back all at once and kept, so that a solver's
/// second solve allocates nothing.
class Arena final : public std::pmr::memory_resource {
public:
    /// Gives all back. What was taken must not be used any more.
    void reset() { chunk_ = used_ = 0; }

private:
    static constexpr std::size_t least = std::size_t{1} << 16;
    struct Chunk {
        std::unique_ptr<std::byte[]> data;
        std::size_t size;
    };

    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        for (;; ++chunk_, used_ = 0) {
            if (chunk_ == chunks_.size()) {
                const std::size_t size = std::max(least, bytes + alignment);
                chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
            }
            auto& [data, size] = chunks_[chunk_];
            void* place = data.get() + used_;
            std::size_t space = size - used_;
            if (!std::align(alignment, bytes, place, space)) continue;
            used_ = static_cast<std::size_t>(static_cast<std::byte*>(place) - data.get()) + bytes;
            return place;
        }
    }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::vector<Chunk> chunks_;
    std::size_t chunk_ = 0, used_ = 0;
};

}  // namespace stretto
