// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Statements: what the methods are written in.
//
//     p <<= r + beta * (p - omega * s)     assigns an expression to a vector
//     dot(q, y)                            asks for a dot product, per column
//     when(M, q <<= m + beta * q)          is said only if the condition holds
//     group(x <<= …, r <<= …)              a group with a name, to be said later, alone or inside others
//     each(l, [&](int k) { return … ; })   l statements of one kind, where l is known only when running
//     W <<= (W - Q * S) / R                the same for panels (panel.hpp): tall blocks of vectors, small dense S and R
//     dots(Q, W)                           all products of a vector of Q with one of W
//     s <<= A * p                          a product, first in its group (linear_map.hpp)
//     guard(dot(r0, s))                    is no part of the paper's method but of its safeguards: counted apart
//
// They are values that know what they read and write; nothing is computed here. Meaning of a group: for every
// element, the statements in order; later ones see earlier results.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "stretto/core/multivector.hpp"
#include "stretto/core/panel.hpp"
#include "stretto/core/scalars.hpp"

namespace stretto {

/// The number of products of a list of statements that is known only when running, if there are panels in it: any
/// number from here up.
inline constexpr int many_dots = 1 << 20;

// An element of an expression is addressed by the start of its block of rows and its lane inside the block
// (execute.hpp). Vectors use both; coefficients, which repeat with the columns, only the lane.

template <class T>
struct VectorTerm {
    using value_type = T;
    T* data;
    T at(std::size_t block, std::size_t lane) const { return data[block + lane]; }
};

template <class T>
struct CoefficientTerm {
    using value_type = T;
    Scalars<T> scalars;
};

template <class L, class R>
struct Sum {
    using value_type = typename L::value_type;
    L left;
    R right;
    value_type at(std::size_t block, std::size_t lane) const { return left.at(block, lane) + right.at(block, lane); }
};

template <class L, class R>
struct Difference {
    using value_type = typename L::value_type;
    L left;
    R right;
    value_type at(std::size_t block, std::size_t lane) const { return left.at(block, lane) - right.at(block, lane); }
};

template <class C, class E>
struct Product {
    using value_type = typename E::value_type;
    C left;
    E right;
    value_type at(std::size_t block, std::size_t lane) const { return left.at(block, lane) * right.at(block, lane); }
};

template <class E>
inline constexpr bool is_expression = false;
template <class T>
inline constexpr bool is_expression<VectorTerm<T>> = true;
template <class L, class R>
inline constexpr bool is_expression<Sum<L, R>> = true;
template <class L, class R>
inline constexpr bool is_expression<Difference<L, R>> = true;
template <class C, class E>
inline constexpr bool is_expression<Product<C, E>> = true;

template <class T>
VectorTerm<T> term(MultiVector<T> v) {
    return {v.data()};
}
template <class E>
    requires is_expression<E>
E term(E e) {
    return e;
}

/// A vector, or an expression made of vectors and coefficients.
template <class E>
concept VectorExpression = requires(E e) { term(e); };
template <VectorExpression E>
using Term = decltype(term(std::declval<E>()));

template <VectorExpression L, VectorExpression R>
auto operator+(const L& left, const R& right) {
    return Sum<Term<L>, Term<R>>{term(left), term(right)};
}
template <VectorExpression L, VectorExpression R>
auto operator-(const L& left, const R& right) {
    return Difference<Term<L>, Term<R>>{term(left), term(right)};
}
template <class T, VectorExpression E>
auto operator*(const Scalars<T>& coefficient, const E& e) {
    return Product<CoefficientTerm<T>, Term<E>>{{coefficient}, term(e)};
}

template <class E>
struct Assign {
    using value_type = typename E::value_type;
    static constexpr int dots = 0;
    value_type* target;
    E expression;
};

template <class T>
struct Dot {
    using value_type = T;
    static constexpr int dots = 1;
    T* left;
    T* right;
};

// ---- panels ----

template <class T>
struct Combination {
    Panel<T> panel;
    SmallView<T> coefficients;
};

/// target = (start ± panel · coefficients) · divisor⁻¹; an empty start is zero, a divisor without data is the identity,
/// otherwise an upper triangle. A zero on its diagonal makes a vector zero, as for Scalars.
template <class T>
struct PanelAssign {
    using value_type = T;
    static constexpr int dots = 0;
    Panel<T> target, start, panel;
    SmallView<T> coefficients, divisor;
    T sign;
};

/// All products of a vector of `left` with one of `right`; those of one of `left` together.
template <class T>
struct PanelDots {
    using value_type = T;
    static constexpr int dots = many_dots;
    Panel<T> left, right;
};

template <class S>
struct When {
    using value_type = typename S::value_type;
    static constexpr int dots = 0;
    bool active;
    S statement;
};

template <class S>
struct Guard {
    using value_type = typename S::value_type;
    static constexpr int dots = S::dots;
    S statement;
};

/// What `statement(k)` returns for k = 0 … count − 1. It is asked whenever the group is looked at, so it must be the
/// same every time. `dots` is how many there can be at most.
template <class F, int most>
struct Each {
    using Statement = std::invoke_result_t<const F&, int>;
    using value_type = typename Statement::value_type;
    static constexpr int dots = most * Statement::dots;
    int count;
    F statement;
};

template <class... S>
struct Group {
    using value_type = typename std::tuple_element_t<0, std::tuple<S...>>::value_type;
    static constexpr int dots = (S::dots + ...);
    std::tuple<S...> statements;
};

template <class S>
inline constexpr bool has_panels = false;
template <class T>
inline constexpr bool has_panels<PanelAssign<T>> = true;
template <class T>
inline constexpr bool has_panels<PanelDots<T>> = true;
template <class S>
inline constexpr bool has_panels<When<S>> = has_panels<S>;
template <class S>
inline constexpr bool has_panels<Guard<S>> = has_panels<S>;
template <class... S>
inline constexpr bool has_panels<Group<S...>> =
    (has_panels<S> || ...);  // NOLINT(misc-redundant-expression): twice the same kind

template <class T, VectorExpression E>
auto operator<<=(MultiVector<T> target, const E& e) {
    return Assign<Term<E>>{target.data(), term(e)};
}
template <class T>
Combination<T> operator*(const Panel<T>& panel, const SmallView<T>& coefficients) {
    return {panel, coefficients};
}
template <class T>
PanelAssign<T> operator-(const Panel<T>& start, const Combination<T>& all) {
    return {{}, start, all.panel, all.coefficients, {}, T{-1}};
}
template <class T>
PanelAssign<T> operator+(const Panel<T>& start, const Combination<T>& all) {
    return {{}, start, all.panel, all.coefficients, {}, T{1}};
}
template <class T>
PanelAssign<T> operator/(PanelAssign<T> all, const SmallView<T>& divisor) {
    all.divisor = divisor;
    return all;
}
template <class T>
PanelAssign<T> operator/(const Panel<T>& start, const SmallView<T>& divisor) {
    return {{}, start, start.part(0, 0), {}, divisor, T{1}};
}
template <class T>
PanelAssign<T> operator<<=(const Panel<T>& target, PanelAssign<T> all) {
    all.target = target;
    return all;
}
template <class T>
PanelAssign<T> operator<<=(const Panel<T>& target, const Combination<T>& all) {
    return {target, target.part(0, 0), all.panel, all.coefficients, {}, T{1}};
}
template <class T>
PanelDots<T> dots(const Panel<T>& left, const Panel<T>& right) {
    return {left, right};
}

template <class T>
Dot<T> dot(MultiVector<T> left, MultiVector<T> right) {
    return {left.data(), right.data()};
}
template <class Condition, class S>
    requires std::is_constructible_v<bool, Condition>
When<S> when(const Condition& condition, S statement) {
    static_assert(S::dots == 0, "the number of dot products of a group must not depend on a condition");
    return {static_cast<bool>(condition), statement};
}
template <int most = 16, class F>
    requires std::is_invocable_v<const F&, int>
Each<F, most> each(int count, F statement) {
    if (count < 0 || count > most) throw std::length_error("each: more statements than it can hold");
    return {count, statement};
}
template <class S>
Guard<S> guard(S statement) {
    return {statement};
}
template <class... S>
Group<S...> group(S... statements) {
    return {{statements...}};
}

/// Reads and writes of whole vectors (n × m values each).
struct Traffic {
    std::int64_t reads = 0;
    std::int64_t writes = 0;

    Traffic& operator+=(const Traffic& other) {
        reads += other.reads;
        writes += other.writes;
        return *this;
    }
    friend Traffic operator-(const Traffic& a, const Traffic& b) { return {a.reads - b.reads, a.writes - b.writes}; }
    bool operator==(const Traffic&) const = default;
};

/// The vectors a pass over memory has touched: the first use of a vector in it is a read, what the pass wrote or
/// read before is in cache, and each vector written costs one write.
class Pass {
public:
    void read(const void* vector) {
        if (find(vector)) return;
        insert(vector, false);
        ++traffic_.reads;
        ++vectors_;
    }
    void write(const void* vector) {
        Entry* entry = find(vector);
        if (entry && entry->written) return;
        vectors_ += !entry;
        insert(vector, true);
        ++traffic_.writes;
    }
    Traffic traffic() const { return traffic_; }
    int vectors() const { return vectors_; }

private:
    /// Vectors at equal distances, as those of panels are: so that there are few entries.
    struct Entry {
        const char* first;
        std::ptrdiff_t stride, length;
        bool written;
    };
    Entry* find(const void* vector) {
        Entry* found = nullptr;
        for (std::size_t k = 0; k < count_; ++k) {
            const std::ptrdiff_t distance = static_cast<const char*>(vector) - entries_[k].first;
            const bool there = distance == 0 || (entries_[k].stride > 0 && distance > 0 &&
                                                 distance < entries_[k].length && distance % entries_[k].stride == 0);
            if (there && (!found || entries_[k].written)) found = &entries_[k];
        }
        return found;
    }
    void insert(const void* vector, bool written) {
        const auto* const address = static_cast<const char*>(vector);
        if (count_ > 0) {
            Entry& last = entries_[count_ - 1];
            const std::ptrdiff_t distance = address - last.first;
            const bool second = last.stride == 0 && distance > 0;
            if (last.written == written && (second || (last.stride > 0 && distance == last.length))) {
                last.stride = second ? distance : last.stride;
                last.length = distance + last.stride;
                return;
            }
        }
        entries_.at(count_++) = {address, 0, 0, written};
    }

    std::array<Entry, 64> entries_;
    std::size_t count_ = 0;
    int vectors_ = 0;
    Traffic traffic_;
};

template <class T>
void note(Pass& pass, const VectorTerm<T>& e) {
    pass.read(e.data);
}
template <class L, class R>
void note(Pass& pass, const Sum<L, R>& e) {
    note(pass, e.left);
    note(pass, e.right);
}
template <class L, class R>
void note(Pass& pass, const Difference<L, R>& e) {
    note(pass, e.left);
    note(pass, e.right);
}
template <class C, class E>
void note(Pass& pass, const Product<C, E>& e) {
    note(pass, e.right);
}
template <class E>
void note(Pass& pass, const Assign<E>& s) {
    note(pass, s.expression);
    pass.write(s.target);
}
template <class T>
void note(Pass& pass, const Dot<T>& s) {
    pass.read(s.left);
    pass.read(s.right);
}

template <class T>
void note(Pass& pass, const PanelAssign<T>& s) {
    for (int k = 0; k < s.panel.count(); ++k) pass.read(s.panel[k].data());
    for (int k = 0; k < s.start.count(); ++k) pass.read(s.start[k].data());
    for (int k = 0; k < s.target.count(); ++k) pass.write(s.target[k].data());
}
template <class T>
void note(Pass& pass, const PanelDots<T>& s) {
    for (int k = 0; k < s.left.count(); ++k) pass.read(s.left[k].data());
    for (int k = 0; k < s.right.count(); ++k) pass.read(s.right[k].data());
}

/// Which statements are meant: all, or those of the paper's method alone.
enum class Said { all, unguarded };

/// Calls f with every statement said, in order: groups and lists are opened, inactive conditions left out.
template <Said said = Said::all, class S, class F>
void for_each_statement(F&& f, const S& statement) {
    f(statement);
}
template <Said said = Said::all, class S, class F>
void for_each_statement(F&& f, const When<S>& when) {
    if (when.active) for_each_statement<said>(f, when.statement);
}
template <Said said = Said::all, class S, class F>
void for_each_statement(F&& f, const Guard<S>& guard) {
    if constexpr (said == Said::all) for_each_statement<said>(f, guard.statement);
}
template <Said said = Said::all, class G, int most, class F>
void for_each_statement(F&& f, const Each<G, most>& each) {
    for (int k = 0; k < each.count; ++k) for_each_statement<said>(f, each.statement(k));
}
template <Said said = Said::all, class... S, class F>
void for_each_statement(F&& f, const Group<S...>& group) {
    std::apply([&](const auto&... s) { (for_each_statement<said>(f, s), ...); }, group.statements);
}

/// The basic formulation is made of calls with at most three vectors, as in BLAS and its extensions. What the methods
/// say with four, y − ω(t − αv), takes two calls (Krasnopolsky 2019, footnotes of Table 2): first the inner expression
/// into the target, then the rest. `basic` calls f with each such call.
template <class S, class F>
void for_each_call(F&& f, const S& statement) {
    f(statement);
}
template <class A, class C, class E, class F>
    requires is_expression<E>
void for_each_call(F&& f, const Assign<Difference<A, Product<C, E>>>& s) {
    Pass all, outer;
    note(all, s);
    note(outer, s.expression.left);
    const int before = outer.vectors();
    outer.read(s.target);
    if (all.vectors() <= 3 || outer.vectors() == before) return f(s);
    const VectorTerm<typename E::value_type> target{s.target};
    for_each_call(f, Assign<E>{s.target, s.expression.right.right});
    f(Assign<Difference<A, Product<C, decltype(target)>>>{s.target,
                                                          {s.expression.left, {s.expression.right.left, target}}});
}

/// A panel is updated and divided in two calls.
template <class T, class F>
void for_each_call(F&& f, const PanelAssign<T>& s) {
    if (!s.divisor.data || s.panel.count() == 0) return f(s);
    auto update = s;
    update.divisor = {};
    f(update);
    f(s.target <<= s.target / s.divisor);
}

/// How many dot products are asked for.
template <class S>
int count_dots_of(const S&) {
    return S::dots;
}
template <class T>
int count_dots_of(const PanelDots<T>& s) {
    return s.left.count() * s.right.count();
}
template <class... S>
int count_dots(const S&... statements) {
    int count = 0;
    (for_each_statement([&](const auto& s) { count += count_dots_of(s); }, statements), ...);
    return count;
}

/// Whether nothing but dot products is said.
template <class... S>
bool only_dots(const S&... statements) {
    bool some = false, others = false;
    (for_each_statement([&]<class One>(const One&) { (One::dots > 0 ? some : others) = true; }, statements), ...);
    return some && !others;
}

enum class Formulation { basic, merged };

/// Vector reads and writes of statements said together; what `merged` has touched, they find in cache.
template <Said said = Said::all, class... S>
Traffic traffic_after(Pass merged, Formulation formulation, const S&... statements) {
    Traffic total = Traffic{} - merged.traffic();
    const auto count = [&](const auto& s) {
        if (formulation == Formulation::merged) return note(merged, s);
        for_each_call(
            [&](const auto& call) {
                Pass pass;
                note(pass, call);
                total += pass.traffic();
            },
            s);
    };
    (for_each_statement<said>(count, statements), ...);
    total += merged.traffic();
    return total;
}
template <Said said = Said::all, class... S>
Traffic traffic(Formulation formulation, const S&... statements) {
    return traffic_after<said>({}, formulation, statements...);
}

}  // namespace stretto
