// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The texts of methods within a kernel: every thread of a grid says the whole text, has some elements of each vector,
// and computes all scalars, which come out alike, for sums are added up in a fixed order. What nvcc compiles for the
// device of a text is what is constexpr, and what stands here.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "stretto/convergence/verdict.hpp"
#include "stretto/execute/device/on_device.hpp"
#include "stretto/statements/statement.hpp"

#ifdef __CUDACC__
#pragma nv_diag_suppress 20011, 20013, 20014
#endif

namespace stretto {

/// A value in the memory of the device D, for a text that runs there.
template <class D>
struct InKernel {
    double value;
};
/// The scalars of such a text: one column.
struct KernelNumber {};

template <class D>
struct NumberOf<InKernel<D>> {
    using type = double;
};
template <class D>
struct ScalarTraits<InKernel<D>> : ScalarTraits<double> {};
template <class D>
struct ScalarsFor<InKernel<D>> {
    using type = ScalarsOf<KernelNumber>;
};

template <>
class ScalarsOf<KernelNumber> {
public:
    ScalarsOf() = default;
    constexpr explicit ScalarsOf(double value) : value_(value) {}
    constexpr int columns() const { return 1; }
    constexpr double& operator[](int) { return value_; }
    constexpr const double& operator[](int) const { return value_; }

    friend constexpr ScalarsOf operator+(ScalarsOf a, ScalarsOf b) { return ScalarsOf(a.value_ + b.value_); }
    friend constexpr ScalarsOf operator-(ScalarsOf a, ScalarsOf b) { return ScalarsOf(a.value_ - b.value_); }
    friend constexpr ScalarsOf operator*(ScalarsOf a, ScalarsOf b) { return ScalarsOf(a.value_ * b.value_); }
    friend constexpr ScalarsOf operator/(ScalarsOf a, ScalarsOf b) {
        return ScalarsOf(b.value_ == 0 ? 0 : a.value_ / b.value_);
    }
    friend constexpr ScalarsOf operator-(ScalarsOf a) { return ScalarsOf(-a.value_); }
    friend constexpr ScalarsOf operator*(double a, ScalarsOf b) { return ScalarsOf(a * b.value_); }
    friend constexpr ScalarsOf sqrt(ScalarsOf a) { return ScalarsOf(a.value_ < 0 ? 0 : std::sqrt(a.value_)); }
    friend constexpr ScalarsOf conjugate(ScalarsOf a) { return a; }

private:
    double value_;
};

/// Rows of a matrix, 32 to a slice, padded to the longest of them; the k-th entries of its rows are neighbours.
template <class D>
struct KernelRows {
    static constexpr int high = 32;
    const OnDevice<std::int64_t, D>* start;  // of each slice, and of the end
    const OnDevice<Index, D>* columns;
    const OnDevice<double, D>* values;

    STRETTO_KERNEL_AND_HOST double multiply(typename D::Block& block, Index row, const OnDevice<double, D>* x) const {
        const std::int64_t end = block.at(start + (row / high + 1));
        double sum = 0;
        for (std::int64_t at = block.at(start + row / high) + row % high; at < end; at += high)
            sum += block.at(values + at) * block.at(x + block.at(columns + at));
        return sum;
    }
};

/// What the threads of a grid share.
template <class D>
struct KernelGrid {
    static constexpr int slots = 4, most_dots = most_dots_of_loops;
    OnDevice<double, D>* parts;            // of sums: [slot][sum][block]
    OnDevice<std::uint32_t, D>* arrivals;  // of blocks, since the kernel began
    InKernel<D>* vectors;
    std::size_t stride;  // values between them
    Index rows;
};

/// What was done, of this rank.
struct KernelCounts {
    int products = 0, preconditionings = 0, reductions = 0, hidden_reductions = 0, reads = 0, writes = 0;
};

template <class D, int K>
class InFlight<InKernel<D>, K> {
public:
    constexpr InFlight(Space<InKernel<D>>& V, int slot, std::uint32_t turn, int work)
        : V_(&V), slot_(slot), turn_(turn), work_(work) {}
    STRETTO_KERNEL_AND_HOST std::array<Scalars<InKernel<D>>, K> wait() {
        std::array<Scalars<InKernel<D>>, K> sums;
        V_->read(slot_, turn_, work_, sums);
        return sums;
    }

private:
    Space<InKernel<D>>* V_;
    int slot_;
    std::uint32_t turn_;
    int work_;
};

template <class D>
class Space<InKernel<D>> {
public:
    using T = InKernel<D>;
    using Block = typename D::Block;

    STRETTO_KERNEL_AND_HOST Space(Block& block, const KernelGrid<D>& grid) : block_(block), grid_(grid) {}

    STRETTO_KERNEL_AND_HOST MultiVector<T> vector() {
        return {grid_.vectors + static_cast<std::size_t>(taken_++) * grid_.stride, grid_.rows, 1};
    }
    STRETTO_KERNEL_AND_HOST int taken() const { return taken_; }
    STRETTO_KERNEL_AND_HOST Scalars<T> scalars(double value = 0) const { return Scalars<T>(value); }
    STRETTO_KERNEL_AND_HOST int width() const { return 1; }

    /// Safeguards are counted apart, until the end of a scope.
    class Switch {
    public:
        constexpr Switch(Space& V, Phase phase) : V_(V), before_(V.guarding_) {
            V.guarding_ = phase == Phase::safeguard;
        }
        Switch(const Switch&) = delete;
        constexpr ~Switch() { V_.guarding_ = before_; }

    private:
        Space& V_;
        bool before_;
    };
    struct Phases {
        Space& V;
        constexpr Switch enter(Phase phase) const { return {V, phase}; }
    };
    constexpr Phases ledger() { return {*this}; }

    template <class... S>
    STRETTO_KERNEL_AND_HOST void run(const S&... statements) {
        double none[1];
        say(none, statements...);
    }
    template <class... S>
    STRETTO_KERNEL_AND_HOST void run(const Applied<T>& product, const S&... statements) {
        product.A->apply(product.x, product.y);
        run(statements...);
    }
    template <class... S>
    STRETTO_KERNEL_AND_HOST auto start(const S&... statements) {
        constexpr int K = dots_of<S...>;
        static_assert(K > 0 && K <= KernelGrid<D>::most_dots);
        double sums[K] = {};
        say(sums, statements...);
        slot_ = (slot_ + 1) % KernelGrid<D>::slots;
        block_.add_up(sums, grid_.parts + part(slot_, 0));
        count(&KernelCounts::reductions);
        return InFlight<T, K>(*this, slot_, turn_, work_);
    }
    template <class... S>
    STRETTO_KERNEL_AND_HOST auto start(const Applied<T>& product, const S&... statements) {
        product.A->apply(product.x, product.y);
        return start(statements...);
    }

    STRETTO_KERNEL_AND_HOST void clear_frozen(MultiVector<T>) const {}
    STRETTO_KERNEL_AND_HOST void fill_uniform(MultiVector<T>, std::uint64_t) const {}  // no loop here begins with that

    /// y = A x, or D⁻¹ x.
    STRETTO_KERNEL_AND_HOST void multiply(const KernelRows<D>& A, MultiVector<T> x, MultiVector<T> y) {
        if (written_ || x.data() == made_ || is_read(y.data()) || read_[1]) meet();
        (read_[0] ? read_[1] : read_[0]) = x.data();
        for (Index i = block_.first(); i < grid_.rows; i += block_.apart())
            at(y.data(), i) = A.multiply(block_, i, address(x.data()));
        written_ = written_ || made_;
        made_ = y.data();
        ++work_;
        count(&KernelCounts::products);
    }
    STRETTO_KERNEL_AND_HOST void scale(const OnDevice<double, D>* diagonal, MultiVector<T> x, MultiVector<T> y) {
        will_write(y.data());
        for (Index i = block_.first(); i < grid_.rows; i += block_.apart())
            at(y.data(), i) = block_.at(diagonal + i) * at(x.data(), i);
        ++work_;
        count(&KernelCounts::preconditionings);
    }
    /// The numbers of sums that were started before the blocks met so many times.
    template <std::size_t K>
    STRETTO_KERNEL_AND_HOST void read(int slot, std::uint32_t turn, int before, std::array<Scalars<T>, K>& sums) {
        if (turn == turn_) meet();
        for (std::size_t k = 0; k < K; ++k)
            sums[k] = Scalars<T>(block_.total(grid_.parts + part(slot, static_cast<int>(k))));
        count(&KernelCounts::hidden_reductions, work_ > before);
    }
    STRETTO_KERNEL_AND_HOST const KernelCounts& counts() const { return counts_; }
    STRETTO_KERNEL_AND_HOST const KernelCounts& guards() const { return guards_; }
    STRETTO_KERNEL_AND_HOST Block& block() const { return block_; }

private:
    STRETTO_KERNEL_AND_HOST static OnDevice<double, D>* address(T* v) {
        return reinterpret_cast<OnDevice<double, D>*>(v);
    }
    STRETTO_KERNEL_AND_HOST double& at(T* v, Index i) const { return block_.at(address(v) + i); }
    STRETTO_KERNEL_AND_HOST std::size_t part(int slot, int sum) const {
        return static_cast<std::size_t>((slot * KernelGrid<D>::most_dots + sum) * block_.blocks());
    }
    STRETTO_KERNEL_AND_HOST void count(int KernelCounts::* what, int times = 1) {
        counts_.*what += guarding_ ? 0 : times;
        guards_.*what += guarding_ ? times : 0;
    }

    // Elements are written by the thread that has them, and only products read others': what they read must have been
    // written before the blocks met last, and is not written before they meet next.
    STRETTO_KERNEL_AND_HOST void meet() {
        block_.meet(grid_.arrivals, ++turn_);
        read_[0] = read_[1] = made_ = nullptr;
        written_ = false;
    }
    STRETTO_KERNEL_AND_HOST bool is_read(const T* v) const { return v == read_[0] || v == read_[1]; }
    STRETTO_KERNEL_AND_HOST void will_write(const T* v) {
        if (is_read(v)) meet();
        written_ = true;
    }

    template <class... S>
    STRETTO_KERNEL_AND_HOST void say(double* sums, const S&... statements) {
        (prepare(statements), ...);
        for (Index i = block_.first(); i < grid_.rows; i += block_.apart()) say_all<0>(i, sums, statements...);
    }
    template <int>
    STRETTO_KERNEL_AND_HOST void say_all(Index, double*) const {}
    template <int first, class S, class... Rest>
    STRETTO_KERNEL_AND_HOST void say_all(Index i, double* sums, const S& s, const Rest&... rest) const {
        say_one(i, sums + first, s);
        say_all<first + S::dots>(i, sums, rest...);
    }

    template <class E>
    STRETTO_KERNEL_AND_HOST void prepare(const Assign<E>& s) {
        will_write(s.target);
        count(&KernelCounts::writes);
        count(&KernelCounts::reads, vectors_of(s.expression));
    }
    STRETTO_KERNEL_AND_HOST void prepare(const Dot<T>&) { count(&KernelCounts::reads, 2); }
    template <class S>
    STRETTO_KERNEL_AND_HOST void prepare(const When<S>& s) {
        if (s.active) prepare(s.statement);
    }
    template <class S>
    STRETTO_KERNEL_AND_HOST void prepare(const Guard<S>& s) {
        prepare(s.statement);
    }

    template <class E>
    STRETTO_KERNEL_AND_HOST void say_one(Index i, double*, const Assign<E>& s) const {
        at(s.target, i) = value(i, s.expression);
    }
    STRETTO_KERNEL_AND_HOST void say_one(Index i, double* sum, const Dot<T>& s) const {
        *sum += at(s.left, i) * at(s.right, i);
    }
    template <class S>
    STRETTO_KERNEL_AND_HOST void say_one(Index i, double* sums, const When<S>& s) const {
        if (s.active) say_one(i, sums, s.statement);
    }
    template <class S>
    STRETTO_KERNEL_AND_HOST void say_one(Index i, double* sums, const Guard<S>& s) const {
        say_one(i, sums, s.statement);
    }

    STRETTO_KERNEL_AND_HOST double value(Index i, const VectorTerm<T>& e) const { return at(e.data, i); }
    STRETTO_KERNEL_AND_HOST double value(Index, const CoefficientTerm<KernelNumber>& e) const { return e.scalars[0]; }
    template <class L, class R>
    STRETTO_KERNEL_AND_HOST double value(Index i, const Sum<L, R>& e) const {
        return value(i, e.left) + value(i, e.right);
    }
    template <class L, class R>
    STRETTO_KERNEL_AND_HOST double value(Index i, const Difference<L, R>& e) const {
        return value(i, e.left) - value(i, e.right);
    }
    template <class L, class R>
    STRETTO_KERNEL_AND_HOST double value(Index i, const Product<L, R>& e) const {
        return value(i, e.left) * value(i, e.right);
    }
    STRETTO_KERNEL_AND_HOST static int vectors_of(const VectorTerm<T>&) { return 1; }
    STRETTO_KERNEL_AND_HOST static int vectors_of(const CoefficientTerm<KernelNumber>&) { return 0; }
    template <template <class, class> class Node, class L, class R>
    STRETTO_KERNEL_AND_HOST static int vectors_of(const Node<L, R>& e) {
        return vectors_of(e.left) + vectors_of(e.right);
    }

    Block& block_;
    KernelGrid<D> grid_;
    KernelCounts counts_, guards_;  // of safeguards
    bool guarding_ = false;
    int taken_ = 0, slot_ = 0, work_ = 0;
    std::uint32_t turn_ = 0;                 // how many times the blocks have met, and since then …
    const T* read_[2] = {nullptr, nullptr};  // what products read
    const T* made_ = nullptr;                // by a product
    bool written_ = true;                    // anything else
};

template <class D>
class LinearMap<InKernel<D>> {
public:
    using T = InKernel<D>;
    /// Either may be null.
    STRETTO_KERNEL_AND_HOST LinearMap(Space<T>& V, const KernelRows<D>* rows, const OnDevice<double, D>* diagonal)
        : V_(V), rows_(rows), diagonal_(diagonal) {}
    STRETTO_KERNEL_AND_HOST explicit operator bool() const { return rows_ || diagonal_; }
    STRETTO_KERNEL_AND_HOST void apply(MultiVector<T> x, MultiVector<T> y) const {
        if (rows_)
            V_.multiply(*rows_, x, y);
        else if (diagonal_)
            V_.scale(diagonal_, x, y);
    }

private:
    Space<T>& V_;
    const KernelRows<D>* rows_;
    const OnDevice<double, D>* diagonal_;
};

}  // namespace stretto
