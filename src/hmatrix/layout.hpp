// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Where the panels of a hierarchical matrix lie in memory, and what each thread does with them in a product.

#include <vector>

#include "compression.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

/// A panel of a piece and where its values go.
struct HMatrix::PlacedPanel {
    enum Use { dense_here, dense_there, left, right_here, right_there };  // there: needs columns of other ranks
    std::size_t piece;
    Use use;
    Index rows;
    PanelColumns columns;
    std::size_t thread = 0, at = 0;

    bool right() const { return use >= right_here; }
    std::size_t bytes() const { return columns.bytes(rows); }
};

/// The panels of a rank's pieces, in the order in which its threads use them.
class HMatrix::Layout {
public:
    /// The pieces of rows first … first + rows − 1; they must outlive it. An entry is `parts` real numbers.
    Layout(const std::vector<Piece>& pieces, Index first, Index rows, int threads, Index parts);

    std::vector<PlacedPanel> panels;
    std::vector<ThreadWork> work;
    std::vector<HMatrixPanel> diagonal;  ///< by rows
    Index products = 0;                  ///< length of t
    std::size_t bytes = 0;               ///< of all panels

private:
    /// Where the Vᵀx of a piece goes, and the Uᵀx (or Bᵀx) of a mirrored one.
    struct Products {
        Index right, mirrored;
    };

    const Piece& piece_of(const PlacedPanel& panel) const { return pieces_[panel.piece]; }
    void list_panels();
    void deal_rows();
    void deal_panels();
    void place_panels();
    void list_work();
    void list_mirrored(const PlacedPanel& panel);
    void multiply_from(std::vector<HMatrixPanel> ThreadWork::* list, const PlacedPanel& panel, Index row, Index col);

    const std::vector<Piece>& pieces_;
    Index first_, rows_, parts_;
    std::vector<Products> products_of_;  // by piece
};

}  // namespace stretto
