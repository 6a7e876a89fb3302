// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/execute/device/on_device.hpp"

namespace stretto {

class EmulatedBlock;

/// A device that is none: kernels run on this processor, one thread of a block after the other, and what would go wrong
/// on a device goes wrong here, loudly. Its addresses are mapped without access, so the host faults where it follows
/// one; kernels reach memory through EmulatedBlock, which knows what is allocated. Fresh memory is NaN. Kernels run
/// when they are waited for and not before, their blocks in any order, their threads forwards or backwards. There are
/// as many as anybody uses, each with a memory of its own. It cannot show races between blocks, or what registers,
/// fences and speed are about.
class EmulatedDevice {
public:
    using Block = EmulatedBlock;
    static constexpr std::string_view name = "emulated";
    static constexpr Index loops_up_to = 0;  // rows of loops that are one kernel
    static std::string title() { return "no GPU, but a processor that plays one"; }
    static constexpr int most_blocks = 3;  // so that blocks have rows far apart
    static constexpr int many_blocks = 5;
    static constexpr std::size_t most_shared = std::size_t{226} << 10;  // of a block, on sm_90, less what blocks need
    static constexpr std::size_t most_parameters = 32764;               // bytes of a kernel
    static constexpr int most_streams = 4;

    static void take() {}  // there always is one
    static DevicePlace place();
    static void use(DevicePlace place);
    static void* allocate(std::size_t bytes);
    static void release(void* data) noexcept;
    /// In the order of what is launched. `from` may be used again when it returns.
    static void upload(void* to, const void* from, std::size_t bytes);
    /// After all that was launched.
    static void download(const void* from, void* to, std::size_t bytes);
    template <class Kernel>
    static void launch(const Kernel& kernel, const Launch& how) {
        static_assert(sizeof(Kernel) <= most_parameters);
        enqueue(how, kernel_name<Kernel>(), [kernel](EmulatedBlock& block) { kernel(block); });
    }
    /// A grid of one thread, which never waits for another.
    template <class Kernel>
    static int most_together() {
        return 1;
    }
    template <class Kernel>
    static void launch_together(const Kernel& kernel, int blocks) {
        launch(kernel, {blocks, 1});
    }
    /// What is said from now on, until join(), is in order only with what has the same k.
    static void on_stream(int k);
    /// What follows comes after all before, whatever their streams; stream 0 again.
    static void join();
    /// Returns when all that was launched has run. Throws std::logic_error where a kernel did what it must not.
    static void wait();

    /// Plain memory, which copies that go beside kernels know.
    static void* allocate_pinned(std::size_t bytes);
    static void release_pinned(void* data) noexcept;
    template <class X>
    static OnDevice<X, EmulatedDevice>* seen(X* pinned) {
        return reinterpret_cast<OnDevice<X, EmulatedDevice>*>(pinned);
    }
    /// Throws std::logic_error where no kernel raises it so far.
    static void wait_for(const std::uint32_t& raised, std::uint32_t turn);
    class Event {
    public:
        void wait() const;

    private:
        friend EmulatedDevice;
        long ticket_ = 0;
        int device_ = 0;
    };
    static void mark(Event& event);
    /// As late as it may: nothing is there of another device unless it was waited for.
    static void after(const Event& event);
    static void fetch(void* to, const void* from, std::size_t bytes);
    /// As late as it may: what is launched before the event is waited for runs first. `to` is not a number until then.
    /// Throws std::logic_error where it is not pinned.
    static void bring(const void* from, void* to, std::size_t bytes, Event& there);
    static void send(void* to, const void* from, std::size_t bytes);

    /// Only where the environment says so, as MPI has no part in it (gpu_aware.hpp).
    static bool mpi_takes_addresses();
    template <class X>
    static X* for_mpi(OnDevice<X, EmulatedDevice>* address) {
        return address ? reinterpret_cast<X*>(find(address, sizeof(X))) : nullptr;
    }

    static void record(bool on);
    static std::vector<DeviceSpan> recorded();

    /// Where a kernel finds what it calls `address`. Throws std::logic_error where that many bytes are neither
    /// allocated nor pinned.
    static std::byte* find(const void* address, std::size_t bytes);

private:
    static void enqueue(const Launch& how, std::string_view name, std::function<void(EmulatedBlock&)> kernel);
};

/// A block of threads of the emulated device (on_device.hpp).
class EmulatedBlock {
public:
    EmulatedBlock(const Launch& how, int index, bool backwards)
        : how_(how), index_(index), backwards_(backwards), shared_(how.shared, unwritten) {}

    int index() const { return index_; }
    int blocks() const { return how_.blocks; }
    int threads() const { return how_.threads; }

    template <class Work>
    void each(Work&& work) {
        const std::vector<std::byte> before = apart_ ? shared_ : std::vector<std::byte>();
        for (int k = 0; k < how_.threads; ++k) {
            work(backwards_ ? how_.threads - 1 - k : k);
            for (const auto& together : copies_)
                if (!together.empty()) throw std::logic_error("a thread ends without waiting for its copies");
            copies_.assign(1, {});
        }
        if (apart_ && shared_ != before)
            throw std::logic_error("shared memory is written with no barrier before or behind it");
        apart_ = false;
        backwards_ = !backwards_;
    }
    template <class Work>
    void each_apart(Work&& work) {
        apart_ = true;
        each(work);
        apart_ = true;
    }
    template <class X>
    X* shared(std::size_t byte, std::size_t count) {
        if (byte + count * sizeof(X) > shared_.size())
            throw std::logic_error("a block uses more shared memory than it was launched with");
        return reinterpret_cast<X*>(shared_.data() + byte);
    }
    template <class X, class D>
    X& at(OnDevice<X, D>* p) const {
        return *reinterpret_cast<X*>(D::find(p, sizeof(X)));
    }
    template <class X, class D>
    const X& at(const OnDevice<X, D>* p) const {
        return *reinterpret_cast<const X*>(D::find(p, sizeof(X)));
    }
    template <class X, class D>
    void copy_pair(X* to, const OnDevice<X, D>* p) {
        copies_.back().push_back({to, pair(p), 2 * sizeof(X)});
    }
    void end_copies() { copies_.emplace_back(); }
    /// Those that were not ended travel on.
    template <int ahead>
    void wait_copies() {
        for (; copies_.size() > ahead + 1; copies_.pop_front())
            for (const auto& [to, from, bytes] : copies_.front()) std::memcpy(to, from, bytes);
    }
    template <class D>
    bool last_of(OnDevice<std::uint32_t, D>* counter, int blocks) {
        std::uint32_t& count = at(counter);
        if (++count > static_cast<std::uint32_t>(blocks)) throw std::logic_error("more blocks than were counted on");
        const bool last = count == static_cast<std::uint32_t>(blocks);
        if (last) count = 0;
        return last;
    }
    template <class X, class D>
    void tell(OnDevice<X, D>* p, X value) {
        at(p) = value;
    }
    template <class D>
    void raise(OnDevice<std::uint32_t, D>* p, std::uint32_t turn) {
        at(p) = turn;
    }
    Index first() const { return 0; }
    Index apart() const { return 1; }
    bool speaks() const { return true; }
    template <int K, class D>
    void add_up(const double (&sums)[K], OnDevice<double, D>* parts) {
        for (int k = 0; k < K; ++k) at(parts + k) = sums[k];
    }
    template <class D>
    double total(const OnDevice<double, D>* parts) const {
        return at(parts);
    }
    template <class D>
    void meet(OnDevice<std::uint32_t, D>* arrivals, std::uint32_t turn) {
        if (how_.blocks * how_.threads != 1) throw std::logic_error("a grid of several threads meets");
        if (++at(arrivals) != turn) throw std::logic_error("the counter of a grid that meets was not zero");
    }

    template <class X, class D>
    void load_pair(const OnDevice<X, D>* p, X* to) const {
        std::copy_n(pair(p), 2, to);
    }
    template <class X, class D>
    void store_pair(OnDevice<X, D>* p, const X* from) {
        std::copy_n(from, 2, const_cast<X*>(pair(p)));
    }

    template <class S>
    class PerThread {
    public:
        explicit PerThread(const EmulatedBlock& block) : values_(static_cast<std::size_t>(block.threads())) {
            std::memset(static_cast<void*>(values_.data()), 0xff, values_.size() * sizeof(S));
        }
        S& operator[](int t) { return values_[static_cast<std::size_t>(t)]; }

    private:
        std::vector<S> values_;
    };
    template <class S, class Low>
    void share_sums(PerThread<S>& kept, Low&& low) {
        constexpr int lanes = 32, count = static_cast<int>(std::size(S{}.of));
        if (how_.threads % lanes != 0) throw std::logic_error("a warp without all of its lanes adds them up");
        PerThread<S> before = kept;
        std::memset(static_cast<void*>(&kept[0]), 0xff, static_cast<std::size_t>(how_.threads) * sizeof(S));
        for (int t = 0; t < how_.threads; ++t) {
            const int apart = low(t), sharing = lanes / apart, first = t % lanes / apart * count / sharing;
            if (apart != low(t / lanes * lanes)) throw std::logic_error("lanes of a warp add up other lanes");
            for (int k = 0; k < std::max(1, count / sharing); ++k) {
                kept[t].of[k] = 0;
                for (int lane = t % apart; lane < lanes; lane += apart)
                    kept[t].of[k] += before[t / lanes * lanes + lane].of[first + k];
            }
        }
    }

    static constexpr int tile = 8, lanes_of_row = 4;  // of products of small matrices
    struct Operand {
        double of[tile];
    };
    struct Product {
        double of[2] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};

    private:
        friend EmulatedBlock;
        void add(double a, const Operand& b) {
            for (int n = 0; n < tile; ++n) {
                products_[n] += a * b.of[n];
                operands_[n] += b.of[n];
            }
            ++times_;
        }
        double products_[tile] = {};  // of this lane's column of the first factor
        double operands_[tile] = {};
        std::int64_t times_ = 0;
    };
    template <class Value>
    static Operand operand(Value&& value) {
        Operand all;
        for (int n = 0; n < tile; ++n) all.of[n] = value(n);
        return all;
    }
    static void add_products(Product (&sums)[2], double first, double second, const Operand& b) {
        sums[0].add(first, b);
        sums[1].add(second, b);
    }
    template <class S>
    void end_products(PerThread<S>& kept) const {
        static_assert(sizeof(S) % sizeof(Product) == 0);
        constexpr int lanes = 32;
        if (how_.threads % lanes != 0) throw std::logic_error("a warp without all of its lanes multiplies");
        const auto product = [&](int t, std::size_t s) -> Product& { return reinterpret_cast<Product*>(&kept[t])[s]; };
        for (std::size_t s = 0; s < sizeof(S) / sizeof(Product); ++s)
            for (int t = 0; t < how_.threads; ++t) {
                const Product& own = product(t, s);
                const Product& first = product(t / lanes * lanes + t % lanes_of_row, s);
                if (own.times_ != product(t / lanes * lanes, s).times_)
                    throw std::logic_error("a warp multiplies without all of its lanes");
                if (std::memcmp(own.operands_, first.operands_, sizeof(own.operands_)) != 0)
                    throw std::logic_error("lanes of a warp disagree about what they multiply by");
                for (int e = 0; e < 2; ++e) {
                    double sum = 0;
                    for (int k = 0; k < lanes_of_row; ++k)
                        sum += product(t / lanes_of_row * lanes_of_row + k, s).products_[t % lanes_of_row * 2 + e];
                    product(t, s).of[e] = sum;
                }
            }
    }

private:
    static constexpr std::byte unwritten{0xff};  // all of them: not a number
    struct Copy {
        void* to;
        const void* from;
        std::size_t bytes;
    };

    template <class X, class D>
    static const X* pair(const OnDevice<X, D>* p) {
        if (reinterpret_cast<std::size_t>(p) % (2 * sizeof(X)) != 0)
            throw std::logic_error("two values that travel together begin at an odd place");
        return reinterpret_cast<const X*>(D::find(p, 2 * sizeof(X)));
    }

    Launch how_;
    int index_;
    bool backwards_;
    bool apart_ = false;  // no barrier since the last each_apart
    std::vector<std::byte> shared_;
    std::deque<std::vector<Copy>> copies_{1};  // those that travel together
};

using on_emulated = OnDevice<double, EmulatedDevice>;

}  // namespace stretto
