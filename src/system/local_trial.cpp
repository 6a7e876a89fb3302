// SPDX-License-Identifier: BSD-3-Clause
#include "local_trial.hpp"

#include <amd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stretto/comm/collective.hpp"
#include "stretto/core/random.hpp"
#include "stretto/driver/solver.hpp"

namespace stretto {
namespace {

/// A rank's rows and columns, as an operator of its own.
class DiagonalBlock {
public:
    explicit DiagonalBlock(const CsrMatrix<double>& A) : A_(&A) {}

    void apply(MultiVector<double> x, MultiVector<double> y) const {
        if (A_->halo_rows() == 0) return A_->apply_local(x, y);
        for (Index i = 0; i < A_->local_rows(); ++i) {
            const auto [columns, values] = A_->row(i);
            double sum = 0;
            for (std::size_t k = 0; k < columns.size() && columns[k] < A_->local_rows(); ++k)
                sum += values[k] * x.data()[columns[k]];
            y.data()[i] = sum;
        }
    }
    double bytes(int columns) const { return A_->bytes(columns); }

private:
    const CsrMatrix<double>* A_;
};

/// Its diagonal.
class Diagonal {
public:
    explicit Diagonal(const CsrMatrix<double>& A) : inverse_(A.diagonal()) {
        for (double& d : inverse_) d = d == 0 ? 1 : 1 / d;
    }
    void apply(MultiVector<double> r, MultiVector<double> z) const {
        for (std::size_t i = 0; i < inverse_.size(); ++i) z.data()[i] = inverse_[i] * r.data()[i];
    }
    const std::vector<double>& inverse() const { return inverse_; }
    double bytes(int columns) const { return 8.0 * (1 + 2 * columns) * static_cast<double>(inverse_.size()); }

private:
    std::vector<double> inverse_;
};

}  // namespace

double seconds_to_count(const Structure& structure, const Sizes& sizes) {
    constexpr double of_nonzero = 5e-8, of_hub = 2e-7;  // long rows are what such orderings are slow at
    return (structure.has_hubs() ? of_hub : of_nonzero) * sizes.nonzeros / sizes.ranks;
}

void look_at_rows(const CsrMatrix<double>& A, Sizes& sizes) {
    struct Seen {
        double least = INFINITY, most = -INFINITY, profile = 0, halo = 0;
    } seen;
    for (const double value : A.diagonal()) {
        seen.least = std::min(seen.least, value);
        seen.most = std::max(seen.most, value);
    }
    for (Index i = 0; i < A.local_rows(); ++i)
        if (const auto columns = A.row(i).columns; !columns.empty()) seen.profile += std::max(0, i - columns.front());
    seen.halo = A.halo_rows();
    const auto all = all_gather(A.comm(), seen);
    const double least = std::ranges::min(all, {}, &Seen::least).least,
                 most = std::ranges::max(all, {}, &Seen::most).most;
    sizes.constant_diagonal = least == most && least != 0;
    sizes.profile = std::ranges::max(all, {}, &Seen::profile).profile;
    sizes.halo = std::ranges::max(all, {}, &Seen::halo).halo;
}

FactorCounts count_factors(const CsrMatrix<double>& A) {
    const Index n = A.local_rows();
    std::vector<Index> start{0}, columns, order(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) {
        for (const Index column : A.row(i).columns)
            if (column < n) columns.push_back(column);
        start.push_back(static_cast<Index>(columns.size()));
    }
    double control[AMD_CONTROL], info[AMD_INFO] = {};
    amd_defaults(control);
    FactorCounts counts;
    if (n > 0 && amd_order(n, start.data(), columns.data(), order.data(), control, info) >= 0)
        counts = {info[AMD_LNZ], info[AMD_NDIV] + 2 * info[AMD_NMULTSUBS_LU]};
    return counts;
}

std::optional<double> difficulty_by_dominance(const CsrMatrix<double>& A, double rtol) {
    constexpr int steps = 4;
    constexpr double dominant = 0.3;  // a discrete Laplacian does not come below it
    const DiagonalBlock block(A);
    const Diagonal diagonal(A);
    const auto n = static_cast<std::size_t>(A.local_rows());
    std::vector<double> error(n), image(n);
    for (std::size_t i = 0; i < n; ++i) error[i] = uniform(3, static_cast<Global>(i));
    double before = 1, now = 1;
    for (int k = 0; k < steps; ++k) {
        before = now;
        now = 0;
        block.apply({error.data(), A.local_rows(), 1}, {image.data(), A.local_rows(), 1});
        for (std::size_t i = 0; i < n; ++i) {
            error[i] -= diagonal.inverse()[i] * image[i];
            now += error[i] * error[i];
        }
    }
    const double rate = all_max(A.comm(), before > 0 ? std::sqrt(now / before) : 0.0);
    if (!(rate < dominant)) return {};
    constexpr double far_from_normal = 3;  // times as many as of a matrix that is normal
    return far_from_normal * (1 + std::log(rtol) / std::log(std::max(rate, rtol)));
}

LocalTrial try_jacobi(const CsrMatrix<double>& A, bool symmetric, bool singular, int iterations, double rtol) {
    const Index n = A.local_rows();
    LocalTrial mine;
    mine.residual = 0;
    if (n > 0) {
        MpiComm alone(MPI_COMM_SELF);
        const DiagonalBlock block(A);
        const Diagonal diagonal(A);
        std::vector<double> b(static_cast<std::size_t>(n)), x(b.size());
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = uniform(2, static_cast<Global>(i)) - 0.5;
        if (singular) {
            std::swap(b, x);
            block.apply({x.data(), n, 1}, {b.data(), n, 1});
            std::ranges::fill(x, 0.0);
        }
        SolveOptions options;
        options.method = symmetric ? "cg" : "bicgstab";
        options.rtol = rtol;
        options.max_iterations = iterations;
        options.verify = Verify::recurrence;
        const auto result = stretto::solve<double>(alone, block, diagonal, {b.data(), n, 1}, {x.data(), n, 1}, options);
        const double residual = result.relative_residual();
        mine.iterations = std::max(1, result.iterations);
        mine.residual = std::isfinite(residual) ? residual : 1;
        mine.indefinite = result.status == Status::indefinite_matrix;
    }
    return mine;
}

LocalFindings of_all_ranks(const Comm& comm, const LocalFindings& mine) {
    const auto all = all_gather(comm, mine);
    LocalFindings found;
    found.factors = std::ranges::max(all, {}, [](const LocalFindings& each) { return each.factors.work; }).factors;
    // The slowest: few iterations that came to the tolerance count for less than many that did not.
    found.trial = std::ranges::max(all, {}, [](const LocalFindings& each) {
                      return std::pair(each.trial.residual, each.trial.iterations);
                  }).trial;
    found.trial.indefinite = std::ranges::any_of(all, [](const LocalFindings& each) { return each.trial.indefinite; });
    return found;
}

double iterations_at_rate(double done, double residual, double target, double assumed, double least_trust) {
    if (residual <= target) return done;
    constexpr double long_as_ever = 1e4, hopeless = 30;
    const double no_end = std::max(long_as_ever, hopeless * done);
    const double digits = std::log(residual) / std::log(target);  // the part of them that is done
    // The first digits take longest: a rate counts the more, the more of them are done.
    const double rate_says = digits > 0 ? std::min(no_end, done / digits) : no_end,
                 trust =
                     std::min(1.0, least_trust + (3 - 2 * std::min(1.0, least_trust / 0.3)) * std::max(0.0, digits));
    return std::max(done + 1, std::pow(std::max(1.5 * done, assumed), 1 - trust) * std::pow(rate_says, trust));
}

double difficulty_after(const LocalTrial& trial, const Structure& structure, const Sizes& sizes, double rtol) {
    const double family = structure.symmetric() ? 1 : 1 / 0.72;  // CG's iterations for one of BiCGStab's
    // A part of a grid has as many points along a side as the whole has, over the root of their number.
    const double parts =
        structure.like_grid() ? std::pow(sizes.ranks, sizes.nonzeros < 6 * sizes.rows ? 0.5 : 1.0 / 3) : 1;
    const double assumed = assumed_difficulty(structure, sizes);
    return parts * family * iterations_at_rate(trial.iterations, trial.residual, rtol, assumed / (parts * family), 0);
}

}  // namespace stretto
