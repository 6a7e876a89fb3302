// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What x is worth after a run: b − A x, which no rounding error decides of, and what is taken of it.

#include <cmath>

#include "driver.hpp"

namespace stretto {

/// ‖b − Ax‖², which leaves b − Ax in r.
template <class T>
Scalars<T> Driver<T>::true_squares(MultiVector<T> r) {
    A().apply(x_, r);
    auto [rr] = V_.start(r <<= b_ - r, dot(r, r)).wait();
    return rr;
}

/// The same with sums in twice the precision, where A has them and the rounding errors of A x may decide of a column.
template <class T>
Scalars<T> Driver<T>::trusted_squares(MultiVector<T> r) {
    A().apply(x_, r);
    auto [rr, xx] = V_.start(r <<= b_ - r, dot(r, r), dot(x_, x_)).wait();
    refuse_infinite(xx, rr);
    return rounding_decides(xx, rr) ? squares_in_twice_the_precision(r) : rr;
}
template <class T>
Scalars<T> Driver<T>::squares_in_twice_the_precision(MultiVector<T> r) {
    A().residual(b_, x_, r);
    auto [rr, xx] = V_.start(dot(r, r), dot(x_, x_)).wait();
    refuse_infinite(xx, rr);
    return rr;
}

/// A column of x that holds what is not finite has no residual, even where no row of A reads it.
template <class T>
void Driver<T>::refuse_infinite(Scalars<T>& xx, Scalars<T>& rr) {
    std::vector<double> largest;  // of x, whose squares may be too large alone
    for (int j = 0; j < V_.width(); ++j) {
        if (at(j).finished || is_finite(xx[j])) continue;
        if (largest.empty()) largest = V_.largest(x_);
        xx[j] = INFINITY;
        if (std::isfinite(largest[static_cast<std::size_t>(j)])) continue;
        rr[j] = NAN;
        columns_.end_column(j, State::broken, Status::not_finite);
    }
}

/// Whether rounding errors of A x may be what makes a column pass, or more than a thousandth of a residual that does
/// not.
template <class T>
bool Driver<T>::rounding_decides(const Scalars<T>& xx, const Scalars<T>& rr) const {
    constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();  // of |A| |x|, for sums of some terms
    constexpr double three_digits = 1000;
    if (!A().has_residual()) return false;
    const double norm = A().norm_bound();
    for (int j = 0; j < V_.width(); ++j) {
        const auto& column = progress_[static_cast<std::size_t>(j)];
        if (column.finished) continue;
        const double residual = std::sqrt(double{real_part(rr[j])}),
                     error = rounding * norm * std::sqrt(double{real_part(xx[j])});
        if (residual <= column.goal ? residual + error > column.goal : residual < three_digits * error) return true;
    }
    return false;
}

template <class T>
bool Driver<T>::all_passed() const {
    for (int j = 0; j < V_.width(); ++j)
        if (!progress_[static_cast<std::size_t>(j)].finished && columns_[j].state != State::passed) return false;
    return true;
}

/// Recomputes b − Ax, where the method has not done so last thing, and nobody asked to believe the recurrence.
template <class T>
void Driver<T>::verify() {
    residual_is_known_ = false;
    if (null_space()) null_space().take_out_of(x_);
    if (believes()) return;
    if (auto rr = stop_.recomputed(); rr && !in_single_ && all_passed()) {
        auto [xx] = V_.start(dot(x_, x_)).wait();
        refuse_infinite(xx, *rr);
        residual_is_known_ = rounding_decides(xx, *rr);
        take(residual_is_known_ ? squares_in_twice_the_precision(residual_vector()) : *rr);
    } else {
        residual_is_known_ = true;
        take(trusted_squares(residual_vector()));
    }
}

/// Takes the recurrence's word where that is asked for, and where no other attempt follows.
template <class T>
bool Driver<T>::believes() {
    result_.verified = options_.verify == Verify::true_residual;
    if (result_.verified || !(columns_.out_of_iterations() || interrupted() || all_passed())) return false;
    for (int j = 0; j < V_.width(); ++j) {
        if (at(j).finished) continue;
        const auto& run = columns_[j];
        at(j).residual = at(j).last = std::isnan(run.recursive) ? run.start : run.recursive;
        at(j).best = Column::in_x;
        if (run.state == State::passed) end(j, at(j).in_range ? Status::passed_unverified : Status::least_squares);
    }
    return true;
}

/// Takes the squares of b − Ax: a column within its tolerance has converged, one that got worse goes back to its best
/// x.
template <class T>
void Driver<T>::take(const Scalars<T>& rr) {
    for (int j = 0; j < V_.width(); ++j) {
        auto& column = at(j);
        if (column.finished) continue;
        const double residual = std::sqrt(double{real_part(rr[j])});
        poisoned_ = poisoned_ || !std::isfinite(residual);
        column.last = residual;
        column.gain = residual > 0 ? column.residual / residual : residual == 0 ? INFINITY : 0;  // NaN: none
        if (residual < column.residual || (options_.iterate == Iterate::last && std::isfinite(residual))) {
            column.residual = residual;
            column.best = Column::in_x;
        } else if (!handed_over(j, residual)) {
            restore_best(j);
            residual_is_known_ = false;
        }
        if (const auto status = reached(column, result_of(j).norm_b)) end(j, *status);
    }
}

/// Whether the next method goes on from x, not from the best one: the residual of CG may grow on the way to a
/// better x, but it must be about what the recurrence believes.
template <class T>
bool Driver<T>::handed_over(int j, double residual) const {
    const auto& run = columns_[j];
    return run.state == State::handed_over && residual <= 10 * run.recursive;
}

}  // namespace stretto
