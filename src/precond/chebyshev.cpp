// SPDX-License-Identifier: BSD-3-Clause
// A polynomial in D⁻¹A whose residual is Chebyshev's on an interval (Golub and Varga 1961; as a preconditioner,
// Johnson, Micchelli and Paul 1983). The interval's end is found by a few steps of Arnoldi's method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <tuple>
#include <utility>

#include "../sparse/forms/row_sums.hpp"
#include "fits_single.hpp"
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
        if (options.choice("precision") == "double") return;
        rounded_ = rows_fit();
        rounded_ ? round() : remarks_.push_back(kept_in_double("chebyshev"));
    }

    void apply(MultiVector<double> r, MultiVector<double> z) const override {
        if (rounded_)
            run<float>(r, z, single_inverse_,
                       [&](auto x, auto y, auto& work) { single_.op.apply(x, y, RowWork(work)); });
        else
            run<double>(r, z, form_.inverse, [&](auto x, auto y, auto& work) { A_->apply(x, y, RowWork(work)); });
    }
    OwnedOperator<float> in_single() const override {
        round();
        return owned<float>(std::make_shared<InSingle>(*this));
    }
    /// The transpose of p(D⁻¹A) D⁻¹ is p(D⁻¹Aᵀ) D⁻¹.
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override {
        run<double>(r, z, form_.inverse, [&](auto x, auto y, auto& work) {
            A_->apply_transpose(x, y);
            each_share(work);
        });
    }
    double bytes(int columns) const override {
        return rounded_ ? form_.degree * single_.op.bytes(columns) + vector_bytes<float, double>(columns)
                        : form_.degree * A_->bytes(columns) + vector_bytes<double, double>(columns);
    }
    double stored() const override {
        return static_cast<double>(form_.inverse.size() * (rounded_ ? sizeof(float) : sizeof(double)));
    }
    std::vector<std::string> remarks() const override { return remarks_; }
    ExplicitInverse explicit_inverse() const override { return form_; }

private:
    static constexpr int steps = 12;

    struct InSingle {
        explicit InSingle(const Chebyshev& of) : M(of) {}
        void apply(MultiVector<float> r, MultiVector<float> z) const {
            M.run<float>(r, z, M.single_inverse_,
                         [&](auto x, auto y, auto& work) { M.single_.op.apply(x, y, RowWork(work)); });
        }
        double bytes(int columns) const {
            return M.form_.degree * M.single_.op.bytes(columns) + M.vector_bytes<float, float>(columns);
        }
        const Chebyshev& M;
    };
    /// Collective. Whether single precision can hold A and what it divides by.
    bool rows_fit() const {
        bool fit = std::ranges::all_of(form_.inverse, fits_single);
        for (Index i = 0; fit && i < A_->local_rows(); ++i) {
            double largest = 0;
            for (const double value : A_->row(i).values) largest = std::max(largest, std::abs(value));
            fit = fits_single(largest);
        }
        return all_of(A_->comm(), fit);
    }
    /// Collective. A and the diagonal in single precision.
    void round() const {
        if (single_.op) return;
        single_ = A_->in_single();
        single_inverse_.assign(form_.inverse.begin(), form_.inverse.end());
    }

    /// Of work in T on vectors of X.
    template <class T, class X>
    double vector_bytes(int columns) const {
        const auto rows = static_cast<double>(form_.inverse.size());
        return sizeof(T) * rows * (form_.degree + 1) * (4.0 * columns + 1) +
               (sizeof(X) - sizeof(T)) * 2 * rows * columns;
    }

    /// Work vectors for m columns on those of X: the residual, the last step, the next one, and z where it is of
    /// another type.
    template <class T, class X>
    struct Work {
        Buffer<T> residual, step, next, sum;
    };
    /// Calls work(part, begin, end) for all rows, on the threads that products have them on.
    template <class Work>
    void each_share(Work&& work) const {
        parallel(A_->threads(), [&](int t, int threads) {
            const Share share(form_.inverse.size(), t, threads);
            work(t, static_cast<Index>(share.begin), static_cast<Index>(share.end));
        });
    }

    /// product(x, y, work): y = A x, and work on its rows while they are in cache.
    template <class T, class X, class Product>
    void run(MultiVector<X> r, MultiVector<X> z, const std::vector<T>& inverses, Product&& product) const {
        constexpr bool converts = !std::same_as<T, X>;
        A_->comm().charge(vector_bytes<T, X>(r.columns()));
        const auto& vectors = std::get<Scratch<Work<T, X>>>(work_).at(r.columns(), [&] {
            return Work<T, X>{Buffer<T>(r.size()), Buffer<T>(r.size()), Buffer<T>(r.size()),
                              Buffer<T>(converts ? r.size() : 0)};
        });
        MultiVector<T> step(vectors.step.data(), r.rows(), r.columns()),
            next(vectors.next.data(), r.rows(), r.columns());
        T *const residual = vectors.residual.data(), *sum = vectors.sum.data();
        if constexpr (!converts) sum = z.data();
        /// Calls each(k, 1/d) for the elements of rows.
        const auto elements = [&](auto&& each) {
            return [&inverses, m = r.columns(), each](int, Index begin, Index end) {
                with_columns(m, [&](auto columns) {
                    const auto width = static_cast<std::size_t>(columns);
                    const T* const inverse = inverses.data();
#pragma GCC ivdep
                    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                        for (std::size_t k = i * width; k < (i + 1) * width; ++k) each(k, inverse[i]);
                });
            };
        };
        auto coefficients = form_.coefficients();
        each_share(elements(
            [=, r = r.data(), s = step.data(), first = static_cast<T>(1 / form_.middle)](std::size_t k, T inverse) {
                residual[k] = static_cast<T>(r[k]);
                sum[k] = s[k] = inverse * first * residual[k];
            }));
        for (int i = 0; i < form_.degree; ++i) {
            const auto pair = coefficients.next();
            const auto rows = elements([=, keep = static_cast<T>(pair.first), add = static_cast<T>(pair.second),
                                        s = step.data(), n = next.data()](std::size_t k, T inverse) {
                residual[k] -= n[k];
                n[k] = keep * s[k] + add * inverse * residual[k];
                sum[k] += n[k];
            });
            product(step, next, rows);
            std::swap(step, next);
        }
        if constexpr (converts) each_share(elements([=, z = z.data()](std::size_t k, T) { z[k] = sum[k]; }));
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
    bool rounded_ = false;  // whether it is applied in single precision
    mutable OwnedOperator<float> single_;
    mutable std::vector<float> single_inverse_;
    std::tuple<Scratch<Work<double, double>>, Scratch<Work<float, double>>, Scratch<Work<float, float>>> work_;
};

}  // namespace

std::unique_ptr<Preconditioner> make_chebyshev(const CsrMatrix<double>& A, const Options& options) {
    return std::make_unique<Chebyshev>(A, options);
}

}  // namespace stretto
