// SPDX-License-Identifier: BSD-3-Clause
// Complete factorisations of a block by SuiteSparse: LU by UMFPACK, Cholesky by CHOLMOD (Davis 2004; Chen, Davis, Hager
// and Rajamanickam 2008). The factors are taken over, so that one solve serves many columns.
#include <cholmod.h>
#include <fmt/format.h>
#include <umfpack.h>

#include <algorithm>
#include <numeric>

#include "solver.hpp"
#include "stretto/core/error.hpp"

namespace stretto {
namespace {

/// For a block without rows, which the libraries refuse.
std::unique_ptr<LocalSolver> nothing() { return std::make_unique<Triangular>(Block{}, std::vector<double>{}, Block{}); }

/// UMFPACK's objects, freed at the end of the scope.
struct Umfpack {
    void *symbolic = nullptr, *numeric = nullptr;
    Umfpack() = default;
    Umfpack(const Umfpack&) = delete;
    ~Umfpack() {
        umfpack_di_free_symbolic(&symbolic);
        umfpack_di_free_numeric(&numeric);
    }
    static void check(int status) {
        if (status == UMFPACK_ERROR_out_of_memory) throw std::bad_alloc();
        if (status < 0) throw InputError(fmt::format("lu: UMFPACK could not factorise a block (status {})", status));
    }
};

struct Cholmod {
    cholmod_common common{};
    cholmod_factor* factor = nullptr;
    Cholmod() {
        cholmod_start(&common);
        common.final_asis = 0;  // L D Lᵀ, columns in order, whatever it was computed as
        common.final_ll = 0;
        common.final_super = 0;
        common.final_monotonic = 1;
        common.final_pack = 1;
        common.print = 0;
    }
    Cholmod(const Cholmod&) = delete;
    ~Cholmod() {
        cholmod_free_factor(&factor, &common);
        cholmod_finish(&common);
    }
};

/// L D Lᵀ of the block with its diagonal increased; null where a pivot is not positive.
std::unique_ptr<LocalSolver> factorise(const Block& block, double shift) {
    const Index n = block.rows();
    Block upper;  // by columns: the lower triangle by rows
    for (Index i = 0; i < n; ++i) {
        double sum = 0;
        for (Index k = block.start[i]; k < block.start[i + 1]; ++k) sum += std::abs(block.values[k]);
        for (Index k = block.start[i]; k < block.start[i + 1] && block.columns[k] <= i; ++k)
            upper.add(block.columns[k], block.values[k] + (block.columns[k] == i ? shift * (sum > 0 ? sum : 1) : 0));
        upper.end_row();
    }
    Cholmod library;
    auto& common = library.common;
    cholmod_sparse A{};
    A.nrow = A.ncol = static_cast<std::size_t>(n);
    A.nzmax = upper.values.size();
    A.p = upper.start.data();
    A.i = upper.columns.data();
    A.x = upper.values.data();
    A.stype = 1;
    A.itype = CHOLMOD_INT;
    A.xtype = CHOLMOD_REAL;
    A.dtype = CHOLMOD_DOUBLE;
    A.sorted = A.packed = 1;
    auto*& L = library.factor;
    L = cholmod_analyze(&A, &common);
    if (L) cholmod_factorize(&A, L, &common);
    if (common.status == CHOLMOD_OUT_OF_MEMORY || common.status == CHOLMOD_TOO_LARGE) throw std::bad_alloc();
    if (common.status < 0) throw InputError(fmt::format("cholesky: CHOLMOD failed (status {})", common.status));
    if (!L || common.status != CHOLMOD_OK || L->minor < L->n) return nullptr;

    const auto *start = static_cast<const Index*>(L->p), *rows = static_cast<const Index*>(L->i),
               *order = static_cast<const Index*>(L->Perm);
    const auto* values = static_cast<const double*>(L->x);
    Block columns;  // of L without its diagonal, which holds D
    std::vector<double> diagonal;
    for (Index j = 0; j < n; ++j) {
        diagonal.push_back(values[start[j]]);
        if (!(diagonal.back() > 0)) return nullptr;
        for (Index k = start[j] + 1; k < start[j + 1]; ++k) columns.add(rows[k], values[k]);
        columns.end_row();
    }
    const Block lower = columns.transposed();
    for (Index j = 0; j < n; ++j)  // D Lᵀ by rows
        for (Index k = columns.start[j]; k < columns.start[j + 1]; ++k) columns.values[k] *= diagonal[j];
    const std::vector<Index> permutation(order, order + n);
    return std::make_unique<Triangular>(lower, diagonal, columns, permutation, permutation);
}

/// L U by UMFPACK, pivots that vanish replaced, of the block whose diagonal is increased by `shift` times the absolute
/// values of a row.
std::unique_ptr<LocalSolver> factorise_unsymmetric(const Block& block, double shift) {
    const Index n = block.rows();
    // A stored zero, as those on the diagonal, misleads UMFPACK's ordering; but it refuses empty rows and columns.
    Block nonzeros;
    std::vector<char> column_used(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < block.values.size(); ++k)
        if (block.values[k] != 0) column_used[static_cast<std::size_t>(block.columns[k])] = 1;
    for (Index i = 0; i < n; ++i) {
        const auto begin = block.values.begin() + block.start[i], end = block.values.begin() + block.start[i + 1];
        const bool empty = std::all_of(begin, end, [](double value) { return value == 0; });
        const double sum = std::accumulate(begin, end, 0.0, [](double s, double value) { return s + std::abs(value); });
        for (Index k = block.start[i]; k < block.start[i + 1]; ++k) {
            const bool diagonal = block.columns[k] == i;
            const double added = diagonal ? std::copysign(shift * (sum > 0 ? sum : 1), block.values[k]) : 0;
            const bool needed = diagonal && (empty || !column_used[static_cast<std::size_t>(i)]);
            if (block.values[k] + added != 0 || needed) nonzeros.add(block.columns[k], block.values[k] + added);
        }
        nonzeros.end_row();
    }
    const Block columns = nonzeros.transposed();
    Umfpack library;
    double control[UMFPACK_CONTROL];
    umfpack_di_defaults(control);
    const auto *start = columns.start.data(), *rows = columns.columns.data();
    const auto* values = columns.values.data();
    Umfpack::check(umfpack_di_symbolic(n, n, start, rows, values, &library.symbolic, control, nullptr));
    Umfpack::check(umfpack_di_numeric(start, rows, values, library.symbolic, &library.numeric, control, nullptr));

    int in_l = 0, in_u = 0, height = 0, width = 0, on_diagonal = 0, reciprocal = 0;
    Umfpack::check(umfpack_di_get_lunz(&in_l, &in_u, &height, &width, &on_diagonal, library.numeric));
    const auto count = static_cast<std::size_t>(n);
    Block lower, upper;  // L by rows, U by columns
    const auto reserve = [&](Block& factor, int size) {
        factor.start.assign(count + 1, 0);
        factor.columns.resize(static_cast<std::size_t>(size));
        factor.values.resize(static_cast<std::size_t>(size));
    };
    reserve(lower, in_l);
    reserve(upper, in_u);
    std::vector<Index> row_order(count), column_order(count);
    std::vector<double> row_scale(count), diagonal(count);
    Umfpack::check(umfpack_di_get_numeric(lower.start.data(), lower.columns.data(), lower.values.data(),
                                          upper.start.data(), upper.columns.data(), upper.values.data(),
                                          row_order.data(), column_order.data(), diagonal.data(), &reciprocal,
                                          row_scale.data(), library.numeric));
    if (!reciprocal)
        for (double& scale : row_scale) scale = 1 / scale;
    upper = upper.transposed();
    double largest = 0;
    for (const double pivot : diagonal) largest = std::max(largest, std::abs(pivot));
    if (largest == 0) largest = 1;
    Index replaced = 0;
    for (double& pivot : diagonal) {
        constexpr double tiny = 1e-15, replacement = 1e-8;
        if (std::abs(pivot) > tiny * largest) continue;
        ++replaced;
        pivot = std::copysign(replacement * largest, pivot);
    }
    auto result = std::make_unique<Triangular>(lower, diagonal, upper, std::move(row_order), std::move(column_order),
                                               std::move(row_scale));
    result->repairs.pivots = replaced;
    return result;
}

}  // namespace

std::unique_ptr<LocalSolver> make_lu(const Block& block, const Options&) {
    if (block.rows() == 0) return nothing();
    return with_shifts(block, [&](double shift) { return factorise_unsymmetric(block, shift); });
}

std::unique_ptr<LocalSolver> make_cholesky(const Block& block, const Options&) {
    if (block.rows() == 0) return nothing();
    return with_shifts(block, [&](double shift) { return factorise(block, shift); });
}

}  // namespace stretto
