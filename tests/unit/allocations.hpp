// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Counts the allocations of this program, and refuses some: include it in exactly one source of a test program. Not
// inlined, because g++ takes an inlined free() for a mismatch with new.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "stretto/comm/comm.hpp"
#include "stretto/convergence/recorder.hpp"

inline std::atomic<std::int64_t> allocations{0};
/// Where set: whether an allocation is to fail.
inline std::atomic<bool (*)()> refuses{nullptr};

inline void* counted_allocation(std::size_t size, std::size_t alignment) {
    ++allocations;
    if (const auto asked = refuses.load(); asked && asked()) throw std::bad_alloc();
    void* memory = alignment <= alignof(std::max_align_t)
                       ? std::malloc(size)
                       : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (!memory) throw std::bad_alloc();
    return memory;
}

/// For SolveOptions::monitor: counts iterations, and holds them to allocating nothing once the first are over.
inline auto allocates_nothing(const stretto::Comm& comm, int& iterations) {
    return [&comm, &iterations, before = std::int64_t{0}](const stretto::IterationInfo& info) mutable {
        // MPI itself allocates for its requests; alone, nothing does.
        if (info.iteration > 3 && comm.size() == 1) {
            EXPECT_EQ(allocations.load(), before) << "iteration " << info.iteration;
        }
        before = allocations.load();
        ++iterations;
        return true;
    };
}

/// Whether they are: valgrind has an operator new of its own.
inline bool allocations_are_counted() {
    const auto before = allocations.load();
    ::operator delete(::operator new(1));
    return allocations.load() > before;
}

[[gnu::noinline]] void* operator new(std::size_t size) { return counted_allocation(size, 1); }
/// Of std::stable_sort and the like, which do with less memory where there is none.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return counted_allocation(size, 1);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
    return counted_allocation(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
