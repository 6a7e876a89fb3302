// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How statements become loops on a CPU.
//
// A block is as many rows as make about 64 elements; its elements are its lanes. Inside a block each
// statement is a loop of its own over the lanes, so every loop vectorises, and because the block stays in the
// first-level cache, memory is passed over once for the whole group. Coefficients are spread over the lanes
// beforehand (lane i belongs to column i mod m), which makes one flat loop right for every number of columns;
// dot products add lane by lane and are folded into columns at the end, in a fixed order.

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "stretto/core/comm.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/statement.hpp"

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
    std::size_t place;
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
    /// For vectors of `columns` columns, on `threads` threads. Lets the communication of `comm` advance.
    CpuExecutor(int columns, int threads, Formulation formulation, Comm* comm = nullptr)
        : columns_(static_cast<std::size_t>(columns)), threads_(threads), formulation_(formulation), comm_(comm) {
        block_rows_ = std::max<std::size_t>(1, most_lanes / columns_);
        // Whole vector registers where that does not make the block much smaller.
        for (std::size_t rows = block_rows_; rows * columns_ >= most_lanes / 2; --rows)
            if (rows * columns_ % 8 == 0) {
                block_rows_ = rows;
                break;
            }
        lanes_ = block_rows_ * columns_;
    }

    Formulation formulation() const { return formulation_; }
    int threads() const { return threads_; }

    /// Runs the statements over `rows` rows; the dot products of this rank, K × m values, go to `dots`.
    template <class... S>
    void run(Index rows, double* dots, const S&... statements) {
        const auto count = static_cast<std::size_t>(count_dots(statements...));
        coefficients_.clear();
        const auto total = static_cast<std::size_t>(rows);
        // Waking the threads costs more than a short vector takes.
        const int threads = total * columns_ < serial_below ? 1 : threads_;
        accumulators_.assign(static_cast<std::size_t>(threads) * count * lanes_, T{});

        std::size_t place = 0;
        if (formulation_ == Formulation::merged)
            pass(total, threads, count, bind(group(statements...), place));
        else
            (for_each_statement(
                 [&](const auto& s) {
                     for_each_call(
                         [&](const auto& call) {
                             coefficients_.clear();
                             pass(total, threads, count, bind(call, place));
                         },
                         s);
                 },
                 statements),
             ...);
        fold(threads, count, dots);
    }

private:
    static constexpr std::size_t most_lanes = 64;  // measured: 48 to 64 is best; 72 costs a tenth, 112 a fifth
    static constexpr std::size_t serial_below = 8192;
    static constexpr std::size_t blocks_of_a_piece = 16;  // about a microsecond

    // ---- binding: coefficients spread over the lanes, dot products given their place ----
    VectorTerm<T> bind(const VectorTerm<T>& e, std::size_t&) { return e; }
    Spread<T> bind(const CoefficientTerm<T>& e, std::size_t&) {
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
        Accumulate<T> bound{s.left, s.right, place};
        place += lanes_;
        return bound;
    }
    template <class S>
    auto bind(const When<S>& s, std::size_t& place) {
        auto statement = bind(s.statement, place);
        return When<decltype(statement)>{s.active, statement};
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
    void pass(std::size_t rows, int threads, std::size_t count, const S& statement) {
        const std::size_t blocks = rows / block_rows_;
        const std::size_t rest = (rows - blocks * block_rows_) * columns_;
        parallel(threads, [&](int t, int all) {
            T* accumulators = accumulators_.data() + static_cast<std::size_t>(t) * count * lanes_;
            const Share mine(blocks, t, all);
            Pieces(comm_, t, blocks_of_a_piece)(mine.begin, mine.end, [&](std::size_t begin, std::size_t end) {
                for (std::size_t block = begin; block < end; ++block)
                    run_block(statement, block * lanes_, lanes_, accumulators);
            });
            if (t == all - 1 && rest > 0) run_block(statement, blocks * lanes_, rest, accumulators);
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
        T* const sum = accumulators + s.place;
        const T* const left = s.left + block;
        const T* const right = s.right + block;
#pragma omp simd
        for (std::size_t lane = 0; lane < lanes; ++lane) sum[lane] += left[lane] * right[lane];
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
    void fold(int threads, std::size_t count, double* dots) {
        for (std::size_t k = 0; k < count; ++k)
            for (std::size_t j = 0; j < columns_; ++j) {
                double sum = 0;
                for (std::size_t t = 0; t < static_cast<std::size_t>(threads); ++t)
                    for (std::size_t lane = j; lane < lanes_; lane += columns_)
                        sum += accumulators_[(t * count + k) * lanes_ + lane];
                dots[k * columns_ + j] = sum;
            }
    }

    /// Lane arrays that keep their memory from one run to the next.
    class Pool {
    public:
        void clear() { used_ = 0; }
        std::vector<T>& next(std::size_t lanes) {
            if (used_ == arrays_.size()) arrays_.emplace_back(lanes);
            return arrays_[used_++];
        }

    private:
        std::vector<std::vector<T>> arrays_;
        std::size_t used_ = 0;
    };

    std::size_t columns_;
    int threads_;
    Formulation formulation_;
    Comm* comm_;
    std::size_t block_rows_ = 1;
    std::size_t lanes_ = 1;
    Pool coefficients_;
    std::vector<T> accumulators_;
};

}  // namespace stretto
