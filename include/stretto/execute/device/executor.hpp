// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How statements become kernels on a device. What is said is launched and runs in the order in which it was said; the
// host knows that it is done when it has waited.
//
// A group is one kernel (group.hpp) that has each vector pass once. A group with panels in it is a kernel a statement
// (panel.hpp). Dot products leave their kernels as a sum a block; another kernel adds these up in a fixed order, so a
// sum has the same bits in every run and on every device of a kind.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/random.hpp"
#include "stretto/execute/device/group.hpp"
#include "stretto/execute/device/panel.hpp"
#include "stretto/execute/device/vectors.hpp"
#include "stretto/execute/row_work.hpp"
#include "stretto/statements/traffic.hpp"

namespace stretto {

/// The executor (executor.hpp) of vectors in the memory of the device D.
template <class X, class D>
class DeviceExecutor {
public:
    using T = OnDevice<X, D>;
    using Memory = DeviceArray<X, D>;

    DeviceExecutor(int columns, int, Formulation formulation, Comm* = nullptr, Ledger* = nullptr)
        : columns_(columns), formulation_(formulation) {}

    Formulation formulation() const { return formulation_; }
    int threads() const { return 1; }
    void reserve(std::size_t) {}
    void wait() { D::wait(); }
    /// Returns when the dot products that were asked for at `dots` lie there; what was run since goes on.
    void arrive(const double* dots) {
        const auto found = std::ranges::find(trips_, dots, &Trip::to);
        if (found == trips_.end()) return;
        found->there.wait();
        std::copy_n(found->landing.data(), found->size, std::exchange(found->to, nullptr));
    }

    Memory allocate(std::size_t size) const { return Memory(size); }
    void upload(std::span<const X> values, MultiVector<T> v) const {
        D::upload(v.data(), values.data(), values.size_bytes());
    }
    void download(MultiVector<T> v, std::span<X> values) const {
        D::download(v.data(), values.data(), values.size_bytes());
    }
    void clear(MultiVector<T> v) const { for_each_on_device<D>(v.size(), ClearElement<X, D>{v.data(), 1}); }
    void clear_column(MultiVector<T> v, int column) const {
        for_each_on_device<D>(static_cast<std::size_t>(v.rows()), ClearElement<X, D>{v.data() + column, stride(v)});
    }
    void copy_column(MultiVector<T> from, MultiVector<T> to, int column) const {
        for_each_on_device<D>(static_cast<std::size_t>(from.rows()),
                              CopyElement<X, D>{from.data() + column, to.data() + column, stride(from)});
    }
    void fill_uniform(MultiVector<T> v, std::uint64_t seed, Global first_row) const {
        for_each_on_device<D>(v.size(), RandomElement<X, D>{v.data(), splitmix64(seed), first_row, stride(v)});
    }
    std::vector<double> largest(MultiVector<T> v) const {
        const auto threads = static_cast<std::size_t>(threads_of_columns(columns_, 1));
        DeviceArray<X, D> of_threads(threads);
        const LargestKernel<X, D> kernel{v.data(), of_threads.data(), v.size(), columns_};
        D::launch(kernel, kernel.launch());
        std::vector<X> found(threads);
        D::download(of_threads.data(), found.data(), threads * sizeof(X));
        std::vector<double> most(static_cast<std::size_t>(columns_));
        for (std::size_t t = 0; t < threads; ++t) {
            double& column = most[t % most.size()];
            column = std::max<double>(column, found[t]);
        }
        return most;
    }

    /// Launches the statements over `rows` rows. arrive(dots) brings the dot products of this rank, K × m values,
    /// there.
    template <class... S>
    void run(Index rows, double* dots, const S&... statements) {
        Trip* const trip = dots ? &begin(dots, static_cast<std::size_t>(count_dots(statements...))) : nullptr;
        sums_ = trip ? trip->results.data() : nullptr;
        say(rows, statements...);
        if (trip) D::bring(trip->results.data(), trip->landing.data(), trip->size * sizeof(X), trip->there);
    }
    /// Asked for only of operators that hand on rows, which none on a device does.
    template <class Product, class... S>
    void run_with(int, Product&&, double*, const S&...) {
        throw std::logic_error("products on a device hand on no rows");
    }

private:
    static std::size_t stride(MultiVector<T> v) { return static_cast<std::size_t>(v.columns()); }

    /// Dot products on their way: from where a kernel leaves them to where they were asked for.
    struct Trip {
        double* to = nullptr;  // null: none
        std::size_t size = 0;
        DeviceArray<X, D> results{};
        PinnedArray<X, D> landing{};
        typename D::Event there{};
    };
    /// Makes room for so many dot products, which are asked for.
    Trip& begin(double* dots, std::size_t count) {
        auto trip = std::ranges::find(trips_, nullptr, &Trip::to);
        if (trip == trips_.end()) trip = trips_.emplace(trips_.end());
        trip->to = dots;
        trip->size = count * static_cast<std::size_t>(columns_);
        if (trip->results.size() == 0 || trip->size > trip->results.size()) {
            trip->results = DeviceArray<X, D>(2 * trip->size + 2);
            trip->landing = PinnedArray<X, D>(trip->results.size());
        }
        return *trip;
    }
    template <class... S>
    void say(Index rows, const S&... statements) {
        if constexpr (!(has_panels<S> || ...))
            if (formulation_ == Formulation::merged) return launch(rows, statements...);
        const auto one = [&](const auto& s) { launch(rows, s); };
        const auto call = [&](const auto& s) {
            if (formulation_ == Formulation::merged)
                one(s);
            else
                for_each_call(one, s);
        };
        (for_each_statement(call, statements), ...);
    }
    /// Room for what blocks leave of `count` sums.
    OnDevice<X, D>* partials(int count, int blocks) {
        const auto size = static_cast<std::size_t>(count) * static_cast<std::size_t>(blocks * columns_);
        if (size > partials_.size()) partials_ = DeviceArray<X, D>(2 * size);
        return partials_.data();
    }
    void fold(int count, int parts) {
        D::launch(FoldKernel<X, D>{partials_.data(), sums_, parts, columns_},
                  FoldKernel<X, D>::launch(count, columns_));
        sums_ += static_cast<std::size_t>(count) * static_cast<std::size_t>(columns_);
    }

    template <class... S>
    void launch(Index rows, const S&... statements) {
        GroupKernel<X, D, S...> kernel(static_cast<std::size_t>(rows), columns_, statements...);
        const Launch how = kernel.launch();
        if (kernel.dots.count > 0) kernel.partials = partials(kernel.dots.count, how.blocks);
        D::launch(kernel, how);
        if (kernel.dots.count > 0) fold(kernel.dots.count, how.blocks);
    }
    void launch(Index rows, const PanelAssign<T>& s) {
        if (s.target.count() == 0) return;
        const auto values = PanelAssignKernel<X, D>::values(s, columns_);
        if (values.size() > coefficients_.size()) coefficients_ = DeviceArray<X, D>(2 * values.size());
        D::upload(coefficients_.data(), values.data(), values.size() * sizeof(X));
        const auto before = static_cast<std::size_t>(s.panel.count() * s.target.count() * columns_);
        const PanelAssignKernel<X, D> kernel{DevicePanel<X, D>(s.target),
                                             DevicePanel<X, D>(s.start),
                                             DevicePanel<X, D>(s.panel),
                                             coefficients_.data(),
                                             s.divisor.data ? coefficients_.data() + before : nullptr,
                                             static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns_),
                                             columns_};
        D::launch(kernel, kernel.launch());
    }
    void launch(Index rows, const PanelDots<T>& s) {
        if (s.count() == 0) return;
        PanelDotsKernel<X, D> kernel{DevicePanel<X, D>(s.left), DevicePanel<X, D>(s.right), nullptr,
                                     static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns_), columns_};
        kernel.partials = partials(s.count(), kernel.strips());
        D::launch(kernel, kernel.launch());
        fold(s.count(), kernel.strips());
    }

    int columns_;
    Formulation formulation_;
    DeviceArray<X, D> partials_, coefficients_;
    T* sums_ = nullptr;       // where the next sum goes
    std::deque<Trip> trips_;  // a deque never moves its elements
};

}  // namespace stretto
