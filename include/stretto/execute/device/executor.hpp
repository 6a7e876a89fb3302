// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// How statements become kernels on a device. What is said is launched and runs in the order in which it was said; the
// host knows that it is done when it has waited.
//
// A group is one kernel (group.hpp) that has each vector pass once. A group with panels in it is a kernel a statement
// (panel.hpp). Blocks leave their parts of dot products, and the last of them adds these up in a fixed order, so a sum
// has the same bits in every run and on every device of a kind. It writes to the host's memory, where the host looks.

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
    static constexpr bool takes_diagonals = true;  ///< as a vector that others are multiplied by

    DeviceExecutor(int columns, int, Formulation formulation, Comm* = nullptr, Ledger* = nullptr)
        : columns_(columns), formulation_(formulation), raised_(1) {
        *raised_.data() = turn_;
    }

    Formulation formulation() const { return formulation_; }
    int threads() const { return 1; }
    void reserve(std::size_t) {}
    void wait() { D::wait(); }
    /// Returns when the dot products that were asked for at `dots` lie there; what was run since goes on.
    void arrive(const double* dots) {
        const auto found = std::ranges::find(trips_, dots, &Trip::to);
        if (found == trips_.end()) return;
        D::wait_for(*raised_.data(), found->turn);
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
        for_each_row_on_device<D>(static_cast<std::size_t>(v.rows()), v.columns(),
                                  RandomElement<X, D>{v.data(), splitmix64(seed), first_row});
    }
    std::vector<double> largest(MultiVector<T> v) const {
        LargestKernel<X, D> kernel{v.data(), nullptr, v.size(), columns_};
        const Launch how = kernel.launch();
        const std::size_t threads = static_cast<std::size_t>(how.blocks) * static_cast<std::size_t>(how.threads);
        const DeviceArray<X, D> of_threads(threads);
        kernel.most = of_threads.data();
        D::launch(kernel, how);
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
        results_ = trip ? D::seen(trip->landing.data()) : nullptr;
        say(rows, statements...);
        if (trip) trip->turn = turn_;
    }
    /// Asked for only of operators that hand on rows, which none on a device does.
    template <class Product, class... S>
    void run_with(int, Product&&, double*, const S&...) {
        throw std::logic_error("products on a device hand on no rows");
    }

private:
    static std::size_t stride(MultiVector<T> v) { return static_cast<std::size_t>(v.columns()); }

    /// Dot products on their way to where they were asked for.
    struct Trip {
        double* to = nullptr;  // null: none
        std::size_t size = 0;
        PinnedArray<X, D> landing{};
        std::uint32_t turn = 0;  // they are there when it is raised
    };
    /// Makes room for so many dot products, which are asked for.
    Trip& begin(double* dots, std::size_t count) {
        auto trip = std::ranges::find(trips_, nullptr, &Trip::to);
        if (trip == trips_.end()) trip = trips_.emplace(trips_.end());
        trip->to = dots;
        trip->size = count * static_cast<std::size_t>(columns_);
        if (trip->landing.size() == 0 || trip->size > trip->landing.size())
            trip->landing = PinnedArray<X, D>(2 * trip->size + 2);
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
    /// Of the next `results` numbers that were asked for, for a kernel whose blocks leave `partials` parts of them, in
    /// so many tiles.
    SumsForHost<X, D> sums(std::size_t results, std::size_t partials, int tiles) {
        if (partials > partials_.size()) partials_ = DeviceArray<X, D>(2 * partials);
        if (const auto counters = static_cast<std::size_t>(tiles) + 1; counters > arrived_.size())
            arrived_ = DeviceArray<std::uint32_t, D>(std::vector<std::uint32_t>(2 * counters));
        return {partials_.data(), std::exchange(results_, results_ + results), arrived_.data(), D::seen(raised_.data()),
                ++turn_};
    }

    template <class... S>
    void launch(Index rows, const S&... statements) {
        GroupKernel<X, D, S...> kernel(static_cast<std::size_t>(rows), columns_, statements...);
        const Launch how = kernel.take_shape();
        if (const auto count = static_cast<std::size_t>(kernel.dots.count * columns_); count > 0)
            kernel.sums = sums(count, count * static_cast<std::size_t>(how.blocks), 1);
        D::launch(kernel, how);
    }
    void launch(Index rows, const PanelAssign<T>& s) {
        if (s.target.count() == 0) return;
        const auto values = values_of(s, columns_);
        if (values.size() > coefficients_.size()) coefficients_ = DeviceArray<X, D>(2 * values.size());
        D::upload(coefficients_.data(), values.data(), values.size() * sizeof(X));
        const auto before = static_cast<std::size_t>(s.panel.count() * s.target.count() * columns_);
        const auto with = [&]<int together>() {
            const PanelAssignKernel<X, D, together> kernel{
                DevicePanel<X, D>(s.target),
                DevicePanel<X, D>(s.start),
                DevicePanel<X, D>(s.panel),
                coefficients_.data(),
                s.divisor.data ? coefficients_.data() + before : nullptr,
                static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns_),
                columns_};
            D::launch(kernel, kernel.launch());
        };
        s.target.count() == 1 ? with.template operator()<1>() : with.template operator()<4>();
    }
    void launch(Index rows, const PanelDots<T>& s) {
        if (s.count() == 0) return;
        PanelDotsKernel<X, D> kernel{DevicePanel<X, D>(s.left),
                                     DevicePanel<X, D>(s.right),
                                     {},
                                     static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns_),
                                     columns_};
        kernel.sums = sums(static_cast<std::size_t>(s.count() * columns_), kernel.partials(), kernel.tiles());
        D::launch(kernel, kernel.launch());
    }

    int columns_;
    Formulation formulation_;
    DeviceArray<X, D> partials_, coefficients_;
    DeviceArray<std::uint32_t, D> arrived_;
    T* results_ = nullptr;  // where the next sum goes
    PinnedArray<std::uint32_t, D> raised_;
    std::uint32_t turn_ = 0;  // the last one that a kernel was told to raise
    std::deque<Trip> trips_;  // a deque never moves its elements
};

}  // namespace stretto
