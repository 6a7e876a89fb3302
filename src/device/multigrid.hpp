// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "exchange.hpp"
#include "inverse.hpp"
#include "matrix.hpp"
#include "on_host.hpp"
#include "precond/multigrid.hpp"
#include "precond/v_cycle.hpp"
#include "row_work.hpp"
#include "stretto/core/scratch.hpp"

namespace stretto {

/// Interpolation from a coarser level and its transpose on a device, made of those on the host, whose plan of the halo
/// they use. What rows elsewhere get of a restriction is multiplied first, and travels while the others are.
template <class X, class D>
class DeviceTransfer {
public:
    using T = OnDevice<X, D>;

    /// P must stay where it is. `columns`: how many right-hand sides it is for.
    DeviceTransfer(const Transfer& P, int columns)
        : fine_(P.fine_rows()), coarse_(P.coarse_rows()), halo_(&P.halo()), send_rows_(P.halo().send_rows()) {
        std::tie(interpolation_, beside_halo_) = parts(P.P(), fine_, coarse_, columns);
        auto turned = P.transpose();
        others_ =
            DeviceRows<X, D>([&](Index i) { return row(turned, coarse_ + i); }, first_rows(halo_->size()), columns);
        add_arriving(turned);
        std::tie(restriction_, with_arriving_) = parts(turned, coarse_, fine_, columns);
    }

    /// Collective. x = P y.
    void interpolate(MultiVector<T> y, MultiVector<T> x) const {
        const int m = y.columns();
        const StoreRows<X, D> to{x.data()};
        auto* const exchange = exchange_of(to_halo_, m, Way::to_the_halo);
        if (exchange) {
            pack_rows(send_rows_, y, exchange->leaving());
            exchange->leave();
        }
        interpolation_.multiply(y.data(), nullptr, to, coarse_, m);
        if (exchange) beside_halo_.multiply(y.data(), exchange->arrived(), to, coarse_, m);
    }
    /// Collective. y = Pᵀ x.
    void restrict_to(MultiVector<T> y, MultiVector<T> x) const {
        const int m = x.columns();
        const StoreRows<X, D> to{y.data()};
        auto* const exchange = exchange_of(back_, m, Way::back);
        if (exchange) {
            others_.multiply(x.data(), nullptr, StoreRows<X, D>{exchange->leaving()}, fine_, m);
            exchange->leave();
        }
        restriction_.multiply(x.data(), nullptr, to, fine_, m);
        if (exchange) with_arriving_.multiply(x.data(), exchange->arrived(), to, fine_, m);
    }

private:
    using Plain = Transfer::Plain;
    using Exchanges = Scratch<DeviceExchange<X, D>>;  // by number of columns
    struct Row {
        std::span<const Index> columns;
        std::span<const X> values;
    };
    static Row row(const Plain& rows, Index i) {
        const std::size_t begin = rows.start[static_cast<std::size_t>(i)];
        const std::size_t size = rows.start[static_cast<std::size_t>(i) + 1] - begin;
        return {std::span(rows.columns).subspan(begin, size), std::span(rows.values).subspan(begin, size)};
    }
    static std::vector<Index> first_rows(Index count) {
        std::vector<Index> numbers(static_cast<std::size_t>(count));
        std::iota(numbers.begin(), numbers.end(), 0);
        return numbers;
    }
    /// The first `count` rows: those that have columns below `own` alone, and the others.
    static std::pair<DeviceRows<X, D>, DeviceRows<X, D>> parts(const Plain& rows, Index count, Index own, int columns) {
        auto numbers = first_rows(count);
        const auto others = std::ranges::stable_partition(numbers, [&](Index i) {
            return std::ranges::all_of(row(rows, i).columns, [&](Index column) { return column < own; });
        });
        std::vector<Index> beyond(others.begin(), others.end());
        numbers.erase(others.begin(), others.end());
        const auto row_of = [&](Index i) { return row(rows, i); };
        return {DeviceRows<X, D>(row_of, std::move(numbers), columns),
                DeviceRows<X, D>(row_of, std::move(beyond), columns)};
    }
    /// Leaves the rows of Pᵀ that are here, and adds to each what will arrive for it: column fine_ + k, the k-th of the
    /// rows that others send back.
    void add_arriving(Plain& turned) const {
        std::vector<std::vector<Index>> arriving(static_cast<std::size_t>(coarse_));
        for (std::size_t k = 0; k < halo_->send_rows().size(); ++k)
            arriving[static_cast<std::size_t>(halo_->send_rows()[k])].push_back(fine_ + static_cast<Index>(k));
        Plain with{.start = {0}, .columns = {}, .values = {}};
        for (Index j = 0; j < coarse_; ++j) {
            const auto [columns, values] = row(turned, j);
            with.columns.insert(with.columns.end(), columns.begin(), columns.end());
            with.values.insert(with.values.end(), values.begin(), values.end());
            const auto& more = arriving[static_cast<std::size_t>(j)];
            with.columns.insert(with.columns.end(), more.begin(), more.end());
            with.values.resize(with.columns.size(), 1);
            with.start.push_back(with.columns.size());
        }
        turned = std::move(with);
    }
    DeviceExchange<X, D>* exchange_of(const Exchanges& exchanges, int m, Way way) const {
        return halo_->empty() ? nullptr : &exchanges.at(m, [&] { return DeviceExchange<X, D>(*halo_, m, way); });
    }

    Index fine_, coarse_;
    const Halo<X>* halo_;
    DeviceArray<Index, D> send_rows_;
    DeviceRows<X, D> interpolation_, beside_halo_;           // rows of P
    DeviceRows<X, D> restriction_, with_arriving_, others_;  // of its transpose
    Exchanges to_halo_, back_;
};

/// The V-cycle of precond/v_cycle.hpp over levels that were brought to a device.
template <class X, class D>
class DeviceInverse<MultigridInverse, X, D> {
public:
    using T = OnDevice<X, D>;

    DeviceInverse(const MultigridInverse& inverse, const DeviceMatrix<X, D>& A) : M_(inverse.cycle) {
        for (const auto& level : M_->levels()) {
            Level& mine = levels_.emplace_back();
            mine.A = level.own ? &mine.own.emplace(*level.own, A.columns()) : &A;
            mine.inverse = DeviceArray<X, D>(level.inverse);
            if (level.P) mine.P.emplace(*level.P, A.columns());
        }
        const auto& coarsest = *M_->levels().back().A;
        if (M_->is_solved(levels_.size() - 1) && coarsest.comm().size() == 1)
            solution_.emplace(dense(coarsest.local_rows(), M_->inverse_of_coarsest()), *levels_.back().A);
    }

    void apply(MultiVector<T> r, MultiVector<T> z) const {
        const int m = r.columns();
        M_->count_application();
        v_cycle(Levels{*this, work_.at(m, [&] { return vectors(m); }), m}, 0, r, z);
    }
    double bytes(int columns) const { return M_->bytes(columns); }

private:
    struct Level {
        std::optional<DeviceMatrix<X, D>> own;  // none: the finest, which is the caller's
        const DeviceMatrix<X, D>* A = nullptr;
        DeviceArray<X, D> inverse;
        std::optional<DeviceTransfer<X, D>> P;
    };
    struct Vectors {
        DeviceArray<X, D> b, z, r, s, next;
    };
    using Work = std::vector<Vectors>;

    /// Rows of a full matrix.
    static SparseInverse dense(Index n, std::vector<X> values) {
        SparseInverse rows;
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < n; ++j) rows.columns.push_back(j);
            rows.start.push_back(rows.columns.size());
        }
        rows.values = std::move(values);
        return rows;
    }
    Work vectors(int columns) const {
        Work work;
        for (std::size_t level = 0; level < levels_.size(); ++level) {
            const auto size =
                static_cast<std::size_t>(levels_[level].A->local_rows()) * static_cast<std::size_t>(columns);
            const auto own = level == 0 ? 0 : size, smoothed = M_->is_solved(level) ? 0 : size;
            using Array = DeviceArray<X, D>;
            work.push_back({Array(own), Array(own), Array(smoothed), Array(smoothed), Array(smoothed)});
        }
        return work;
    }

    /// The levels for v_cycle.
    struct Levels {
        const DeviceInverse& M;
        const Work& work;
        int m;

        std::size_t count() const { return M.levels_.size(); }
        int degree() const { return M.M_->degree(); }
        bool is_solved(std::size_t level) const { return M.M_->is_solved(level); }
        /// By the device alone where it has all of the inverse.
        void solve(MultiVector<T> b, MultiVector<T> z) const {
            if (M.solution_) return M.solution_->apply(b, z);
            M.M_->levels().back().A->comm().start_late_sums();  // on all ranks before the sum that follows
            on_host<X, D>({b}, z, [&](auto& from, auto to) { M.M_->solve_coarsest(from[0], to); });
        }
        std::pair<X, X> interval(std::size_t level) const {
            return {M.M_->levels()[level].middle, M.M_->levels()[level].radius};
        }
        LevelVectors<T> vectors(std::size_t level) const {
            const auto& [b, z, r, s, next] = work[level];
            const auto view = [&](const DeviceArray<X, D>& of) {
                return MultiVector<T>(of.data(), M.levels_[level].A->local_rows(), m);
            };
            return {view(b), view(z), view(r), view(s), view(next)};
        }
        void first_step(std::size_t level, const FirstStep<T>& step) const {
            const auto& inverse = M.levels_[level].inverse;
            for_each_row_on_device<D>(inverse.size(), m, FirstStepElement<X, D>{step, inverse.data()});
        }
        void multiply(std::size_t level, MultiVector<T> s, MultiVector<T>, const SmootherStep<T>& step) const {
            M.levels_[level].A->multiply(s, SmoothRows<X, D>{step, M.levels_[level].inverse.data()});
        }
        void restrict_to(std::size_t level, MultiVector<T> r) const {
            M.levels_[level].P->restrict_to(vectors(level + 1).b, r);
        }
        void interpolate(std::size_t level, MultiVector<T> s) const {
            M.levels_[level].P->interpolate(vectors(level + 1).z, s);
        }
    };

    const Multigrid* M_;
    std::deque<Level> levels_;                                    // they stay where they are
    std::optional<DeviceInverse<SparseInverse, X, D>> solution_;  // of the coarsest level, where it is all here
    Scratch<Work> work_;                                          // by number of columns
};

}  // namespace stretto
