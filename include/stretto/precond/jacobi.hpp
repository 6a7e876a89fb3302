// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/core/buffer.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// Jacobi: M = diag(A). A zero on the diagonal counts as one, and is reported. No communication. A is needed again by
/// update() alone.
class Jacobi final : public Preconditioner {
public:
    explicit Jacobi(const CsrMatrix<double>& A);

    void apply(MultiVector<double> r, MultiVector<double> z) const override { divide(r, z, nullptr); }
    void apply(MultiVector<double> r, MultiVector<double> z, const RowWork& work) const override {
        divide(r, z, &work);
    }
    int parts() const override { return threads_; }
    int blocks() const override { return threads_; }
    std::pair<Index, Index> block_rows(int block) const override;
    void apply_block(int block, MultiVector<double> r, MultiVector<double> z, const RowWork* work) const override {
        divide_rows_of(block, nullptr, r, z, work);
    }
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override { apply(r, z); }
    double bytes(int columns) const override;
    double stored() const override { return 8.0 * static_cast<double>(inverse_.size()); }
    std::vector<std::string> remarks() const override;
    /// Allocates nothing.
    bool update() override;
    ExplicitInverse explicit_inverse() const override;

private:
    void divide(MultiVector<double> r, MultiVector<double> z, const RowWork* work) const;
    void divide_rows_of(int thread, Comm* comm, MultiVector<double> r, MultiVector<double> z,
                        const RowWork* work) const;

    const CsrMatrix<double>* A_;
    Comm* comm_;
    int threads_;
    Global zeros_ = 0;
    Buffer<double> inverse_;
};

}  // namespace stretto
