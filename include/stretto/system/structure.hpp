// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stretto/io/generators.hpp"

namespace stretto {

/// What a look at the entries of a matrix tells about it, and about what may solve with it.
struct Structure {
    Global rows = 0;
    Global unmatched = 0;                             ///< entries (i, j) without an entry (j, i)
    double asymmetry = 0;                             ///< largest |aᵢⱼ − aⱼᵢ| / √(maxₖ|aᵢₖ| maxₖ|aⱼₖ|)
    Global positive_diagonal = 0, zero_diagonal = 0;  ///< rows; the others are negative
    Global dominant_rows = 0;                         ///< |aᵢᵢ| ≥ Σ |aᵢⱼ|, j ≠ i
    /// Rows that can be matched with columns of their own so that each pair is a nonzero; nothing where it was too much
    /// work to find out.
    std::optional<Global> structural_rank;

    bool symmetric_pattern() const { return unmatched == 0; }
    bool symmetric() const { return asymmetry <= 1e-12; }
    /// −A may be definite; A is not.
    bool negative() const { return symmetric() && rows > 0 && positive_diagonal == 0 && zero_diagonal == 0; }
    /// One for each property.
    std::vector<std::string> lines() const;
    /// What to solve with.
    std::string hint() const;
};

/// Collective. The structural rank of a matrix with zeros on its diagonal is found on rank 0, which gathers the pattern
/// (SuiteSparse's BTF); without zeros it is the number of rows.
Structure analyse(const Comm& comm, const DistributedRows& problem, int threads = 1);

}  // namespace stretto
