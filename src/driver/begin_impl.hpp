// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a solve begins with, and what it is to reach: the first residual, the targets of the columns, and for a singular
// A the part of b that can be reached at all.

#include <fmt/format.h>

#include <cmath>

#include "driver.hpp"
#include "stretto/comm/collective.hpp"

namespace stretto {
namespace {

// The recurrence aims a little below the tolerance, so that rounding does not fail the check of the true residual …
constexpr double aim = 0.99;
// … but not below what is left of ‖b‖ in double precision, where the true residual cannot follow.
constexpr double lowest_aim = std::numeric_limits<double>::epsilon() / 10;
// Norms whose squares, and the squares of a millionth of a billionth of them, double precision can hold.
constexpr double smallest_norm = 1e-120, largest_norm = 1e140;
// Of ‖b‖²: within these the values of b are within those, whatever their number.
constexpr double surely_large = 1e-220, surely_small = 1e270;

}  // namespace

/// b − A x into residual_vector(), without a product where x is zero. Returns its squares.
template <class T>
Scalars<T> Driver<T>::first_residual(const std::string& complaint) {
    if (transposed_ && V_.comm().reproducible())
        throw InputError("products with Aᵀ are added up rank by rank: a transposed solve is not reproducible");
    const auto r = residual_vector();
    const bool fits = complaint.empty();
    if (!fits) V_.refuse();
    Scalars<T> bb = V_.scalars(), xx = V_.scalars();
    const bool zero_guess = options_.zero_guess && !resumes_;
    if (zero_guess) {
        if (fits) V_.clear(x_);
        auto [square] = fits ? V_.start(r <<= b_, dot(r, r)).wait() : V_.start(dot(r, r)).wait();
        bb = square;
    } else {
        auto [square, square_of_x] =
            fits ? V_.start(r <<= b_, dot(r, r), dot(x_, x_)).wait() : V_.start(dot(r, r), dot(r, r)).wait();
        bb = square;
        xx = square_of_x;
    }
    if (V_.refused())
        agree(V_.comm(), [&] {
            if (!fits) throw InputError(complaint);
        });
    set_targets(bb);
    x_is_zero_ = true;
    for (int j = 0; j < V_.width(); ++j) x_is_zero_ = x_is_zero_ && (xx[j] == Number<T>{} || result_of(j).norm_b == 0);
    if (null_space() && !x_is_zero_) null_space().take_out_of(x_);
    if (orthogonal_to_range()) bb = project();
    if (!x_is_zero_) return trusted_squares(r);
    if (!zero_guess) V_.clear(x_);
    return bb;
}

template <class T>
void Driver<T>::set_targets(const Scalars<T>& bb) {
    std::vector<double> largest;  // looked for where ‖b‖² does not tell
    for (int j = 0; j < V_.width(); ++j)
        if (!(real_part(bb[j]) > surely_large && real_part(bb[j]) < surely_small)) largest = V_.largest(b_);
    for (int j = 0; j < V_.width(); ++j) {
        const double norm = std::sqrt(double{real_part(bb[j])}),
                     most = largest.empty() ? 1 : largest[static_cast<std::size_t>(j)];
        result_of(j) = {};
        result_of(j).norm_b = norm;
        columns_[j].norm_b = norm > 0 ? norm : 1;
        set_target(j, tolerance(norm), norm);
        if (most == 0) {
            V_.clear_column(x_, j);
        } else if (!(most > smallest_norm && most < largest_norm)) {
            at(j).finished = true;
            at(j).best = Column::in_x;
            result_of(j).status = Status::not_finite;
            recorder_.event(
                fmt::format("column {}: the largest |b| is {:.3g}; its square is outside the range of "
                            "double precision: scale b",
                            j + 1, most));
        }
    }
}

template <class T>
void Driver<T>::set_target(int j, double goal, double norm) {
    at(j).goal = goal;
    columns_[j].target = std::max(aim * goal, lowest_aim * norm);
}

/// Takes out of b what is outside of the range of A. Returns ‖b̂‖²; b̂ is in residual_vector() then, too.
template <class T>
Scalars<T> Driver<T>::project() {
    // What is left of a b that is orthogonal to the range is rounding errors, if it is no more than this part of b.
    constexpr double rounding = 1e-13;
    result_.projected = true;
    V_.run(projected_b_ <<= b_);
    const auto outside = orthogonal_to_range().take_out_of(projected_b_);
    orthogonal_to_range().take_out_of(projected_b_);  // again: b may be large beside b̂
    b_ = projected_b_;
    const auto r = residual_vector();
    auto [squares] = V_.start(r <<= b_, dot(r, r)).wait();
    int columns_outside = 0;
    double farthest = 0;
    for (int j = 0; j < V_.width(); ++j) {
        auto& column = at(j);
        if (column.finished) continue;
        const double norm_b = result_of(j).norm_b, tolerated = tolerance(norm_b);
        if (std::sqrt(double{real_part(squares[j])}) <= rounding * norm_b) {
            for (const auto& v : {b_, r, x_}) V_.clear_column(v, j);
            squares[j] = 0;
        }
        const double norm = std::sqrt(double{real_part(squares[j])});
        column.norm = norm > 0 ? norm : 1;
        column.outside = std::sqrt(double{real_part(outside[j])});
        column.in_range = column.outside <= std::max(tolerated / 2, rounding * norm_b);
        const double left = std::max(0.0, (tolerated - column.outside) * (tolerated + column.outside));
        set_target(j, column.in_range ? std::sqrt(left) : tolerance(norm), norm);
        if (norm_b > 0) result_of(j).outside_range = column.outside / norm_b;
        if (column.in_range) continue;
        ++columns_outside;
        farthest = std::max(farthest, result_of(j).outside_range);
    }
    if (columns_outside > 0)
        recorder_.event(
            fmt::format("b is outside of the range of A by {}{:.2e} of its length{}: no x solves the system, "
                        "and one is sought that minimises ‖b − A x‖",
                        columns_outside > 1 ? "up to " : "", farthest,
                        V_.width() > 1 ? fmt::format(" in {} of {} columns", columns_outside, V_.width()) : ""));
    return squares;
}

/// The status of a column whose residual is small enough; b̂ − A x is orthogonal to b − b̂.
template <class T>
std::optional<Status> Driver<T>::reached(const Column& column, double norm_b) const {
    constexpr double told = 1e-28;  // of ‖b‖: what is less, but for zero, are rounding errors of twice the precision
    const double tolerated = tolerance(norm_b);
    if (column.residual > 0 && tolerated < told * norm_b) return std::nullopt;
    if (std::hypot(column.residual, column.outside) <= tolerated) return Status::converged;
    if (!column.in_range && column.residual <= column.goal) return Status::least_squares;
    return std::nullopt;
}

}  // namespace stretto
