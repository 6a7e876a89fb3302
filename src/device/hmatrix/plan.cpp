// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <algorithm>
#include <concepts>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace stretto {
namespace {

constexpr Stored stored_as(double) { return Stored::in_double; }
constexpr Stored stored_as(float) { return Stored::in_single; }
constexpr Stored stored_as(std::int16_t) { return Stored::in_16_bits; }
constexpr Stored stored_as(std::int8_t) { return Stored::in_8_bits; }

/// The columns of one kind of number in a panel: for a kernel a panel of its own, whose slabs stand farther apart.
struct Part {
    std::size_t at, scales, slab_bytes;
    Index row, rows, col, cols;
    Stored stored;
};

void add_parts(std::vector<Part>& to, const HMatrixPanel& p) {
    const Index floats = p.columns.in_double + p.columns.in_single;
    each_kind(p.columns, [&]<class S>(Index first, Index count, std::size_t offset) {
        const std::size_t scales =
            std::integral<S> ? p.scales + sizeof(float) * static_cast<std::size_t>(first - floats) : 0;
        to.push_back(
            {p.at + offset, scales, p.columns.slab_bytes(), p.row, p.rows, p.col + first, count, stored_as(S{})});
    });
}

/// In a phase y += P v.
struct Forward {
    Part panel;
    bool products;
};
using Forwards = std::vector<Forward>;

void add(Forwards& to, const std::vector<HMatrixPanel>& panels, bool products) {
    std::vector<Part> parts;
    for (const HMatrixPanel& p : panels) add_parts(parts, p);
    for (const Part& part : parts) to.push_back({part, products});
}
void add_sums(Forwards& to, const std::vector<HMatrixPanel>& panels) {
    for (const HMatrixPanel& p : panels) to.push_back({{0, 0, 0, p.row, p.rows, p.col, 1, Stored::nowhere}, true});
}

/// The order in which a scheme has them.
template <class List, class Panel>
void sort_for(const BatchScheme& scheme, List& list, Panel&& panel) {
    using enum BatchScheme::Order;
    if (scheme.order == by_rows) std::ranges::stable_sort(list, {}, [&](const auto& p) { return panel(p).rows; });
    if (scheme.order == grouped)
        std::ranges::stable_sort(
            list, {}, [&](const auto& p) { return std::pair(round_up(panel(p).rows, panel_rows), panel(p).cols); });
}

/// Which batch a panel belongs to by its rows, where they are cut so.
int range_of(const BatchScheme& scheme, Index rows) {
    switch (scheme.cut) {
        case BatchScheme::by_three_ranges: return rows < 8 ? 0 : rows < 32 ? 1 : 2;
        case BatchScheme::by_32_rows: return rows <= 8 ? 0 : (rows + 31) / 32;
        default: return 0;
    }
}

/// Begins of batches in a list of panels of these rows, in the order of their launches.
std::vector<std::size_t> cut(const BatchScheme& scheme, const std::vector<Index>& rows) {
    std::vector<std::size_t> begins;
    for (std::size_t k = 0; k < rows.size(); ++k)
        if (begins.empty() || range_of(scheme, rows[k]) != range_of(scheme, rows[k - 1]) ||
            (scheme.count > 0 && k - begins.back() == static_cast<std::size_t>(scheme.count)))
            begins.push_back(k);
    begins.push_back(rows.size());
    return begins;
}

/// The slabs of a panel that lie in the rows of a block of threads.
struct Covered {
    PanelSegment segment;
    std::uint8_t slab, slabs;

    auto kind() const { return std::tuple(segment.stored, slab, slabs); }
};
Covered covered(const Forward& p, Index first) {
    const Part& panel = p.panel;
    const Index from = std::max(panel.row, first), to = std::min(panel.row + panel.rows, first + part_rows);
    const auto before = static_cast<std::int64_t>((first - panel.row) / panel_rows);  // slabs; may be negative
    return {{static_cast<std::int64_t>(panel.at) + before * static_cast<std::int64_t>(panel.slab_bytes),
             static_cast<std::int64_t>(panel.scales), static_cast<std::int32_t>(panel.slab_bytes),
             panel.stored != Stored::nowhere ? panel.col : panel.col + first - panel.row, panel.cols, 0,
             static_cast<std::uint8_t>(panel.stored), static_cast<std::uint8_t>(p.products)},
            static_cast<std::uint8_t>((from - first) / panel_rows),
            static_cast<std::uint8_t>(round_up(to - from, panel_rows) / panel_rows)};
}

constexpr Index bytes_of_value(std::uint8_t stored) {
    constexpr Index bytes[] = {8, 4, 2, 1, 0};
    return bytes[stored];
}

/// Adds a block of threads for these rows. Columns that the same slabs have, of one kind of number, follow one another.
void add_block(ForwardPhase& phase, std::vector<Covered> list, Index row, Index slabs) {
    std::ranges::stable_sort(list, {}, &Covered::kind);
    const auto size = [](const auto& all) { return static_cast<std::int32_t>(all.size()); };
    const std::int32_t first = size(phase.chunks);
    const Covered* last = nullptr;  // the one before, in the same chunk
    for (const Covered& c : list)
        for (Index done = 0; done < c.segment.cols;) {
            const bool full = size(phase.chunks) == first || phase.chunks.back().columns == columns_of_chunk;
            bool goes_on = !full && last && last->kind() == c.kind();
            if (full || (!goes_on && phase.chunks.back().runs == runs_of_chunk)) {
                phase.chunks.push_back({size(phase.segments), size(phase.columns), 0, size(phase.runs), 0});
                goes_on = false;
            }
            PanelChunk& chunk = phase.chunks.back();
            const Index taken = std::min(c.segment.cols - done, columns_of_chunk - chunk.columns);
            PanelSegment segment = c.segment;
            segment.at += done * panel_rows * bytes_of_value(segment.stored);
            segment.scales += done * static_cast<Index>(sizeof(float));
            segment.col += done;
            segment.cols = taken;
            segment.place = static_cast<std::uint16_t>(chunk.columns);
            if (!goes_on) {
                phase.runs.push_back({segment.place, segment.place, c.slab, c.slabs, segment.stored});
                ++chunk.runs;
            }
            phase.columns.insert(phase.columns.end(), static_cast<std::size_t>(taken),
                                 static_cast<std::uint16_t>(size(phase.segments) - chunk.segment));
            phase.segments.push_back(segment);
            chunk.columns += taken;
            phase.runs.back().last = static_cast<std::uint16_t>(chunk.columns);
            done += taken;
            last = &c;
        }
    phase.tasks.push_back({first, size(phase.chunks), row, slabs});
}

/// Blocks of threads have their rows to themselves. Those with most to read begin.
ForwardPhase own_rows(const Forwards& panels, Index rows) {
    std::vector<std::vector<Covered>> parts(static_cast<std::size_t>(round_up(rows, part_rows) / part_rows));
    for (const Forward& p : panels)
        for (Index first = p.panel.row / part_rows * part_rows; first < p.panel.row + p.panel.rows; first += part_rows)
            parts[static_cast<std::size_t>(first / part_rows)].push_back(covered(p, first));
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::size_t> bytes;
    for (const auto& part : parts) {
        bytes.push_back(0);
        for (const Covered& c : part)
            bytes.back() += static_cast<std::size_t>(c.segment.cols * bytes_of_value(c.segment.stored)) * c.slabs;
    }
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t part) { return bytes[part]; });
    ForwardPhase phase;
    for (const std::size_t part : order) {
        const Index row = static_cast<Index>(part) * part_rows;
        add_block(phase, std::move(parts[part]), row,
                  round_up(std::min(part_rows, rows - row), panel_rows) / panel_rows);
    }
    phase.batches = {0, static_cast<std::int32_t>(phase.tasks.size())};
    return phase;
}

/// Blocks of threads have a panel's rows, which others may have too.
ForwardPhase own_panels(const BatchScheme& scheme, Forwards panels) {
    sort_for(scheme, panels, [](const Forward& p) -> const Part& { return p.panel; });
    std::vector<Index> rows;
    for (const Forward& p : panels) rows.push_back(p.panel.rows);
    const auto begins = cut(scheme, rows);
    ForwardPhase phase;
    for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
        phase.batches.push_back(static_cast<std::int32_t>(phase.tasks.size()));
        Index most = 0;
        for (std::size_t k = begins[b]; k < begins[b + 1]; ++k) most = std::max(most, rows[k]);
        for (std::size_t k = begins[b]; k < begins[b + 1]; ++k) {
            const Part& p = panels[k].panel;
            // A launch has as many blocks for each panel as the largest takes; the others' end at once.
            for (Index done = 0; done < most; done += part_rows) {
                const Index row = p.row + done;
                if (done < p.rows)
                    add_block(phase, {covered(panels[k], row)}, row,
                              round_up(std::min(part_rows, p.rows - done), panel_rows) / panel_rows);
                else
                    add_block(phase, {}, row, 0);
            }
        }
    }
    phase.batches.push_back(static_cast<std::int32_t>(phase.tasks.size()));
    return phase;
}

ForwardPhase forward_phase(const BatchScheme& scheme, const Forwards& panels, Index rows) {
    return scheme.disjoint ? own_rows(panels, rows) : own_panels(scheme, panels);
}

/// A panel of more rows has a block of threads to itself.
constexpr Index rows_of_a_block = 512, rows_of_four_warps = 256, rows_of_two_warps = 128;
int warps_of(Index rows) {
    return rows > rows_of_a_block ? warps_of_block : rows > rows_of_four_warps ? 4 : rows > rows_of_two_warps ? 2 : 1;
}

/// Columns of a panel that are integers are one part of it.
std::vector<PanelAdjoint> adjoint_parts(const std::vector<HMatrixPanel>& panels) {
    using enum PanelAdjoint::Kind;
    std::vector<PanelAdjoint> to;
    std::vector<Part> parts;
    for (const HMatrixPanel& p : panels) {
        parts.clear();
        add_parts(parts, p);
        bool after_16_bits = false;
        for (const Part& part : parts) {
            const bool in_16_bits = part.stored == Stored::in_16_bits;
            if (part.stored == Stored::in_8_bits && after_16_bits) {
                to.back().cols += part.cols;
                continue;
            }
            after_16_bits = in_16_bits;
            to.push_back({static_cast<std::int64_t>(part.at), static_cast<std::int64_t>(part.scales), part.row,
                          part.rows, part.col, part.cols, in_16_bits ? part.cols : 0,
                          static_cast<std::int32_t>(part.slab_bytes),
                          part.stored == Stored::in_double   ? doubles
                          : part.stored == Stored::in_single ? singles
                                                             : integers,
                          0, 0, 0});
        }
    }
    return to;
}

AdjointPhase adjoint_phase(const BatchScheme& scheme, const std::vector<HMatrixPanel>& whole) {
    std::vector<PanelAdjoint> panels = adjoint_parts(whole);
    if (scheme.disjoint)  // the largest begin, so that none is left at the end
        std::ranges::stable_sort(panels, std::greater<>(),
                                 [](const PanelAdjoint& p) { return std::tuple(warps_of(p.rows), p.cols, p.rows); });
    sort_for(scheme, panels, [](const PanelAdjoint& p) -> const PanelAdjoint& { return p; });
    std::vector<Index> rows;
    for (const PanelAdjoint& p : panels) rows.push_back(p.rows);
    const auto begins = cut(scheme, rows);
    AdjointPhase phase;
    const auto blocks = [&] { return static_cast<std::int32_t>(phase.warps.size() / warps_of_block); };
    for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
        phase.batches.push_back(blocks());
        for (std::size_t k = begins[b]; k < begins[b + 1];) {
            const int shares = warps_of(panels[k].rows);
            const std::size_t begin = phase.warps.size();
            Index most = 1;
            for (int room = warps_of_block; room > 0 && k < begins[b + 1] && warps_of(panels[k].rows) == shares;
                 room -= shares, ++k) {
                phase.warps.insert(phase.warps.end(), static_cast<std::size_t>(shares), panels[k]);
                most = std::max(most, panels[k].cols);
            }
            phase.warps.resize(begin + warps_of_block);  // those without a panel have none of its columns
            for (std::size_t w = begin; w < phase.warps.size(); ++w) {
                phase.warps[w].shares = static_cast<std::uint8_t>(shares);
                phase.warps[w].most = most;
            }
        }
    }
    phase.batches.push_back(blocks());
    return phase;
}

}  // namespace

ProductPlan plan_product(const HMatrix& A, const HMatrix::Steps& steps, const BatchScheme& scheme) {
    ProductPlan plan;
    plan.products = steps.products;
    plan.rows = A.local_rows();
    plan.adjoint_here = adjoint_phase(scheme, steps.adjoint_here);
    plan.adjoint_there = adjoint_phase(scheme, steps.adjoint_there);
    Forwards here, rest;
    // With nothing on its way there is nothing to do meanwhile: y is written once.
    add(A.comm().size() > 1 ? here : rest, steps.dense_here, false);
    add(rest, steps.dense_there, false);
    add(rest, steps.forward, true);
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
            plan.products += p.cols();
        }
    std::map<Index, HMatrixPanel> sum_at;  // by the first product: what comes from it comes from x
    for (const HMatrixPanel& p : steps.sums) sum_at[p.col] = p;
    Forwards forwards;
    for (const auto* list : {&steps.adjoint_here, &steps.adjoint_there})
        for (HMatrixPanel p : *list) {
            const auto next = sum_at.upper_bound(p.col);
            const HMatrixPanel* const sum = next == sum_at.begin() ? nullptr : &std::prev(next)->second;
            const bool from_x = sum && p.col < sum->col + sum->rows;
            if (from_x) p.col = sum->row + p.col - sum->col;
            add(forwards, {p}, !from_x);
        }
    add_sums(forwards, sums);
    plan.adjoint_here = adjoint_phase(scheme, adjoints);
    plan.forward_rest = forward_phase(scheme, forwards, plan.rows);
    return plan;
}

ForwardPhase plan_panels(const std::vector<HMatrixPanel>& panels, Index rows) {
    Forwards forwards;
    add(forwards, panels, false);
    return own_rows(forwards, rows);
}

}  // namespace stretto
