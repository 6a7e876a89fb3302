// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "compressed.hpp"
#include "on_host.hpp"
#include "repeated_rows.hpp"
#include "slices.hpp"
#include "stretto/core/scratch.hpp"
#include "stretto/execute/device/vectors.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// Values of rows, one after the other.
template <class X, class D>
struct PackElement {
    static constexpr std::string_view name = "rows for the halo";
    const OnDevice<Index, D>* rows;
    const OnDevice<X, D>* x;
    OnDevice<X, D>* packed;
    template <class Block, class Columns>
    STRETTO_KERNEL void operator()(Block& block, Index i, int column, Columns columns) const {
        block.at(packed + place_of(i, column, columns)) = block.at(x + place_of(block.at(rows + i), column, columns));
    }
};

/// Some rows, in the form that suits so many right-hand sides.
template <class X, class D>
class DeviceRows {
public:
    DeviceRows() = default;
    template <class RowOf>
    DeviceRows(const RowOf& row_of, std::vector<Index> rows, int columns) : count_(rows.size()) {
        if (columns < DeviceCompressed<X, D>::fewest_columns)
            slices_ = DeviceSlices<X, D>(row_of, std::move(rows));
        else
            compressed_ = DeviceCompressed<X, D>(row_of, rows);
    }
    /// y = A x, with the halo's values behind the first `rows` of x.
    void multiply(const OnDevice<X, D>* x, const OnDevice<X, D>* halo, OnDevice<X, D>* y, Index rows, int m) const {
        slices_.multiply(x, halo, y, rows, m);
        compressed_.multiply(x, halo, y, rows, m);
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

    void apply(MultiVector<T> x, MultiVector<T> y) const {
        const int m = x.columns();
        const auto& halo = A_->halo();
        Exchange* const exchange = halo.empty() ? nullptr : &exchanges_.at(m, [&] { return Exchange(halo, m); });
        if (exchange) exchange->pack(send_rows_, x);
        if (repeated_)
            rows_.multiply(x.data(), y.data(), m);
        else
            interior_.multiply(x.data(), nullptr, y.data(), x.rows(), m);
        A_->comm().start_late_sums();  // the device has enough to do meanwhile
        if (!exchange) return;
        exchange->packed.wait();
        halo.start(exchange->plan).wait();
        exchange->unpack();
        interface_.multiply(x.data(), exchange->halo.data(), y.data(), x.rows(), m);
    }
    /// Meant for methods that need it once: on the host.
    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const {
        on_host<X, D>({x}, y, [&](auto& from, auto to) { A_->apply_transpose(from[0], to); });
    }
    /// The same, for verification near rounding.
    void residual(MultiVector<T> b, MultiVector<T> x, MultiVector<T> r) const {
        on_host<X, D>({b, x}, r, [&](auto& from, auto to) { A_->residual(from[0], from[1], to); });
    }
    double bytes(int m) const {
        return (repeated_ ? rows_.bytes() : interior_.bytes()) + interface_.bytes() +
               static_cast<double>(sizeof(X)) * m * (2.0 * A_->local_rows() + A_->halo_rows());
    }
    Index local_rows() const { return A_->local_rows(); }
    int columns() const { return columns_; }

private:
    /// What m columns of the halo travel through: from the device's memory to the neighbours', or by way of the host's.
    struct Exchange {
        Exchange(const Halo<X>& of, int m)
            : sent(of.send_rows().size() * static_cast<std::size_t>(m)),
              halo(static_cast<std::size_t>(of.size()) * static_cast<std::size_t>(m)) {
            if (!D::mpi_takes_addresses()) {
                leaving = PinnedArray<X, D>(sent.size());
                coming = PinnedArray<X, D>(halo.size());
                plan = of.plan(leaving.values(), coming.values(), m);
            } else {
                plan = of.plan({D::for_mpi(sent.data()), sent.size()}, {D::for_mpi(halo.data()), halo.size()}, m);
            }
        }
        void pack(const DeviceArray<Index, D>& rows, MultiVector<T> x) {
            for_each_row_on_device<D>(rows.size(), x.columns(), PackElement<X, D>{rows.data(), x.data(), sent.data()});
            if (leaving.size() > 0)
                D::bring(sent.data(), leaving.data(), sent.size() * sizeof(X), packed);
            else
                D::mark(packed);
        }
        void unpack() {
            if (coming.size() > 0) D::send(halo.data(), coming.data(), halo.size() * sizeof(X));
        }

        DeviceArray<X, D> sent, halo;
        PinnedArray<X, D> leaving, coming;
        typename Halo<X>::Plan plan;
        typename D::Event packed;
    };

    const CsrMatrix<X>* A_;
    int columns_;
    DeviceArray<Index, D> send_rows_;
    bool repeated_ = false;
    DeviceRepeatedRows<X, D> rows_;  // of the interior, where they are
    DeviceRows<X, D> interior_, interface_;
    Scratch<Exchange> exchanges_;  // by number of columns
};

}  // namespace stretto
