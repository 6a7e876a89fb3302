// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

#include "stretto/core/types.hpp"

namespace stretto {

/// Owns memory for `size` values and writes none of it, so that the thread that first touches a page gets it
/// near itself. From 2 MiB up it starts on a 2 MiB boundary and asks for huge pages (a long stream then
/// misses the TLB 512 times less often), unless STRETTO_HUGE_PAGES=0 is in the environment; smaller ones start on a
/// cache line. Move-only. Throws std::bad_alloc.
template <class T>
    requires std::is_trivially_copyable_v<T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(std::size_t size) : size_(size), data_(allocate(size)) {}

    T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) const { return data_[i]; }
    std::span<T> values() const { return {data_.get(), size_}; }

private:
    static constexpr std::size_t huge_page = std::size_t{1} << 21, cache_line = 64;

    struct Free {
        std::align_val_t alignment{cache_line};
        void operator()(T* data) const { ::operator delete(data, alignment); }
    };
    using Owner = std::unique_ptr<T[], Free>;

    static bool huge_pages_wanted() {
        const char* const wanted = std::getenv("STRETTO_HUGE_PAGES");
        return !wanted || std::string_view(wanted) != "0";
    }

    static Owner allocate(std::size_t size) {
        if (size == 0) return {};
        if (size > (std::size_t{1} << 62) / sizeof(T)) throw std::bad_alloc();
        const auto alignment = size * sizeof(T) < huge_page ? cache_line : huge_page;
        const auto bytes = round_up(size * sizeof(T), alignment);
        void* const data = ::operator new(bytes, std::align_val_t{alignment});
        if (alignment == huge_page && huge_pages_wanted()) madvise(data, bytes, MADV_HUGEPAGE);
        return {static_cast<T*>(data), Free{std::align_val_t{alignment}}};
    }

    std::size_t size_ = 0;
    Owner data_;
};

}  // namespace stretto
