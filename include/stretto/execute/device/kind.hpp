// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <stdexcept>
#include <tuple>

#include "stretto/execute/device/on_device.hpp"
#include "stretto/statements/statement.hpp"

namespace stretto {

/// One element of all vectors of a group, in the slots of the thread that has it, and the coefficients of its column.
template <class X>
struct Lane {
    X* slots;
    const X* coefficients;
    int stride, columns;
    STRETTO_KERNEL X& slot(int k) const { return slots[k * stride]; }
    STRETTO_KERNEL X coefficient(int k) const { return coefficients[k * columns]; }
};

/// The vectors of a group, each once: which vectors coincide is known only when running. A slot of shared memory stands
/// for each while its elements are at hand.
template <class X, class D>
struct GroupVectors {
    static constexpr int most = 64;
    OnDevice<X, D>* address[most];
    std::uint64_t loaded = 0, stored = 0;  // bit k: vector k is
    int count = 0;

    /// The slot of a vector that is read, or written, next.
    short read(OnDevice<X, D>* v) {
        const int before = count;
        const short slot = find(v);
        if (count > before) loaded |= std::uint64_t{1} << slot;
        return slot;
    }
    short write(OnDevice<X, D>* v) {
        const short slot = find(v);
        stored |= std::uint64_t{1} << slot;
        return slot;
    }

private:
    short find(OnDevice<X, D>* v) {
        for (int k = 0; k < count; ++k)
            if (address[k] == v) return static_cast<short>(k);
        if (count == most) throw std::length_error("a group of too many vectors");
        address[count] = v;
        return static_cast<short>(count++);
    }
};

/// The coefficients of a group, m numbers each; equal ones once.
template <class X, int most>
struct GroupCoefficients {
    X values[most > 0 ? most* max_columns : 1];
    int count = 0;

    short place(const ScalarsOf<X>& scalars) {
        const int columns = scalars.columns();
        for (int k = 0; k < count; ++k)
            if (std::equal(scalars.data(), scalars.data() + columns, values + k * columns))
                return static_cast<short>(k);
        std::copy_n(scalars.data(), columns, values + count * columns);
        return static_cast<short>(count++);
    }
};

/// Which of the dot products that a group could ask for it does ask for: where the sum of each goes; −1: nowhere.
template <int dots>
struct GroupDots {
    short place[dots > 0 ? dots : 1];
    int count = 0;
    GroupDots() { std::fill_n(place, dots > 0 ? dots : 1, short{-1}); }
    void ask(int dot) { place[dot] = static_cast<short>(count++); }
};

// ---- expressions ----

/// How an expression is said of a lane, and how many coefficients there are in it.
template <class E>
struct DeviceTerm;

template <class X, class D>
struct DeviceTerm<VectorTerm<OnDevice<X, D>>> {
    static constexpr int coefficients = 0;
    short slot;
    template <class Bind>
    DeviceTerm(const VectorTerm<OnDevice<X, D>>& e, Bind& bind) : slot(bind.vectors.read(e.data)) {}
    DeviceTerm() = default;
    STRETTO_KERNEL X value(const Lane<X>& lane) const { return lane.slot(slot); }
};
template <class X>
struct DeviceTerm<CoefficientTerm<X>> {
    static constexpr int coefficients = 1;
    short place;
    template <class Bind>
    DeviceTerm(const CoefficientTerm<X>& e, Bind& bind) : place(bind.coefficients.place(e.scalars)) {}
    DeviceTerm() = default;
    STRETTO_KERNEL X value(const Lane<X>& lane) const { return lane.coefficient(place); }
};
template <template <class, class> class Node, class L, class R>
struct DeviceTerm<Node<L, R>> {
    static constexpr int coefficients = DeviceTerm<L>::coefficients + DeviceTerm<R>::coefficients;
    DeviceTerm<L> left;
    DeviceTerm<R> right;
    template <class Bind>
    DeviceTerm(const Node<L, R>& e, Bind& bind) : left(e.left, bind), right(e.right, bind) {}
    DeviceTerm() = default;
    template <class X>
    STRETTO_KERNEL X value(const Lane<X>& lane) const {
        const X a = left.value(lane), b = right.value(lane);
        if constexpr (std::is_same_v<Node<L, R>, Sum<L, R>>)
            return a + b;
        else if constexpr (std::is_same_v<Node<L, R>, Difference<L, R>>)
            return a - b;
        else
            return a * b;
    }
};

// ---- statements ----

/// A kind of statement on a device: one specialisation each. Made of a statement and of what a group has of vectors,
/// coefficients and dot products (`bind`), of which its first is number `first`; run(lane, sums) says it of one element
/// and adds its dot products to `sums`.
template <class S>
struct DeviceKind;

template <class E>
struct DeviceKind<Assign<E>> {
    static constexpr int dots = 0, coefficients = DeviceTerm<E>::coefficients;
    DeviceTerm<E> expression;
    short target;
    template <class Bind>
    DeviceKind(const Assign<E>& s, Bind& bind, int)
        : expression(s.expression, bind), target(bind.vectors.write(s.target)) {}
    DeviceKind() = default;
    template <class X>
    STRETTO_KERNEL void run(const Lane<X>& lane, X*) const {
        lane.slot(target) = expression.value(lane);
    }
};

template <class X, class D>
struct DeviceKind<Dot<OnDevice<X, D>>> {
    static constexpr int dots = 1, coefficients = 0;
    short left, right;
    template <class Bind>
    DeviceKind(const Dot<OnDevice<X, D>>& s, Bind& bind, int first)
        : left(bind.vectors.read(s.left)), right(bind.vectors.read(s.right)) {
        bind.dots.ask(first);
    }
    DeviceKind() = default;
    STRETTO_KERNEL void run(const Lane<X>& lane, X* sums) const { sums[0] += lane.slot(left) * lane.slot(right); }
};

template <class S>
struct DeviceKind<When<S>> {
    static constexpr int dots = 0, coefficients = DeviceKind<S>::coefficients;
    DeviceKind<S> statement;
    bool active = false;
    template <class Bind>
    DeviceKind(const When<S>& s, Bind& bind, int first) : active(s.active) {
        if (active) statement = DeviceKind<S>(s.statement, bind, first);
    }
    DeviceKind() = default;
    template <class X>
    STRETTO_KERNEL void run(const Lane<X>& lane, X* sums) const {
        if (active) statement.run(lane, sums);
    }
};

template <class S>
struct DeviceKind<Guard<S>> : DeviceKind<S> {
    template <class Bind>
    DeviceKind(const Guard<S>& s, Bind& bind, int first) : DeviceKind<S>(s.statement, bind, first) {}
    DeviceKind() = default;
};

template <class S, int most>
struct DeviceKind<Each<S, most>> {
    static constexpr int dots = most * DeviceKind<S>::dots, coefficients = most * DeviceKind<S>::coefficients;
    DeviceKind<S> statements[most];
    int count = 0;
    template <class Bind>
    DeviceKind(const Each<S, most>& s, Bind& bind, int first) : count(s.count) {
        for (int k = 0; k < count; ++k)
            statements[k] =
                DeviceKind<S>(*s.statements[static_cast<std::size_t>(k)], bind, first + k * DeviceKind<S>::dots);
    }
    DeviceKind() = default;
    template <class X>
    STRETTO_KERNEL void run(const Lane<X>& lane, X* sums) const {
        STRETTO_UNROLL
        for (int k = 0; k < most; ++k)  // so far, not to `count`: sums stay in registers
            if (k < count) statements[k].run(lane, sums + k * DeviceKind<S>::dots);
    }
};

/// Statements one after the other. Of its own, because std::tuple cannot be used on a device.
template <class... S>
struct DeviceGroup {
    static constexpr int dots = 0, coefficients = 0;
    template <class Bind>
    DeviceGroup(Bind&, int) {}
    DeviceGroup() = default;
    template <class X>
    STRETTO_KERNEL void run(const Lane<X>&, X*) const {}
};
template <class First, class... Rest>
struct DeviceGroup<First, Rest...> {
    static constexpr int dots = DeviceKind<First>::dots + DeviceGroup<Rest...>::dots;
    static constexpr int coefficients = DeviceKind<First>::coefficients + DeviceGroup<Rest...>::coefficients;
    DeviceKind<First> head;
    DeviceGroup<Rest...> rest;
    template <class Bind>
    DeviceGroup(Bind& bind, int first, const First& s, const Rest&... others)
        : head(s, bind, first), rest(bind, first + DeviceKind<First>::dots, others...) {}
    DeviceGroup() = default;
    template <class X>
    STRETTO_KERNEL void run(const Lane<X>& lane, X* sums) const {
        head.run(lane, sums);
        rest.run(lane, sums + DeviceKind<First>::dots);
    }
};

template <class... S>
struct DeviceKind<Group<S...>> : DeviceGroup<S...> {
    template <class Bind>
    DeviceKind(const Group<S...>& s, Bind& bind, int first)
        : DeviceGroup<S...>(
              std::apply([&](const S&... all) { return DeviceGroup<S...>(bind, first, all...); }, s.statements)) {}
    DeviceKind() = default;
};

}  // namespace stretto
