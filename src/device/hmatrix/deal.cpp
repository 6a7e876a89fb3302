// SPDX-License-Identifier: BSD-3-Clause
#include "deal.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace stretto {
namespace {

using Panels = std::vector<HMatrixPanel>;

/// Things that are to stay together.
class Together {
public:
    std::size_t add() {
        leader_.push_back(leader_.size());
        return leader_.back();
    }
    std::size_t leader(std::size_t one) const {
        while (leader_[one] != one) one = leader_[one];
        return one;
    }
    void join(std::size_t one, std::size_t other) { leader_[leader(one)] = leader(other); }

private:
    std::vector<std::size_t> leader_;
};

/// Panels, each with the values it has and the numbers of t that it writes or reads.
struct Blocks {
    Together together;
    std::map<std::pair<std::size_t, Index>, std::size_t> of_values;  // by where they begin and how many rows they have
    std::map<Index, std::pair<Index, std::size_t>> of_products;      // by where they begin: where they end
    std::vector<std::pair<std::size_t, std::size_t>> bytes;          // of values: whose, how many

    std::size_t holding(const HMatrixPanel& p) {
        const auto [found, fresh] = of_values.try_emplace({p.at, p.rows}, 0);
        if (fresh) {
            found->second = together.add();
            bytes.emplace_back(found->second, p.columns.bytes(p.rows));
        }
        return found->second;
    }
    /// Calls work(block, begin, end) for what writes these numbers of t.
    template <class Work>
    void each_writer(Index begin, Index end, Work&& work) const {
        auto next = of_products.upper_bound(begin);
        if (next != of_products.begin()) --next;
        for (; next != of_products.end() && next->first < end; ++next)
            if (next->second.first > begin)
                work(next->second.second, std::max(begin, next->first), std::min(end, next->second.first));
    }
};

}  // namespace

std::vector<DealtPanels> deal_panels(const HMatrix::Steps& steps, int devices) {
    Blocks blocks;
    for (const auto* list : {&steps.adjoint_here, &steps.adjoint_there})
        for (const HMatrixPanel& p : *list) {
            const std::size_t block = blocks.holding(p);
            blocks.of_products[p.col] = {p.col + p.cols(), block};
        }
    for (const HMatrixPanel& p : steps.forward) {
        const std::size_t block = blocks.holding(p);
        blocks.each_writer(p.col, p.col + p.cols(),
                           [&](std::size_t writer, Index, Index) { blocks.together.join(block, writer); });
    }
    // The first row of what stays together, of x or y, says where it stands.
    std::map<std::size_t, Index> row;
    const auto note = [&](const HMatrixPanel& p) {
        const auto [found, fresh] = row.try_emplace(blocks.together.leader(blocks.holding(p)), p.row);
        found->second = std::min(found->second, p.row);
    };
    for (const auto* list : {&steps.dense_here, &steps.dense_there, &steps.forward}) std::ranges::for_each(*list, note);
    std::map<std::size_t, std::size_t> weight;
    for (const auto& [block, bytes] : blocks.bytes) weight[blocks.together.leader(block)] += bytes;
    std::vector<std::size_t> order;
    for (const auto& [block, bytes] : weight) order.push_back(block);
    std::ranges::stable_sort(order, {}, [&](std::size_t block) {
        const auto found = row.find(block);
        return found == row.end() ? std::numeric_limits<Index>::max() : found->second;
    });
    const std::size_t all = std::accumulate(weight.begin(), weight.end(), std::size_t{0},
                                            [](std::size_t sum, const auto& entry) { return sum + entry.second; });
    std::map<std::size_t, std::size_t> device_of;
    std::size_t before = 0;
    for (const std::size_t block : order) {
        const std::size_t middle = before + weight[block] / 2;
        device_of[block] = std::min(middle * static_cast<std::size_t>(devices) / std::max<std::size_t>(all, 1),
                                    static_cast<std::size_t>(devices) - 1);
        before += weight[block];
    }

    std::vector<DealtPanels> dealt(static_cast<std::size_t>(devices));
    std::vector<std::map<std::pair<std::size_t, Index>, HMatrixPanel>> placed(dealt.size());
    for (DealtPanels& part : dealt) part.steps.products = steps.products;
    const auto deal = [&](Panels HMatrix::Steps::* list) {
        for (HMatrixPanel p : steps.*list) {
            const std::size_t k = device_of.at(blocks.together.leader(blocks.holding(p)));
            std::vector<std::byte>& values = dealt[k].values;
            const auto [found, fresh] = placed[k].try_emplace({p.at, p.rows}, p);
            if (fresh) {
                const auto copy = [&](std::size_t from, std::size_t bytes) {
                    const std::size_t to = values.size();
                    values.insert(values.end(), steps.values.begin() + static_cast<std::ptrdiff_t>(from),
                                  steps.values.begin() + static_cast<std::ptrdiff_t>(from + bytes));
                    values.resize(round_up(values.size(), std::size_t{16}));
                    return to;
                };
                found->second.scales = copy(p.scales, sizeof(float) * static_cast<std::size_t>(p.columns.scaled()));
                found->second.at = copy(p.at, p.columns.slabs_bytes(p.rows));
            }
            p.at = found->second.at;
            p.scales = found->second.scales;
            (dealt[k].steps.*list).push_back(p);
        }
    };
    using Steps = HMatrix::Steps;
    for (const auto list :
         {&Steps::dense_here, &Steps::dense_there, &Steps::adjoint_here, &Steps::adjoint_there, &Steps::forward})
        deal(list);
    // A list of sums may go on over several blocks.
    for (const HMatrixPanel& p : steps.sums)
        blocks.each_writer(p.col, p.col + p.rows, [&](std::size_t writer, Index begin, Index end) {
            HMatrixPanel piece = p;
            piece.row = p.row + begin - p.col;
            piece.rows = end - begin;
            piece.col = begin;
            dealt[device_of.at(blocks.together.leader(writer))].steps.sums.push_back(piece);
        });
    for (DealtPanels& part : dealt) part.steps.values = part.values;
    return dealt;
}

}  // namespace stretto
