// SPDX-License-Identifier: BSD-3-Clause
#include "layout.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace stretto {

HMatrix::Layout::Layout(const std::vector<Piece>& pieces, Index first, Index rows, int threads, Index parts)
    : work(static_cast<std::size_t>(threads)),
      pieces_(pieces),
      first_(first),
      rows_(rows),
      parts_(parts),
      products_of_(pieces.size()) {
    list_panels();
    deal_rows();
    deal_panels();
    place_panels();
    list_work();
}

void HMatrix::Layout::list_panels() {
    using enum PlacedPanel::Use;
    for (std::size_t k = 0; k < pieces_.size(); ++k) {
        const Piece& piece = pieces_[k];
        const bool there = piece.col < first_ || piece.col + piece.cols > first_ + rows_;
        if (piece.rank < 0) panels.push_back({k, there ? dense_there : dense_here, piece.rows, piece.columns});
        if (piece.rank <= 0) continue;
        panels.push_back({k, left, piece.rows, piece.columns});
        panels.push_back({k, there ? right_there : right_here, piece.cols, piece.columns});
    }
}

/// Rows of y to threads, by the bytes of the panels that are multiplied into them.
void HMatrix::Layout::deal_rows() {
    const Index padded = round_up(rows_, panel_rows);
    std::vector<double> cost(static_cast<std::size_t>(padded / panel_rows) + 1, 0.0);  // of y's slabs, as differences
    for (const PlacedPanel& panel : panels) {
        const Piece& piece = piece_of(panel);
        if (panel.right() && !piece.mirrored) continue;
        const auto slab = static_cast<std::size_t>(((panel.right() ? piece.col : piece.row) - first_) / panel_rows),
                   slabs = static_cast<std::size_t>(round_up(panel.rows, panel_rows) / panel_rows);
        const double each = static_cast<double>(panel.bytes()) / static_cast<double>(slabs);
        cost[slab] += each;
        cost[slab + slabs] -= each;
    }
    std::partial_sum(cost.begin(), cost.end(), cost.begin());
    std::partial_sum(cost.begin(), cost.end(), cost.begin());  // of all slabs up to this one
    for (std::size_t t = 0; t < work.size(); ++t) {
        const double wanted = cost.back() * static_cast<double>(t + 1) / static_cast<double>(work.size());
        const auto cut = static_cast<Index>(std::ranges::lower_bound(cost, wanted) - cost.begin()) * panel_rows;
        work[t].first_row = t == 0 ? 0 : work[t - 1].end_row;
        work[t].end_row = t + 1 == work.size() ? padded : std::clamp(cut, work[t].first_row, padded);
    }
}

/// Vᵀx is dealt by bytes, the rest to whom the first row of y belongs.
void HMatrix::Layout::deal_panels() {
    double right_bytes = 0, done = 0;
    for (const PlacedPanel& panel : panels) right_bytes += panel.right() ? static_cast<double>(panel.bytes()) : 0;
    for (PlacedPanel& panel : panels) {
        if (panel.right()) {
            const double place = done / right_bytes * static_cast<double>(work.size());
            panel.thread = std::min(work.size() - 1, static_cast<std::size_t>(place));
            done += static_cast<double>(panel.bytes());
        } else {
            while (work[panel.thread].end_row <= piece_of(panel).row - first_) ++panel.thread;
        }
    }
}

/// Thread by thread, and there in the order in which a product comes to them.
void HMatrix::Layout::place_panels() {
    static constexpr int order[] = {0, 2, 4, 1, 3};  // of their uses
    std::ranges::stable_sort(panels, {}, [](const PlacedPanel& panel) {
        return std::tuple(panel.thread << 8 | static_cast<std::size_t>(order[panel.use]),
                          static_cast<std::uint64_t>(round_up(panel.rows, panel_rows)) << 32 |
                              static_cast<std::uint64_t>(panel.columns.all()),
                          panel.columns.in_8_bits, panel.columns.in_16_bits);
    });
    for (PlacedPanel& panel : panels) {
        if (&panel == panels.data() || panel.thread != (&panel - 1)->thread) bytes = round_up(bytes, std::size_t{64});
        panel.at = bytes;
        bytes += panel.bytes();
        // The products are written in the same order.
        auto& [right, mirrored] = products_of_[panel.piece];
        if (panel.right() || piece_of(panel).mirrored) {
            (panel.right() ? right : mirrored) = products;
            products += panel.columns.all();
        }
    }
}

/// y += panel · (x or t at `col`) from row `row` on, every thread its rows of y.
void HMatrix::Layout::multiply_from(std::vector<HMatrixPanel> ThreadWork::* list, const PlacedPanel& panel, Index row,
                                    Index col) {
    const std::size_t slabs = panel.at + panel.columns.scales_bytes();
    for (auto& own : work) {
        const Index from = std::max(row, own.first_row), to = std::min(row + panel.rows, own.end_row);
        if (from < to)
            (own.*list).push_back(
                {slabs + panel.columns.slabs_bytes(from - row), panel.at, from, to - from, col, panel.columns});
    }
}

void HMatrix::Layout::list_work() {
    using enum PlacedPanel::Use;
    for (const PlacedPanel& panel : panels) {
        const Piece& piece = piece_of(panel);
        const Index row = piece.row - first_, right = products_of_[panel.piece].right;
        const std::size_t slabs = panel.at + panel.columns.scales_bytes();
        const HMatrixPanel adjoint{slabs, panel.at, piece.col, panel.rows, right, panel.columns};
        if (piece.row == piece.col && piece.rank < 0)
            diagonal.push_back({slabs, panel.at, row, piece.rows, 0, panel.columns});
        switch (panel.use) {
            case dense_here: multiply_from(&ThreadWork::dense_here, panel, row, parts_ * piece.col); break;
            case dense_there: multiply_from(&ThreadWork::dense_there, panel, row, parts_ * piece.col); break;
            case left: multiply_from(&ThreadWork::forward, panel, row, right); break;
            case right_here: work[panel.thread].adjoint_here.push_back(adjoint); break;
            case right_there: work[panel.thread].adjoint_there.push_back(adjoint); break;
        }
        if (piece.mirrored) list_mirrored(panel);
    }
    std::ranges::sort(diagonal, {}, &HMatrixPanel::row);
}

/// What the panel of a block does in the place of its mirror image: y += V (Uᵀx), or y += Bᵀx.
void HMatrix::Layout::list_mirrored(const PlacedPanel& panel) {
    const Piece& piece = piece_of(panel);
    const Index row = piece.col - first_, product = products_of_[panel.piece].mirrored;
    if (panel.right()) return multiply_from(&ThreadWork::forward, panel, row, product);
    work[panel.thread].adjoint_here.push_back(
        {panel.at + panel.columns.scales_bytes(), panel.at, piece.row, panel.rows, product, panel.columns});
    if (piece.rank > 0) return;
    // Bᵀx goes through t: these rows of y may be another thread's.
    for (auto& own : work) {
        const Index from = std::max(row, own.first_row), to = std::min(row + piece.cols, own.end_row);
        if (from < to) own.sums.push_back({0, 0, from, to - from, product + parts_ * (from - row), {.in_double = 1}});
    }
}

}  // namespace stretto
