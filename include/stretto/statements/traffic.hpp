// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What statements move through memory, counted: by their merged formulation, one pass a group, and by the basic one,
// one pass a call.

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "stretto/measure/traffic.hpp"
#include "stretto/statements/statement.hpp"

namespace stretto {

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
