// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <string>

#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {

// One that left its thread would end the program.
TEST(Parallel, ThrowsWhatAThreadHasThrown) {
    for (const int threads : {1, 2, 3})
        for (int thrower = 0; thrower < threads; ++thrower) {
            std::atomic<int> ended{0}, answered{0};
            std::string what;
            try {
                parallel(threads, [&](int t, int all) {
                    answered = all;
                    if (t == thrower % all) throw std::runtime_error("thread " + std::to_string(t));
                    ++ended;
                });
            } catch (const std::runtime_error& error) {
                what = error.what();
            }
            EXPECT_EQ(what, "thread " + std::to_string(thrower % answered));
            EXPECT_EQ(ended, answered - 1);
        }
}

TEST(Parallel, ThrowsOneOfSeveral) {
    for (const int threads : {1, 3}) {
        EXPECT_THROW(parallel(threads, [](int, int) { throw std::bad_alloc(); }), std::bad_alloc);
        int sum = 0;  // the next region is as any other
        parallel(threads, [&](int t, int all) {
            if (t == all - 1) sum = all;
        });
        EXPECT_GE(sum, 1);
    }
}

}  // namespace
}  // namespace stretto
