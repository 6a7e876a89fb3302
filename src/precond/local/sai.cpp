// SPDX-License-Identifier: BSD-3-Clause
// Sparse approximate inverse: M minimises ‖A M − I‖ in the Frobenius norm on a given pattern, column by column (Grote
// and Huckle 1997; here the pattern is fixed).
#include <algorithm>

#include "../../core/lapack.hpp"
#include "../../sparse/forms/row_sums.hpp"
#include "solver.hpp"

namespace stretto {
namespace {

/// Its numbers are read from `inverse_` or, where there are some, rounded alike, from `single_`.
class ApproximateInverse final : public LocalSolver {
public:
    explicit ApproximateInverse(Block inverse) : inverse_(std::move(inverse)) {}

    void solve(const double* r, double* z, int m, Pieces pieces) const override { multiply(r, z, m, pieces); }
    void solve(const float* r, float* z, int m, Pieces pieces) const override { multiply(r, z, m, pieces); }
    void solve_transpose(const double* r, double* z, int columns) const override {
        const auto m = static_cast<std::size_t>(columns);
        std::fill_n(z, static_cast<std::size_t>(inverse_.rows()) * m, 0.0);
        for (Index i = 0; i < inverse_.rows(); ++i)
            for (Index k = inverse_.start[i]; k < inverse_.start[i + 1]; ++k)
                for (std::size_t j = 0; j < m; ++j)
                    z[static_cast<std::size_t>(inverse_.columns[k]) * m + j] +=
                        inverse_.values[k] * r[static_cast<std::size_t>(i) * m + j];
    }
    std::unique_ptr<LocalSolver> in_single() const override {
        auto result = std::make_unique<ApproximateInverse>(inverse_);
        result->single_.assign(inverse_.values.begin(), inverse_.values.end());
        std::ranges::copy(result->single_, result->inverse_.values.begin());
        return result;
    }
    double stored() const override {
        const std::size_t value = single_.empty() ? sizeof(double) : sizeof(float);
        return static_cast<double>(inverse_.values.size() * (value + sizeof(Index)) +
                                   inverse_.start.size() * sizeof(Index));
    }
    double vector_passes() const override { return 2; }
    const Block* sparse_inverse() const override { return &inverse_; }

private:
    template <class T>
    void multiply(const T* r, T* z, int columns, Pieces pieces) const {
        single_.empty() ? multiply_by(inverse_.values.data(), r, z, columns, pieces)
                        : multiply_by(single_.data(), r, z, columns, pieces);
    }
    template <class V, class T>
    void multiply_by(const V* values, const T* r, T* z, int columns, Pieces pieces) const {
        with_columns(columns, [&](auto m) {
            const auto stride = static_cast<std::size_t>(m);
            pieces(0, static_cast<std::size_t>(inverse_.rows()), [&](std::size_t i, std::size_t last) {
                for (; i < last; ++i)
                    cover(m, [&]<int Width>(int c) {
                        RowSums<Width, T> sums;
                        sums.add(values, inverse_.columns.data(), inverse_.start[i], inverse_.start[i + 1], r + c,
                                 stride);
                        sums.store(z + i * stride + c);
                    });
            });
        });
    }

    Block inverse_;
    std::vector<float> single_;
};

/// Sorted numbers without repetition, collected with the help of marks.
class Set {
public:
    explicit Set(Index n) : place_(static_cast<std::size_t>(n), -1) {}
    void clear() {
        for (const Index i : members) place_[i] = -1;
        members.clear();
    }
    void add(Index i) {
        if (place_[i] >= 0) return;
        place_[i] = 0;
        members.push_back(i);
    }
    void sort() {
        std::ranges::sort(members);
        for (std::size_t k = 0; k < members.size(); ++k) place_[members[k]] = static_cast<Index>(k);
    }
    std::size_t place(Index i) const { return static_cast<std::size_t>(place_[i]); }

    std::vector<Index> members;

private:
    std::vector<Index> place_;
};

}  // namespace

std::unique_ptr<LocalSolver> make_sai(const Block& block, const Options& options) {
    const Block columns = block.transposed();
    const auto each = [&](Index j, auto&& use) {
        for (Index k = columns.start[j]; k < columns.start[j + 1]; ++k) use(columns.columns[k], columns.values[k]);
    };
    const bool squared = options.number("pattern") > 1;
    const Index n = block.rows();
    Set pattern(n), rows(n);
    std::vector<double> a, unit, work;
    std::vector<int> pivots;
    Block inverse_columns;
    Index dependent = 0;
    for (Index j = 0; j < n; ++j) {
        pattern.clear();
        each(j, [&](Index i, double) {
            pattern.add(i);
            if (squared) each(i, [&](Index other, double) { pattern.add(other); });
        });
        pattern.sort();
        rows.clear();
        for (const Index column : pattern.members) each(column, [&](Index i, double) { rows.add(i); });
        rows.sort();

        const int height = static_cast<int>(rows.members.size()), width = static_cast<int>(pattern.members.size());
        a.assign(rows.members.size() * pattern.members.size(), 0);
        for (std::size_t c = 0; c < pattern.members.size(); ++c)
            each(pattern.members[c],
                 [&](Index i, double value) { a[c * rows.members.size() + rows.place(i)] = value; });
        unit.assign(static_cast<std::size_t>(std::max(height, width)), 0);
        unit[rows.place(j)] = 1;  // the diagonal is stored, so j is one of the rows
        pivots.assign(static_cast<std::size_t>(width), 0);
        const int one = 1, most = std::max(height, width), size = 2 * width + 65 * (width + 1) + height;
        work.resize(std::max(work.size(), static_cast<std::size_t>(size)));
        constexpr double smallest = 1e-12;
        int rank = 0, info = 0;
        dgelsy_(&height, &width, &one, a.data(), &height, unit.data(), &most, pivots.data(), &smallest, &rank,
                work.data(), &size, &info);
        dependent += rank < width;
        for (std::size_t c = 0; c < pattern.members.size(); ++c) inverse_columns.add(pattern.members[c], unit[c]);
        inverse_columns.end_row();
    }
    auto result = std::make_unique<ApproximateInverse>(inverse_columns.transposed());
    result->repairs.dependent = dependent;
    return result;
}

}  // namespace stretto
