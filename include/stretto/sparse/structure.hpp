// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stretto/sparse/distributed_rows.hpp"
#include "stretto/sparse/given_rows.hpp"

namespace stretto {

/// Ones where a row's number, counted from 0, leaves `component` on division by `of`; zeros elsewhere.
struct Constants {
    int of, component;
    bool has(Global row) const { return of == 1 || row % of == component; }
    /// In words: `constants`, or `component 2 of 3`, counted from 1.
    std::string name() const;
};

/// What a look at the entries of a matrix tells about it, and about what may solve with it.
struct Structure {
    Global rows = 0;
    Global unmatched = 0;                             ///< entries (i, j) without an entry (j, i)
    double asymmetry = 0;                             ///< largest |aᵢⱼ − aⱼᵢ| / √(maxₖ|aᵢₖ| maxₖ|aⱼₖ|)
    Global positive_diagonal = 0, zero_diagonal = 0;  ///< rows; the others are negative
    Global dominant_rows = 0;                         ///< |aᵢᵢ| ≥ Σ |aᵢⱼ|, j ≠ i
    Global off_diagonals = 0, opposite = 0;  ///< nonzeros; those of another sign than the diagonal of their row
    double row_spread = 1;                   ///< largest over smallest of the rows' largest entries
    /// What part of a row, its diagonal apart, its two largest entries make up, by absolute values, in the mean of
    /// rows. Near 1 rows couple along lines, as with anisotropy or strong convection, and incomplete factors are nearly
    /// exact.
    double pair_share = 1;
    double sum_share = 1;    ///< 1ᵀA1, over the sum of all |aᵢⱼ|
    Global longest_row = 0;  ///< nonzeros beside the diagonal
    /// One after the other, as a sample of the rows tells; looked for where A may be definite and is not like_grid.
    int unknowns_at_a_point = 1;
    std::vector<Constants> null_vectors;  ///< that A takes to zero; of one, two or three components
    /// Rows that can be matched with columns of their own so that each pair is a nonzero; nothing where it was too much
    /// work to find out.
    std::optional<Global> structural_rank;

    bool symmetric_pattern() const { return unmatched == 0; }
    bool symmetric() const { return asymmetry <= 1e-12; }
    /// −A may be definite; A is not.
    bool negative() const { return symmetric() && rows > 0 && positive_diagonal == 0 && zero_diagonal == 0; }
    /// A, or −A, may be symmetric and definite: neither its diagonal nor 1ᵀA1 says the contrary.
    bool may_be_definite() const {
        constexpr double rounding = 1e-12;
        return (symmetric() && positive_diagonal == rows && sum_share > -rounding) ||
               (negative() && sum_share < rounding);
    }
    /// What discrete Laplacians are like, and with them most of what multigrid is good for.
    bool like_grid() const {
        constexpr double nearly_all = 0.9;
        return zero_diagonal == 0 && static_cast<double>(opposite) >= nearly_all * static_cast<double>(off_diagonals);
    }
    /// A few rows have very many neighbours, as nodes of supply in circuits.
    bool has_hubs() const {
        constexpr Global many = 5;
        return longest_row * rows > many * (off_diagonals + rows);
    }
    /// No values make this pattern regular.
    bool singular_pattern() const { return structural_rank && *structural_rank < rows; }
    /// One for each property.
    std::vector<std::string> lines() const;
};

/// Collective. The structural rank of a matrix with zeros on its diagonal is found on rank 0, which gathers the pattern
/// (SuiteSparse's BTF); without zeros it is the number of rows.
Structure analyse(const Comm& comm, const DistributedRows& problem, int threads = 1);
Structure analyse(const Comm& comm, const DistributedGivenRows& problem, int threads = 1);

}  // namespace stretto
