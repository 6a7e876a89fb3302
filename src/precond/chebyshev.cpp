// SPDX-License-Identifier: BSD-3-Clause
// A polynomial in D⁻¹A whose residual is Chebyshev's on an interval (Golub and Varga 1961; as a preconditioner,
// Johnson, Micchelli and Paul 1983). The interval's end is found by a few steps of Arnoldi's method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "../sparse/forms/row_sums.hpp"
#include "kinds.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/random.hpp"
#include "stretto/core/scratch.hpp"
#include "stretto/methods/parts/newton_basis.hpp"

namespace stretto {
namespace {

class Chebyshev final : public Preconditioner {
public:
    Chebyshev(const CsrMatrix<double>& A, const Options& options)
        : A_(&A), form_{.inverse = A.diagonal(), .degree = static_cast<int>(options.number("degree"))} {
        Global zeros = 0;
        for (double& d : form_.inverse) {
            zeros += d == 0;
            d = d == 0 ? 1 : 1 / d;
        }
        zeros = all_sum(A.comm(), zeros);
        if (zeros > 0) remarks_.push_back(fmt::format("chebyshev: {} zeros on the diagonal count as ones", zeros));
        const double found = find_end();
        remarks_.push_back(fmt::format("chebyshev: eigenvalues of D⁻¹A taken to lie in [{:.4g}, {:.4g}]",
                                       found / options.number("ratio"), found));
        const double begin = found / options.number("ratio");
        form_.middle = (found + begin) / 2;
        form_.radius = (found - begin) / 2;
    }

    void apply(MultiVector<double> r, MultiVector<double> z) const override {
        run(r, z, [&](MultiVector<double> x, MultiVector<double> y) { A_->apply(x, y); });
    }
    /// The transpose of p(D⁻¹A) D⁻¹ is p(D⁻¹Aᵀ) D⁻¹.
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override {
        run(r, z, [&](MultiVector<double> x, MultiVector<double> y) { A_->apply_transpose(x, y); });
    }
    double bytes(int columns) const override { return form_.degree * A_->bytes(columns) + vector_bytes(columns); }
    double stored() const override { return 8.0 * static_cast<double>(form_.inverse.size()); }
    std::vector<std::string> remarks() const override { return remarks_; }
    ExplicitInverse explicit_inverse() const override { return form_; }

private:
    static constexpr int most_steps = 12;

    double vector_bytes(int columns) const {
        return 8.0 * static_cast<double>(form_.inverse.size()) * (form_.degree + 1) * (7.0 * columns + 1);
    }

    /// Work vectors for m columns: the residual, the last step, and A times it.
    struct Work {
        Buffer<double> residual, step, product;
    };

    template <class Product>
    void run(MultiVector<double> r, MultiVector<double> z, Product&& product) const {
        A_->comm().charge(vector_bytes(r.columns()));
        const auto& [residual, step, image] = work_.at(r.columns(), [&] {
            return Work{Buffer<double>(r.size()), Buffer<double>(r.size()), Buffer<double>(r.size())};
        });
        const MultiVector<double> direction(step.data(), r.rows(), r.columns()),
            imaged(image.data(), r.rows(), r.columns());
        auto coefficients = form_.coefficients();
        const auto rows = [&](auto&& work) {
            parallel(A_->threads(), [&](int t, int threads) {
                const Share share(form_.inverse.size(), t, threads);
                with_columns(r.columns(), [&](auto columns) {
                    const auto width = static_cast<std::size_t>(columns);
                    for (auto row = share.begin; row < share.end; ++row)
                        for (std::size_t j = 0; j < width; ++j) work(row * width + j, form_.inverse[row]);
                });
            });
        };
        rows([&](std::size_t k, double inverse) {
            residual[k] = r.data()[k];
            z.data()[k] = step[k] = inverse / form_.middle * r.data()[k];
        });
        for (int i = 0; i < form_.degree; ++i) {
            product(direction, imaged);
            const auto [keep, add] = coefficients.next();
            rows([&, keep = keep, add = add](std::size_t k, double inverse) {
                residual[k] -= image[k];
                step[k] = keep * step[k] + add * inverse * residual[k];
                z.data()[k] += step[k];
            });
        }
    }

    /// Collective. The largest row sum of |D⁻¹A|, which bounds all eigenvalues.
    double largest_row_sum() const {
        double largest = 0;
        for (Index i = 0; i < A_->local_rows(); ++i) {
            double sum = 0;
            for (const double value : A_->row(i).values) sum += std::abs(value);
            largest = std::max(largest, sum * std::abs(form_.inverse[static_cast<std::size_t>(i)]));
        }
        return all_max(A_->comm(), largest);
    }

    /// Collective. Ritz values of D⁻¹A after a few steps of Arnoldi's method; fewer where the space ends, below
    /// `negligible`.
    std::vector<std::complex<double>> ritz_values(double negligible) const {
        const Comm& comm = A_->comm();
        const auto n = form_.inverse.size();
        std::vector<std::vector<double>> basis;
        std::vector<double> next(n);
        const Global first = A_->partition().first(comm.rank());
        for (std::size_t i = 0; i < n; ++i) next[i] = uniform(1, first + static_cast<Global>(i), 0);
        double h[most_steps][most_steps] = {};  // column by column
        for (int steps = 0;; ++steps) {
            // Classical Gram–Schmidt, one reduction a step: (next, qⱼ) and (next, next).
            std::vector<double> dots(basis.size() + 1);
            const auto dot = [&](const std::vector<double>& q) {
                double sum = 0;
                for (std::size_t i = 0; i < n; ++i) sum += next[i] * q[i];
                return sum;
            };
            std::ranges::transform(basis, dots.begin(), dot);
            dots.back() = dot(next);
            MPI_Allreduce(MPI_IN_PLACE, dots.data(), static_cast<int>(dots.size()), MPI_DOUBLE, MPI_SUM, comm.mpi());
            double square = dots.back();
            for (std::size_t j = 0; j < basis.size(); ++j) {
                h[steps - 1][j] = dots[j];
                square -= dots[j] * dots[j];
                for (std::size_t i = 0; i < n; ++i) next[i] -= dots[j] * basis[j][i];
            }
            // What is left of cancellation is no direction: the space ends.
            constexpr double cancelled = 1e-10;
            const double norm = square > cancelled * dots.back() ? std::sqrt(square) : 0;
            if (steps == most_steps || !(norm > negligible) || !std::isfinite(norm)) return ritz_values_of(h, steps);
            if (steps > 0) h[steps - 1][steps] = norm;
            for (double& value : next) value /= norm;
            basis.push_back(next);
            A_->apply({basis.back().data(), A_->local_rows(), 1}, {next.data(), A_->local_rows(), 1});
            for (std::size_t i = 0; i < n; ++i) next[i] *= form_.inverse[i];
        }
    }

    static std::vector<std::complex<double>> ritz_values_of(const double (&h)[most_steps][most_steps], int steps) {
        if (steps == 0) return {};
        std::vector<double> H;
        for (int j = 0; j < steps; ++j) H.insert(H.end(), h[j], h[j] + steps);
        const auto values = hessenberg_eigenvalues(H, steps);
        return {values.begin(), values.end()};
    }

    /// Collective. Somewhat above the largest real part of an eigenvalue of D⁻¹A, and not above its largest row sum.
    double find_end() {
        constexpr double margin = 1.1;
        const double row_sum = largest_row_sum();
        double largest = 0, smallest = 0, sideways = 0;
        for (const auto& value : ritz_values(1e-12 * row_sum)) {
            largest = std::max(largest, value.real());
            smallest = std::min(smallest, value.real());
            sideways = std::max(sideways, std::abs(value.imag()));
        }
        if (smallest < -1e-3 * largest)
            remarks_.push_back(fmt::format(
                "chebyshev: D⁻¹A has eigenvalues to the left of zero (about {:.2g}), where the polynomial is of no use",
                smallest));
        if (sideways > 0.1 * largest)
            remarks_.push_back(
                fmt::format("chebyshev: eigenvalues of D⁻¹A have imaginary parts (up to about {:.2g}), "
                            "which the interval ignores",
                            sideways));
        if (!(largest > 0 && std::isfinite(largest))) return row_sum > 0 ? row_sum : 1;
        return std::min(margin * largest, row_sum);
    }

    const CsrMatrix<double>* A_;
    ChebyshevInverse form_;
    std::vector<std::string> remarks_;
    Scratch<Work> work_;
};

}  // namespace

std::unique_ptr<Preconditioner> make_chebyshev(const CsrMatrix<double>& A, const Options& options) {
    return std::make_unique<Chebyshev>(A, options);
}

}  // namespace stretto
