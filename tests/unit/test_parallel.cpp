// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {

/// How often each t was called.
std::array<int, 8> calls_of(int threads) {
    std::array<std::atomic<int>, 8> calls{};
    parallel(threads, [&](int t, int) { ++calls.at(static_cast<std::size_t>(t)); });
    std::array<int, 8> counted{};
    std::copy(calls.begin(), calls.end(), counted.begin());
    return counted;
}

int sum_of(int threads) {
    std::atomic<int> sum = 0;
    parallel(threads, [&](int t, int of) { sum += of * 10 + t; });
    return sum;
}

TEST(Parallel, CallsEachOnceWithAnyNumberOfThreadsInTurn) {
    for (const int threads : {1, 4, 2, 7, 1, 3})
        for (int round = 0; round < 100; ++round) {
            const auto calls = calls_of(threads);
            int wanted = 0;
            for (int t = 0; t < threads; ++t) wanted += calls.at(static_cast<std::size_t>(t)) == 1;
            EXPECT_EQ(wanted, threads);
            EXPECT_EQ(std::count(calls.begin(), calls.end(), 0), 8 - threads);
        }
}

TEST(Parallel, GoesToSleepAndWakesUp) {
    for (int round = 0; round < 5; ++round) {
        EXPECT_EQ(sum_of(3), 93);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

TEST(Parallel, FollowsOneAnotherInsideAnother) {
    std::atomic<int> sum = 0;
    parallel(3, [&](int, int) { sum += sum_of(2); });
    EXPECT_EQ(sum, 3 * 41);
}

TEST(Parallel, ServesSeveralThreadsAtOnce) {
    std::array<std::thread, 4> users;
    std::atomic<int> wrong = 0;
    for (auto& user : users)
        user = std::thread([&] {
            for (int round = 0; round < 500; ++round) wrong += sum_of(2) != 41;
        });
    for (auto& user : users) user.join();
    EXPECT_EQ(wrong, 0);
}

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

TEST(Parallel, WorksInAProcessThatWasForked) {
    EXPECT_EQ(sum_of(3), 93);
    const pid_t child = fork();
    if (child == 0) _exit(sum_of(3) == 93 ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace stretto
