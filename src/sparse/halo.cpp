// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/sparse/halo.hpp"

#include <algorithm>
#include <set>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/messages.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {

template <class T>
Halo<T>::Halo(Comm& comm, const Partition& partition, std::vector<Global> needed)
    : comm_(&comm), rows_(std::move(needed)) {
    std::vector<std::vector<Global>> asked(static_cast<std::size_t>(comm.size()));
    for (auto begin = rows_.begin(); begin != rows_.end();) {
        const int owner = partition.owner(*begin);
        const auto end = std::lower_bound(begin, rows_.end(), partition.first(owner + 1));
        asked[owner].assign(begin, end);
        receives_.push_back(
            {owner, static_cast<Index>(begin - rows_.begin()), static_cast<Index>(end - rows_.begin())});
        begin = end;
    }
    const auto wanted = all_to_all(comm, asked);
    for (int p = 0; p < comm.size(); ++p) {
        if (wanted[p].empty()) continue;
        const auto begin = static_cast<Index>(send_rows_.size());
        for (const Global row : wanted[p]) send_rows_.push_back(static_cast<Index>(row - partition.first(comm.rank())));
        sends_.push_back({p, begin, static_cast<Index>(send_rows_.size())});
    }
}

template <class T>
int Halo<T>::neighbours() const {
    std::set<int> ranks;
    for (const auto& neighbour : receives_) ranks.insert(neighbour.rank);
    for (const auto& neighbour : sends_) ranks.insert(neighbour.rank);
    return static_cast<int>(ranks.size());
}

template <class T>
auto Halo<T>::plan(std::span<T> packed, std::span<T> values, int m) const -> Plan {
    const auto width = static_cast<std::size_t>(m);
    const auto messages = [&](std::span<T> all, const std::vector<Neighbour>& neighbours) {
        std::vector<Message> result;
        for (const auto& [rank, begin, end] : neighbours) {
            const auto data = std::as_writable_bytes(
                all.subspan(static_cast<std::size_t>(begin) * width, static_cast<std::size_t>(end - begin) * width));
            each_message(data, [&, to = rank](std::span<std::byte> piece) { result.push_back({to, piece}); });
        }
        return result;
    };
    return {messages(values, receives_), messages(packed, sends_)};
}

template <class T>
auto Halo<T>::exchange(int columns) const -> Exchange& {
    const auto [found, fresh] = exchanges_.try_emplace(columns);
    auto& [halo, packed, plan] = found->second;
    if (!fresh) return found->second;
    const auto width = static_cast<std::size_t>(columns);
    halo = Buffer<T>(rows_.size() * width);
    packed = Buffer<T>(send_rows_.size() * width);
    plan = this->plan(packed.values(), halo.values(), columns);
    return found->second;
}

template <class T>
Pending Halo<T>::start(const T* x, int m, int threads) const {
    if (empty()) return {};
    const auto stride = static_cast<std::size_t>(m);
    const Exchange& buffers = exchange(m);
    T* const packed = buffers.packed.data();
    parallel(threads, [&](int t, int of) {
        const Share share(send_rows_.size(), t, of);
        for (auto k = share.begin; k < share.end; ++k)
            std::copy_n(x + static_cast<std::size_t>(send_rows_[k]) * stride, stride, packed + k * stride);
    });
    return start(buffers.plan);
}

template <class T>
void Halo<T>::add_back(T* y, int m) const {
    if (empty()) return;
    auto& [halo, packed, plan] = exchange(m);
    comm_->start_exchange(plan.sends, plan.receives).wait();  // the halo is sent, and arrives where it was packed
    const auto stride = static_cast<std::size_t>(m);
    for (std::size_t k = 0; k < send_rows_.size(); ++k)
        for (std::size_t j = 0; j < stride; ++j)
            y[static_cast<std::size_t>(send_rows_[k]) * stride + j] += packed.data()[k * stride + j];
}

template class Halo<double>;
template class Halo<float>;
#if STRETTO_COMPLEX
template class Halo<std::complex<double>>;
template class Halo<std::complex<float>>;
#endif

}  // namespace stretto
