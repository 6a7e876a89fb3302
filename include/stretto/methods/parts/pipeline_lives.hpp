// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>

#include "stretto/convergence/verdict.hpp"

namespace stretto {

/// When columns leave a deep pipeline, how deep the one is that they enter again, and which of them give up. A life is
/// what a pipeline lasts from one entry to the next; all columns live together, as they share A and the depth.
template <class T>
class PipelineLives {
public:
    PipelineLives(Space<T>& V, Verdict<T>& stop)
        : V_(V),
          stop_(stop),
          depth_(static_cast<int>(stop.option("l"))),
          drift_(static_cast<Number<T>>(stop.option("drift"))),
          growth_(static_cast<Number<T>>(stop.option("growth"))),
          gap_(static_cast<Number<T>>(stop.option("gap"))),
          again_(static_cast<int>(stop.option("again"))),
          first_(V.scalars()),
          short_(V.scalars()),
          least_(V.scalars()),
          idle_(V.scalars()),
          leaves_(V.scalars()),
          hope_(V.scalars(1)) {}

    int depth() const { return depth_; }
    /// Which life it is, from 1; 0 before the first.
    int number() const { return lives_; }
    /// Iterations before the last life.
    int begun() const { return begun_; }

    /// A life begins where `done` iterations have been done.
    void begin(int done) {
        ++lives_;
        begun_ = done;
        leaves_ = first_ = V_.scalars();
    }

    // An error of relative size e brings back e‖r‖ of what the Krylov space had done with. Below the tolerance that is
    // nothing, so the nearer r is to it the more is borne.

    /// The most that a dot product may differ from what it is known to be, relative, where ‖r‖² is rr. What it differed
    /// by when the columns entered they would have after another entry, too.
    Scalars<T> drift(const Scalars<T>& rr) const {
        return each([&](int j) {
            return std::max({drift_, std::min(largest_error, inherited * first_[j]), share * nearness(j, rr[j])});
        });
    }
    /// The most that errors may grow that no dot product sees, where ‖r‖² is rr: those of the entry, that a dot product
    /// saw, to what is borne.
    Scalars<T> growth(const Scalars<T>& rr) const {
        return each([&](int j) {
            return std::max(
                growth_,
                std::max(least_error, share * nearness(j, rr[j])) /
                    std::max(rounding * std::pow(Number<T>{10}, static_cast<Number<T>>(depth_ - 2)), first_[j]));
        });
    }
    /// The most that the recursive residual may differ from the true one.
    Scalars<T> gap() const { return gap_ * stop_.target(); }

    /// The first errors of dot products in this life, relative.
    void begin_with(const Scalars<T>& error) { first_ = error; }

    /// Whether the value is not positive in some column: then all enter again.
    bool leave_unless(const Scalars<T>& value) {
        bool any = false;
        for (int j = 0; j < V_.width(); ++j) {
            if (!stop_.active(j) || value[j] > 0) continue;
            leaves_[j] = 1;
            any = true;
        }
        return any;
    }

    /// A life ends. Whether columns give up: those that began it with more than is borne, or whose lives are too short
    /// at any depth or gain nothing.
    bool gives_up() {
        bool any = false;
        hope_ = V_.scalars(1);
        for (int j = 0; j < V_.width(); ++j) {
            if (!stop_.active(j)) continue;
            if (leaves_[j] > 0 && too_short() && depth_ == 1) short_[j] = short_[j] + Number<T>{1};
            if (!too_short()) short_[j] = 0;
            const Number<T> r = static_cast<Number<T>>(stop_.columns()[j].recursive);
            const bool spent = first_[j] > polluted * std::max(least_error, share * nearness(j, r * r));
            const bool hopeless = leaves_[j] > 0 && (spent || lives_ > again_);
            if (!hopeless && short_[j] < patience && idle_[j] < patience) continue;
            hope_[j] = 0;
            any = true;
        }
        return any;
    }
    /// Hands them over with their last direction p, lowers the depth where the life was too short for what an entry
    /// costs, and raises it where it lasted. True: no column is left.
    bool end(int deepest, MultiVector<T> p) {
        if (stop_.hand_over_unless(hope_, p)) return true;
        if (too_short() && depth_ > 1)
            --depth_;
        else if (depth_ < deepest && price(depth_ + 1) < little_paid * length())
            ++depth_;
        stop_.event("leaving the pipeline, to enter it again with l=" + std::to_string(depth_));
        return false;
    }

    /// ‖r‖² where the columns enter again, r the true residual.
    void entered(const Scalars<T>& rr) {
        for (int j = 0; j < V_.width(); ++j) {
            const bool gains = least_[j] == 0 || rr[j] < least_[j] / 4;
            idle_[j] = gains ? Number<T>{} : idle_[j] + Number<T>{1};
            if (gains) least_[j] = rr[j];
        }
    }

private:
    // Chosen by measurement. Errors are relative, as are those that an entry may begin with, over what is borne.
    static constexpr Number<T> share = 1e-5, largest_error = 0.3, inherited = 3;
    static constexpr Number<T> rounding = 1e-14, least_error = 1e-12, polluted = 1e3;
    static constexpr Number<T> most_paid = 0.4,
                               little_paid = 0.1;  // products of an entry, for an iteration of the life
    static constexpr Number<T> patience = 3;       // lives in a row

    Number<T> length() const {
        return static_cast<Number<T>>(stop_.columns().iteration() - stop_.columns().run_start() - begun_);
    }
    bool too_short() const { return price(depth_) > most_paid * length(); }
    /// Products that an entry takes and CG does not.
    static Number<T> price(int l) { return static_cast<Number<T>>(2 * l + 5); }
    /// The tolerance over ‖r‖.
    Number<T> nearness(int j, Number<T> rr) const {
        return rr > 0 ? static_cast<Number<T>>(stop_.columns()[j].target) / std::sqrt(rr) : Number<T>{1};
    }
    template <class Value>
    Scalars<T> each(Value value) const {
        auto values = V_.scalars();
        for (int j = 0; j < V_.width(); ++j) values[j] = value(j);
        return values;
    }

    Space<T>& V_;
    Verdict<T>& stop_;
    int depth_, lives_ = 0, begun_ = 0;
    Number<T> drift_, growth_, gap_;
    int again_;
    Scalars<T> first_, short_, least_, idle_, leaves_, hope_;
};

}  // namespace stretto
