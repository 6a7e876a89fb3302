// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "stretto/core/error.hpp"

namespace stretto {
namespace {

constexpr Stored stored_as(double) { return Stored::in_double; }
constexpr Stored stored_as(float) { return Stored::in_single; }
constexpr Stored stored_as(std::int16_t) { return Stored::in_16_bits; }
constexpr Stored stored_as(std::int8_t) { return Stored::in_8_bits; }

/// `count` as kernels have it.
std::int32_t counted(std::size_t count) {
    if (count > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        throw InputError(fmt::format(
            "a rank would have {} columns of panels, or sums of them, more than its device can count: use more ranks",
            count));
    return static_cast<std::int32_t>(count);
}
constexpr auto size_of = [](const auto& all) { return counted(all.size()); };

/// The columns of one kind of number in a panel: for a kernel a panel of its own, whose slabs stand farther apart.
struct Part {
    std::size_t at, slab_bytes;
    Index row, rows, col, cols;
    Stored stored;
    const std::byte* scales;  // of integers
    bool products;            // y += P t

    float scale(Index j) const {
        float scale = 1;
        if (scales) std::memcpy(&scale, scales + sizeof(scale) * static_cast<std::size_t>(j), sizeof(scale));
        return scale;
    }
};
using Parts = std::vector<Part>;

void add(Parts& to, const std::vector<HMatrixPanel>& panels, const std::byte* values, bool products = false) {
    for (const HMatrixPanel& p : panels) {
        if (p.columns.slab_bytes() > PanelColumn::most_slab_bytes)
            throw InputError(
                fmt::format("a block has {} columns, {} bytes for each eight rows, of which a device takes {}: ask for "
                            "smaller leaves",
                            p.cols(), p.columns.slab_bytes(), PanelColumn::most_slab_bytes));
        const Index floats = p.columns.in_double + p.columns.in_single;
        each_kind(p.columns, [&]<class S>(Index first, Index count, std::size_t offset) {
            const std::byte* scales = nullptr;
            if (std::integral<S> && values)
                scales = values + p.scales + sizeof(float) * static_cast<std::size_t>(first - floats);
            to.push_back({p.at + offset, p.columns.slab_bytes(), p.row, p.rows, p.col + first, count, stored_as(S{}),
                          scales, products});
        });
    }
}
void add_sums(Parts& to, const std::vector<HMatrixPanel>& panels) {
    for (const HMatrixPanel& p : panels) to.push_back({0, 0, p.row, p.rows, p.col, 1, Stored::nowhere, nullptr, true});
}

/// The order in which a scheme has them.
void sort_for(const BatchScheme& scheme, Parts& list) {
    using enum BatchScheme::Order;
    if (scheme.order == by_rows) std::ranges::stable_sort(list, {}, &Part::rows);
    if (scheme.order == grouped)
        std::ranges::stable_sort(list, {},
                                 [&](const Part& p) { return std::pair(round_up(p.rows, panel_rows), p.cols); });
}

/// Which batch a panel belongs to by its rows, where they are cut so.
int range_of(const BatchScheme& scheme, Index rows) {
    switch (scheme.cut) {
        case BatchScheme::by_three_ranges: return rows < 8 ? 0 : rows < 32 ? 1 : 2;
        case BatchScheme::by_32_rows: return rows <= 8 ? 0 : (rows + 31) / 32;
        default: return 0;
    }
}

/// Begins of batches in a list of panels, in the order of their launches.
std::vector<std::size_t> cut(const BatchScheme& scheme, const Parts& panels) {
    std::vector<std::size_t> begins;
    for (std::size_t k = 0; k < panels.size(); ++k)
        if (begins.empty() || range_of(scheme, panels[k].rows) != range_of(scheme, panels[k - 1].rows) ||
            (scheme.count > 0 && k - begins.back() == static_cast<std::size_t>(scheme.count)))
            begins.push_back(k);
    begins.push_back(panels.size());
    return begins;
}

constexpr Index value_bytes[] = {8, 4, 2, 1, 0};

/// The slabs of a panel that lie in the rows of a block of threads.
struct Covered {
    const Part* panel;
    std::uint8_t slab, slabs;
    std::int32_t parts;  // of t where the first column's goes, or −1: it is the sum

    auto kind() const { return std::tuple(panel->stored, slab, slabs); }
    PanelColumn column(Index j, Index row) const {
        const Part& p = *panel;
        const auto before = static_cast<std::int64_t>(row - p.row) / panel_rows;  // slabs; may be negative
        const auto slab_bytes = static_cast<std::int64_t>(p.slab_bytes);
        const std::int64_t at = static_cast<std::int64_t>(p.at) + before * slab_bytes +
                                std::int64_t{j} * panel_rows * value_bytes[static_cast<std::size_t>(p.stored)];
        if (p.stored == Stored::nowhere) return {std::int64_t{p.col} + row - p.row, ~0, 1};
        const std::int32_t vector = p.col + j;
        return {PanelColumn::placed(at, slab_bytes),
                parts >= 0   ? ~(parts + j)
                : p.products ? ~vector
                             : vector,
                p.scale(j)};
    }
};
using Block = std::vector<Covered>;
Covered covered(const Part& p, Index first, Index end, std::int32_t parts = -1) {
    const Index from = std::max(p.row, first), to = std::min(p.row + p.rows, end);
    return {&p, static_cast<std::uint8_t>((from - first) / panel_rows),
            static_cast<std::uint8_t>(round_up(to - from, panel_rows) / panel_rows), parts};
}

/// Where rows of blocks of threads begin, and the last end: at most so many, those of the largest panels that are not
/// more, so that few panels begin in between.
std::vector<Index> cut_rows(const Parts& panels, Index rows, Index most) {
    std::map<Index, Index> ends;
    for (const Part& p : panels)
        if (p.rows <= most) ends[p.row] = std::max(ends[p.row], p.row + p.rows);
    ends[rows] = rows;
    std::vector<Index> begins;
    Index at = 0;
    for (const auto& [begin, end] : ends) {
        for (; at < begin; at = std::min(at + most, begin)) begins.push_back(at);
        if (at > begin || begin == rows) continue;
        begins.push_back(begin);
        at = std::min(round_up(end, panel_rows), rows);
    }
    begins.push_back(rows);
    return begins;
}

/// What each block has of the panels. each(block, panel, first row, end).
template <class Each>
void each_cut(const std::vector<Index>& begins, const Part& p, Each&& each) {
    auto k = static_cast<std::size_t>(std::ranges::upper_bound(begins, p.row) - begins.begin() - 1);
    for (; k + 1 < begins.size() && begins[k] < p.row + p.rows; ++k) each(k, begins[k], begins[k + 1]);
}

/// The blocks, those with most to read first.
std::vector<std::size_t> largest_first(const std::vector<Block>& blocks) {
    std::vector<std::size_t> bytes, order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (const Block& block : blocks) {
        bytes.push_back(0);
        for (const Covered& c : block)
            bytes.back() +=
                static_cast<std::size_t>((c.panel->cols * 16) >> static_cast<int>(c.panel->stored)) * c.slabs;
    }
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t k) { return bytes[k]; });
    return order;
}

/// Adds a block of threads for these rows. Columns that the same slabs have, of one kind of number, follow one another.
void add_block(ForwardPhase& phase, Block list, Index row, Index rows) {
    std::ranges::stable_sort(list, {}, &Covered::kind);
    const std::int32_t first = size_of(phase.chunks);
    const Covered* last = nullptr;  // the one before
    for (const Covered& c : list) {
        for (Index j = 0; j < c.panel->cols; ++j) {
            const bool full = size_of(phase.chunks) == first || phase.chunks.back().columns == columns_of_chunk;
            bool goes_on = !full && last && last->kind() == c.kind();
            if (full || (!goes_on && phase.chunks.back().runs == runs_of_chunk)) {
                phase.chunks.push_back(
                    {size_of(phase.ranges), 0, 0, size_of(phase.columns), 0, size_of(phase.runs), 0});
                goes_on = false;
            }
            PanelChunk& chunk = phase.chunks.back();
            if (!goes_on) {
                phase.runs.push_back({chunk.columns, 0, c.slab, c.slabs, static_cast<std::uint8_t>(c.panel->stored)});
                ++chunk.runs;
            }
            if (c.panel->stored > Stored::in_single) {
                phase.columns.push_back(c.column(j, row));
            } else {
                if (last != &c || chunk.ranges == 0) {
                    phase.ranges.push_back(
                        {c.column(j, row), chunk.columns, 0, value_bytes[static_cast<std::size_t>(c.panel->stored)]});
                    ++chunk.ranges;
                }
                ++phase.ranges.back().count;
                ++chunk.in_ranges;
            }
            phase.runs.back().last = ++chunk.columns;
            last = &c;
        }
    }
    phase.tasks.push_back({first, size_of(phase.chunks), row, round_up(rows, panel_rows) / panel_rows});
}
void add_block(AdjointPhase& phase, Block list, Index row, Index rows) {
    std::ranges::stable_sort(list, {}, &Covered::kind);
    const std::int32_t first = size_of(phase.groups);
    const Covered* last = nullptr;
    for (const Covered& c : list)
        for (Index j = 0; j < c.panel->cols; ++j, last = &c) {
            if (!last || last->kind() != c.kind() || phase.groups.back().columns() == lanes_of_warp) {
                phase.columns.resize(phase.groups.size() * lanes_of_warp,
                                     phase.columns.empty() ? PanelColumn{} : phase.columns.back());
                phase.groups.push_back({0, c.slab, c.slabs, c.panel->stored});
            }
            phase.columns.push_back(c.column(j, row));
            ++phase.groups.back().packed;
        }
    if (last) phase.columns.resize(phase.groups.size() * lanes_of_warp, phase.columns.back());
    phase.tasks.push_back({first, size_of(phase.groups), row, round_up(rows, panel_rows) / panel_rows});
}

/// Blocks of threads for panels. Where blocks do not have their rows to themselves, each has a panel's.
template <class Phase>
void add_blocks(Phase& phase, const BatchScheme& scheme, const Parts& panels, Index rows, Index most,
                const std::vector<std::int32_t>& parts) {
    if (scheme.disjoint) {
        const std::vector<Index> begins = cut_rows(panels, rows, most);
        std::vector<Block> blocks(begins.size() - 1);
        for (std::size_t p = 0; p < panels.size(); ++p) {
            std::int32_t at = parts.empty() ? -1 : parts[p];
            each_cut(begins, panels[p], [&](std::size_t k, Index first, Index end) {
                blocks[k].push_back(covered(panels[p], first, end, at));
                if (at >= 0) at += panels[p].cols;
            });
        }
        phase.batches.push_back(0);
        for (const std::size_t k : largest_first(blocks))
            add_block(phase, std::move(blocks[k]), begins[k], begins[k + 1] - begins[k]);
    } else {
        const auto begins = cut(scheme, panels);
        for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
            phase.batches.push_back(size_of(phase.tasks));
            Index longest = 0;
            for (std::size_t k = begins[b]; k < begins[b + 1]; ++k) longest = std::max(longest, panels[k].rows);
            for (std::size_t k = begins[b]; k < begins[b + 1]; ++k) {
                const Part& p = panels[k];
                std::int32_t at = parts.empty() ? -1 : parts[k];
                // A launch has as many blocks for each panel as the largest takes; the others' end at once.
                for (Index done = 0; done < longest; done += most) {
                    const Index row = p.row + done, end = std::min(row + most, p.row + p.rows);
                    if (done < p.rows) {
                        add_block(phase, {covered(p, row, end, at)}, row, end - row);
                        if (at >= 0) at += p.cols;
                    } else {
                        add_block(phase, {}, row, 0);
                    }
                }
            }
        }
    }
    phase.batches.push_back(size_of(phase.tasks));
}

ForwardPhase forward_phase(const BatchScheme& scheme, Parts panels, Index rows) {
    ForwardPhase phase;
    sort_for(scheme, panels);
    add_blocks(phase, scheme, panels, rows, most_slabs_forward * panel_rows, {});
    return phase;
}

AdjointPhase adjoint_phase(const BatchScheme& scheme, Parts panels) {
    AdjointPhase phase;
    if (panels.empty()) return phase;
    sort_for(scheme, panels);
    constexpr Index most = most_slabs_adjoint * panel_rows;
    Index rows = 0;
    for (const Part& p : panels) rows = std::max(rows, p.row + p.rows);
    const std::vector<Index> begins = cut_rows(panels, rows, most);
    std::vector<std::int32_t> parts;
    for (const Part& p : panels) {
        std::int32_t count = 0;
        if (scheme.disjoint)
            each_cut(begins, p, [&](std::size_t, Index, Index) { ++count; });
        else
            count = (p.rows + most - 1) / most;
        parts.push_back(count > 1 ? phase.parts : -1);
        if (count == 1) continue;
        for (Index j = 0; j < p.cols; ++j) phase.sums.push_back({phase.parts + j, p.cols, count, p.col + j});
        phase.parts = counted(static_cast<std::size_t>(phase.parts) +
                              static_cast<std::size_t>(count) * static_cast<std::size_t>(p.cols));
    }
    add_blocks(phase, scheme, panels, rows, most, parts);
    return phase;
}

}  // namespace

ProductPlan plan_product(const HMatrix& A, const HMatrix::Steps& steps, const BatchScheme& scheme) {
    ProductPlan plan;
    plan.products = steps.products;
    plan.rows = A.local_rows();
    const std::byte* const values = steps.values.data();
    Parts here, rest, adjoint_here, adjoint_there;
    add(adjoint_here, steps.adjoint_here, values);
    add(adjoint_there, steps.adjoint_there, values);
    plan.adjoint_here = adjoint_phase(scheme, std::move(adjoint_here));
    plan.adjoint_there = adjoint_phase(scheme, std::move(adjoint_there));
    // With nothing on its way there is nothing to do meanwhile: y is written once.
    add(A.comm().size() > 1 ? here : rest, steps.dense_here, values);
    add(rest, steps.dense_there, values);
    add(rest, steps.forward, values, true);
    add_sums(rest, steps.sums);
    if (!here.empty()) plan.forward_here = forward_phase(scheme, here, plan.rows);
    plan.forward_rest = forward_phase(scheme, rest, plan.rows);
    return plan;
}

ProductPlan plan_transposed(const HMatrix& A, const HMatrix::Steps& steps, const BatchScheme& scheme) {
    ProductPlan plan;
    plan.products = steps.products;
    plan.rows = static_cast<Index>(A.rows());
    std::vector<HMatrixPanel> adjoints = steps.forward;
    std::vector<HMatrixPanel> sums;
    for (const auto* list : {&steps.dense_here, &steps.dense_there})
        for (const HMatrixPanel& p : *list) {
            // Bᵀx goes through t, so that rows of y are disjoint.
            adjoints.push_back(p);
            adjoints.back().col = plan.products;
            sums.push_back({0, 0, p.col, p.cols(), plan.products, {.in_double = 1}});
            plan.products = counted(static_cast<std::size_t>(plan.products) + static_cast<std::size_t>(p.cols()));
        }
    std::map<Index, HMatrixPanel> sum_at;  // by the first product: what comes from it comes from x
    for (const HMatrixPanel& p : steps.sums) sum_at[p.col] = p;
    const std::byte* const values = steps.values.data();
    Parts forwards, of_adjoint;
    for (const auto* list : {&steps.adjoint_here, &steps.adjoint_there})
        for (HMatrixPanel p : *list) {
            const auto next = sum_at.upper_bound(p.col);
            const HMatrixPanel* const sum = next == sum_at.begin() ? nullptr : &std::prev(next)->second;
            const bool from_x = sum && p.col < sum->col + sum->rows;
            if (from_x) p.col = sum->row + p.col - sum->col;
            add(forwards, {p}, values, !from_x);
        }
    add_sums(forwards, sums);
    add(of_adjoint, adjoints, values);
    plan.adjoint_here = adjoint_phase(scheme, std::move(of_adjoint));
    plan.forward_rest = forward_phase(scheme, forwards, plan.rows);
    return plan;
}

ForwardPhase plan_panels(const std::vector<HMatrixPanel>& panels, Index rows) {
    Parts parts;
    add(parts, panels, nullptr);
    return forward_phase(one_launch, std::move(parts), rows);
}

}  // namespace stretto
