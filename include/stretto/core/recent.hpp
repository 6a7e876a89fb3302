// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory_resource>
#include <type_traits>
#include <vector>

namespace stretto {

/// The last few of a sequence, by their index in it, which may be negative: [i] and [i + size] are one place.
template <class X>
class Recent {
public:
    /// make(k), for k = 0 … size − 1, is what there is at first.
    template <class Make>
    Recent(int size, Make&& make, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : kept_(memory) {
        kept_.reserve(static_cast<std::size_t>(size));
        for (int k = 0; k < size; ++k) kept_.push_back(make(k));
    }
    Recent(const Recent& other) : kept_(other.kept_, other.kept_.get_allocator()) {}
    Recent(Recent&&) noexcept = default;
    Recent& operator=(const Recent&) = delete;
    ~Recent() = default;

    X& operator[](int i) { return kept_[place(i)]; }
    const X& operator[](int i) const { return kept_[place(i)]; }

private:
    std::size_t place(int i) const {
        const int size = static_cast<int>(kept_.size());
        return static_cast<std::size_t>((i % size + size) % size);
    }

    std::pmr::vector<X> kept_;
};

template <class Make>
Recent(int, Make&&, std::pmr::memory_resource*) -> Recent<std::invoke_result_t<Make, int>>;
template <class Make>
Recent(int, Make&&) -> Recent<std::invoke_result_t<Make, int>>;

}  // namespace stretto
