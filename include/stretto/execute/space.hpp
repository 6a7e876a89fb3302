// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/arena.hpp"
#include "stretto/execute/executor_for.hpp"
#include "stretto/execute/inflight.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/execute/workspace.hpp"

namespace stretto {

/// The space a method works in: vectors of n local rows by m columns over the ranks of a communicator, statements on
/// them, and their inner products. It owns the vectors and knows no element of them: what it is told, the executor of T
/// does (executor_for.hpp), and the ledger books.
///
///     auto dots = V.start(p <<= r + beta * p, dot(p, p));   one pass over memory, the sum is in flight
///     A.apply(z, v);                                        hides it
///     auto [pp] = dots.wait();
template <class T>
class Space {
public:
    /// Collective (the rows before this rank's are counted). `vectors`: how many may be taken. `together`: columns that
    /// a right-hand side has in them, two where they are complex vectors and all scalars are real.
    Space(Comm& comm, Index rows, int columns, int vectors, int threads, Formulation formulation, int together = 1)
        : Space(comm, rows, comm.sum_before(rows), std::make_shared<SumState>(comm, columns, reals_in<T>), vectors,
                threads, formulation, together) {}
    /// The same rows and columns with values of another type: frozen together, with one account, interrupted alike.
    template <class Other>
    Space(Space<Other>& beside, int vectors)
        : Space(beside.comm_, beside.rows_, beside.first_row_, beside.sums_, vectors, beside.executor_.threads(),
                beside.executor_.formulation(), beside.together_) {
        interrupt_ = beside.interrupt_;
    }
    Space(const Space&) = delete;

    Comm& comm() const { return comm_; }
    Ledger& ledger() { return sums_->ledger; }
    const Ledger& ledger() const { return sums_->ledger; }
    Index rows() const { return rows_; }
    Global first_row() const { return first_row_; }
    int width() const { return sums_->columns; }         ///< right-hand sides
    int columns() const { return width() * together_; }  ///< of the vectors

    MultiVector<T> vector() { return workspace_.take(); }
    int threads() const { return executor_.threads(); }
    /// The next `count` vectors.
    Panel<T> panel(int count) { return workspace_.take_panel(count); }
    /// Makes room for panels of `left` vectors times `right` others: no iteration allocates then.
    void reserve_products(int left, int right) {
        const auto products = static_cast<std::size_t>(left) * static_cast<std::size_t>(right);
        sums_->reserve(products);
        executor_.reserve(products);
    }
    Scalars<T> scalars(Number<T> value = {}) const { return Scalars<T>(width(), value); }
    Workspace<T>& workspace() { return workspace_; }
    /// Makes room for so many vectors, all zero; those taken are gone.
    void grow(int vectors) { workspace_.grow(executor_, vectors); }
    /// For the small things of a method. Its own after the method has returned.
    Arena& memory() { return memory_; }

    /// Runs statements without dot products, as one group.
    template <class... S>
    void run(const S&... statements) {
        static_assert(dots_of<S...> == 0, "dot products are started: auto dots = V.start(…)");
        execute(nullptr, statements...);
    }
    /// The same after a product, as below.
    template <class Product, class... S>
        requires requires(const Product& product) { product.A->parts(); }
    void run(const Product& product, const S&... statements) {
        static_assert(dots_of<S...> == 0, "dot products are started: auto dots = V.start(…)");
        execute_with(product, nullptr, statements...);
    }

    /// Runs statements as one group and starts summing their dot products over the ranks.
    template <class... S>
    [[nodiscard]] auto start(const S&... statements) {
        return start_sums([&](double* dots) { execute(dots, statements...); }, statements...);
    }
    /// The same after a product, y <<= A * x, whose rows the statements take up while they are in cache, where the
    /// operator hands them on.
    template <class Product, class... S>
        requires requires(const Product& product) { product.A->parts(); }
    [[nodiscard]] auto start(const Product& product, const S&... statements) {
        return start_sums([&](double* dots) { execute_with(product, dots, statements...); }, statements...);
    }

    /// Watches a flag that may be raised at any time (by a signal handler); all ranks see it at the same
    /// wait.
    void watch(const std::atomic<bool>* interrupt) { interrupt_ = interrupt; }
    bool interrupted() const { return sums_->interrupted; }
    /// Rank 0 wishes for a snapshot; all ranks know at the next wait, until it is answered.
    void ask() { asks_ = true; }
    bool asked() const { return sums_->asked; }
    void answered() { sums_->asked = false; }
    /// Says of what this rank was given that it is wrong; all ranks know at the next wait.
    void refuse() { refuses_ = true; }
    bool refused() const { return sums_->refused; }

    template <class... Vectors>
    void clear(const Vectors&... v) const {
        (executor_.clear(v), ...);
    }
    void clear_column(MultiVector<T> v, int column) const { executor_.clear_column(v, column); }
    void copy_column(MultiVector<T> from, MultiVector<T> to, int column) const {
        executor_.copy_column(from, to, column);
    }
    /// Numbers uniform in [−1, 1), the same on any number of ranks.
    /// Values of this rank, row by row, where they are for the device, or the host, to take.
    void upload(std::span<const Number<T>> values, MultiVector<T> v) const { executor_.upload(values, v); }
    void download(MultiVector<T> v, std::span<Number<T>> values) const { executor_.download(v, values); }
    void fill_uniform(MultiVector<T> v, std::uint64_t seed) const { executor_.fill_uniform(v, seed, first_row_); }
    /// Collective. The largest |v| of each column over all ranks; infinite where a value is not finite.
    std::vector<double> largest(MultiVector<T> v) const {
        auto most = executor_.largest(v);
        comm_.largest(most);
        return most;
    }

    /// Freezes a column: clears it in every vector. Its dot products are zero from now on, hence its
    /// coefficients (Scalars), hence its solution stays as it is.
    void freeze(int column) {
        sums_->frozen.push_back(column);
        for (int k = 0; k < workspace_.capacity(); ++k) clear_column(workspace_[k], column);
    }
    /// Clears the frozen columns of a vector that was computed from x or b.
    void clear_frozen(MultiVector<T> v) const {
        for (const int column : sums_->frozen) clear_column(v, column);
    }
    /// Clears all vectors: for those that hold what is not finite, which zero times a number does not end.
    void clear_workspace() {
        for (int k = 0; k < workspace_.capacity(); ++k) clear(workspace_[k]);
    }
    /// Takes all vectors and small things back, as they are.
    void take_back() {
        workspace_.release();
        memory_.reset();
        sums_->frozen.clear();
    }
    /// A new solve: an empty account.
    void reset() {
        sums_->ledger = {};
        sums_->interrupted = sums_->asked = sums_->refused = asks_ = refuses_ = false;
    }

private:
    template <class>
    friend class Space;
    Space(Comm& comm, Index rows, Global first_row, std::shared_ptr<SumState> sums, int vectors, int threads,
          Formulation formulation, int together)
        : comm_(comm),
          rows_(rows),
          together_(together),
          first_row_(first_row),
          sums_(std::move(sums)),
          executor_(width() * together, threads, formulation, &comm, &sums_->ledger),
          workspace_(executor_, rows, width() * together, vectors) {
        if constexpr (requires { executor_.take_together(together); }) executor_.take_together(together);
        if constexpr (requires(const double* dots) { executor_.arrive(dots); })
            sums_->arrive = [this](const double* dots) { executor_.arrive(dots); };
    }

    /// Its address tells groups apart.
    template <class... S>
    static constexpr char one_of = 0;

    template <class Work, class... S>
    auto start_sums(Work&& work, const S&... statements) {
        constexpr int K = dots_of<S...>;
        static_assert(K > 0, "no dot product to start: V.run(…)");
        const int count = count_dots(statements...);
        const std::size_t size = sums_->size_of(static_cast<std::size_t>(count));
        auto& slot = sums_->take(size + 1);
        work(slot.mine.data());
        const bool interrupts = interrupt_ && interrupt_->load(std::memory_order_relaxed);
        slot.mine[size] = interrupts * SumState::interrupt + std::exchange(asks_, false) * SumState::snapshot +
                          refuses_ * SumState::refusal;
        ++ledger().now().reductions;
        ledger().step(Step::start, count_dots<Said::unguarded>(statements...), slot.number);
        return InFlight<T, K>(*sums_, slot, count);
    }

    template <class Product, class... S>
    void execute_with(const Product& product, double* dots, const S&... statements) {
        const auto& [A, x, y] = product;
        const bool merged = executor_.formulation() == Formulation::merged;
        if (merged && A->parts() > 0) {
            executor_.run_with(A->parts(), [&](const RowWork& work) { A->apply(x, y, work); }, dots, statements...);
        } else if (!merged || !execute_within(product, dots, statements...)) {
            A->apply(x, y);
            return execute(dots, statements...);
        }
        Pass cached;
        cached.read(x.data());
        cached.read(y.data());
        account(traffic_after(cached, Formulation::merged, statements...),
                traffic_after<Said::unguarded>(cached, Formulation::merged, statements...));
    }

    /// A diagonal operator as a statement of the group, where the executor can; false: it is none, or has many columns.
    template <class Product, class... S>
    bool execute_within(const Product& product, double* dots, const S&... statements) {
        if constexpr (requires { ExecutorFor<T>::takes_diagonals; }) {
            const auto& [A, x, y] = product;
            T* const diagonal = A->as_diagonal();
            if (!diagonal || columns() > 1) return false;
            using Term = VectorTerm<T>;
            const Assign<stretto::Product<Term, Term>> multiply{y.data(), {{diagonal}, {x.data()}}};
            A->within([&] { executor_.run(rows_, dots, multiply, statements...); });
            return true;
        }
        return false;
    }

    void account(const Traffic& all, const Traffic& own) {
        const double vector_bytes = static_cast<double>(sizeof(T)) * rows_ * columns();
        ledger().now().add(own, vector_bytes);
        ledger().step(Step::vectors, 1, 0, own);
        ledger().at(Phase::safeguard).add(all - own, vector_bytes);
        comm_.charge(static_cast<double>(all.reads + all.writes) * vector_bytes);
    }

    template <class... S>
    void execute(double* dots, const S&... statements) {
        const auto formulation = executor_.formulation();
        const Traffic all = traffic(formulation, statements...);
        const auto watch =
            ledger().time(only_dots(statements...) ? Kernel::dots : Kernel::vectors,
                          {ledger().phase() == Phase::iteration ? &one_of<S...> : nullptr, static_cast<int>(all.reads),
                           static_cast<int>(all.writes), dots ? count_dots(statements...) : 0});
        account(all, traffic<Said::unguarded>(formulation, statements...));
        executor_.run(rows_, dots, statements...);
    }

    Comm& comm_;
    Index rows_;
    int together_;
    Global first_row_;
    std::shared_ptr<SumState> sums_;
    ExecutorFor<T> executor_;
    Workspace<T> workspace_;
    Arena memory_;
    const std::atomic<bool>* interrupt_ = nullptr;
    bool asks_ = false, refuses_ = false;
};

/// The next K vectors of a space: auto [r, p, s] = vectors<3>(V);
template <int K, class T>
constexpr std::array<MultiVector<T>, K> vectors(Space<T>& V) {
    std::array<MultiVector<T>, K> taken;
    for (auto& v : taken) v = V.vector();
    return taken;
}

}  // namespace stretto
