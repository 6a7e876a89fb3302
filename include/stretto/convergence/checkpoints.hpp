// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/convergence/checkpoint.hpp"
#include "stretto/convergence/columns.hpp"
#include "stretto/convergence/recorder.hpp"
#include "stretto/core/types.hpp"
#include "stretto/execute/space.hpp"

namespace stretto {

/// When and of what the snapshots of a solve are, and how a loop begins that goes on from one. Vectors of single
/// precision are those of a correction to x: there are no snapshots of them.
template <class T>
class Checkpoints {
public:
    Checkpoints(Space<T>& V, const Columns& columns) : V_(V), columns_(columns) {}

    void keep_in(Checkpoint* where) { where_ = where; }

    /// A solve begins, or goes on from this snapshot, whose x it takes.
    void begin(std::optional<Snapshot> from, MultiVector<T> x) {
        from_ = std::move(from);
        if constexpr (possible)
            if (from_) upload(from_->vectors[0], x);
        runs_before_ = from_ ? from_->run : 0;
        saved_ = Clock::now();
        saved_at_ = columns_.iteration();
    }
    /// A run of a loop begins, which updates x.
    void begin_run(std::string_view method, std::string_view loop, MultiVector<T> x) {
        if (!where_) return;
        method_ = method;
        loop_ = loop;
        x_ = x;
        vectors_ = scalars_ = counts_ = 0;
        has_directions_ = false;
    }
    /// A run has ended: another one goes on from x alone.
    void end_run() {
        from_.reset();
        loop_ = {};
        done_before_ = 0;
    }

    /// What iterations begin with. True: it was taken from a snapshot.
    template <class... State>
    bool of(State&... state) {
        if constexpr (possible) {
            if (loop_.empty()) return false;
            vectors_ = scalars_ = counts_ = 0;
            (add(state), ...);
            return from_ && !from_->has_directions && take();
        }
        return false;
    }
    /// The last directions of CG, from which a loop that begins anew keeps its Krylov space.
    void of_directions(const Panel<T>& P) {
        if (loop_.empty()) return;
        vectors_ = scalars_ = counts_ = 0;
        for (int i = 0; i < std::min(P.count(), static_cast<int>(most)); ++i) {
            auto& direction = directions_.at(vectors_) = P[i];
            add(direction);
        }
        has_directions_ = true;
    }
    /// As many of the directions that a snapshot has as P takes, the last ones. Returns how many.
    int take_directions(const Panel<T>& P) {
        int taken = 0;
        if constexpr (possible) {
            if (!from_ || !from_->has_directions || from_->precond != where_->precond) return 0;
            taken = std::min(static_cast<int>(from_->vectors.size()) - 1, P.count());
            for (int i = 0; i < taken; ++i) upload(from_->vectors.end()[i - taken], P[i]);
        }
        return taken;
    }
    /// Iterations that this loop did before, in the solve that it goes on from as if nothing had happened.
    int done_before() const { return done_before_; }
    /// Runs of loops in the solve that this one goes on from.
    int runs_before() const { return runs_before_; }

    /// Between two iterations, x is up to date. Returns what went wrong.
    std::string between_iterations(bool interrupted) {
        if constexpr (possible)
            if (!loop_.empty() && columns_.any_active() && (due() || interrupted)) return save();
        return {};
    }
    /// The same between two runs of a loop that has none of its own.
    std::string between_runs(std::string_view method, std::string_view loop, MultiVector<T> x, bool interrupted) {
        std::string failed;
        if constexpr (possible) {
            begin_run(method, loop, x);
            if (where_ && (due() || interrupted)) failed = save();
            end_run();
        }
        return failed;
    }

private:
    static constexpr bool possible = !is_single<T>;
    static constexpr std::size_t most = 16;

    void add(MultiVector<T>& v) {
        const auto known = std::span(vector_).first(vectors_);
        if (std::ranges::any_of(known, [&](const auto* other) { return other->data() == v.data(); })) return;
        vector_.at(vectors_++) = &v;
    }
    void add(Scalars<T>& value) { scalar_.at(scalars_++) = &value; }
    void add(int& count) { count_.at(counts_++) = &count; }

    bool due() {
        if (where_->iterations > 0) return columns_.iteration() - saved_at_ >= where_->iterations;
        if (V_.asked()) return true;
        if (V_.comm().rank() == 0 && !asked_ && to_seconds(Clock::now() - saved_) >= where_->seconds) {
            V_.ask();
            asked_ = true;
        }
        return false;
    }

    std::span<Number<T>> numbers(std::vector<double>& values) const {
        return {reinterpret_cast<Number<T>*>(values.data()), values.size() * sizeof(double) / sizeof(Number<T>)};
    }
    void upload(std::vector<double>& values, MultiVector<T> v) const {
        V_.upload(numbers(values), v);
        V_.clear_frozen(v);
    }
    void download(MultiVector<T> v, std::vector<double>& values) const {
        values.resize(v.size() * sizeof(Number<T>) / sizeof(double));
        V_.download(v, numbers(values));
    }

    bool take() {
        auto& [method, precond, loop, iteration, run, done, has_directions, vectors, scalars, counts, columns,
               is_complex] = *from_;
        if (loop != loop_ || precond != where_->precond || vectors.size() != vectors_ + 1 || counts.size() != counts_ ||
            scalars.size() * sizeof(double) != scalars_ * static_cast<std::size_t>(V_.width()) * sizeof(Number<T>))
            return false;
        for (std::size_t k = 0; k < vectors_; ++k) upload(vectors[k + 1], *vector_[k]);
        const auto values = numbers(scalars);
        for (std::size_t k = 0, next = 0; k < scalars_; ++k)
            for (int j = 0; j < V_.width(); ++j, ++next)
                (*scalar_[k])[j] = columns_.active(j) ? values[next] : Number<T>{};
        for (std::size_t k = 0; k < counts_; ++k) *count_[k] = counts[k];
        done_before_ = done;
        return true;
    }

    std::string save() {
        snapshot_.method = method_;
        snapshot_.precond = where_->precond;
        snapshot_.loop = loop_;
        snapshot_.iteration = columns_.iteration();
        snapshot_.run = runs_before_ + std::max(0, columns_.run());
        snapshot_.done = done_before_ + columns_.iteration() - columns_.run_start();
        snapshot_.has_directions = has_directions_;
        snapshot_.columns = V_.width();
        snapshot_.is_complex = !std::same_as<Number<T>, double>;
        snapshot_.vectors.resize(vectors_ + 1);
        download(x_, snapshot_.vectors[0]);
        for (std::size_t k = 0; k < vectors_; ++k) download(*vector_[k], snapshot_.vectors[k + 1]);
        snapshot_.scalars.resize(scalars_ * static_cast<std::size_t>(V_.width()) * sizeof(Number<T>) / sizeof(double));
        const auto values = numbers(snapshot_.scalars);
        for (std::size_t k = 0, next = 0; k < scalars_; ++k)
            for (int j = 0; j < V_.width(); ++j) values[next++] = (*scalar_[k])[j];
        snapshot_.counts.resize(counts_);
        for (std::size_t k = 0; k < counts_; ++k) snapshot_.counts[k] = *count_[k];
        auto failed = where_->save(snapshot_);
        saved_ = Clock::now();
        saved_at_ = columns_.iteration();
        asked_ = false;
        V_.answered();
        return failed;
    }

    Space<T>& V_;
    const Columns& columns_;
    Checkpoint* where_ = nullptr;
    std::optional<Snapshot> from_;
    std::string_view method_, loop_;  // empty: no snapshots now
    MultiVector<T> x_;
    std::array<MultiVector<T>, most> directions_{};
    std::array<MultiVector<T>*, most> vector_{};
    std::array<Scalars<T>*, most> scalar_{};
    std::array<int*, most> count_{};
    std::size_t vectors_ = 0, scalars_ = 0, counts_ = 0;
    bool has_directions_ = false, asked_ = false;
    int saved_at_ = 0, runs_before_ = 0, done_before_ = 0;
    Clock::time_point saved_{};
    Snapshot snapshot_;  // so that the second allocates nothing
};

}  // namespace stretto
