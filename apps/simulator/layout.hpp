// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "stretto/io/generators.hpp"

/// How a problem is dealt to ranks: by rows, as `stretto solve` deals it, or its grid in boxes of little surface, whose
/// cells are numbered box by box; `columns` are boxes that have whole lines along x.
class Layout {
public:
    enum class Deal { rows, columns, boxes };

    /// `problem` as for load_problem, absolute where it is a file, whose cells along x, y and z `grid` says, with as
    /// many rows for each as there are; all 0 where it is a generated one or has none. Throws InputError.
    Layout(const std::string& problem, int ranks, Deal deal, const std::array<stretto::Global, 3>& grid);
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;

    const stretto::Partition& partition() const { return partition_; }
    /// The rows of a rank, in the numbering of the layout.
    stretto::LocalRows<double> rows(int rank) const;
    /// What --rhs means, in the numbering of the layout. Throws InputError.
    std::vector<double> right_hand_sides(const std::string& text, int columns) const;

private:
    using Global = stretto::Global;
    std::array<Global, 3> box_of(int rank) const;
    Global begin_of(int dimension, Global part) const { return grid_[dimension] * part / parts_[dimension]; }
    Global renumber(Global row) const;
    template <class Line>
    void each_line(int rank, Line&& line) const;

    stretto::LocalRows<double> read_;  // all rows of a file
    stretto::Generator generator_;
    std::array<Global, 3> grid_{}, parts_{1, 1, 1};
    Global unknowns_;  // of a cell
    Deal deal_;
    stretto::Partition partition_;
};

/// The surrogate of a matrix: what a product with it costs and sends on this rank, without its values.
struct Footprint {
    stretto::Index rows = 0, interface_rows = 0, halo_rows = 0;
    double interior_bytes = 0, interface_bytes = 0;            ///< of compressed rows
    std::vector<std::pair<int, std::size_t>> receives, sends;  ///< ranks and rows

    /// Of a matrix whose pattern is symmetric.
    Footprint(const Layout& layout, int rank);
};

NLOHMANN_JSON_SERIALIZE_ENUM(Layout::Deal, {{Layout::Deal::rows, "rows"},
                                            {Layout::Deal::columns, "columns"},
                                            {Layout::Deal::boxes, "boxes"}})
