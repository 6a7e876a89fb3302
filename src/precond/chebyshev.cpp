// SPDX-License-Identifier: BSD-3-Clause
// A polynomial in D⁻¹A whose residual is Chebyshev's on an interval (Golub and Varga 1961; as a preconditioner,
// Johnson, Micchelli and Paul 1983). The interval's end is found by a few steps of Arnoldi's method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../sparse/forms/row_sums.hpp"
#include "kinds.hpp"
#include "scaled_spectrum.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/core/scratch.hpp"

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
    static constexpr int steps = 12;

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

    /// Collective. Somewhat above the largest real part of an eigenvalue of D⁻¹A, and not above its largest row sum.
    double find_end() {
        constexpr double margin = 1.1;
        const double row_sum = largest_row_sum(*A_, form_.inverse);
        double largest = 0, smallest = 0, sideways = 0;
        for (const auto& value : ritz_values(*A_, form_.inverse, steps, 1e-12 * row_sum)) {
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
