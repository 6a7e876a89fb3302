// SPDX-License-Identifier: BSD-3-Clause

// What verification asks of a matrix: residuals in twice the precision, and when that is called for.

#include <algorithm>
#include <cmath>

#include "stretto/comm/collective.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {
namespace {
/// A sum of products in twice the precision of T.
template <class T>
class Sum2 {
public:
    explicit Sum2(T value) : high_(value) {}
    void subtract(T a, T x) {
        const T product = a * x, rest = std::fma(a, x, -product);
        const T sum = high_ - product, taken = sum - high_;
        low_ += ((high_ - (sum - taken)) - (product + taken)) - rest;
        high_ = sum;
    }
    T value() const { return high_ + low_; }

private:
    T high_, low_ = 0;
};
template <class X>
class Sum2<std::complex<X>> {
public:
    explicit Sum2(std::complex<X> value) : re_(value.real()), im_(value.imag()) {}
    void subtract(std::complex<X> a, std::complex<X> x) {
        re_.subtract(a.real(), x.real());
        re_.subtract(-a.imag(), x.imag());
        im_.subtract(a.real(), x.imag());
        im_.subtract(a.imag(), x.real());
    }
    std::complex<X> value() const { return {re_.value(), im_.value()}; }

private:
    Sum2<X> re_, im_;
};
}  // namespace

template <class T>
void CsrMatrix<T>::residual(MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) const {
    check_shapes(x, r);
    check_shapes(b, r);
    const int m = x.columns();
    halo_.start(x.data(), m, threads()).wait();
    comm_->charge(bytes(m));
    const MultiVector<T> halo(halo_.values(m), halo_rows(), m);
    parallel(threads(), [&](int t, int threads) {
        const auto part = [&](int k) { return static_cast<Index>(std::int64_t{local_rows()} * k / threads); };
        for (Index i = part(t); i < part(t + 1); ++i) {
            const Row entries = row(i);
            for (int j = 0; j < m; ++j) {
                Sum2<T> sum(b(i, j));
                local_.in_global_order(entries, [&](std::size_t k) {
                    const Index column = entries.columns[k];
                    sum.subtract(entries.values[k],
                                 column < local_rows() ? x(column, j) : halo(column - local_rows(), j));
                });
                r(i, j) = sum.value();
            }
        }
    });
}

template <class T>
double CsrMatrix<T>::norm_bound() const {
    if (norm_bound_) return *norm_bound_;
    std::vector<T> sums(static_cast<std::size_t>(local_rows()));  // of columns
    T* const of_halo = halo_.values(1);
    std::fill_n(of_halo, halo_.size(), T{});
    double of_rows = 0;
    for (Index i = 0; i < local_rows(); ++i) {
        const auto [columns, values] = row(i);
        double of_row = 0;
        for (std::size_t k = 0; k < columns.size(); ++k) {
            const auto size = std::abs(values[k]);
            of_row += size;
            (columns[k] < local_rows() ? sums[columns[k]] : of_halo[columns[k] - local_rows()]) += size;
        }
        of_rows = std::max(of_rows, of_row);
    }
    halo_.add_back(sums.data(), 1);
    double of_columns = 0;
    for (const T& sum : sums) of_columns = std::max<double>(of_columns, std::abs(sum));
    norm_bound_ = std::sqrt(all_max(*comm_, of_rows)) * std::sqrt(all_max(*comm_, of_columns));
    return *norm_bound_;
}

template void CsrMatrix<double>::residual(MultiVector<double> b, MultiVector<double> x, MultiVector<double> r) const;
template double CsrMatrix<double>::norm_bound() const;
template void CsrMatrix<float>::residual(MultiVector<float> b, MultiVector<float> x, MultiVector<float> r) const;
template double CsrMatrix<float>::norm_bound() const;
#if STRETTO_COMPLEX
using ComplexVector = MultiVector<std::complex<double>>;
template void CsrMatrix<std::complex<double>>::residual(ComplexVector b, ComplexVector x, ComplexVector r) const;
template double CsrMatrix<std::complex<double>>::norm_bound() const;
using ComplexSingleVector = MultiVector<std::complex<float>>;
template void CsrMatrix<std::complex<float>>::residual(ComplexSingleVector b, ComplexSingleVector x,
                                                       ComplexSingleVector r) const;
template double CsrMatrix<std::complex<float>>::norm_bound() const;
#endif

}  // namespace stretto
