// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <span>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/core/types.hpp"
#include "stretto/sparse/partition.hpp"
#include "stretto/statements/scalar_traits.hpp"

namespace stretto {

/// Rows of vectors that this rank reads and others own, and the exchange that brings their values.
template <class T>
class Halo {
public:
    Halo() = default;
    /// Collective. `needed`: global rows of other ranks, increasing. `comm` must outlive the halo.
    Halo(Comm& comm, const Partition& partition, std::vector<Global> needed);
    /// That of other values.
    template <class Other>
    explicit Halo(const Halo<Other>& other) : comm_(other.comm_), rows_(other.rows_), send_rows_(other.send_rows_) {
        for (const auto& [rank, begin, end] : other.receives_) receives_.push_back({rank, begin, end});
        for (const auto& [rank, begin, end] : other.sends_) sends_.push_back({rank, begin, end});
    }

    const std::vector<Global>& rows() const { return rows_; }
    Index size() const { return static_cast<Index>(rows_.size()); }
    /// Ranks that this one receives from or sends to.
    int neighbours() const;
    bool empty() const { return receives_.empty() && sends_.empty(); }

    /// Starts to bring the values of m columns; after the wait they are at values(m), row-major. Allocates only in the
    /// first call with a given m.
    Pending start(const T* x, int m, int threads = 1) const;
    T* values(int m) const { return exchange(m).halo.data(); }
    /// For vectors that are elsewhere: the messages that bring `packed`, m columns of send_rows(), row by row, to the
    /// neighbours, and theirs to `values`.
    struct Plan {
        std::vector<Message> receives, sends;
    };
    const std::vector<Index>& send_rows() const { return send_rows_; }
    Plan plan(std::span<T> packed, std::span<T> values, int m) const;
    Pending start(const Plan& plan) const { return comm_->start_exchange(plan.receives, plan.sends); }
    /// The way back: adds what stands at values(m) to the rows of y that the owners have.
    void add_back(T* y, int m) const;

private:
    template <class>
    friend class Halo;
    struct Neighbour {
        int rank;
        Index begin, end;  // in rows_ or in send_rows_
    };
    struct Exchange {
        Buffer<T> halo, packed;
        Plan plan;
    };
    Exchange& exchange(int columns) const;

    Comm* comm_ = nullptr;
    std::vector<Global> rows_;      // increasing, hence grouped by owner
    std::vector<Index> send_rows_;  // local rows that others need, grouped by who needs them
    std::vector<Neighbour> receives_, sends_;
    mutable std::map<int, Exchange> exchanges_;  // by number of columns
};

extern template class Halo<double>;
extern template class Halo<float>;
#if STRETTO_COMPLEX
extern template class Halo<std::complex<double>>;
extern template class Halo<std::complex<float>>;
#endif

}  // namespace stretto
