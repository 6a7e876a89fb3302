// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <exception>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/execute/exact_sum.hpp"
#include "stretto/measure/ledger.hpp"
#include "stretto/statements/panel_statements.hpp"
#include "stretto/statements/scalars.hpp"

namespace stretto {

/// What the sums of one space share: buffers that stay where they are until a sum is read and are then used
/// again, the account they are booked in, the columns that are frozen, and whether any rank was asked to stop, asks for
/// a snapshot or refuses what it was given (every sum carries that in one number, so that all ranks learn of it at the
/// same wait).
struct SumState final : LateSums {
    struct Slot {
        std::vector<double> mine{}, total{};
        bool busy = false;
        int number = 0;
        Pending pending{};
        Clock::time_point begin{}, posted{};  // before and after the communicator got it
    };

    /// `of_each`: the real numbers that a dot product is made of.
    SumState(Comm& on, int width, int of_each)
        : comm(on),
          columns(width),
          reals(of_each),
          numbers(on.reproducible() ? ExactSum::digits : 1),
          slots(slots_at_first) {
        frozen.reserve(static_cast<std::size_t>(width));
        late.reserve(slots_at_first);
        for (int number = 0; auto& slot : slots) {
            slot.number = number++;
            slot.mine.reserve(size_of(dots_at_first) + 1);
            slot.total.reserve(size_of(dots_at_first) + 1);
        }
    }

    Slot& take(std::size_t size) {
        auto free = std::ranges::find_if(slots, [](const Slot& slot) { return !slot.busy; });
        Slot& slot = free == slots.end() ? slots.emplace_back(Slot{.number = static_cast<int>(slots.size())}) : *free;
        slot.busy = true;
        slot.mine.resize(size);
        slot.total.resize(size);
        return slot;
    }

    /// Starts the sum of what a slot holds; later, where it is not there yet.
    void sum(Slot& slot) {
        if (!arrive) return post(slot);
        late.push_back(&slot);
        comm.start_later(*this);
    }
    void start() override {
        while (!late.empty()) {
            Slot& slot = *late.front();
            late.erase(late.begin());
            {
                const auto watch = ledger.time(Kernel::vectors);
                arrive(slot.mine.data());
            }
            post(slot);
        }
    }
    void post(Slot& slot) {
        const auto watch = ledger.time(Kernel::reductions);
        slot.begin = Clock::now();
        slot.pending = comm.start_sum(slot.mine, slot.total);
        slot.posted = Clock::now();
    }

    // What a rank adds to the number: more than all ranks' interrupts together is rank 0's wish for a snapshot, and
    // more than that a refusal.
    static constexpr double interrupt = 1, snapshot = 0x1p30, refusal = 0x1p40;
    void take_signals(double sum) {
        interrupted = interrupted || std::fmod(sum, snapshot) > 0;
        asked = asked || std::fmod(sum, refusal) >= snapshot;
        refused = refused || sum >= refusal;
    }

    /// The numbers of so many products.
    std::size_t size_of(std::size_t products) const {
        return products * static_cast<std::size_t>(columns) * static_cast<std::size_t>(reals) * numbers;
    }
    /// The next sum of those that have come.
    double read(const double*& value) const {
        const double* const at = std::exchange(value, value + numbers);
        return numbers == 1 ? *at : ExactSum::value(at);
    }
    /// Makes room for sums of this many products.
    void reserve(std::size_t products) {
        const std::size_t size = size_of(products) + 1;
        for (auto& slot : slots) {
            slot.mine.reserve(size);
            slot.total.reserve(size);
        }
    }

    // What is there from the start, so that it is not allocated in some iteration: more than any method uses so far.
    static constexpr std::size_t slots_at_first = 12, dots_at_first = 16;

    Comm& comm;
    int columns, reals;
    std::size_t numbers;  // that ranks add up for each sum of real numbers
    Ledger ledger;
    /// Returns when the dot products that were asked for there have come; empty: they are there.
    std::function<void(const double*)> arrive;
    std::vector<Slot*> late;  // not posted yet, oldest first
    std::vector<int> frozen;
    bool interrupted = false, asked = false, refused = false;
    std::deque<Slot> slots;  // a deque never moves its elements
};

/// When a sum of vectors of T was in flight: as the text saw it, where nobody else starts it.
template <class T>
struct FlightOf {
    static const Flight& seen(const Comm&, const Flight& said) { return said; }
};

/// K dot products of m columns, being summed over the ranks. The numbers cannot be reached before `wait()`, which
/// returns them for a structured binding: auto [gamma, delta] = dots.wait(); Where a list says how many they are
/// (`each`), K is the most there can be, and what was not asked for reads zero. Those of panels are
/// counted_when_running, and wait(matrix, …) puts them into a SmallMatrix. Move-only; dropping it waits, because MPI
/// forbids leaving a running collective behind.
template <class T, int K>
class [[nodiscard]] InFlight {
public:
    /// Starts the sum of what the slot holds.
    InFlight(SumState& state, SumState::Slot& slot, int count)
        : state_(&state),
          slot_(&slot),
          count_(count),
          phase_(state.ledger.phase()),
          work_at_start_(state.ledger.work()) {
        state.sum(slot);
    }
    InFlight(InFlight&& other) noexcept
        : state_(other.state_),
          slot_(std::exchange(other.slot_, nullptr)),
          count_(other.count_),
          phase_(other.phase_),
          work_at_start_(other.work_at_start_) {}
    InFlight& operator=(InFlight&& other) noexcept {
        drop();
        slot_ = std::exchange(other.slot_, nullptr);
        count_ = other.count_;
        phase_ = other.phase_;
        work_at_start_ = other.work_at_start_;
        return *this;
    }
    ~InFlight() { drop(); }

    /// The sums, in the order they were asked for. Frozen columns read zero. Once: throws std::logic_error after that.
    [[nodiscard]] std::array<Scalars<T>, K> wait()
        requires(K != counted_when_running)
    {
        const double* value = arrived();
        auto sums = [&]<std::size_t... k>(std::index_sequence<k...>) {
            return std::array<Scalars<T>, K>{((void)k, Scalars<T>(state_->columns))...};
        }(std::make_index_sequence<K>{});
        for (auto& sum : std::span(sums).first(static_cast<std::size_t>(count_))) {
            for (int j = 0; j < state_->columns; ++j) sum[j] = take(value);
            for (const int j : state_->frozen) sum[j] = 0;
        }
        state_->take_signals(*value);
        return sums;
    }

    /// The same into the entries from (row, col) on, `cols` in a row: of panels, those of one vector on the left.
    void wait(SmallMatrix<T>& to, int row, int col, int cols) {
        const double* value = arrived();
        for (int k = 0; k < count_; ++k) {
            Number<T>* const entry = to.entry(row + k / cols, col + k % cols);
            for (int j = 0; j < state_->columns; ++j) entry[j] = take(value);
            for (const int j : state_->frozen) entry[j] = 0;
        }
        state_->take_signals(*value);
    }

private:
    Number<T> take(const double*& value) const {
        const double real = state_->read(value);
        if constexpr (is_complex<T>)
            return {real, state_->read(value)};
        else
            return static_cast<Number<T>>(real);
    }
    /// The numbers; the slot they are in is not used again before the next sum is started.
    const double* arrived() {
        if (!slot_) throw std::logic_error("a sum in flight is waited for once");
        const double* const value = slot_->total.data();
        finish();
        return value;
    }
    void drop() noexcept {
        try {
            finish();
        } catch (const std::exception&) {
            slot_ = nullptr;  // the device has failed: whoever waits for it next says so
        }
    }
    void finish() {
        if (!slot_) return;
        state_->comm.start_late_sums();
        auto& ledger = state_->ledger;
        const auto watch = ledger.time(Kernel::reductions);
        const auto wait = Clock::now();
        const auto ready = slot_->pending.wait();
        ledger.step(Step::wait, 1, slot_->number);
        // Read or dropped, it is booked where it was started.
        if (ledger.work() > work_at_start_) ++ledger.at(phase_).hidden_reductions;
        const Flight said{slot_->begin, slot_->posted, wait, Clock::now(), ready, state_->comm.progresses()};
        ledger.record(phase_, FlightOf<T>::seen(state_->comm, said), slot_->number);
        std::exchange(slot_, nullptr)->busy = false;
    }

    SumState* state_;
    SumState::Slot* slot_;
    int count_;
    Phase phase_;  // at the start
    std::int64_t work_at_start_;
};

}  // namespace stretto
