// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Points and kernels that the tests of hierarchical matrices go through.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "stretto/comm/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

struct NamedGeometry {
    std::string name;
    Geometry geometry;
};

/// On a sphere (Fibonacci), in a ball, on a line, in a plane, all at one place, some places many times, two clouds.
inline std::vector<NamedGeometry> geometries(Index n) {
    std::vector<NamedGeometry> all;
    const auto add = [&](const char* name, auto&& point) {
        auto& last = all.emplace_back(NamedGeometry{name, {}});
        for (Index i = 0; i < n; ++i) last.geometry.points.push_back(point(i));
    };
    add("sphere", [&](Index i) {
        const double z = 1 - 2 * (i + 0.5) / n, r = std::sqrt(1 - z * z), a = 2.399963229728653 * i;
        return Point{r * std::cos(a), r * std::sin(a), z};
    });
    add("cube", [](Index i) { return Point{uniform(1, i, 0), uniform(1, i, 1), uniform(1, i, 2)}; });
    add("line", [](Index i) { return Point{uniform(2, i, 0), 0, 0}; });
    add("plane", [](Index i) { return Point{uniform(3, i, 0), 1, uniform(3, i, 1)}; });
    add("coincident", [](Index) { return Point{1, 2, 3}; });
    add("repeated", [](Index i) { return Point{static_cast<double>(i % 7), 0, static_cast<double>(i % 3)}; });
    add("clouds", [](Index i) {
        return Point{(i % 2 ? 10 : 0) + 0.1 * uniform(4, i, 0), uniform(4, i, 1), 0.01 * uniform(4, i, 2)};
    });
    return all;
}

struct NamedKernel {
    std::string name;
    std::function<double(const Point&, const Point&)> value;
};
inline const std::vector<NamedKernel> some_kernels{
    {"single layer", [](const Point& x, const Point& y) { return 1 / (norm(x - y) + 1e-2); }},
    {"gaussian", [](const Point& x, const Point& y) { return std::exp(-dot(x - y, x - y)) + (&x == &y ? 0.1 : 0); }},
    {"exponential", [](const Point& x, const Point& y) { return std::exp(-3 * norm(x - y)); }},
    {"oscillating", [](const Point& x, const Point& y) { return std::cos(5 * norm(x - y)) / (norm(x - y) + 1e-2); }},
    {"unsymmetric",
     [](const Point& x, const Point& y) { return (x[0] - y[0] + 2 * x[2]) / (dot(x - y, x - y) + 1e-2); }},
};

inline Fill fill_of(const NamedKernel& kernel, const Geometry& geometry) {
    return entries([&kernel, &points = geometry.points](Index i, Index j) {
        return kernel.value(points[static_cast<std::size_t>(i)], points[static_cast<std::size_t>(j)]);
    });
}

/// ‖(A − H) X‖_F / ‖A X‖_F for m random columns, all entries of A computed; and y for whoever asks.
inline double product_error(const HMatrix& H, const Fill& fill, int m, std::vector<double>* result = nullptr) {
    const Index n = static_cast<Index>(H.rows()), local = H.local_rows();
    std::vector<double> x(static_cast<std::size_t>(local) * static_cast<std::size_t>(m)), y(x.size(), NAN);
    const MultiVector<double> X(x.data(), local, m), Y(y.data(), local, m);
    for (Index i = 0; i < local; ++i)
        for (int c = 0; c < m; ++c) X(i, c) = uniform(9, H.original(i), c);
    H.apply(X, Y);
    std::vector<Index> numbers(static_cast<std::size_t>(n));
    for (Index j = 0; j < n; ++j) numbers[static_cast<std::size_t>(j)] = j;
    std::vector<double> row(static_cast<std::size_t>(n));
    double error = 0, size = 0;
    for (Index i = 0; i < local; ++i) {
        const Index number = H.original(i);
        fill({&number, 1}, numbers, row.data());
        for (int c = 0; c < m; ++c) {
            double sum = 0;
            for (Index j = 0; j < n; ++j) sum += row[static_cast<std::size_t>(j)] * uniform(9, j, c);
            error += (sum - Y(i, c)) * (sum - Y(i, c));
            size += sum * sum;
        }
    }
    if (result) *result = H.gather(Y);
    return std::sqrt(all_sum(H.comm(), error) / all_sum(H.comm(), size));
}

}  // namespace stretto
