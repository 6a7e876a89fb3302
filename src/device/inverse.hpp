// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "matrix.hpp"
#include "row_work.hpp"
#include "stretto/execute/device/vectors.hpp"
#include "stretto/operators/explicit_inverse.hpp"

namespace stretto {

/// One of the kinds of ExplicitInverse on a device, for a matrix that is there and stays (multigrid.hpp has one more).
template <class Inverse, class X, class D>
class DeviceInverse;

template <class X, class D>
struct MultiplyRowsElement {
    static constexpr std::string_view name = "diagonal";
    const OnDevice<X, D>*by, *from;
    OnDevice<X, D>* to;
    template <class Block, class Columns>
    STRETTO_KERNEL void operator()(Block& block, Index row, int column, Columns columns) const {
        const std::ptrdiff_t i = place_of(row, column, columns);
        block.at(to + i) = block.at(by + row) * block.at(from + i);
    }
};

template <class X, class D>
class DeviceInverse<DiagonalInverse, X, D> {
public:
    using T = OnDevice<X, D>;
    DeviceInverse(const DiagonalInverse& inverse, const DeviceMatrix<X, D>&) : inverse_(inverse.values) {}
    void apply(MultiVector<T> r, MultiVector<T> z) const {
        for_each_row_on_device<D>(inverse_.size(), r.columns(),
                                  MultiplyRowsElement<X, D>{inverse_.data(), r.data(), z.data()});
    }
    T* diagonal() const { return inverse_.data(); }
    double bytes(int columns) const { return sizeof(X) * static_cast<double>(inverse_.size()) * (2.0 * columns + 1); }

private:
    DeviceArray<X, D> inverse_;
};

template <class X, class D>
struct FirstStepElement {
    static constexpr std::string_view name = "first step of a smoother";
    FirstStep<OnDevice<X, D>> step;
    const OnDevice<X, D>* inverse;
    template <class Block, class Columns>
    STRETTO_KERNEL void operator()(Block& block, Index row, int column, Columns columns) const {
        step(block, place_of(row, column, columns), block.at(inverse + row));
    }
};

template <class X, class D>
class DeviceInverse<ChebyshevInverse, X, D> {
public:
    using T = OnDevice<X, D>;
    DeviceInverse(ChebyshevInverse form, const DeviceMatrix<X, D>& A)
        : A_(&A), form_(std::move(form)), inverse_(form_.inverse) {}
    void apply(MultiVector<T> r, MultiVector<T> z) const {
        for (auto* const work : {&residual_, &step_, &next_})
            if (work->size() < r.size()) *work = DeviceArray<X, D>(r.size());
        MultiVector<T> s(step_.data(), r.rows(), r.columns()), next(next_.data(), r.rows(), r.columns());
        for_each_row_on_device<D>(
            inverse_.size(), r.columns(),
            FirstStepElement<X, D>{{.b = r.data(), .s = s.data(), .z = nullptr, .add = 1 / form_.middle},
                                   inverse_.data()});
        auto coefficients = form_.coefficients();
        SmootherStep<T> step{.residual = r.data(), .s = nullptr, .sum = s.data(), .r = residual_.data(), .z = z.data()};
        for (int k = 0; k < form_.degree; ++k) {
            std::tie(step.keep, step.add) = coefficients.next();
            step.s = s.data();
            step.next = next.data();
            A_->multiply(s, SmoothRows<X, D>{step, inverse_.data()});
            std::swap(s, next);
            step.residual = residual_.data();
            step.sum = z.data();
        }
    }
    double bytes(int columns) const {
        return form_.degree * A_->bytes(columns) +
               sizeof(X) * static_cast<double>(inverse_.size()) * (form_.degree + 1) * (4.0 * columns + 1);
    }

private:
    const DeviceMatrix<X, D>* A_;
    ChebyshevInverse form_;
    DeviceArray<X, D> inverse_;
    mutable DeviceArray<X, D> residual_, step_, next_;
};

template <class X, class D>
class DeviceInverse<SparseInverse, X, D> {
public:
    using T = OnDevice<X, D>;
    DeviceInverse(const SparseInverse& inverse, const DeviceMatrix<X, D>& A)
        : rows_(
              [&](Index i) {
                  const std::size_t begin = inverse.start[static_cast<std::size_t>(i)];
                  const std::size_t size = inverse.start[static_cast<std::size_t>(i) + 1] - begin;
                  return Row{std::span(inverse.columns).subspan(begin, size),
                             std::span(inverse.values).subspan(begin, size)};
              },
              all(static_cast<Index>(inverse.start.size() - 1)), A.columns()) {}
    void apply(MultiVector<T> r, MultiVector<T> z) const {
        rows_.multiply(r.data(), nullptr, StoreRows<X, D>{z.data()}, r.rows(), r.columns());
    }
    double bytes(int columns) const {
        return rows_.bytes() + 2.0 * sizeof(X) * columns * static_cast<double>(rows_.rows());
    }

private:
    struct Row {
        std::span<const Index> columns;
        std::span<const X> values;
    };
    static std::vector<Index> all(Index rows) {
        std::vector<Index> numbers(static_cast<std::size_t>(rows));
        std::iota(numbers.begin(), numbers.end(), 0);
        return numbers;
    }
    DeviceRows<X, D> rows_;
};

/// Dense blocks on the diagonal: entry k of every row stands beside entry k of the next.
template <class X, class D>
struct BlocksElement {
    static constexpr std::string_view name = "block inverses";
    const OnDevice<Index, D>*begin, *end;  // of the block of a row
    const OnDevice<X, D>*inverse, *from;
    OnDevice<X, D>* to;
    std::size_t rows;
    template <class Block, class Columns>
    STRETTO_KERNEL void operator()(Block& block, Index row, int column, Columns columns) const {
        const Index first = block.at(begin + row), count = block.at(end + row) - first;
        X sum{};
        for (Index k = 0; k < count; ++k)
            sum += block.at(inverse + (static_cast<std::size_t>(k) * rows + static_cast<std::size_t>(row))) *
                   block.at(from + place_of(first + k, column, columns));
        block.at(to + place_of(row, column, columns)) = sum;
    }
};

template <class X, class D>
class DeviceInverse<BlockInverse, X, D> {
public:
    using T = OnDevice<X, D>;
    DeviceInverse(const BlockInverse& inverse, const DeviceMatrix<X, D>&) {
        const auto rows = static_cast<std::size_t>(inverse.first.back());
        std::vector<Index> begin(rows), end(rows);
        std::size_t widest = 0, place = 0;
        for (std::size_t b = 0; b + 1 < inverse.first.size(); ++b)
            widest = std::max(widest, static_cast<std::size_t>(inverse.first[b + 1] - inverse.first[b]));
        std::vector<X> values(widest * rows);
        for (std::size_t b = 0; b + 1 < inverse.first.size(); ++b) {
            const auto first = static_cast<std::size_t>(inverse.first[b]);
            const auto n = static_cast<std::size_t>(inverse.first[b + 1]) - first;
            for (std::size_t i = 0; i < n; ++i) {
                begin[first + i] = inverse.first[b];
                end[first + i] = inverse.first[b + 1];
                for (std::size_t k = 0; k < n; ++k) values[k * rows + first + i] = inverse.values[place++];
            }
        }
        begin_ = DeviceArray<Index, D>(begin);
        end_ = DeviceArray<Index, D>(end);
        values_ = DeviceArray<X, D>(values);
    }
    void apply(MultiVector<T> r, MultiVector<T> z) const {
        for_each_row_on_device<D>(begin_.size(), r.columns(),
                                  BlocksElement<X, D>{begin_.data(), end_.data(), values_.data(), r.data(), z.data(),
                                                      static_cast<std::size_t>(r.rows())});
    }
    double bytes(int columns) const {
        return static_cast<double>(sizeof(X) * values_.size() + 2 * sizeof(Index) * begin_.size()) +
               2.0 * sizeof(X) * columns * static_cast<double>(begin_.size());
    }

private:
    DeviceArray<Index, D> begin_, end_;
    DeviceArray<X, D> values_;
};

}  // namespace stretto
