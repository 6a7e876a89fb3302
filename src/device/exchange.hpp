// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "stretto/execute/device/vectors.hpp"
#include "stretto/sparse/halo.hpp"

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
template <class X, class D>
void pack_rows(const DeviceArray<Index, D>& rows, MultiVector<OnDevice<X, D>> x, OnDevice<X, D>* packed) {
    for_each_row_on_device<D>(rows.size(), x.columns(), PackElement<X, D>{rows.data(), x.data(), packed});
}

/// From those who own rows to those who read them, or what readers have for owners back to them.
enum class Way { to_the_halo, back };

/// What m columns of a halo travel through, from the device's memory to the neighbours' or by way of the host's: what
/// owners send is in the order of Halo::send_rows(), what readers have in that of Halo::rows().
template <class X, class D>
class DeviceExchange {
public:
    using T = OnDevice<X, D>;

    /// `halo` must stay where it is.
    DeviceExchange(const Halo<X>& halo, int m, Way way)
        : halo_(&halo),
          leaving_((way == Way::back ? halo.rows().size() : halo.send_rows().size()) * static_cast<std::size_t>(m)),
          arriving_((way == Way::back ? halo.send_rows().size() : halo.rows().size()) * static_cast<std::size_t>(m)) {
        std::span<X> from, to;
        if (D::mpi_takes_addresses()) {
            from = {D::for_mpi(leaving_.data()), leaving_.size()};
            to = {D::for_mpi(arriving_.data()), arriving_.size()};
        } else {
            leaving_here_ = PinnedArray<X, D>(leaving_.size());
            arriving_here_ = PinnedArray<X, D>(arriving_.size());
            from = leaving_here_.values();
            to = arriving_here_.values();
        }
        if (way == Way::back) std::swap(from, to);
        plan_ = halo.plan(from, to, m);
        if (way == Way::back) std::swap(plan_.sends, plan_.receives);
    }

    /// Where a kernel writes what is to be sent.
    T* leaving() const { return leaving_.data(); }
    /// It has been launched.
    void leave() {
        if (leaving_here_.size() > 0)
            D::bring(leaving_.data(), leaving_here_.data(), leaving_.size() * sizeof(X), packed_);
        else
            D::mark(packed_);
    }
    /// Collective. What came, for kernels launched from now on.
    const T* arrived() {
        packed_.wait();
        halo_->start(plan_).wait();
        if (arriving_here_.size() > 0) D::send(arriving_.data(), arriving_here_.data(), arriving_.size() * sizeof(X));
        return arriving_.data();
    }

private:
    const Halo<X>* halo_;
    DeviceArray<X, D> leaving_, arriving_;
    PinnedArray<X, D> leaving_here_, arriving_here_;
    typename Halo<X>::Plan plan_;
    typename D::Event packed_;
};

}  // namespace stretto
