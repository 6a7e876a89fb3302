// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/buffer.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// A diagonal on rows of a rank, by threads: z = D r for vectors of X, D kept as V.
template <class V>
class DiagonalRows {
public:
    DiagonalRows(Comm& comm, Index rows, int threads)
        : comm_(&comm), threads_(threads), values_(static_cast<std::size_t>(rows)) {}

    V* data() { return values_.data(); }
    std::span<const V> values() const { return values_.values(); }

    template <class X>
    void apply(MultiVector<X> r, MultiVector<X> z) const {
        multiply(r, z, nullptr);
    }
    template <class X>
    void apply(MultiVector<X> r, MultiVector<X> z, const RowWork& work) const {
        multiply(r, z, &work);
    }
    template <class X>
    void apply_transpose(MultiVector<X> r, MultiVector<X> z) const {
        apply(r, z);
    }
    int parts() const { return threads_; }
    std::pair<Index, Index> rows_of(int part) const;
    template <class X>
    void apply_part(int part, Comm* comm, MultiVector<X> r, MultiVector<X> z, const RowWork* work) const;
    double bytes(int columns) const { return bytes_for<V>(columns); }
    template <class X>
    double bytes_for(int columns) const {
        return static_cast<double>(values_.size()) * (2.0 * sizeof(X) * columns + sizeof(V));
    }

private:
    template <class X>
    void multiply(MultiVector<X> r, MultiVector<X> z, const RowWork* work) const;

    Comm* comm_;
    int threads_;
    Buffer<V> values_;
};

/// Jacobi: M = diag(A). A zero on the diagonal counts as one, and is reported. No communication. A is needed again by
/// update() alone.
class Jacobi final : public Preconditioner {
public:
    /// `single`: the inverse is kept in single precision, where that can hold it.
    explicit Jacobi(const CsrMatrix<double>& A, bool single = false);

    void apply(MultiVector<double> r, MultiVector<double> z) const override {
        with_diagonal([&](const auto& D) { D.apply(r, z); });
    }
    void apply(MultiVector<double> r, MultiVector<double> z, const RowWork& work) const override {
        with_diagonal([&](const auto& D) { D.apply(r, z, work); });
    }
    int parts() const override { return inverse_.parts(); }
    int blocks() const override { return inverse_.parts(); }
    std::pair<Index, Index> block_rows(int block) const override { return inverse_.rows_of(block); }
    void apply_block(int block, MultiVector<double> r, MultiVector<double> z, const RowWork* work) const override {
        with_diagonal([&](const auto& D) { D.apply_part(block, nullptr, r, z, work); });
    }
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override { apply(r, z); }
    OwnedOperator<float> in_single() const override;
    double bytes(int columns) const override {
        double bytes = 0;
        with_diagonal([&](const auto& D) { bytes = D.template bytes_for<double>(columns); });
        return bytes;
    }
    double stored() const override { return bytes(0); }
    std::vector<std::string> remarks() const override;
    /// Allocates nothing.
    bool update(int solves) override;
    ExplicitInverse explicit_inverse() const override;

private:
    template <class Work>
    void with_diagonal(Work&& work) const {
        if (rounds_)
            work(*rounded_);
        else
            work(inverse_);
    }
    void round() const;

    const CsrMatrix<double>* A_;
    bool single_;          // is asked for
    bool rounds_ = false;  // and can hold the inverse, on every rank
    Global zeros_ = 0;
    DiagonalRows<double> inverse_;
    mutable std::shared_ptr<DiagonalRows<float>> rounded_;
};

}  // namespace stretto
