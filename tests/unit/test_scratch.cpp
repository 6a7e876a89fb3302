// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/core/scratch.hpp"

#include <gtest/gtest.h>

#include <new>
#include <utility>

#include "stretto/core/memory.hpp"

namespace stretto {
namespace {

/// As vectors are that others point into.
struct Fixed {
    int width;
    explicit Fixed(int w) : width(w) {}
    Fixed(const Fixed&) = delete;
};

TEST(Scratch, MakesOnceForAWidthAndNeverMoves) {
    const Scratch<Fixed> scratch;
    int made = 0;
    const auto at = [&](int width) -> Fixed& {
        return scratch.at(width, [&] {
            ++made;
            return Fixed(width);
        });
    };
    Fixed* const first = &at(1);
    for (int width = 2; width < 40; ++width) EXPECT_EQ(at(width).width, width);
    EXPECT_EQ(&at(1), first);
    EXPECT_EQ(first->width, 1);
    EXPECT_EQ(at(17).width, 17);
    EXPECT_EQ(made, 39);
}

TEST(Scratch, WhatCouldNotBeMadeIsNotThere) {
    const Scratch<Fixed> scratch;
    EXPECT_THROW(scratch.at(3, []() -> Fixed { throw std::bad_alloc(); }), std::bad_alloc);
    EXPECT_EQ(scratch.at(3, [] { return Fixed(5); }).width, 5);
}

TEST(Scratch, MovesWithItsVectorsInPlace) {
    Scratch<Fixed> scratch;
    Fixed* const made = &scratch.at(2, [] { return Fixed(2); });
    const Scratch<Fixed> other = std::move(scratch);
    EXPECT_EQ(&other.at(2, [] { return Fixed(7); }), made);
}

TEST(Memory, SomeIsFree) { EXPECT_GT(free_memory(), 1e6); }

}  // namespace
}  // namespace stretto
