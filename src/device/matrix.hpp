// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "compressed.hpp"
#include "exchange.hpp"
#include "on_host.hpp"
#include "repeated_rows.hpp"
#include "row_work.hpp"
#include "slices.hpp"
#include "stretto/core/scratch.hpp"
#include "stretto/execute/device/vectors.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// Some rows, in the form that suits so many right-hand sides.
template <class X, class D>
class DeviceRows {
public:
    DeviceRows() = default;
    template <class RowOf>
    DeviceRows(const RowOf& row_of, std::vector<Index> rows, int columns) : count_(rows.size()) {
        std::size_t entries = 0;
        for (const Index row : rows) entries += row_of(row).columns.size();
        const int lanes = DeviceCompressed<X, D>::lanes_for(rows.size(), entries, columns);
        if (lanes == 1 && columns < DeviceCompressed<X, D>::fewest_columns)
            slices_ = DeviceSlices<X, D>(row_of, std::move(rows));
        else
            compressed_ = DeviceCompressed<X, D>(row_of, rows, lanes);
    }
    /// A x for `work` (row_work.hpp), with the halo's values behind the first `rows` of x.
    template <class Work>
    void multiply(const OnDevice<X, D>* x, const OnDevice<X, D>* halo, const Work& work, Index rows, int m) const {
        slices_.multiply(x, halo, work, rows, m);
        compressed_.multiply(x, halo, work, rows, m);
    }
    std::size_t rows() const { return count_; }
    double bytes() const { return slices_.bytes() + compressed_.bytes(); }

private:
    std::size_t count_ = 0;
    DeviceSlices<X, D> slices_;  // one of them is empty
    DeviceCompressed<X, D> compressed_;
};

/// A sparse matrix on a device, made of one on the host, whose plan of the halo it uses: rows that others need are
/// packed on the device and travel while the interior rows are multiplied.
template <class X, class D>
class DeviceMatrix {
public:
    using T = OnDevice<X, D>;

    /// A must stay where it is. `columns`: how many right-hand sides it is for.
    DeviceMatrix(const CsrMatrix<X>& A, int columns) : A_(&A), columns_(columns), send_rows_(A.halo().send_rows()) {
        std::vector<Index> interior, interface;
        for (Index i = 0; i < A.local_rows(); ++i) {
            const auto of = A.row(i).columns;
            (of.empty() || of.back() < A.local_rows() ? interior : interface).push_back(i);
        }
        const auto row_of = [&](Index i) { return A.row(i); };
        repeated_ = rows_.take(A, interior);
        if (!repeated_) interior_ = DeviceRows<X, D>(row_of, std::move(interior), columns);
        interface_ = DeviceRows<X, D>(row_of, std::move(interface), columns);
    }

    void apply(MultiVector<T> x, MultiVector<T> y) const { multiply(x, StoreRows<X, D>{y.data()}); }
    /// A x for `work` (row_work.hpp), which leaves x as it is.
    template <class Work>
    void multiply(MultiVector<T> x, const Work& work) const {
        const int m = x.columns();
        const auto& halo = A_->halo();
        auto* const exchange =
            halo.empty() ? nullptr : &exchanges_.at(m, [&] { return DeviceExchange<X, D>(halo, m, Way::to_the_halo); });
        if (exchange) {
            pack_rows(send_rows_, x, exchange->leaving());
            exchange->leave();
        }
        if (repeated_)
            rows_.multiply(x.data(), work, m);
        else
            interior_.multiply(x.data(), nullptr, work, x.rows(), m);
        A_->comm().start_late_sums();  // the device has enough to do meanwhile
        if (exchange) interface_.multiply(x.data(), exchange->arrived(), work, x.rows(), m);
    }
    /// Meant for methods that need it once: on the host.
    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const {
        on_host<X, D>({x}, y, [&](auto& from, auto to) { A_->apply_transpose(from[0], to); });
    }
    /// The same, for verification near rounding.
    void residual(MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) const {
        on_host<X, D>({b, x}, r, [&](auto& from, auto to) { A_->residual(from[0], from[1], to); });
    }
    double norm_bound() const { return A_->norm_bound(); }
    double bytes(int m) const {
        return (repeated_ ? rows_.bytes() : interior_.bytes()) + interface_.bytes() +
               static_cast<double>(sizeof(X)) * m * (2.0 * A_->local_rows() + A_->halo_rows());
    }
    /// A WithinKernels (one_kernel.hpp), which must stay where it is.
    void set_within_kernels(const void* within) { within_kernels_ = within; }
    const void* within_kernels() const { return within_kernels_; }
    Index local_rows() const { return A_->local_rows(); }
    int columns() const { return columns_; }

private:
    const CsrMatrix<X>* A_;
    const void* within_kernels_ = nullptr;
    int columns_;
    DeviceArray<Index, D> send_rows_;
    bool repeated_ = false;
    DeviceRepeatedRows<X, D> rows_;  // of the interior, where they are
    DeviceRows<X, D> interior_, interface_;
    Scratch<DeviceExchange<X, D>> exchanges_;  // by number of columns
};

}  // namespace stretto
