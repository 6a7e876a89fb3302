// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <ranges>
#include <string_view>
#include <tuple>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/core/types.hpp"

// Solvers inside one block of rows: what block Jacobi and additive Schwarz are made of. Nothing here communicates, and
// one thread works on a block.

namespace stretto {

/// A square block of a matrix: compressed rows whose columns increase. The diagonal is always stored, zero where A has
/// no entry.
struct Block {
    std::vector<Index> start{0}, columns;
    std::vector<double> values;

    Index rows() const { return static_cast<Index>(start.size()) - 1; }
    void reserve(Index rows, std::size_t entries) {
        start.reserve(static_cast<std::size_t>(rows) + 1);
        columns.reserve(entries);
        values.reserve(entries);
    }
    void add(Index column, double value) {
        columns.push_back(column);
        values.push_back(value);
    }
    /// Throws InputError where a 32-bit index cannot count the entries.
    void end_row();
    /// Places of the entries of a row that are left of a column.
    auto before(Index row, Index column) const {
        return places(start[row], bound(row, column, std::ranges::lower_bound));
    }
    /// And right of it.
    auto after(Index row, Index column) const {
        return places(bound(row, column, std::ranges::upper_bound), start[row + 1]);
    }
    Block transposed() const;
    /// Mirror images differ by at most 1e-12 of the geometric mean of the largest entries of their two rows.
    bool symmetric() const;
    double largest(Index row) const;

private:
    static std::ranges::iota_view<std::size_t, std::size_t> places(Index begin, Index end) {
        return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
    }
    template <class Search>
    Index bound(Index row, Index column, Search search) const {
        const auto found = search(columns.begin() + start[row], columns.begin() + start[row + 1], column);
        return static_cast<Index>(found - columns.begin());
    }
};

/// What had to be done to a block so that its solver exists.
struct Repairs {
    Index pivots = 0;             ///< zero or tiny ones that were replaced
    double shift = 0;             ///< the diagonal was increased by this times the row's sum of absolute values
    Index dependent = 0;          ///< columns of an approximate inverse whose least squares problem is rank deficient
    bool kept_in_double = false;  ///< single precision was asked for, and cannot hold it
};

/// z = B⁻¹ r, exactly or approximately, for n × m values, r and z disjoint. May allocate in the first call with a given
/// m only.
class LocalSolver {
public:
    virtual ~LocalSolver() = default;
    /// `pieces` are of rows.
    virtual void solve(const double* r, double* z, int m, Pieces pieces) const = 0;
    virtual void solve(const float* r, float* z, int m, Pieces pieces) const = 0;
    virtual void solve_transpose(const double* r, double* z, int m) const = 0;
    virtual std::unique_ptr<LocalSolver> in_single() const = 0;  ///< the same with its numbers rounded
    virtual double stored() const = 0;         ///< bytes of the solver itself, all of them read once by a solve
    virtual double vector_passes() const = 0;  ///< reads and writes of an n × m vector in a solve
    virtual const Block* sparse_inverse() const { return nullptr; }  ///< where z is just a sparse product
    Repairs repairs;
};

/// A row of the table of solvers.
struct LocalSolverKind {
    std::string_view name;
    bool symmetric;       ///< what it gives for a symmetric block is
    bool only_symmetric;  ///< and it takes no other
    std::unique_ptr<LocalSolver> (*make)(const Block& block, const Options& options);
};

const LocalSolverKind& local_solver(std::string_view name);

/// The options of whatever has a local solver inside: inner, drop, fill and pattern.
extern const std::string_view local_solver_names[6];
inline constexpr OptionInfo inner_option{"inner", 0, 0, 5, "what solves with a block", true, local_solver_names};
inline constexpr OptionInfo drop_option{"drop", 1e-3, 0, 1,
                                        "ilut: entries below this times the row's norm are dropped"};
inline constexpr OptionInfo fill_option{"fill", 10, 0, 1e6, "ilut: entries a row keeps in L and in U beyond those of A",
                                        true};
inline constexpr OptionInfo precision_option{"precision", 0,         0, 1, "of the numbers that it is made of",
                                             false,       precisions};
inline constexpr OptionInfo pattern_option{"pattern", 1, 1, 2, "sai: 1: the pattern of A, 2: of A²", true};

/// One half of L U without the diagonal, its rows in the order in which a solve takes them. Numbers are kept as V.
template <class V>
struct Half {
    std::vector<Index> start{0};
    Buffer<Index> columns;
    Buffer<V> values;

    explicit Half(std::vector<Index> start_of_rows)
        : start(std::move(start_of_rows)),
          columns(static_cast<std::size_t>(start.back())),
          values(static_cast<std::size_t>(start.back())) {}
    Half(Half&&) = default;
    Half(const Half& other) : Half(other.start) { copy(other); }
    template <class Other>
    explicit Half(const Half<Other>& other) : Half(other.start) {
        copy(other);
    }

private:
    template <class Other>
    void copy(const Half<Other>& other) {
        std::ranges::copy(other.columns.values(), columns.data());
        std::ranges::transform(other.values.values(), values.data(), [](Other value) { return static_cast<V>(value); });
    }
};

/// L U, L with a unit diagonal, maybe of a block whose rows were scaled and whose rows and columns were permuted.
template <class V>
class TriangularOf final : public LocalSolver {
public:
    /// `upper` is from the last row and column on, its rows divided by the diagonal, of which `inverse` is the inverse.
    TriangularOf(Half<V> lower, std::vector<V> inverse, Half<V> upper)
        : lower_(std::move(lower)), upper_(std::move(upper)), inverse_(std::move(inverse)) {}
    /// Entries of `lower` on and above the diagonal, and of `upper` on and below it, are passed over. The kth row of
    /// L U is row row_order[k] of the block times scale[row_order[k]], its kth column is column column_order[k].
    /// Empty: as they are.
    TriangularOf(const Block& lower, const std::vector<double>& diagonal, const Block& upper,
                 std::vector<Index> row_order = {}, std::vector<Index> column_order = {},
                 std::vector<double> row_scale = {});
    template <class Other>
    explicit TriangularOf(const TriangularOf<Other>& other)
        : lower_(other.lower_),
          upper_(other.upper_),
          inverse_(other.inverse_.begin(), other.inverse_.end()),
          row_order_(other.row_order_),
          column_order_(other.column_order_),
          row_scale_(other.row_scale_) {}

    void solve(const double* r, double* z, int m, Pieces pieces) const override { solve_for(r, z, m, pieces); }
    void solve(const float* r, float* z, int m, Pieces pieces) const override { solve_for(r, z, m, pieces); }
    void solve_transpose(const double* r, double* z, int m) const override;
    std::unique_ptr<LocalSolver> in_single() const override { return std::make_unique<TriangularOf<float>>(*this); }
    double stored() const override;
    double vector_passes() const override { return row_order_.empty() ? 4 : 7; }

private:
    template <class>
    friend class TriangularOf;
    Index rows() const { return static_cast<Index>(inverse_.size()); }
    template <class T>
    void solve_for(const T* r, T* z, int m, Pieces pieces) const;
    template <class T>
    void solve_in_place(const T* r, T* z, int m, Pieces pieces) const;
    void solve_transpose_in_place(double* z, int m) const;

    Half<V> lower_, upper_;
    std::vector<V> inverse_;  // of the diagonal of U
    std::vector<Index> row_order_, column_order_;
    std::vector<double> row_scale_;
    mutable std::tuple<std::vector<double>, std::vector<float>> work_;
};
using Triangular = TriangularOf<double>;
extern template class TriangularOf<double>;
extern template class TriangularOf<float>;

/// Whether solves with the block stay within what a method can work with.
bool bounded(const LocalSolver& solver, const Block& block);

/// Shifts the diagonal, more each time, until make(shift) gives a factorisation (null is none) whose solves are
/// bounded.
template <class Make>
std::unique_ptr<LocalSolver> with_shifts(const Block& block, Make&& make) {
    for (const double shift : {0.0, 1e-3, 1e-2, 1e-1, 1.0})
        if (auto solver = make(shift); solver && bounded(*solver, block)) {
            solver->repairs.shift = shift;
            return solver;
        }
    auto last = make(10.0);  // diagonally dominant
    last->repairs.shift = 10;
    return last;
}

std::unique_ptr<LocalSolver> make_ilu0(const Block& block, const Options& options);
std::unique_ptr<LocalSolver> make_ic0(const Block& block, const Options& options);
std::unique_ptr<LocalSolver> make_ilut(const Block& block, const Options& options);
std::unique_ptr<LocalSolver> make_sai(const Block& block, const Options& options);
std::unique_ptr<LocalSolver> make_lu(const Block& block, const Options& options);
std::unique_ptr<LocalSolver> make_cholesky(const Block& block, const Options& options);

}  // namespace stretto
