// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The text of a Matrix Market file: what its header announces and what its lines hold.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/sparse/distributed_rows.hpp"
#include "stretto/sparse/partition.hpp"

namespace stretto::matrix_market {

enum class Field { real, integer, pattern, complex };
enum class Symmetry { general, symmetric, skew, hermitian };

struct Header {
    bool coordinate;
    Field field;
    Symmetry symmetry;
    Global rows, columns;
    Global entries;  ///< lines with an entry: those of one triangle in a symmetric file
    Global line;     ///< of the sizes

    /// First row that a symmetric array stores of a column.
    Global first_row(Global column) const {
        return symmetry == Symmetry::general ? 0 : column + (symmetry == Symmetry::skew ? 1 : 0);
    }
    /// Entries that an array stores before a column.
    Global entries_before(Global column) const {
        if (symmetry == Symmetry::general) return column * rows;
        return column * (symmetry == Symmetry::skew ? rows - 1 : rows) - column * (column - 1) / 2;
    }
};

/// Throws InputError unless the line is a banner of a supported kind.
Header parse_banner(std::string_view line);

/// Reads the line of sizes into the header. Throws InputError unless a file can hold what they announce.
void parse_sizes(std::string_view line, Header& header);

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Entries from consecutive lines, by the rank that owns their row.
template <class T>
struct Piece {
    std::vector<std::vector<Entry<T>>> to_rank;
    std::vector<T> array;  ///< of an array file, until `place`
    Global lines = 0;
    Global entries = 0;
    bool below = false, above = false;  ///< entries seen on that side of the diagonal
    std::string error;                  ///< what is wrong with the last of `lines`; empty if nothing
};

/// As values of type T, which are complex where the file's are. Parses whole lines, of which the last has a line end
/// too. Never throws: an error ends the piece. The text is the same afterwards; only while a number is parsed is its
/// Fortran exponent D an e.
template <class T>
Piece<T> parse_lines(const Header& header, const Partition& partition, std::span<char> text);

/// Gives the values of an array their rows and columns, where `first` is the number of entries before the
/// piece.
template <class T>
void place(const Header& header, const Partition& partition, Global first, Piece<T>& piece);

}  // namespace stretto::matrix_market
