// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong on a device must go wrong on the emulated one, loudly: errors planted one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "stretto/execute/device/emulated.hpp"

using namespace stretto;

namespace {

using Device = EmulatedDevice;
template <class X>
using Array = DeviceArray<X, Device>;
using Pinned = PinnedArray<double, Device>;
template <class X>
using Address = OnDevice<X, Device>*;

template <class X>
std::vector<X> brought(const Array<X>& array) {
    std::vector<X> values(array.size());
    Device::download(array.data(), values.data(), values.size() * sizeof(X));
    return values;
}

sigjmp_buf before_fault;
/// Whether the work touches memory that it has no access to.
template <class Work>
bool faults(Work&& work) {
    struct sigaction ours = {}, theirs = {};
    ours.sa_handler = [](int) { siglongjmp(before_fault, 1); };
    sigaction(SIGSEGV, &ours, &theirs);
    const bool faulted = sigsetjmp(before_fault, 1) != 0;
    if (!faulted) work();
    sigaction(SIGSEGV, &theirs, nullptr);
    return faulted;
}
/// Looks at it, whatever an optimiser thinks.
double look(const void* address) { return *static_cast<const volatile double*>(address); }

/// Every thread does `work(block, t)`, and shares `values` values.
template <class Work>
struct Does {
    Work work;
    std::size_t values = 0;
    template <class Block>
    void operator()(Block& block) const {
        double* const shared = block.template shared<double>(0, values);
        block.each([&](int t) { work(block, t, shared); });
    }
};
template <class Work>
void launch(const Work& work, std::size_t values = 0, int blocks = 1, int threads = 4) {
    Device::launch(Does<Work>{work, values}, {blocks, threads, values * sizeof(double)});
}

/// Each block leaves its number times `turn`, and the last of `counted` adds up.
struct AddsUp {
    Address<double> parts, sum;
    Address<std::uint32_t> arrived, raised;
    std::uint32_t turn;
    int counted;
    template <class Block>
    void operator()(Block& block) const {
        block.each([&](int) { block.at(parts + block.index()) = static_cast<double>(turn) * block.index(); });
        if (!block.last_of(arrived, counted)) return;
        block.each([&](int) {
            double all = 0;
            for (int k = 0; k < block.blocks(); ++k) all += block.at(parts + k);
            block.tell(sum, all);
        });
        block.raise(raised, turn);
    }
};

TEST(Emulator, KernelsReachTheirMemory) {
    const std::vector<double> given{1, 2, 3, 4, 5, 6, 7, 8};
    const Array<double> from(given), to(given.size());
    launch(
        [p = from.data(), q = to.data()](auto& block, int t, double*) {
            block.at(q + 4 * block.index() + t) = 2 * block.at(p + 4 * block.index() + t);
        },
        0, 2);
    EXPECT_EQ(brought(to), (std::vector<double>{2, 4, 6, 8, 10, 12, 14, 16}));
}

TEST(Emulator, FreshMemoryIsNotANumber) {
    for (const double value : brought(Array<double>(5))) EXPECT_TRUE(std::isnan(value));
}

TEST(Emulator, PairsTravelThroughSharedMemory) {
    const std::vector<double> given{1, 2, 3, 4, 5, 6, 7, 8};
    const Array<double> from(given), to(given.size());
    launch(
        [p = from.data(), q = to.data()](auto& block, int t, double* shared) {
            block.copy_pair(shared + 2 * t, p + 2 * t);
            block.end_copies();
            block.template wait_copies<0>();
            block.store_pair(q + 2 * t, shared + 2 * t);
        },
        8);
    EXPECT_EQ(brought(to), given);
}

TEST(Emulator, CatchesAHostThatLooksAtADevice) {
    const Array<double> v(std::vector<double>{1, 2});
    Device::wait();
    EXPECT_TRUE(faults([&] { look(v.data()); }));
    const double here = 1;
    EXPECT_FALSE(faults([&] { look(&here); }));
}

TEST(Emulator, CatchesAKernelThatFollowsAHostAddress) {
    std::vector<double> here(4, 1.0);
    launch([p = reinterpret_cast<Address<double>>(here.data())](auto& block, int t, double*) { block.at(p + t) = 1; });
    EXPECT_THROW(Device::wait(), std::logic_error);
}

TEST(Emulator, CatchesAnAddressThatIsFollowedWithoutTheBlock) {
    const Array<double> v(std::vector<double>{1, 2, 3, 4});
    launch([p = v.data()](auto&, int t, double*) { look(p + t); });
    EXPECT_TRUE(faults([] { Device::wait(); }));
}

TEST(Emulator, CatchesWhatIsOutOfBounds) {
    const Array<double> v(std::vector<double>(64));
    for (const std::ptrdiff_t off : {-1, 64}) {
        launch([p = v.data() + off](auto& block, int t, double*) {
            if (t == 0) block.at(p) = 1;
        });
        EXPECT_THROW(Device::wait(), std::logic_error) << off;
    }
    launch([](auto& block, int, double*) { block.template shared<double>(8, 4); }, 4);
    EXPECT_THROW(Device::wait(), std::logic_error);
}

TEST(Emulator, CatchesMemoryThatWasGivenBack) {
    Address<double> gone = nullptr;
    {
        const Array<double> v(std::vector<double>(512));
        gone = v.data();
    }
    launch([gone](auto& block, int, double*) { block.at(gone) = 1; });
    EXPECT_THROW(Device::wait(), std::logic_error);
}

TEST(Emulator, CatchesCopiesThatNobodyWaitsFor) {
    const Array<double> from(std::vector<double>(8, 1.0)), to(8);
    launch([p = from.data()](auto& block, int t, double* shared) { block.copy_pair(shared + 2 * t, p + 2 * t); }, 8);
    EXPECT_THROW(Device::wait(), std::logic_error);
    // One that is waited for too late is not there yet.
    launch(
        [p = from.data(), q = to.data()](auto& block, int t, double* shared) {
            block.copy_pair(shared + 2 * t, p + 2 * t);
            block.store_pair(q + 2 * t, shared + 2 * t);
            block.end_copies();
            block.template wait_copies<0>();
        },
        8);
    for (const double value : brought(to)) EXPECT_TRUE(std::isnan(value));
}

TEST(Emulator, CatchesPairsThatBeginAtAnOddPlace) {
    const Array<double> from(std::vector<double>(8, 1.0));
    launch([p = from.data()](auto& block, int, double* shared) { block.copy_pair(shared, p + 1); }, 8);
    EXPECT_THROW(Device::wait(), std::logic_error);
}

TEST(Emulator, CatchesTooMuchSharedMemory) {
    EXPECT_THROW(launch([](auto&, int, double*) {}, Device::most_shared / sizeof(double) + 1), std::logic_error);
}

TEST(Emulator, CatchesSharedMemoryThatNobodyWrote) {
    const Array<double> to(4);
    launch([q = to.data()](auto& block, int t, double* shared) { block.at(q + t) = shared[t]; }, 4);
    for (const double value : brought(to)) EXPECT_TRUE(std::isnan(value));
}

TEST(Emulator, CatchesAMissingBarrier) {
    const Array<double> to(64);
    launch(
        [q = to.data()](auto& block, int t, double* shared) {
            shared[t] = t;
            const int other = (t + 1) % block.threads();
            block.at(q + 4 * block.index() + t) = shared[other];  // of a thread that may not have come so far
        },
        4, 16);
    EXPECT_TRUE(std::ranges::any_of(brought(to), [](double value) { return std::isnan(value); }));
}

TEST(Emulator, BringsCopiesBesideKernelsWhenTheirEventIsWaitedForAndNotBefore) {
    const Array<double> v(std::vector<double>{1, 2, 3, 4});
    const Pinned landing(4);
    Device::Event there;
    Device::bring(v.data(), landing.data(), 4 * sizeof(double), there);
    Device::wait();
    for (const double value : landing.values()) EXPECT_TRUE(std::isnan(value));
    there.wait();
    EXPECT_TRUE(std::ranges::equal(landing.values(), std::vector<double>{1, 2, 3, 4}));
}

TEST(Emulator, CatchesAKernelThatWritesWhatIsStillToBeBrought) {
    const Array<double> v(std::vector<double>{1, 2, 3, 4});
    const Pinned landing(4);
    Device::Event there;
    Device::bring(v.data(), landing.data(), 4 * sizeof(double), there);
    launch([p = v.data()](auto& block, int t, double*) { block.at(p + t) = -1; });
    there.wait();
    EXPECT_TRUE(std::ranges::equal(landing.values(), std::vector<double>(4, -1.0)));
}

TEST(Emulator, CatchesAHostThatWritesWhatIsStillToBeSent) {
    const Array<double> v(4);
    const Pinned leaving(4);
    std::ranges::fill(leaving.values(), 1.0);
    Device::send(v.data(), leaving.data(), 4 * sizeof(double));
    std::ranges::fill(leaving.values(), 2.0);
    EXPECT_EQ(brought(v), std::vector<double>(4, 2.0));
}

TEST(Emulator, CatchesCopiesBesideKernelsOfMemoryThatIsNotPinned) {
    const Array<double> v(std::vector<double>{1, 2, 3, 4});
    std::vector<double> here(4);
    Device::Event there;
    EXPECT_THROW(Device::bring(v.data(), here.data(), 4 * sizeof(double), there), std::logic_error);
    EXPECT_THROW(Device::send(v.data(), here.data(), 4 * sizeof(double)), std::logic_error);
    const Pinned landing(4);
    EXPECT_THROW(Device::bring(v.data(), landing.data() + 1, 4 * sizeof(double), there), std::logic_error);
}

TEST(Emulator, TheLastBlockTellsTheHost) {
    const Array<double> parts(6);
    const Array<std::uint32_t> arrived(std::vector<std::uint32_t>{0});
    const Pinned sum(1);
    const PinnedArray<std::uint32_t, Device> raised(1);
    *raised.data() = 0;
    for (const std::uint32_t turn : {1U, 2U}) {
        Device::launch(
            AddsUp{parts.data(), Device::seen(sum.data()), arrived.data(), Device::seen(raised.data()), turn, 6},
            {6, 1});
        EXPECT_EQ(*raised.data(), turn - 1);  // nothing runs before it is waited for
        Device::wait_for(*raised.data(), turn);
        EXPECT_EQ(*sum.data(), 15.0 * turn);
    }
    // Seven are counted on where six come: nobody raises the number that is waited for.
    Device::launch(AddsUp{parts.data(), Device::seen(sum.data()), arrived.data(), Device::seen(raised.data()), 3, 7},
                   {6, 1});
    EXPECT_THROW(Device::wait_for(*raised.data(), 3), std::logic_error);
}

/// Numbers 10 t + k of each thread, of which lanes that are equal modulo `low` share the sums.
template <int count>
struct SharesSums {
    struct Sums {
        double of[count];
    };
    int low;
    Address<double> to;
    template <class Block>
    void operator()(Block& block) const {
        typename Block::template PerThread<Sums> kept(block);
        block.each([&](int t) {
            for (int k = 0; k < count; ++k) kept[t].of[k] = 10 * t + k;
        });
        block.share_sums(kept, [&](int t) { return low > 0 ? low : t % 2 + 1; });
        block.each([&](int t) {
            for (int k = 0; k < count; ++k) block.at(to + count * t + k) = kept[t].of[k];
        });
    }
};

TEST(Emulator, LanesShareSums) {
    // Lane k · low + i adds what lanes i, i + low, … have, of the numbers from k · n · low / 32 on.
    const auto sum = [](int low, int i, int number) {
        double all = 0;
        for (int lane = i; lane < 32; lane += low) all += 10 * lane + number;
        return all;
    };
    const Array<double> to(std::size_t{32} * 8);
    for (const int low : {1, 2, 4, 8, 16}) {
        Device::launch(SharesSums<8>{low, to.data()}, {1, 32});
        const auto found = brought(to);
        for (int i = 0; i < 32 * 8; ++i) {
            const int lane = i / 8, k = i % 8;
            const double value = found[static_cast<std::size_t>(i)];
            if (k < std::max(1, 8 * low / 32))
                EXPECT_EQ(value, sum(low, lane % low, lane / low * 8 * low / 32 + k)) << low << ", lane " << lane;
            else
                EXPECT_TRUE(std::isnan(value));  // another lane's
        }
    }
    Device::launch(SharesSums<1>{2, to.data()}, {1, 32});
    EXPECT_EQ(brought(to)[3], sum(2, 1, 0));
    Device::launch(SharesSums<1>{2, to.data()}, {1, 48});
    EXPECT_THROW(Device::wait(), std::logic_error);  // half a warp
    Device::launch(SharesSums<1>{0, to.data()}, {1, 32});
    EXPECT_THROW(Device::wait(), std::logic_error);  // its lanes do not agree
}

enum class Mistake { none, not_zero, not_ended, a_lane_less, other_operands };
/// s(i, n) = Σ a(i, k) b(k, n) and the same of c, twice, by a warp.
struct Multiplies {
    Mistake mistake;
    Address<double> to;
    static double a(int i, int k) { return i + 10 * k; }
    static double b(int k, int n) { return 1 + k * n; }
    static double c(int i, int k) { return i * k - 3; }
    template <class Block>
    struct Sums {
        typename Block::Product of[2];
    };
    template <class Block>
    void operator()(Block& block) const {
        typename Block::template PerThread<Sums<Block>> kept(block);
        if (mistake != Mistake::not_zero) block.each([&](int t) { kept[t] = {}; });
        block.each_apart([&](int t) {
            const int i = t % 32 / 4, k = t % 4;
            const double wrong = mistake == Mistake::other_operands ? i : 0;
            for (int twice = 0; twice < 2; ++twice)
                if (mistake != Mistake::a_lane_less || twice == 0 || t != 5)
                    block.add_products(kept[t].of, a(i, k), c(i, k),
                                       block.operand([&](int n) { return b(k, n) + wrong; }));
        });
        if (mistake != Mistake::not_ended) block.end_products(kept);
        block.each([&](int t) {
            for (int s = 0; s < 2; ++s)
                for (int e = 0; e < 2; ++e) block.at(to + (4 * t + 2 * s + e)) = kept[t].of[s].of[e];
        });
    }
};

TEST(Emulator, WarpsMultiplySmallMatrices) {
    const Array<double> to(std::size_t{64} * 4);
    const auto found = [&](Mistake mistake) {
        Device::launch(Multiplies{mistake, to.data()}, {1, 64});
        return brought(to);
    };
    const auto right = found(Mistake::none);
    for (int t = 0; t < 64; ++t)
        for (int e = 0; e < 2; ++e) {
            const int i = t % 32 / 4, n = t % 4 * 2 + e;
            double first = 0, second = 0;
            for (int k = 0; k < 4; ++k) {
                first += 2 * Multiplies::a(i, k) * Multiplies::b(k, n);
                second += 2 * Multiplies::c(i, k) * Multiplies::b(k, n);
            }
            EXPECT_EQ(right[static_cast<std::size_t>(4 * t + e)], first) << t;
            EXPECT_EQ(right[static_cast<std::size_t>(4 * t + 2 + e)], second) << t;
        }
    for (const Mistake mistake : {Mistake::not_zero, Mistake::not_ended})
        for (const double value : found(mistake)) EXPECT_TRUE(std::isnan(value));
    for (const Mistake mistake : {Mistake::a_lane_less, Mistake::other_operands}) {
        Device::launch(Multiplies{mistake, to.data()}, {1, 64});
        EXPECT_THROW(Device::wait(), std::logic_error);
    }
    Device::launch(Multiplies{Mistake::none, to.data()}, {1, 48});
    EXPECT_THROW(Device::wait(), std::logic_error);  // half a warp
}

/// Writes shared memory in one of five passes, of which the second and the third end without a barrier.
struct WritesInPass {
    int pass;
    template <class Block>
    void operator()(Block& block) const {
        double* const shared = block.template shared<double>(0, 4);
        const auto work = [&](int k) {
            return [=, this](int t) {
                if (k == pass) shared[t] = 1;
            };
        };
        block.each(work(0));
        block.each_apart(work(1));
        block.each_apart(work(2));
        block.each(work(3));
        block.each(work(4));
    }
};

TEST(Emulator, CatchesSharedMemoryThatIsWrittenBesideABarrierThatIsMissing) {
    for (int pass = 0; pass < 5; ++pass) {
        Device::launch(WritesInPass{pass}, {1, 4, 4 * sizeof(double)});
        if (pass == 0 || pass == 4)
            EXPECT_NO_THROW(Device::wait());
        else
            EXPECT_THROW(Device::wait(), std::logic_error) << pass;
    }
}

TEST(Emulator, TellsWhatRanWhen) {
    const Array<double> v(std::vector<double>{1, 2, 3, 4});
    const Pinned landing(4);
    Device::wait();
    Device::record(true);
    Device::Event there;
    launch([p = v.data()](auto& block, int t, double*) { block.at(p + t) = 1; });
    Device::bring(v.data(), landing.data(), 4 * sizeof(double), there);
    there.wait();
    const auto spans = Device::recorded();
    Device::record(false);
    ASSERT_EQ(spans.size(), 2U);
    EXPECT_FALSE(spans[0].copy);
    EXPECT_EQ(spans[1].name, "to the host");
    EXPECT_TRUE(spans[1].copy && spans[0].end <= spans[1].begin);
}

TEST(Emulator, RunsBlocksInAnyOrder) {
    std::vector<int> order;
    launch(
        [&order](auto& block, int t, double*) {
            if (t == 0) order.push_back(block.index());
        },
        0, 16);
    EXPECT_TRUE(order.empty());  // nothing runs before it is waited for
    Device::wait();
    EXPECT_FALSE(std::ranges::is_sorted(order));
    std::ranges::sort(order);
    std::vector<int> all(16);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
}

TEST(Emulator, ManyArraysComeAndGo) {
    for (int round = 0; round < 3; ++round) {
        std::vector<Array<double>> arrays;
        for (std::size_t k = 0; k < 40; ++k)
            arrays.emplace_back(std::vector<double>(1 + 7 * k, static_cast<double>(k)));
        for (std::size_t k = 1; k < 40; k += 2) arrays[k] = Array<double>(std::vector<double>(3, -1.0));
        for (std::size_t k = 0; k < 40; ++k)
            for (const double value : brought(arrays[k])) EXPECT_EQ(value, k % 2 == 1 ? -1.0 : static_cast<double>(k));
    }
}

}  // namespace
