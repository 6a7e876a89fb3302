// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stretto/driver/null_space.hpp"
#include "stretto/io/matrix_market.hpp"
#include "stretto/sparse/structure.hpp"
#include "stretto/system/prepare.hpp"

namespace stretto {

/// What is known of the null space of a system, and whether it is to be removed (SystemOptions::null_space).
class KnownNullSpace {
public:
    /// Collective. `asked`: auto, constant, none or a file of vectors, which is read. Throws InputError.
    KnownNullSpace(const Comm& comm, std::string asked, const Partition& partition);

    /// Collective. Throws InputError where what was asked for is none of this matrix.
    void look(const Structure& structure, const PreparedSystem& system, int threads);

    /// Null: nothing is removed.
    const NullSpace* removed() const { return asked_ == "none" || space_.empty() ? nullptr : &space_; }
    /// Collective. ‖Nᵀb‖/‖b‖ of each column, N the null space of Aᵀ: how far b is outside of the range. Empty: not
    /// known.
    std::vector<double> outside_range(const PreparedSystem& system, std::span<const double> b, int columns) const;
    std::vector<std::string> remarks() const;
    /// For the JSON of a solve; empty: nothing is known.
    std::string json() const;

private:
    std::vector<std::vector<double>> candidates(const Structure& structure, const PreparedSystem& system);
    std::vector<double> from_file(const PreparedSystem& system, std::size_t column) const;
    std::vector<double> constants(const Comm& comm, const Constants& which) const;

    std::string asked_;
    Partition partition_;
    ArrayFile file_{{}, 0};
    std::vector<std::string> names_;  // of what is known
    NullSpace space_;
    /// What is known of the transpose, or of A where the transpose was recognised first.
    enum class Other : char { same, computed, unknown } other_ = Other::same;
    bool left_first_ = false;
};

}  // namespace stretto
