// SPDX-License-Identifier: BSD-3-Clause
#include "blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>

#include "fits_single.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/precond/table.hpp"

namespace stretto {
namespace {

constexpr std::size_t rows_of_a_piece = 128;

Partition cut(const CsrMatrix<double>& A, int asked) {
    const int most = std::max(1, A.local_rows());
    return Partition::even(A.local_rows(), std::min(most, asked > 0 ? asked : A.threads()));
}

}  // namespace

Blocks::Blocks(const CsrMatrix<double>& A, const Options& options)
    : comm_(&A.comm()),
      threads_(A.threads()),
      options_(options),
      kind_(local_solver(options.choice("inner"))),
      parts_(cut(A, static_cast<int>(options.number("blocks")))),
      solvers_(static_cast<std::size_t>(parts_.ranks())) {}

void Blocks::factorise(const std::function<Block(int b)>& make) {
    agree(*comm_, [&] {
        each([&](int b, int) {
            const Block block = make(b);
            if (kind_.only_symmetric && !block.symmetric())
                throw InputError(fmt::format("inner={} needs a symmetric matrix: the block of rank {} is not",
                                             kind_.name, comm_->rank()));
            auto& solver = solvers_[static_cast<std::size_t>(b)];
            solver = kind_.make(block, options_);
            if (options_.choice("precision") == "double") return;
            Repairs repairs = solver->repairs;
            repairs.kept_in_double = !std::ranges::all_of(std::views::iota(Index{0}, block.rows()),
                                                          [&](Index row) { return fits_single(block.largest(row)); });
            if (!repairs.kept_in_double) solver = solver->in_single();
            solver->repairs = repairs;
        });
    });
    rounded_.clear();
    passes_ = 0;
    for (const auto& solver : solvers_) passes_ = std::max(passes_, solver->vector_passes());
    remark();
}

/// Collective. What the set-up made, and what it had to repair.
void Blocks::remark() {
    Global pivots = 0, dependent = 0, shifted = 0;
    double shift = 0;
    bool in_double = false;
    for (const auto& solver : solvers_) {
        pivots += solver->repairs.pivots;
        dependent += solver->repairs.dependent;
        shifted += solver->repairs.shift > 0;
        shift = std::max(shift, solver->repairs.shift);
        in_double = in_double || solver->repairs.kept_in_double;
    }
    pivots = all_sum(*comm_, pivots);
    dependent = all_sum(*comm_, dependent);
    shifted = all_sum(*comm_, shifted);
    shift = all_max(*comm_, shift);
    const Global blocks = all_sum(*comm_, Global{size()});
    const double bytes = all_sum(*comm_, stored());
    repaired_ = pivots > 0 || shifted > 0;
    remarks_.clear();
    remarks_.push_back(
        fmt::format("{}: {} block{}, {:.4g} MB", kind_.name, blocks, blocks == 1 ? "" : "s", bytes * 1e-6));
    if (pivots > 0) remarks_.push_back(fmt::format("{}: {} zero or tiny pivots were replaced", kind_.name, pivots));
    if (shifted > 0)
        remarks_.push_back(
            fmt::format("{}: in {} of {} blocks the diagonal was increased by up to {} times the "
                        "row's sum of absolute values, for positive and finite pivots",
                        kind_.name, shifted, blocks, shift));
    if (dependent > 0)
        remarks_.push_back(fmt::format("{}: {} columns have dependent equations; the shortest solution is taken",
                                       kind_.name, dependent));
    if (options_.choice("precision") == "single" && any_of(*comm_, in_double))
        remarks_.push_back(kept_in_double(kind_.name));
}

void Blocks::solve(int b, int thread, const double* r, double* z, int m, bool transpose) const {
    const auto& solver = *solvers_[static_cast<std::size_t>(b)];
    transpose ? solver.solve_transpose(r, z, m) : solver.solve(r, z, m, Pieces(comm_, thread, rows_of_a_piece));
}

void Blocks::round() const {
    if (!rounded_.empty()) return;
    rounded_.resize(solvers_.size());
    each([&](int b, int) {
        const auto place = static_cast<std::size_t>(b);
        rounded_[place] = solvers_[place]->in_single();
    });
}

void Blocks::solve(int b, int thread, const float* r, float* z, int m) const {
    rounded_[static_cast<std::size_t>(b)]->solve(r, z, m, Pieces(comm_, thread, rows_of_a_piece));
}

ExplicitInverse Blocks::explicit_inverse() const {
    if (std::ranges::all_of(solvers_, [](const auto& solver) { return solver->sparse_inverse(); })) {
        SparseInverse inverse;
        for (int b = 0; b < size(); ++b) {
            const Block& block = *solvers_[static_cast<std::size_t>(b)]->sparse_inverse();
            for (Index i = 0; i < block.rows(); ++i) {
                for (Index k = block.start[i]; k < block.start[i + 1]; ++k) {
                    inverse.columns.push_back(begin(b) + block.columns[k]);
                    inverse.values.push_back(block.values[k]);
                }
                inverse.start.push_back(inverse.columns.size());
            }
        }
        return inverse;
    }
    BlockInverse inverse;
    for (int b = 0; b < size(); ++b) {
        if (end(b) - begin(b) > most_dense_rows) return {};
        inverse.first.push_back(end(b));
    }
    std::vector<std::size_t> place{0};
    for (int b = 0; b < size(); ++b) {
        const auto n = static_cast<std::size_t>(end(b) - begin(b));
        place.push_back(place.back() + n * n);
    }
    inverse.values.resize(place.back());
    each([&](int b, int thread) {
        const Index n = end(b) - begin(b);
        std::vector<double> unit(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < unit.size(); i += static_cast<std::size_t>(n) + 1) unit[i] = 1;
        if (n > 0) solve(b, thread, unit.data(), inverse.values.data() + place[static_cast<std::size_t>(b)], n, false);
    });
    return inverse;
}

namespace {
double bytes_of(const std::vector<std::unique_ptr<LocalSolver>>& solvers) {
    return std::transform_reduce(solvers.begin(), solvers.end(), 0.0, std::plus{},
                                 [](const auto& solver) { return solver->stored(); });
}
}  // namespace

double Blocks::stored() const { return bytes_of(solvers_); }
double Blocks::stored_rounded() const { return bytes_of(rounded_); }

}  // namespace stretto
