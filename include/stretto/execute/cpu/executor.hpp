// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How statements become loops on a CPU.
//
// A block is as many rows as make about 64 elements, fewer in large groups; its elements are its lanes. Inside a block
// each statement is a loop of its own over the lanes, so every loop vectorises, and because the block stays in the
// first-level cache, memory is passed over once for the whole group. Coefficients are spread over the lanes
// beforehand (lane i belongs to column i mod m), which makes one flat loop right for every number of columns;
// dot products add up in registers along a block, then lane by lane, and are folded into columns at the end, in a fixed
// order; or exactly, in any order (exact_sum.hpp).
//
// A group with panels in it (panel_kernels.hpp) has longer blocks: what matters there is that a stretch of all vectors
// of a panel stays in the second-level cache.

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/random.hpp"
#include "stretto/execute/cpu/assign.hpp"
#include "stretto/execute/cpu/control.hpp"
#include "stretto/execute/cpu/dot.hpp"
#include "stretto/execute/cpu/panel.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/statements/traffic.hpp"

namespace stretto {

/// The executor (executor.hpp) of vectors in this process's memory, on its threads.
template <class T>
class CpuExecutor {
public:
    /// For vectors of `columns` columns, on `threads` threads. Lets the communication of `comm` advance. Tells the
    /// ledger which of the basic calls are dot products.
    CpuExecutor(int columns, int threads, Formulation formulation, Comm* comm = nullptr, Ledger* ledger = nullptr)
        : columns_(static_cast<std::size_t>(columns)),
          threads_(threads),
          formulation_(formulation),
          comm_(comm),
          ledger_(ledger),
          exact_(comm && comm->reproducible()),
          exact_layout_(ExactSums<T>::layout(columns_)) {
        vector_lanes_ = about(most_lanes);
        reserve_dots(dots_at_first);
    }

    /// From now on each right-hand side has so many neighbouring columns, with one coefficient and one dot product: two
    /// where real vectors are complex ones, and all scalars real.
    void take_together(int columns) { together_ = static_cast<std::size_t>(columns); }
    /// From now on dot products are exact, as they are where the communicator is reproducible.
    void sum_exactly() {
        exact_ = true;
        reserve_dots(dots_at_first);
    }

    /// Makes room for groups with this many products of panels, so that no iteration allocates.
    void reserve(std::size_t products) {
        reserve_dots(2 * products + dots_at_first);
        coefficients_.reserve(products * period());
    }

    Formulation formulation() const { return formulation_; }
    int threads() const { return threads_; }
    void wait() {}

    // ---- memory, whole vectors and columns of them ----
    using Memory = Buffer<T>;
    Memory allocate(std::size_t size) const { return Memory(size); }

    void clear(MultiVector<T> v) const {
        for_each_share(v, [&](std::size_t begin, std::size_t end) {
            std::fill(v.data() + begin * columns_, v.data() + end * columns_, T{});
        });
    }
    void clear_column(MultiVector<T> v, int column) const {
        for_each_row(v, [&](Index row) { std::fill_n(entry(v, row, column), together_, T{}); });
    }
    void copy_column(MultiVector<T> from, MultiVector<T> to, int column) const {
        for_each_row(from,
                     [&](Index row) { std::copy_n(entry(from, row, column), together_, entry(to, row, column)); });
    }
    void fill_uniform(MultiVector<T> v, std::uint64_t seed, Global first_row) const {
        for_each_row(v, [&](Index row) {
            for (int j = 0; j < v.columns(); ++j) {
                if constexpr (is_complex<T>)
                    v(row, j) = static_cast<T>(
                        Number<T>{uniform(seed, first_row + row, 2 * j), uniform(seed, first_row + row, 2 * j + 1)});
                else
                    v(row, j) = static_cast<T>(uniform(seed, first_row + row, j));
            }
        });
    }
    void upload(std::span<const T> values, MultiVector<T> v) const { std::ranges::copy(values, v.data()); }
    void download(MultiVector<T> v, std::span<T> values) const { std::ranges::copy(v.values(), values.begin()); }
    std::vector<double> largest(MultiVector<T> v) const {
        std::vector<double> most(static_cast<std::size_t>(threads_) * columns_, 0);
        for_each_share(v, [&, width = columns_](std::size_t begin, std::size_t end, int t) {
            std::array<double, 2 * max_columns> mine{};  // of complex vectors in pairs
            for (std::size_t i = begin * width; i < end * width; ++i) {
                const real_of<T> size = std::abs(v.data()[i]);
                mine[i % width] = std::isfinite(size) ? std::max<double>(mine[i % width], size) : INFINITY;
            }
            std::copy_n(mine.begin(), width,
                        most.begin() + static_cast<std::ptrdiff_t>(t) * static_cast<std::ptrdiff_t>(width));
        });
        std::vector<double> of_all(columns_ / together_, 0);
        for (std::size_t i = 0; i < most.size(); ++i) {
            double& found = of_all[i % columns_ / together_];
            found = std::max(found, most[i]);
        }
        return of_all;
    }

    /// Runs the statements over `rows` rows; the dot products of this rank, K × m values, go to `dots`.
    template <class... S>
    void run(Index rows, double* dots, const S&... statements) {
        const int threads = shares(rows);
        if (formulation_ == Formulation::merged) {
            const auto group = bind(threads, statements...);
            pass(rows, group);
            return fold(group, dots);
        }
        const std::size_t sums = begin(threads, statements...);
        auto binding = make_binding((has_panels<S> || ...));
        const auto call = [&]<class Call>(const Call& s) {
            const Ledger::Watch watch(Call::dots > 0 ? ledger_ : nullptr, Kernel::dots);
            coefficients_.clear();
            const auto bound = CpuKind<Call>::bind(s, binding);
            pass(rows, BoundGroup<std::decay_t<decltype(bound)>>{bound, threads, 0, sums, lanes_});
        };
        (for_each_statement([&](const auto& s) { for_each_call(call, s); }, statements), ...);
        fold(threads, sums, count_dots(statements...), dots);
    }

    /// Runs statements on rows as a product finishes them: `product(work)` calls work(part, begin, end) with each row
    /// once, in `parts` parts.
    template <class Product, class... S>
    void run_with(int parts, Product&& product, double* dots, const S&... statements) {
        static_assert((!has_panels<S> && ...));
        const auto group = bind(parts, statements...);
        const auto work = [&](int part, Index begin, Index end) { run_rows(group, part, begin, end); };
        product(RowWork(work));
        fold(group, dots);
    }

    // ---- the same in steps, which an executor of tasks takes (tasks/executor.hpp) ----

    /// A group, merged, with its coefficients, which stay until the next one is bound, and what its dot products add
    /// up in, for so many threads.
    template <class Bound>
    struct BoundGroup {
        Bound bound;
        int threads, dots;
        std::size_t sums;   // of a thread
        std::size_t lanes;  // of a block
    };
    template <class... S>
    auto bind(int threads, const S&... statements) {
        const std::size_t sums = begin(threads, statements...);
        auto binding = make_binding((has_panels<S> || ...));
        const auto bound = CpuKind<Group<S...>>::bind(binding, statements...);
        return BoundGroup<std::decay_t<decltype(bound)>>{bound, threads, count_dots(statements...), sums,
                                                         lanes_together(statements...)};
    }
    /// On how many threads so many rows are: waking them costs more than a short vector takes.
    int shares(Index rows) const { return static_cast<std::size_t>(rows) * columns_ < serial_below ? 1 : threads_; }
    /// What thread t does of a group.
    template <class Bound>
    void run_share(const BoundGroup<Bound>& group, Index rows, int t) {
        const RowShare mine(static_cast<std::size_t>(rows), t, group.threads);
        const std::size_t lanes = group.lanes, first = mine.begin * columns_, size = mine.end * columns_ - first;
        const std::size_t blocks = size / lanes, rest = size - blocks * lanes;
        with_sums(t, group.sums, [&](auto sums) {
            Pieces(comm_, t, blocks_of_a_piece)(0, blocks, [&](std::size_t begin, std::size_t end) {
                for (std::size_t block = begin; block < end; ++block)
                    group.bound.run(first + block * lanes, lanes, sums);
            });
            if (rest > 0) group.bound.run(first + blocks * lanes, rest, sums);
        });
    }
    /// The same on rows that a product has finished.
    template <class Bound>
    void run_rows(const BoundGroup<Bound>& group, int part, Index begin, Index end) {
        const std::size_t last = static_cast<std::size_t>(end) * columns_;
        with_sums(part, group.sums, [&](auto sums) {
            for (std::size_t at = static_cast<std::size_t>(begin) * columns_; at < last; at += group.lanes)
                group.bound.run(at, std::min(group.lanes, last - at), sums);
        });
    }
    /// The dot products, when all threads are done.
    template <class Bound>
    void fold(const BoundGroup<Bound>& group, double* dots) {
        fold(group.threads, group.sums, group.dots, dots);
    }

private:
    /// Rows begin … end − 1 of a vector, on the thread t that runs statements on them too: work(begin, end[, t]).
    template <class Work>
    void for_each_share(MultiVector<T> v, Work&& work) const {
        parallel(shares(v.rows()), [&](int t, int all) {
            const RowShare mine(static_cast<std::size_t>(v.rows()), t, all);
            if constexpr (requires { work(mine.begin, mine.end, t); })
                work(mine.begin, mine.end, t);
            else
                work(mine.begin, mine.end);
        });
    }
    template <class Work>
    void for_each_row(MultiVector<T> v, Work&& work) const {
        for_each_share(v, [&](std::size_t begin, std::size_t end) {
            for (std::size_t row = begin; row < end; ++row) work(static_cast<Index>(row));
        });
    }

    /// Clears what dot products add up in. Returns the size of that for a thread.
    template <class... S>
    std::size_t begin(int threads, const S&... statements) {
        coefficients_.clear();
        constexpr bool panels = (has_panels<S> || ...);
        lanes_ = vector_lanes_;
        if constexpr (panels) {
            int widest = 0;
            (for_each_statement([&](const auto& s) { widest = std::max(widest, width_of(s)); }, statements), ...);
            lanes_ = panel_lanes(widest <= PanelKernels<T>::narrow ? narrow_panel_lanes : most_panel_lanes);
        }
        std::size_t dots = 0;
        (for_each_statement([&](const auto& s) { dots += static_cast<std::size_t>(count_dots_of(s)); }, statements),
         ...);
        const std::size_t sums = dots * of_a_dot() + gap, of_all = static_cast<std::size_t>(threads) * sums;
        if (exact_)
            exact_sums_.assign(of_all, 0);
        else
            accumulators_.assign(of_all, sum_of<T>{});
        return sums;
    }

    /// The lanes of a block of a group that is bound.
    template <class... S>
    std::size_t lanes_together(const S&... statements) const {
        if constexpr (!(has_panels<S> || ...)) {
            Pass vectors;
            (for_each_statement([&](const auto& s) { s.touch(vectors); }, statements), ...);
            const auto dots = static_cast<std::size_t>(count_dots(statements...));
            const std::size_t arrays = static_cast<std::size_t>(vectors.vectors()) + coefficients_.used() +
                                       dots * period() / std::max(lanes_, period());
            if (arrays > 0) return about(std::min(lanes_, block_bytes / (sizeof(T) * arrays)));
        }
        return lanes_;
    }

    // Measured with 15 arrays: 48 to 64 lanes are best, 72 cost a tenth, 112 a fifth; with 25, 24 to 32 are, and 64
    // cost two thirds. Vectors, coefficients and sums count alike.
    static constexpr std::size_t most_lanes = 64, block_bytes = 6656;
    // Measured: one or two vectors on the right gain a tenth from 1024 rather than 512, more of them lose as much.
    static constexpr std::size_t most_panel_lanes = 512, narrow_panel_lanes = 1024;
    static constexpr std::size_t serial_below = 8192;
    static constexpr std::size_t blocks_of_a_piece = 16;  // about a microsecond
    static constexpr std::size_t dots_at_first = 16;      // there is room for, so that a safeguard's do not allocate
    // Between the sums of threads, which share no cache line then.
    static constexpr std::size_t gap = 128 / sizeof(sum_of<T>);

    /// The lanes of a block of about so many: whole rows, and whole vector registers where that does not make it much
    /// smaller.
    std::size_t about(std::size_t lanes) const {
        const std::size_t most = std::max<std::size_t>(1, lanes / columns_);
        for (std::size_t rows = most; rows > 0 && 2 * rows * columns_ >= lanes; --rows)
            if (rows * columns_ % 8 == 0) return rows * columns_;
        return most * columns_;
    }

    // Not kept: a program and the library may run groups of one executor, compiled for different processors.
    std::size_t period() const { return PanelKernels<T>::period(static_cast<int>(columns_)); }
    std::size_t panel_lanes(std::size_t most) const { return period() * std::max<std::size_t>(1, most / period()); }

    /// Vectors that a panel is multiplied with, or makes.
    template <class S>
    static int width_of(const S& s) {
        if constexpr (has_panels<S>)
            return CpuKind<S>::width(s);
        else
            return 0;
    }

    // ---- the sums of a thread ----
    std::size_t of_a_dot() const { return exact_ ? exact_layout_.size() : period(); }
    void reserve_dots(std::size_t dots) {
        const std::size_t of_all = static_cast<std::size_t>(threads_) * (dots * of_a_dot() + gap);
        if (exact_)
            exact_sums_.reserve(of_all);
        else
            accumulators_.reserve(of_all);
    }
    /// work(sums), as statements take them, with those of thread t, which are `size` numbers.
    template <class Work>
    void with_sums(int t, std::size_t size, const Work& work) {
        const std::size_t first = static_cast<std::size_t>(t) * size;
        if (exact_)
            work(ExactSums<T>(exact_sums_.data() + first, exact_layout_));
        else
            work(accumulators_.data() + first);
    }

    Binding<T> make_binding(bool panels) { return {coefficients_, columns_, together_, lanes_, !panels}; }

    // ---- one pass over memory ----
    template <class Bound>
    void pass(Index rows, const BoundGroup<Bound>& group) {
        parallel(group.threads, [&](int t, int) { run_share(group, rows, t); });
    }

    // ---- lanes into columns, threads and lanes in order ----
    void fold(int threads, std::size_t sums, int count, double* dots) {
        if (exact_) return fold_exactly(threads, sums, count, dots);
        const std::size_t lanes = period();
        for (std::size_t place = 0; place < static_cast<std::size_t>(count) * lanes; place += lanes)
            for (std::size_t j = 0; j < columns_; j += together_) {
                sum_of<T> sum{};
                for (std::size_t k = j; k < j + together_; ++k)
                    for (std::size_t t = 0; t < static_cast<std::size_t>(threads); ++t)
                        for (std::size_t lane = k; lane < lanes; lane += columns_)
                            sum += accumulators_[t * sums + place + lane];
                dots = put(sum, dots);
            }
    }

    void fold_exactly(int threads, std::size_t sums, int count, double* dots) {
        for (int dot = 0; dot < count; ++dot) {
            const auto of_thread = [&](int t) {
                return ExactSums<T>(exact_sums_.data() + static_cast<std::size_t>(t) * sums, exact_layout_);
            };
            const auto at = static_cast<std::size_t>(dot);
            for (int t = 0; t < threads; ++t) of_thread(t).finish(at);
            for (std::size_t j = 0; j < columns_; j += together_)
                for (std::size_t part = 0; part < static_cast<std::size_t>(reals_in<T>); ++part) {
                    ExactSum sum;
                    for (std::size_t k = j; k < j + together_; ++k)
                        for (int t = 0; t < threads; ++t) sum.add(of_thread(t).sum(at, k, part));
                    dots = sum.put(dots);
                }
        }
    }

    static double* put(double sum, double* dots) {
        *dots = sum;
        return dots + 1;
    }
    static double* put(std::complex<double> sum, double* dots) {
        dots[0] = sum.real();
        dots[1] = sum.imag();
        return dots + 2;
    }
    T* entry(MultiVector<T> v, Index row, int column) const {
        return v.data() + static_cast<std::size_t>(row) * columns_ + static_cast<std::size_t>(column) * together_;
    }

    std::size_t columns_, together_ = 1;
    int threads_;
    Formulation formulation_;
    Comm* comm_;
    Ledger* ledger_;
    bool exact_;
    std::size_t vector_lanes_ = 1;
    std::size_t lanes_ = 1;  // of the group that runs, at most
    LaneArrays<T> coefficients_;
    std::vector<sum_of<T>> accumulators_;
    ExactLayout exact_layout_;
    std::vector<double> exact_sums_;
};

}  // namespace stretto
