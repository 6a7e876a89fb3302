// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The loop of a method as one kernel: where launches, and the way of sums over the host, take longer than what is
// computed. The host gives it the residual it begins with, and goes through its residuals afterwards as if it had
// computed them: what converges, breaks down or gets nowhere, and what follows, is judged there as ever.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernel_verdict.hpp"
#include "stretto/core/error.hpp"
#include "stretto/execute/device/executor.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// What such kernels need of a matrix, in its device's memory, and room for what they leave there.
template <class D>
class WithinKernels {
public:
    static constexpr int most_iterations = 1 << 16;  // of one kernel: then the host goes on

    explicit WithinKernels(const CsrMatrix<double>& A) : history_(most_iterations + 1), report_(1), arrivals_(1) {
        constexpr int high = KernelRows<D>::high;
        std::vector<std::int64_t> start{0};
        std::vector<Index> columns;
        std::vector<double> values;
        for (Index first = 0; first < A.local_rows(); first += high) {
            const Index end = std::min(first + high, A.local_rows());
            std::size_t length = 0;
            for (Index i = first; i < end; ++i) length = std::max(length, A.row(i).columns.size());
            for (std::size_t k = 0; k < length; ++k)
                for (Index i = first; i < first + high; ++i) {
                    const bool there = i < end && k < A.row(i).columns.size();
                    columns.push_back(there ? A.row(i).columns[k] : std::min(i, end - 1));
                    values.push_back(there ? A.row(i).values[k] : 0);
                }
            start.push_back(static_cast<std::int64_t>(values.size()));
        }
        start_ = DeviceArray<std::int64_t, D>(start);
        columns_ = DeviceArray<Index, D>(columns);
        values_ = DeviceArray<double, D>(values);
    }

    /// Whether loops of so many rows are to be kernels: where that measured faster, or where the environment says so.
    static bool wanted(Index rows) {
        const char* const said = std::getenv("STRETTO_ONE_KERNEL");
        const std::string_view text = said ? said : "";
        if (text == "0" || text == "1") return text == "1";
        if (!text.empty())
            throw InputError("STRETTO_ONE_KERNEL is '" + std::string(text) + "': it is 0 (never) or 1 (always)");
        return rows <= D::loops_up_to;
    }

    KernelRows<D> rows() const { return {start_.data(), columns_.data(), values_.data()}; }
    double bytes(Index rows) const {
        return static_cast<double>(values_.size() * (sizeof(double) + sizeof(Index)) +
                                   start_.size() * sizeof(std::int64_t)) +
               2.0 * sizeof(double) * rows;
    }
    OnDevice<double, D>* parts(int blocks) const {
        const auto size = static_cast<std::size_t>(KernelGrid<D>::slots * KernelGrid<D>::most_dots * blocks);
        if (parts_.size() < size) parts_ = DeviceArray<double, D>(size);
        return parts_.data();
    }
    OnDevice<double, D>* history() const { return history_.data(); }
    OnDevice<KernelReport, D>* report() const { return report_.data(); }
    /// Zero.
    OnDevice<std::uint32_t, D>* arrivals() const {
        const std::uint32_t none = 0;
        D::upload(arrivals_.data(), &none, sizeof(none));
        return arrivals_.data();
    }

private:
    DeviceArray<std::int64_t, D> start_;
    DeviceArray<Index, D> columns_;
    DeviceArray<double, D> values_, history_;
    DeviceArray<KernelReport, D> report_;
    DeviceArray<std::uint32_t, D> arrivals_;
    mutable DeviceArray<double, D> parts_;
};

/// Whether the loop of a method may be one kernel.
template <class T>
bool may_be_one_kernel(std::string_view method);

/// Text::run(V, A, M, b, x, stop) is the text of a method.
template <class Text, class D>
struct LoopKernel {
    static constexpr std::string_view name = "a whole loop";
    static constexpr int threads = 512;
    KernelGrid<D> grid;
    KernelRows<D> rows;
    const OnDevice<double, D>* inverse;  // the diagonal of M⁻¹, or null
    InKernel<D>*b, *x, *r;
    KernelGoal goal;
    OnDevice<double, D>* history;
    OnDevice<KernelReport, D>* report;

    template <class Block>
    STRETTO_KERNEL void operator()(Block& block) const {
        using T = InKernel<D>;
        Space<T> V(block, grid);
        const LinearMap<T> A(V, &rows, nullptr), M(V, nullptr, inverse);
        Verdict<T> stop(V, goal, {r, grid.rows, 1}, history);
        Text::run(V, A, M, {b, grid.rows, 1}, {x, grid.rows, 1}, stop);
        if (block.speaks()) block.at(report) = stop.report();
    }
};

/// False: this is not for one kernel, and nothing was done.
template <class Text, class T, class D = typename T::Device>
bool run_in_one_kernel(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                       Verdict<T>& stop) {
    const auto* const within = static_cast<const WithinKernels<D>*>(A.within_kernels());
    if (!within || V.width() > 1 || stop.run() > 0 || stop.fresh_shadow() || (M && !M.as_diagonal())) return false;

    const auto r = V.vector();
    stop.initial_residual(A, b, x, r);
    const auto within_it = [](T* v) { return reinterpret_cast<InKernel<D>*>(v); };
    const auto option = [&](std::string_view name) { return stop.has_option(name) ? stop.option(name) : 0; };
    using Loop = LoopKernel<Text, D>;
    const int blocks =
        std::min(D::template most_together<Loop>(), blocks_of(static_cast<std::size_t>(V.rows()), Loop::threads));
    const Loop loop{{within->parts(blocks), within->arrivals(), within_it(r.data()), V.workspace().stride(), V.rows()},
                    within->rows(),
                    M ? M.as_diagonal() : nullptr,
                    within_it(b.data()),
                    within_it(x.data()),
                    within_it(r.data()),
                    {stop.columns()[0], std::min(stop.columns().remaining(), WithinKernels<D>::most_iterations),
                     static_cast<int>(option("patience")), static_cast<int>(option("check")), option("replacements"),
                     option("gap"), option("breakdown"), option("cosine"), option("refresh")},
                    within->history(),
                    within->report()};
    const auto began = Clock::now();
    KernelReport report;
    std::vector<double> history;
    {
        const auto watch = V.ledger().time(Kernel::vectors);
        D::launch_together(loop, blocks);
        D::download(within->report(), &report, sizeof(report));
        if (report.vectors == 0) throw std::logic_error("a kernel has nothing of the loop it was made of");
        history.resize(static_cast<std::size_t>(report.last + 1));
        D::download(within->history(), history.data(), history.size() * sizeof(double));
    }
    for (int k = 1; k < report.vectors; ++k) V.vector();

    const auto count = [&](Phase phase, const KernelCounts& done, int sign) {
        Counts& counts = V.ledger().at(phase);
        const double vector_bytes = sizeof(double) * static_cast<double>(V.rows());
        counts.applies += sign * done.products;
        counts.preconditionings += sign * done.preconditionings;
        counts.reductions += sign * done.reductions;
        counts.hidden_reductions += sign * done.hidden_reductions;
        counts.add({sign * done.reads, sign * done.writes}, vector_bytes);
        counts.bytes += sign * (done.products * within->bytes(V.rows()) + done.preconditionings * 3 * vector_bytes);
    };
    const Counts before = V.ledger().at(Phase::iteration);
    count(Phase::setup, report.before, 1);
    count(Phase::iteration, report.counts, 1);
    count(Phase::iteration, report.before, -1);
    count(Phase::safeguard, report.guards, 1);
    if (report.last > report.first) stop.count(before, report.last - report.first, began);

    auto number = V.scalars();
    for (int k = std::max(report.first, 0); k <= report.last; ++k) {
        number[0] = history[static_cast<std::size_t>(k)];
        const bool ended = stop(k, number);
        for (int times = 0; k == report.first_replaced && times < report.replaced; ++times)
            stop.event("residual replaced");
        if (ended) return true;
    }
    auto scale = V.scalars();
    number[0] = report.value;
    scale[0] = report.scale;
    const MultiVector<T> direction(reinterpret_cast<T*>(report.direction), V.rows(), 1);
    switch (report.end) {
        case KernelEnd::judged:
        case KernelEnd::attained: break;  // the host looks again
        case KernelEnd::positive: std::ignore = stop.unless_positive(number, report.reason); break;
        case KernelEnd::nonzero: std::ignore = stop.unless_nonzero(number); break;
        case KernelEnd::nonzero_of: std::ignore = stop.unless_nonzero(number, scale); break;
        case KernelEnd::handed_over: std::ignore = stop.hand_over_unless(number, direction); break;
    }
    return true;
}

/// The text of a method, as one kernel where that is wanted.
template <class Text, class T>
void in_one_kernel(Space<T>& V, const LinearMap<T>& A, const LinearMap<T>& M, MultiVector<T> b, MultiVector<T> x,
                   Verdict<T>& stop) {
    if (!run_in_one_kernel<Text>(V, A, M, b, x, stop)) Text::run(V, A, M, b, x, stop);
}

}  // namespace stretto
