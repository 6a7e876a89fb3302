// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A hierarchical matrix, and its inverted diagonal blocks, on a device. What of x others need travels through the host
// while the panels that need no others' are multiplied.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "adjoint.hpp"
#include "forward.hpp"
#include "stretto/comm/messages.hpp"
#include "stretto/core/scratch.hpp"
#include "stretto/execute/device/vectors.hpp"

namespace stretto {

/// Calls work(first, count) for the tasks of each launch of a phase, on so many streams in turn.
template <class D, class Work>
void launch_batches(const Batches& batches, int streams, Work&& work) {
    for (std::size_t b = 0; b + 1 < batches.size(); ++b) {
        if (batches[b] == batches[b + 1]) continue;
        if (streams > 1) D::on_stream(static_cast<int>(b % static_cast<std::size_t>(streams)));
        work(batches[b], batches[b + 1] - batches[b]);
    }
    if (streams > 1) D::join();
}

/// A phase y += P v on a device.
template <class D>
class DeviceForward {
public:
    DeviceForward() = default;
    explicit DeviceForward(const ForwardPhase& phase, const BatchScheme& scheme = one_launch)
        : tasks_(phase.tasks),
          chunks_(phase.chunks),
          runs_(phase.runs),
          ranges_(phase.ranges),
          columns_(phase.columns),
          batches_(phase.batches),
          scheme_(scheme) {
        for (const PanelChunk& chunk : phase.chunks) room_ = std::max(room_, chunk.columns);
    }

    bool empty() const { return tasks_.size() == 0; }
    /// Rows of y that no panel has become zeros where `fresh`.
    void run(const OnDevice<std::byte, D>* values, DeviceColumns<D> x, DeviceColumns<D> products,
             OnDevice<double, D>* y, Index rows, bool fresh) const {
        if (!scheme_.disjoint && fresh)
            for_each_on_device<D>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(x.columns),
                                  ClearElement<double, D>{y, 1});
        with_forward_kernel<D>(x.columns, [&]<class Panels>() {
            const Ends ends = !scheme_.disjoint ? Ends::add_atomically : fresh ? Ends::store : Ends::add;
            launch_batches<D>(batches_, scheme_.streams, [&](int first, int count) {
                const Panels kernel{tasks_.data() + first,
                                    {chunks_.data(), runs_.data(), ranges_.data(), columns_.data()},
                                    values,
                                    x,
                                    products,
                                    y,
                                    rows,
                                    ends,
                                    room_};
                D::launch(kernel, kernel.launch(count));
            });
        });
    }
    double bytes() const {
        return static_cast<double>(tasks_.size() * sizeof(PanelRows) + chunks_.size() * sizeof(PanelChunk) +
                                   runs_.size() * sizeof(PanelRun) + ranges_.size() * sizeof(PanelRange) +
                                   columns_.size() * sizeof(PanelColumn));
    }
    std::size_t launches() const { return batches_.empty() ? 0 : batches_.size() - 1; }

private:
    DeviceArray<PanelRows, D> tasks_;
    DeviceArray<PanelChunk, D> chunks_;
    DeviceArray<PanelRun, D> runs_;
    DeviceArray<PanelRange, D> ranges_;
    DeviceArray<PanelColumn, D> columns_;
    int room_ = 0;
    Batches batches_;
    BatchScheme scheme_;
};

/// A phase t = Pᵀ x on a device.
template <class D>
class DeviceAdjoint {
public:
    DeviceAdjoint() = default;
    explicit DeviceAdjoint(const AdjointPhase& phase, const BatchScheme& scheme = one_launch)
        : tasks_(phase.tasks),
          groups_(phase.groups),
          columns_(phase.columns),
          sums_(phase.sums),
          batches_(phase.batches),
          streams_(scheme.streams),
          parts_(phase.parts) {}

    /// Rows of what run() needs room for.
    Index parts() const { return parts_; }
    void run(const OnDevice<std::byte, D>* values, DeviceColumns<D> x, OnDevice<double, D>* products,
             OnDevice<double, D>* parts) const {
        with_adjoint_kernel<D>(x.columns, [&]<class Panels>() {
            launch_batches<D>(batches_, streams_, [&](int first, int count) {
                const Panels kernel{tasks_.data() + first, groups_.data(), columns_.data(), values, x, products, parts};
                D::launch(kernel, kernel.launch(count));
            });
        });
        if (sums_.size() == 0) return;
        const AddParts<D> kernel{sums_.data(), sums_.size(), parts, products, x.columns};
        D::launch(kernel, kernel.launch());
    }
    double bytes() const {
        return static_cast<double>(tasks_.size() * sizeof(PanelRows) + groups_.size() * sizeof(PanelGroup) +
                                   columns_.size() * sizeof(PanelColumn) + sums_.size() * sizeof(PanelSum));
    }
    std::size_t launches() const { return batches_.empty() ? 0 : batches_.size() - 1 + (sums_.size() > 0 ? 1 : 0); }

private:
    DeviceArray<PanelRows, D> tasks_;
    DeviceArray<PanelGroup, D> groups_;
    DeviceArray<PanelColumn, D> columns_;
    DeviceArray<PanelSum, D> sums_;
    Batches batches_;
    int streams_ = 1;
    Index parts_ = 0;
};

/// The phases of a product of one direction.
template <class D>
struct DeviceProduct {
    DeviceAdjoint<D> adjoint_here, adjoint_there;
    DeviceForward<D> forward_here, forward_rest;
    Index products, rows;

    DeviceProduct(const ProductPlan& plan, const BatchScheme& scheme)
        : adjoint_here(plan.adjoint_here, scheme),
          adjoint_there(plan.adjoint_there, scheme),
          forward_here(plan.forward_here, scheme),
          forward_rest(plan.forward_rest, scheme),
          products(plan.products),
          rows(plan.rows) {}
    std::size_t launches() const {
        return adjoint_here.launches() + adjoint_there.launches() + forward_here.launches() + forward_rest.launches();
    }
    double bytes() const {
        return adjoint_here.bytes() + adjoint_there.bytes() + forward_here.bytes() + forward_rest.bytes();
    }
};

template <class D>
struct AddElement {
    const OnDevice<double, D>* from;
    OnDevice<double, D>* to;
    template <class Block>
    STRETTO_KERNEL void operator()(Block& block, std::size_t i) const {
        block.at(to + i) += block.at(from + i);
    }
};

/// A hierarchical matrix on a device, with the panels of one on the host, which must stay. Vectors are in the same
/// order. Every sum has the same bits in every run, where rows of y are disjoint (BatchScheme).
template <class D>
class DeviceHMatrix {
public:
    using T = OnDevice<double, D>;

    explicit DeviceHMatrix(const HMatrix& A, const BatchScheme& scheme = one_launch)
        : DeviceHMatrix(A, A.steps(), true, scheme) {}
    /// Of these panels of A alone; products Aᵀ x only where `transposed`.
    DeviceHMatrix(const HMatrix& A, const HMatrix::Steps& steps, bool transposed,
                  const BatchScheme& scheme = one_launch)
        : A_(&A),
          steps_(steps),
          values_(steps_.values),
          product_(plan_product(A, steps_, scheme), scheme),
          transposed_(transposed ? plan_transposed(A, steps_, scheme) : ProductPlan(), scheme),
          first_(static_cast<Index>(A.partition().first(A.comm().rank()))) {}

    /// Collective. y = A x for n_local × m vectors. Allocates only in the first call with a given m.
    void apply(MultiVector<T> x, MultiVector<T> y) const {
        Vectors& v = vectors(x.columns());
        const auto& receives = steps_.receives;
        const auto& sends = steps_.sends;
        if (alone()) return multiply(x.data(), y.data(), v, [] {});
        for_each_on_device<D>(x.size(), CopyElement<double, D>{x.data(), v.x.data() + v.at(first_), 1});
        bring(sends, v, v.x.data(), v.sent);
        auto pending = A_->comm().start_exchange(v.receives, v.sends);
        multiply(v.x.data(), y.data(), v, [&] {
            pending.wait();
            std::size_t at = 0;
            for (const auto& range : receives) {
                const std::size_t size = v.at(end_of(range, range.rank) - range.begin);
                D::upload(v.x.data() + v.at(range.begin), v.received.data() + at, size * sizeof(double));
                at += size;
            }
        });
    }
    /// Collective. y = Aᵀ x, the messages backwards.
    void apply_transpose(MultiVector<T> x, MultiVector<T> y) const {
        Vectors& v = vectors(x.columns());
        T* const all = alone() ? y.data() : v.x.data();
        const DeviceColumns<D> from{x.data(), x.rows(), x.columns()},
            t{v.products.data(), transposed_.products, x.columns()};
        transposed_.adjoint_here.run(values_.data(), from, v.products.data(), v.parts.data());
        transposed_.forward_rest.run(values_.data(), from, t, all, transposed_.rows, true);
        if (alone()) return;
        bring(steps_.receives, v, all, v.received);
        A_->comm().start_exchange(v.sends, v.receives).wait();
        std::size_t at = 0;
        for (const auto& range : steps_.sends) {
            const std::size_t size = v.at(end_of(range, A_->comm().rank()) - range.begin);
            D::upload(v.others.data(), v.sent.data() + at, size * sizeof(double));
            for_each_on_device<D>(size, AddElement<D>{v.others.data(), all + v.at(range.begin)});
            at += size;
        }
        for_each_on_device<D>(y.size(), CopyElement<double, D>{all + v.at(first_), y.data(), 1});
    }
    /// The product alone, of x that is whole on this device: this rank's rows of y.
    void multiply_whole(MultiVector<T> x, T* y) const {
        multiply(x.data(), y, vectors(x.columns()), [] {});
    }

    double bytes(int columns) const { return A_->bytes(columns) + product_.bytes(); }
    /// Of a product.
    std::size_t launches() const { return product_.launches(); }
    Index local_rows() const { return A_->local_rows(); }
    const HMatrix& host() const { return *A_; }

private:
    struct Vectors {
        int columns;
        DeviceArray<double, D> x, products, parts;  // x of all rows
        DeviceArray<double, D> others;              // the longest range that is added up
        std::vector<double> sent, received;         // what travels, range after range
        std::vector<Message> sends, receives;
        std::size_t at(Index row) const { return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns); }
    };
    using RankRange = HMatrix::RankRange;

    bool alone() const { return A_->comm().size() == 1; }
    /// Slabs end behind the last row of all.
    Index end_of(const RankRange& range, int owner) const {
        return std::min(range.end, static_cast<Index>(A_->partition().first(owner + 1)));
    }
    Vectors& vectors(int columns) const {
        return vectors_.at(columns, [&] {
            const auto m = static_cast<std::size_t>(columns);
            Vectors v{columns, {}, {}, {}, {}, {}, {}, {}, {}};
            v.products =
                DeviceArray<double, D>(static_cast<std::size_t>(std::max(product_.products, transposed_.products)) * m);
            Index parts = 0;
            for (const auto* adjoint : {&product_.adjoint_here, &product_.adjoint_there, &transposed_.adjoint_here})
                parts = std::max(parts, adjoint->parts());
            v.parts = DeviceArray<double, D>(static_cast<std::size_t>(parts) * m);
            if (alone()) return v;
            v.x = DeviceArray<double, D>(static_cast<std::size_t>(A_->rows()) * m);
            std::size_t longest = 0;
            const auto messages = [&](std::span<const RankRange> ranges, bool own, std::vector<double>& buffer,
                                      std::vector<Message>& list) {
                const auto size = [&](const RankRange& r) {
                    return v.at(end_of(r, own ? A_->comm().rank() : r.rank) - r.begin);
                };
                std::size_t all = 0;
                for (const auto& range : ranges) all += size(range);
                buffer.resize(all);
                all = 0;
                for (const auto& range : ranges) {
                    each_message(std::as_writable_bytes(std::span(buffer).subspan(all, size(range))),
                                 [&](std::span<std::byte> data) { list.push_back({range.rank, data}); });
                    if (own) longest = std::max(longest, size(range));
                    all += size(range);
                }
            };
            messages(steps_.sends, true, v.sent, v.sends);
            messages(steps_.receives, false, v.received, v.receives);
            v.others = DeviceArray<double, D>(longest);
            return v;
        });
    }
    /// These rows of a vector to the host.
    void bring(std::span<const RankRange> ranges, const Vectors& v, const T* from, std::vector<double>& to) const {
        const bool own = ranges.data() == steps_.sends.data();
        std::size_t at = 0;
        for (const auto& range : ranges) {
            const std::size_t size = v.at(end_of(range, own ? A_->comm().rank() : range.rank) - range.begin);
            D::download(from + v.at(range.begin), to.data() + at, size * sizeof(double));
            at += size;
        }
    }
    /// x begins with the first row of all; complete(): it is there whole.
    template <class Complete>
    void multiply(const T* x, T* y, const Vectors& v, Complete&& complete) const {
        const DeviceColumns<D> from{x, static_cast<Index>(A_->rows()), v.columns},
            t{v.products.data(), product_.products, v.columns};
        const bool some = !product_.forward_here.empty();
        if (some) product_.forward_here.run(values_.data(), from, t, y, product_.rows, true);
        product_.adjoint_here.run(values_.data(), from, v.products.data(), v.parts.data());
        complete();
        product_.adjoint_there.run(values_.data(), from, v.products.data(), v.parts.data());
        product_.forward_rest.run(values_.data(), from, t, y, product_.rows, !some);
    }

    const HMatrix* A_;
    HMatrix::Steps steps_;
    DeviceArray<std::byte, D> values_;
    DeviceProduct<D> product_, transposed_;
    Index first_;
    Scratch<Vectors> vectors_;
};

}  // namespace stretto
