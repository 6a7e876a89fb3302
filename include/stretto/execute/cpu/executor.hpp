// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How statements become loops on a CPU.
//
// A block is as many rows as make about 64 elements, fewer in large groups; its elements are its lanes. Inside a block
// each statement is a loop of its own over the lanes, so every loop vectorises, and because the block stays in the
// first-level cache, memory is passed over once for the whole group. Coefficients are spread over the lanes
// beforehand (lane i belongs to column i mod m), which makes one flat loop right for every number of columns;
// dot products add up in registers along a block, then lane by lane, and are folded into columns at the end, in a fixed
// order.
//
// A group with panels in it (panel_kernels.hpp) has longer blocks: what matters there is that a stretch of all vectors
// of a panel stays in the second-level cache.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/random.hpp"
#include "stretto/execute/cpu/panel_kernels.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/statements/traffic.hpp"

namespace stretto {

/// A coefficient spread over the lanes of a block.
template <class T>
struct Spread {
    using value_type = T;
    const T* values;
    T at(std::size_t, std::size_t lane) const { return values[lane]; }
};

/// A dot product and where its lanes add up, relative to the accumulators of a thread.
template <class T>
struct Accumulate {
    using value_type = T;
    static constexpr int dots = 1;
    const T* left;
    const T* right;
    std::size_t place, period;
};

/// A panel's assignment with its coefficients spread over the lanes of a period, those below a divisor's diagonal left
/// out and those on it inverted.
template <class T>
struct BoundPanelAssign {
    using value_type = T;
    static constexpr int dots = 0;
    PanelAssign<T> statement;
    const T* coefficients;
    const T* divisor;
    std::size_t period;
};

/// Dot products of panels and where their lanes add up.
template <class T>
struct PanelAccumulate {
    using value_type = T;
    static constexpr int dots = many_dots;
    PanelDots<T> statement;
    std::size_t place, period;
};

/// A list of bound statements.
template <class S, int most>
struct List {
    using value_type = typename S::value_type;
    static constexpr int dots = most * S::dots;
    int count;
    std::array<S, static_cast<std::size_t>(most)> statements;
};

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
          ledger_(ledger) {
        vector_lanes_ = about(most_lanes);
        accumulators_.reserve(static_cast<std::size_t>(threads_) * (dots_at_first * period() + gap));
    }

    /// Makes room for groups with this many products of panels, so that no iteration allocates.
    void reserve(std::size_t products) {
        const std::size_t sums = (2 * products + dots_at_first) * period() + gap;
        accumulators_.reserve(static_cast<std::size_t>(threads_) * sums);
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
        for_each_row(v, [&](Index row) { v(row, column) = T{}; });
    }
    void copy_column(MultiVector<T> from, MultiVector<T> to, int column) const {
        for_each_row(from, [&](Index row) { to(row, column) = from(row, column); });
    }
    void fill_uniform(MultiVector<T> v, std::uint64_t seed, Global first_row) const {
        for_each_row(v, [&](Index row) {
            for (int j = 0; j < v.columns(); ++j) v(row, j) = static_cast<T>(uniform(seed, first_row + row, j));
        });
    }
    std::vector<double> largest(MultiVector<T> v) const {
        std::vector<double> most(static_cast<std::size_t>(threads_) * columns_, 0);
        for_each_share(v, [&, width = columns_](std::size_t begin, std::size_t end, int t) {
            std::array<double, max_columns> mine{};
            for (std::size_t i = begin * width; i < end * width; ++i) {
                const double size = std::abs(v.data()[i]);
                mine[i % width] = std::isfinite(size) ? std::max(mine[i % width], size) : INFINITY;
            }
            std::copy_n(mine.begin(), width,
                        most.begin() + static_cast<std::ptrdiff_t>(t) * static_cast<std::ptrdiff_t>(width));
        });
        for (std::size_t i = columns_; i < most.size(); ++i) most[i % columns_] = std::max(most[i % columns_], most[i]);
        most.resize(columns_);
        return most;
    }

    /// Runs the statements over `rows` rows; the dot products of this rank, K × m values, go to `dots`.
    template <class... S>
    void run(Index rows, double* dots, const S&... statements) {
        const auto total = static_cast<std::size_t>(rows);
        // Waking the threads costs more than a short vector takes.
        const int threads = total * columns_ < serial_below ? 1 : threads_;
        const std::size_t sums = begin(threads, statements...);
        std::size_t place = 0;
        if (formulation_ == Formulation::merged) {
            const auto bound = bind(group(statements...), place);
            pass(total, threads, sums, lanes_together(sums, statements...), bound);
        } else {
            (for_each_statement(
                 [&](const auto& s) {
                     for_each_call(
                         [&](const auto& call) {
                             const Ledger::Watch watch(std::decay_t<decltype(call)>::dots > 0 ? ledger_ : nullptr,
                                                       Kernel::dots);
                             coefficients_.clear();
                             pass(total, threads, sums, lanes_, bind(call, place));
                         },
                         s);
                 },
                 statements),
             ...);
        }
        fold_all(threads, sums, dots, statements...);
    }

    /// Runs statements on rows as a product finishes them: `product(work)` calls work(part, begin, end) with each row
    /// once, in `parts` parts.
    template <class Product, class... S>
    void run_with(int parts, Product&& product, double* dots, const S&... statements) {
        static_assert((!has_panels<S> && ...));
        const std::size_t sums = begin(parts, statements...);
        std::size_t place = 0;
        const auto bound = bind(group(statements...), place);
        const std::size_t lanes = lanes_together(sums, statements...);
        const auto work = [&](int part, Index begin, Index end) {
            T* const accumulators = accumulators_.data() + static_cast<std::size_t>(part) * sums;
            const std::size_t last = static_cast<std::size_t>(end) * columns_;
            for (std::size_t at = static_cast<std::size_t>(begin) * columns_; at < last; at += lanes)
                run_block(bound, at, std::min(lanes, last - at), accumulators);
        };
        product(RowWork(work));
        fold_all(parts, sums, dots, statements...);
    }

private:
    /// Rows begin … end − 1 of a vector, on the thread t that runs statements on them too: work(begin, end[, t]).
    template <class Work>
    void for_each_share(MultiVector<T> v, Work&& work) const {
        parallel(v.size() < serial_below ? 1 : threads_, [&](int t, int all) {
            const Share mine(static_cast<std::size_t>(v.rows()), t, all);
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
            lanes_ = panel_lanes(widest <= Kernels::narrow ? narrow_panel_lanes : most_panel_lanes);
        }
        share_coefficients_ = !panels;
        std::size_t sums = gap;
        (for_each_statement([&](const auto& s) { sums += lanes_of(s); }, statements), ...);
        accumulators_.assign(static_cast<std::size_t>(threads) * sums, T{});
        return sums;
    }

    /// The lanes of a block of a group that is bound.
    template <class... S>
    std::size_t lanes_together(std::size_t sums, const S&... statements) const {
        if constexpr (!(has_panels<S> || ...)) {
            Pass vectors;
            (for_each_statement([&](const auto& s) { note(vectors, s); }, statements), ...);
            const std::size_t arrays = static_cast<std::size_t>(vectors.vectors()) + coefficients_.used() +
                                       (sums - gap) / std::max(lanes_, period());
            if (arrays > 0) return about(std::min(lanes_, block_bytes / (sizeof(T) * arrays)));
        }
        return lanes_;
    }

    template <class... S>
    void fold_all(int threads, std::size_t sums, double* dots, const S&... statements) const {
        std::size_t place = 0;
        (for_each_statement([&](const auto& s) { dots = fold(s, threads, sums, place, dots); }, statements), ...);
    }

    // Measured with 15 arrays: 48 to 64 lanes are best, 72 cost a tenth, 112 a fifth; with 25, 24 to 32 are, and 64
    // cost two thirds. Vectors, coefficients and sums count alike.
    static constexpr std::size_t most_lanes = 64, block_bytes = 6656;
    // Measured: one or two vectors on the right gain a tenth from 1024 rather than 512, more of them lose as much.
    static constexpr std::size_t most_panel_lanes = 512, narrow_panel_lanes = 1024;
    static constexpr std::size_t serial_below = 8192;
    static constexpr std::size_t blocks_of_a_piece = 16;  // about a microsecond
    static constexpr std::size_t dots_at_first = 16;      // there is room for, so that a safeguard's do not allocate
    static constexpr std::size_t gap = 128 / sizeof(T);   // between the sums of threads, which share no cache line then

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
    static int width_of(const S&) {
        return 0;
    }
    static int width_of(const PanelAssign<T>& s) { return s.target.count(); }
    static int width_of(const PanelDots<T>& s) { return s.right.count(); }

    // ---- what a statement's dot products take of the accumulators of a thread ----
    template <class S>
    std::size_t lanes_of(const S& s) const {
        return static_cast<std::size_t>(count_dots_of(s)) * period();
    }

    // ---- binding: coefficients spread over the lanes, dot products given their place ----
    VectorTerm<T> bind(const VectorTerm<T>& e, std::size_t&) { return e; }
    Spread<T> bind(const CoefficientTerm<T>& e, std::size_t&) {
        // Lists say the same coefficient many times: one array each time would leave the block no room in cache.
        if (const T* const same =
                share_coefficients_ ? coefficients_.find(e.scalars.data(), columns_, lanes_) : nullptr)
            return {same};
        auto& values = coefficients_.next(lanes_);
        for (std::size_t lane = 0; lane < lanes_; ++lane) values[lane] = e.scalars[static_cast<int>(lane % columns_)];
        return {values.data()};
    }
    template <template <class, class> class Node, class L, class R>
        requires is_expression<Node<L, R>>
    auto bind(const Node<L, R>& e, std::size_t& place) {
        auto left = bind(e.left, place);
        auto right = bind(e.right, place);
        return Node<decltype(left), decltype(right)>{left, right};
    }
    template <class E>
    auto bind(const Assign<E>& s, std::size_t& place) {
        auto expression = bind(s.expression, place);
        return Assign<decltype(expression)>{s.target, expression};
    }
    Accumulate<T> bind(const Dot<T>& s, std::size_t& place) {
        return {s.left, s.right, std::exchange(place, place + period()), period()};
    }
    BoundPanelAssign<T> bind(const PanelAssign<T>& s, std::size_t&) {
        const int k = s.target.count();
        const T* coefficients =
            spread(s.panel.count(), k, [&](int i, int c, int j) { return s.sign * s.coefficients(i, c)[j]; });
        const T* divisor = nullptr;
        if (s.divisor.data)
            divisor = spread(k, k, [&](int i, int c, int j) {
                const T value = s.divisor(i, c)[j];
                return i < c ? -value : i == c && value != T{} ? T{1} / value : T{};
            });
        return {s, coefficients, divisor, period()};
    }
    PanelAccumulate<T> bind(const PanelDots<T>& s, std::size_t& place) {
        return {s, std::exchange(place, place + lanes_of(s)), period()};
    }
    /// value(i, k, column) for each lane of a period, for all i and k.
    template <class Value>
    const T* spread(int rows, int cols, Value value) {
        const std::size_t lanes = period();
        auto& values = coefficients_.next(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * lanes);
        auto to = values.begin();
        for (int i = 0; i < rows; ++i)
            for (int k = 0; k < cols; ++k) {
                const auto begin = to;
                for (int j = 0; j < static_cast<int>(columns_); ++j) *to++ = value(i, k, j);
                for (; to != begin + static_cast<std::ptrdiff_t>(lanes); ++to)
                    *to = *(to - static_cast<std::ptrdiff_t>(columns_));
            }
        return values.data();
    }
    template <class S>
    auto bind(const When<S>& s, std::size_t& place) {
        using Bound = When<decltype(bind(s.statement, place))>;
        return s.active ? Bound{true, bind(s.statement, place)} : Bound{};
    }
    template <class S>
    auto bind(const Guard<S>& s, std::size_t& place) {
        return bind(s.statement, place);
    }
    template <class F, int most>
    auto bind(const Each<F, most>& s, std::size_t& place) {
        List<decltype(bind(s.statement(0), place)), most> bound{};
        bound.count = s.count;
        for (int k = 0; k < s.count; ++k) bound.statements[static_cast<std::size_t>(k)] = bind(s.statement(k), place);
        return bound;
    }
    template <class... S>
    auto bind(const Group<S...>& s, std::size_t& place) {
        // Braces order the evaluation, so places follow the order of the dot products.
        return std::apply([&](const auto&... all) { return Group{std::tuple{bind(all, place)...}}; }, s.statements);
    }

    // ---- one pass over memory ----
    template <class S>
    void pass(std::size_t rows, int threads, std::size_t sums, std::size_t lanes, const S& statement) {
        const std::size_t blocks = rows * columns_ / lanes;
        const std::size_t rest = rows * columns_ - blocks * lanes;
        parallel(threads, [&](int t, int all) {
            T* accumulators = accumulators_.data() + static_cast<std::size_t>(t) * sums;
            const Share mine(blocks, t, all);
            Pieces(comm_, t, blocks_of_a_piece)(mine.begin, mine.end, [&](std::size_t begin, std::size_t end) {
                for (std::size_t block = begin; block < end; ++block)
                    run_block(statement, block * lanes, lanes, accumulators);
            });
            if (t == all - 1 && rest > 0) run_block(statement, blocks * lanes, rest, accumulators);
        });
    }

    template <class E>
    static void run_block(const Assign<E>& s, std::size_t block, std::size_t lanes, T*) {
        T* const target = s.target + block;
        const E e = s.expression;
#pragma omp simd
        for (std::size_t lane = 0; lane < lanes; ++lane) target[lane] = e.at(block, lane);
    }
    static void run_block(const Accumulate<T>& s, std::size_t block, std::size_t lanes, T* accumulators) {
        Kernels::dot(s.left + block, s.right + block, accumulators + s.place, lanes, s.period);
    }
    using Kernels = PanelKernels<T>;
    static typename Kernels::StridedVectors rows(const Panel<T>& panel, std::size_t block) {
        return {panel.data() + block, panel.stride(), panel.count()};
    }
    static void run_block(const BoundPanelAssign<T>& s, std::size_t block, std::size_t lanes, T*) {
        const auto& [target, start, panel, coefficients, divisor, sign] = s.statement;
        T* const to = target.data() + block;
        for (int k = 0; k < target.count(); ++k) {
            T* const vector = target[k].data() + block;
            if (start.count() == 0)
                std::fill_n(vector, lanes, T{});
            else if (start.data() != target.data())
                std::copy_n(start[k].data() + block, lanes, vector);
        }
        const auto across = static_cast<std::size_t>(target.count()) * s.period;
        Kernels::update(rows(panel, block), to, target.stride(), target.count(),
                        {s.coefficients, across, panel.count()}, {lanes, s.period, lanes});
        for (int k = 0; s.divisor && k < target.count(); ++k) {
            const T* const column = s.divisor + static_cast<std::size_t>(k) * s.period;
            T* const vector = target[k].data() + block;
            Kernels::update(rows(target.part(0, k), block), vector, 0, 1, {column, across, k}, {lanes, s.period, 0});
            const T* const inverse = column + static_cast<std::size_t>(k) * across;
            for (std::size_t begin = 0; begin < lanes; begin += s.period) {
                const std::size_t end = std::min(s.period, lanes - begin);
#pragma omp simd
                for (std::size_t lane = 0; lane < end; ++lane) vector[begin + lane] *= inverse[lane];
            }
        }
    }
    static void run_block(const PanelAccumulate<T>& s, std::size_t block, std::size_t lanes, T* accumulators) {
        Kernels::dots(rows(s.statement.left, block), rows(s.statement.right, block), accumulators + s.place,
                      {lanes, s.period, lanes});
    }
    template <class S>
    static void run_block(const When<S>& s, std::size_t block, std::size_t lanes, T* accumulators) {
        if (s.active) run_block(s.statement, block, lanes, accumulators);
    }
    template <class S, int most>
    static void run_block(const List<S, most>& s, std::size_t block, std::size_t lanes, T* accumulators) {
        for (int k = 0; k < s.count; ++k)
            run_block(s.statements[static_cast<std::size_t>(k)], block, lanes, accumulators);
    }
    template <class... S>
    static void run_block(const Group<S...>& s, std::size_t block, std::size_t lanes, T* accumulators) {
        std::apply([&](const auto&... all) { (run_block(all, block, lanes, accumulators), ...); }, s.statements);
    }

    // ---- lanes into columns, threads and lanes in order ----
    template <class S>
    double* fold(const S& s, int threads, std::size_t sums, std::size_t& place, double* dots) const {
        const auto count = static_cast<std::size_t>(count_dots_of(s));
        if (count == 0) return dots;
        const std::size_t lanes = lanes_of(s) / count;
        for (std::size_t k = 0; k < count; ++k, place += lanes)
            for (std::size_t j = 0; j < columns_; ++j) {
                double sum = 0;
                for (std::size_t t = 0; t < static_cast<std::size_t>(threads); ++t)
                    for (std::size_t lane = j; lane < lanes; lane += columns_)
                        sum += accumulators_[t * sums + place + lane];
                *dots++ = sum;
            }
        return dots;
    }

    /// Lane arrays that keep their memory from one run to the next.
    class Pool {
    public:
        void clear() { used_ = asked_ = 0; }
        std::size_t used() const { return used_; }
        /// The array that begins with these values, or none. Makes room as if there were none, so that no later
        /// iteration, in which fewer are equal, allocates.
        const T* find(const T* first, std::size_t count, std::size_t lanes) {
            if (arrays_.size() < ++asked_) arrays_.emplace_back(lanes);
            for (std::size_t k = 0; k < used_; ++k)
                if (std::equal(first, first + count, arrays_[k].begin())) return arrays_[k].data();
            return nullptr;
        }
        void reserve(std::size_t lanes) {
            arrays_.resize(std::max<std::size_t>(arrays_.size(), 8));
            for (auto& array : arrays_) array.reserve(lanes);
        }
        std::vector<T>& next(std::size_t lanes) {
            if (used_ == arrays_.size()) arrays_.emplace_back();
            auto& array = arrays_[used_++];
            if (array.size() < lanes) array.resize(lanes);
            return array;
        }

    private:
        std::vector<std::vector<T>> arrays_;
        std::size_t used_ = 0, asked_ = 0;
    };

    std::size_t columns_;
    int threads_;
    Formulation formulation_;
    Comm* comm_;
    Ledger* ledger_;
    std::size_t vector_lanes_ = 1;
    std::size_t lanes_ = 1;  // of the group that runs, at most
    bool share_coefficients_ = true;
    Pool coefficients_;
    std::vector<T> accumulators_;
};

}  // namespace stretto
