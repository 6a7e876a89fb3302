// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/complex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "../sparse/forms/row_sums.hpp"
#include "fits_single.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/precond/table.hpp"

namespace stretto {
namespace {

using Complex = std::complex<double>;

/// z = D r, in the precision of the vectors, for a diagonal D of values in the precision of V.
template <class V>
class ComplexDiagonal {
public:
    template <class W>
    ComplexDiagonal(const std::vector<std::complex<W>>& values, int threads)
        : threads_(threads), values_(values.begin(), values.end()) {}

    template <class X>
    void apply(MultiVector<std::complex<X>> r, MultiVector<std::complex<X>> z) const {
        multiply(r, z, [](const auto& value) { return static_cast<std::complex<X>>(value); });
    }
    template <class X>
    void apply_transpose(MultiVector<std::complex<X>> r, MultiVector<std::complex<X>> z) const {
        multiply(r, z, [](const auto& value) { return static_cast<std::complex<X>>(std::conj(value)); });
    }
    double stored() const { return sizeof(std::complex<V>) * static_cast<double>(values_.size()); }
    /// With vectors in the precision of V.
    double bytes(int columns) const { return stored() * (2.0 * columns + 1); }
    const std::vector<std::complex<V>>& values() const { return values_; }
    int threads() const { return threads_; }

private:
    /// `m` is known at compile time for one column, of which rows are too short a loop.
    template <class X, class Factor>
    void multiply(MultiVector<std::complex<X>> r, MultiVector<std::complex<X>> z, const Factor& factor) const {
        parallel(threads_, [&](int t, int threads) {
            const RowShare mine(values_.size(), t, threads);
            with_columns<std::complex<X>>(r.columns(), [&](auto m) {
                const auto columns = static_cast<std::size_t>(static_cast<int>(m));
                const auto* const values = values_.data();
                const auto* const from = r.data();
                auto* const to = z.data();
#pragma omp simd
                for (std::size_t i = mine.begin; i < mine.end; ++i)
                    for (std::size_t j = 0; j < columns; ++j)
                        to[i * columns + j] = factor(values[i]) * from[i * columns + j];
            });
        });
    }

    int threads_;
    std::vector<std::complex<V>> values_;
};

/// V: what its numbers are made of.
template <class V>
class ComplexJacobi final : public ComplexPreconditioner {
public:
    ComplexJacobi(const std::vector<Complex>& inverse, int threads, std::vector<std::string> remarks)
        : inverse_(inverse, threads), remarks_(std::move(remarks)) {}
    void apply(MultiVector<Complex> r, MultiVector<Complex> z) const override { inverse_.apply(r, z); }
    void apply_transpose(MultiVector<Complex> r, MultiVector<Complex> z) const override {
        inverse_.apply_transpose(r, z);
    }
    OwnedOperator<std::complex<float>> in_single() const override {
        return owned<std::complex<float>>(
            std::make_shared<ComplexDiagonal<float>>(inverse_.values(), inverse_.threads()));
    }
    double bytes(int columns) const override {
        return stored() + 2.0 * columns * sizeof(Complex) * static_cast<double>(inverse_.values().size());
    }
    double stored() const override { return inverse_.stored(); }
    std::vector<std::string> remarks() const override { return remarks_; }

private:
    ComplexDiagonal<V> inverse_;
    std::vector<std::string> remarks_;
};

std::unique_ptr<ComplexPreconditioner> complex_jacobi(const CsrMatrix<Complex>& A, bool single) {
    auto inverse = A.diagonal();
    Global zeros = 0;
    for (auto& value : inverse) {
        zeros += value == 0.0;
        value = value == 0.0 ? 1.0 : 1.0 / value;
    }
    zeros = all_sum(A.comm(), zeros);
    std::vector<std::string> remarks;
    if (zeros > 0) remarks.push_back(fmt::format("jacobi: {} zeros on the diagonal count as ones", zeros));
    const bool rounds =
        single &&
        all_of(A.comm(), std::ranges::all_of(inverse, [](Complex value) { return fits_single(std::abs(value)); }));
    if (single && !rounds) remarks.push_back(kept_in_double("jacobi"));
    if (rounds) return std::make_unique<ComplexJacobi<float>>(inverse, A.threads(), remarks);
    return std::make_unique<ComplexJacobi<double>>(inverse, A.threads(), remarks);
}

/// A preconditioner of a real matrix that a complex one makes.
class OfRealMatrix : public ComplexPreconditioner {
public:
    OfRealMatrix(CsrMatrix<double> real, const std::string& spec)
        : real_(std::move(real)),
          choice_(choose_preconditioner(spec, MatrixKind::sparse)),
          M_(make_preconditioner(spec, real_)) {}

    bool has_transpose() const override { return M_->has_transpose(); }
    bool hermitian() const override { return choice_.symmetric(); }
    double stored() const override { return M_->stored() + real_.bytes(0); }
    std::vector<std::string> remarks() const override { return M_->remarks(); }

protected:
    CsrMatrix<double> real_;
    PreconditionerChoice choice_;
    std::unique_ptr<Preconditioner> M_;
};

/// M of the real system, on vectors of complex numbers made of X. A column of them is one of pairs as it is; several
/// are taken apart, for the two rows of a number follow each other there.
template <class X>
class OnRealSystem {
    using Vectors = MultiVector<std::complex<X>>;

public:
    OnRealSystem(OwnedOperator<X> M, Index rows) : M_(std::move(M)), rows_(rows) {}

    void apply(Vectors r, Vectors z) const { on_pairs(r, z, &AnyOperator<X>::apply); }
    void apply_transpose(Vectors r, Vectors z) const { on_pairs(r, z, &AnyOperator<X>::apply_transpose); }
    bool has_transpose() const { return M_.op.has_transpose(); }
    double bytes(int columns) const {
        const double taken_apart = columns > 1 ? 4.0 * sizeof(std::complex<X>) * columns * rows_ : 0;
        return M_.op.bytes(columns) + taken_apart;
    }

private:
    void on_pairs(Vectors r, Vectors z, void (AnyOperator<X>::*product)(MultiVector<X>, MultiVector<X>) const) const {
        const Index n = r.rows();
        const int m = r.columns();
        if (m == 1) return (M_.op.*product)(rows_of(in_pairs(r)), rows_of(in_pairs(z)));
        for (auto& values : apart_) values.resize(2 * r.size());
        const MultiVector<X> from(apart_[0].data(), 2 * n, m), to(apart_[1].data(), 2 * n, m);
        for (Index i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j) {
                from(2 * i, j) = r(i, j).real();
                from(2 * i + 1, j) = r(i, j).imag();
            }
        (M_.op.*product)(from, to);
        for (Index i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j) z(i, j) = {to(2 * i, j), to(2 * i + 1, j)};
    }
    static MultiVector<X> rows_of(MultiVector<X> pairs) { return {pairs.data(), 2 * pairs.rows(), 1}; }

    OwnedOperator<X> M_;
    Index rows_;
    mutable std::array<std::vector<X>, 2> apart_;  // kept, so that an apply allocates nothing
};

class OfRealSystem final : public OfRealMatrix {
public:
    OfRealSystem(const CsrMatrix<Complex>& A, const std::string& spec)
        : OfRealMatrix(real_equivalent(A), spec), on_({AnyOperator<double>(*M_), nullptr}, A.local_rows()) {}

    void apply(MultiVector<Complex> r, MultiVector<Complex> z) const override { on_.apply(r, z); }
    void apply_transpose(MultiVector<Complex> r, MultiVector<Complex> z) const override { on_.apply_transpose(r, z); }
    double bytes(int columns) const override { return on_.bytes(columns); }
    OwnedOperator<std::complex<float>> in_single() const override {
        auto single = M_->in_single();
        if (!single.op) return {};
        return owned<std::complex<float>>(
            std::make_shared<OnRealSystem<float>>(std::move(single), real_.local_rows() / 2));
    }

private:
    OnRealSystem<double> on_;
};

CsrMatrix<double> real_part(const CsrMatrix<Complex>& A) {
    auto complex = A.local();
    LocalRows<double> rows{std::move(complex.start), std::move(complex.columns), {}};
    for (const auto& value : complex.values) rows.values.push_back(value.real());
    return {A.comm(), A.partition(), std::move(rows), A.threads()};
}

/// Of the real part, on real and imaginary parts as columns.
class OfRealPart final : public OfRealMatrix {
public:
    OfRealPart(const CsrMatrix<Complex>& A, const std::string& spec) : OfRealMatrix(real_part(A), spec) {}

    void apply(MultiVector<Complex> r, MultiVector<Complex> z) const override { M_->apply(in_pairs(r), in_pairs(z)); }
    void apply_transpose(MultiVector<Complex> r, MultiVector<Complex> z) const override {
        M_->apply_transpose(in_pairs(r), in_pairs(z));
    }
    double bytes(int columns) const override { return M_->bytes(2 * columns); }
    std::vector<std::string> remarks() const override {
        auto all = M_->remarks();
        all.push_back(fmt::format("{}: of the real part of A", choice_.kind->name));
        return all;
    }
};

}  // namespace

CsrMatrix<double> real_equivalent(const CsrMatrix<Complex>& A) {
    const auto complex = A.local();
    std::vector<Global> first;
    for (int p = 0; p <= A.partition().ranks(); ++p) first.push_back(2 * A.partition().first(p));
    LocalRows<double> rows;
    rows.columns.reserve(4 * complex.columns.size());
    rows.values.reserve(4 * complex.columns.size());
    for (Index i = 0; i < complex.rows(); ++i)
        for (const bool imaginary : {false, true}) {
            for (Global k = complex.start[i]; k < complex.start[i + 1]; ++k) {
                const Complex a = complex.values[k];
                rows.columns.insert(rows.columns.end(), {2 * complex.columns[k], 2 * complex.columns[k] + 1});
                rows.values.push_back(imaginary ? a.imag() : a.real());
                rows.values.push_back(imaginary ? a.real() : -a.imag());
            }
            rows.start.push_back(static_cast<Global>(rows.columns.size()));
        }
    return {A.comm(), Partition(std::move(first)), std::move(rows), A.threads(), Storage::compressed_rows};
}

std::unique_ptr<ComplexPreconditioner> make_complex_preconditioner(const std::string& spec,
                                                                   const CsrMatrix<Complex>& A) {
    static constexpr std::string_view names[] = {"none",      "jacobi", "block_jacobi", "additive_schwarz",
                                                 "chebyshev", "amg"};
    const auto choice = choose_preconditioner(spec, MatrixKind::sparse);
    const auto name = choice.kind->name;
    if (std::ranges::find(names, name) == std::end(names))
        throw InputError(refusal(fmt::format("the preconditioner {} is not for complex matrices", name), "",
                                 std::vector<std::string_view>(std::begin(names), std::end(names)), "those are"));
    if (name == "none") return nullptr;
    if (name == "jacobi") return complex_jacobi(A, choice.options.choice("precision") == "single");
    if (name == "amg") return std::make_unique<OfRealPart>(A, spec);
    const bool has_inner =
        std::ranges::find(choice.kind->options, "inner", &OptionInfo::name) != choice.kind->options.end();
    if (has_inner && choice.options.choice("inner") == "ilut")
        throw InputError(
            fmt::format("{}: ilut drops real and imaginary parts apart, and what is left is no matrix of "
                        "complex numbers: type ilu0 or lu",
                        spec));
    return std::make_unique<OfRealSystem>(A, spec);
}

}  // namespace stretto
