// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stretto/comm/comm.hpp"

namespace stretto {

/// What A takes to zero, and what Aᵀ does: orthonormal vectors, of which each rank has its rows.
class NullSpace {
public:
    static constexpr int most = 16;  ///< vectors

    NullSpace() = default;
    /// Collective. Spanned by these vectors, each of this rank's rows; one that depends on others is left out.
    /// `of_transpose`: Aᵀ takes them to zero, too, as it does where A is symmetric. The range of A is then what is
    /// orthogonal to them, if they are all that A takes to zero. Throws InputError, on every rank alike, for more than
    /// `most`.
    NullSpace(const Comm& comm, std::vector<std::vector<double>> vectors, bool of_transpose = true);
    /// Collective. The same where Aᵀ takes others to zero, `left`; either may be empty, for unknown.
    NullSpace(const Comm& comm, std::vector<std::vector<double>> vectors, std::vector<std::vector<double>> left);

    bool empty() const { return vectors_.empty() && left_.empty(); }
    int size() const { return static_cast<int>(vectors_.size()); }
    const std::vector<std::vector<double>>& vectors() const { return vectors_; }
    /// Of Aᵀ: the range of A is orthogonal to it. Empty: not known.
    const std::vector<std::vector<double>>& left() const { return of_transpose_ ? vectors_ : left_; }
    /// Whether Aᵀ has the same.
    bool of_transpose() const { return of_transpose_; }

private:
    std::vector<std::vector<double>> vectors_, left_;
    bool of_transpose_ = false;
};

}  // namespace stretto
