// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/precond/complex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/precond/table.hpp"

namespace stretto {
namespace {

using Complex = std::complex<double>;

class ComplexJacobi final : public ComplexPreconditioner {
public:
    explicit ComplexJacobi(const CsrMatrix<Complex>& A) : threads_(A.threads()), inverse_(A.diagonal()) {
        Global zeros = 0;
        for (auto& value : inverse_) {
            zeros += value == 0.0;
            value = value == 0.0 ? 1.0 : 1.0 / value;
        }
        zeros_ = all_sum(A.comm(), zeros);
    }
    void apply(MultiVector<Complex> r, MultiVector<Complex> z) const override {
        each_row([&](Index i, int j) { z(i, j) = inverse_[static_cast<std::size_t>(i)] * r(i, j); }, r.columns());
    }
    void apply_transpose(MultiVector<Complex> r, MultiVector<Complex> z) const override {
        each_row([&](Index i, int j) { z(i, j) = std::conj(inverse_[static_cast<std::size_t>(i)]) * r(i, j); },
                 r.columns());
    }
    double bytes(int columns) const override { return stored() * (2.0 * columns + 1); }
    double stored() const override { return sizeof(Complex) * static_cast<double>(inverse_.size()); }
    std::vector<std::string> remarks() const override {
        if (zeros_ == 0) return {};
        return {fmt::format("jacobi: {} zeros on the diagonal count as ones", zeros_)};
    }

private:
    template <class Work>
    void each_row(Work&& work, int columns) const {
        parallel(threads_, [&](int t, int threads) {
            const RowShare mine(inverse_.size(), t, threads);
            for (std::size_t i = mine.begin; i < mine.end; ++i)
                for (int j = 0; j < columns; ++j) work(static_cast<Index>(i), j);
        });
    }

    int threads_;
    std::vector<Complex> inverse_;
    Global zeros_ = 0;
};

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

/// Of the real system. A column of complex numbers is one of pairs as it is; several are taken apart, for the two rows
/// of a number follow each other there.
class OfRealSystem final : public OfRealMatrix {
public:
    OfRealSystem(const CsrMatrix<Complex>& A, const std::string& spec) : OfRealMatrix(real_equivalent(A), spec) {}

    void apply(MultiVector<Complex> r, MultiVector<Complex> z) const override {
        on_pairs(r, z, [&](auto from, auto to) { M_->apply(from, to); });
    }
    void apply_transpose(MultiVector<Complex> r, MultiVector<Complex> z) const override {
        on_pairs(r, z, [&](auto from, auto to) { M_->apply_transpose(from, to); });
    }
    double bytes(int columns) const override {
        const double taken_apart = columns > 1 ? 4.0 * sizeof(Complex) * columns * real_.local_rows() / 2 : 0;
        return M_->bytes(columns) + taken_apart;
    }

private:
    template <class Work>
    void on_pairs(MultiVector<Complex> r, MultiVector<Complex> z, Work&& work) const {
        const Index n = r.rows();
        const int m = r.columns();
        if (m == 1) return work(rows_of(in_pairs(r)), rows_of(in_pairs(z)));
        for (auto& values : apart_) values.resize(2 * r.size());
        const MultiVector<double> from(apart_[0].data(), 2 * n, m), to(apart_[1].data(), 2 * n, m);
        for (Index i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j) {
                from(2 * i, j) = r(i, j).real();
                from(2 * i + 1, j) = r(i, j).imag();
            }
        work(from, to);
        for (Index i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j) z(i, j) = {to(2 * i, j), to(2 * i + 1, j)};
    }
    static MultiVector<double> rows_of(MultiVector<double> pairs) { return {pairs.data(), 2 * pairs.rows(), 1}; }

    mutable std::array<std::vector<double>, 2> apart_;  // kept, so that an apply allocates nothing
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
    if (name == "jacobi") return std::make_unique<ComplexJacobi>(A);
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
