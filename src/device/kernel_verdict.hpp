// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// When a loop that runs within a kernel ends, and what it tells the host of that, which judges again.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "in_kernel.hpp"

namespace stretto {

/// What a loop knows of the convergence that is asked for.
struct KernelGoal {
    Columns::Column column;
    int limit, patience, check;
    double replacements, gap, breakdown, cosine, refresh;
};
/// Why it ended.
enum class KernelEnd { judged, positive, nonzero, nonzero_of, handed_over, attained };
struct KernelReport {
    KernelEnd end = KernelEnd::judged;
    Status reason = Status::breakdown;
    double value = 0, scale = 0;
    std::uint64_t direction = 0;  ///< address of what is handed over
    int first = -1, last = -1;    ///< iterations whose residuals were judged
    int vectors = 0, replaced = 0, first_replaced = -1;
    KernelCounts before, counts, guards;  ///< at the first of them, and in the end; of safeguards
};

template <class D>
class Verdict<InKernel<D>> {
public:
    using T = InKernel<D>;
    using Numbers = Scalars<T>;

    /// r is what initial_residual() gives; squares of residuals go to `history`, which has room for those up to the
    /// limit.
    STRETTO_KERNEL_AND_HOST Verdict(Space<T>& V, const KernelGoal& goal, MultiVector<T> r, OnDevice<double, D>* history)
        : V_(V), goal_(goal), column_{goal.column}, r_(r), history_(history) {}

    STRETTO_KERNEL_AND_HOST bool operator()(int k, const Numbers& rr) {
        report_.last = k;
        if (report_.first < 0) {
            report_.first = k;
            report_.before = V_.counts();
        }
        if (V_.block().speaks()) V_.block().at(history_ + k) = rr[0];
        ended_ = ended_ || column_.of.judge(rr[0], k, goal_.patience).state != Columns::State::active;
        return leave();
    }
    STRETTO_KERNEL_AND_HOST bool unless_positive(const Numbers& value, Status reason) {
        return end_unless(value[0] > 0, KernelEnd::positive, value[0], 0, reason);
    }
    STRETTO_KERNEL_AND_HOST bool unless_nonzero(const Numbers& value) {
        return end_unless(is_finite(value[0]) && value[0] != 0, KernelEnd::nonzero, value[0], 0);
    }
    STRETTO_KERNEL_AND_HOST bool unless_nonzero(const Numbers& value, const Numbers& scale) {
        const double vanishing = column_.of.lenient ? 0 : goal_.breakdown * scale[0];
        return end_unless(is_finite(value[0]) && std::abs(value[0]) > vanishing, KernelEnd::nonzero_of, value[0],
                          scale[0]);
    }
    STRETTO_KERNEL_AND_HOST bool hand_over_unless(const Numbers& value, MultiVector<T> p) {
        report_.direction = reinterpret_cast<std::uint64_t>(p.data());
        return end_unless(value[0] > 0, KernelEnd::handed_over, value[0], 0);
    }
    STRETTO_KERNEL_AND_HOST bool residual_gap(const LinearMap<T>& A, MultiVector<T> b, MultiVector<T> x,
                                              MultiVector<T> r, MultiVector<T> scratch) {
        residual(V_, A, b, x, scratch);
        auto [gap, rr] = V_.start(scratch <<= scratch - r, dot(scratch, scratch), dot(r, r)).wait();
        end_unless(!column_.of.lose(gap[0], rr[0], report_.last), KernelEnd::attained, gap[0], 0);
        return gap[0] > goal_.gap * goal_.gap * rr[0] && gap[0] > 0;
    }
    /// Loops that keep snapshots run with launches.
    template <class... State>
    STRETTO_KERNEL_AND_HOST bool checkpoint(State&...) const {
        return false;
    }
    STRETTO_KERNEL_AND_HOST bool take_direction(MultiVector<T>) const { return false; }
    STRETTO_KERNEL_AND_HOST void initial_residual(const LinearMap<T>&, MultiVector<T>, MultiVector<T>,
                                                  MultiVector<T> r) {
        if (r.data() != r_.data()) V_.run(r <<= r_);
    }
    STRETTO_KERNEL_AND_HOST Numbers initial_squares(MultiVector<T> r) { return V_.start(dot(r, r)).wait()[0]; }
    STRETTO_KERNEL_AND_HOST bool fresh_shadow() const { return false; }
    STRETTO_KERNEL_AND_HOST int run() const { return 0; }
    template <std::size_t length>
    STRETTO_KERNEL_AND_HOST bool due(const char (&every_option)[length]) const {
        const int every = static_cast<int>(option(every_option));
        return every > 0 && report_.last > 0 && report_.last % every == 0;
    }
    /// Of those that loops here ask for.
    template <std::size_t length>
    STRETTO_KERNEL_AND_HOST double option(const char (&name)[length]) const {
        return same(name, "check")          ? goal_.check
               : same(name, "refresh")      ? goal_.refresh
               : same(name, "replacements") ? goal_.replacements
                                            : goal_.cosine;
    }
    /// Of a residual that was replaced: no loop here tells anything else.
    STRETTO_KERNEL_AND_HOST void event(const char*) {
        if (report_.replaced++ == 0) report_.first_replaced = report_.last;
    }
    struct OneColumn {
        Columns::Column of;
        STRETTO_KERNEL_AND_HOST const Columns::Column& operator[](int) const { return of; }
    };
    STRETTO_KERNEL_AND_HOST const OneColumn& columns() const { return column_; }

    STRETTO_KERNEL_AND_HOST KernelReport report() const {
        KernelReport all = report_;
        all.vectors = V_.taken();
        all.counts = V_.counts();
        all.guards = V_.guards();
        return all;
    }

private:
    STRETTO_KERNEL_AND_HOST bool end_unless(bool holds, KernelEnd end, double value, double scale,
                                            Status reason = Status::breakdown) {
        if (!ended_ && !holds) {
            ended_ = true;
            report_.end = end;
            report_.reason = reason;
            report_.value = value;
            report_.scale = scale;
        }
        return leave();
    }
    /// Without strlen() and memcmp(): nvcc leaves out, in silence, what would come to functions of the host.
    template <std::size_t m, std::size_t n>
    static constexpr bool same(const char (&a)[m], const char (&b)[n]) {
        bool all = m == n;
        for (std::size_t k = 0; all && k < m; ++k) all = a[k] == b[k];
        return all;
    }
    STRETTO_KERNEL_AND_HOST bool leave() const { return ended_ || report_.last >= goal_.limit; }

    Space<T>& V_;
    KernelGoal goal_;
    OneColumn column_;
    MultiVector<T> r_;
    OnDevice<double, D>* history_;
    KernelReport report_;
    bool ended_ = false;
};

}  // namespace stretto
