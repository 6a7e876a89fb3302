// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stretto/comm/comm.hpp"

namespace stretto {

/// What A takes to zero: orthonormal vectors, of which each rank has its rows.
class NullSpace {
public:
    static constexpr int most = 16;  ///< vectors

    NullSpace() = default;
    /// Collective. Spanned by these vectors, each of this rank's rows; one that depends on others is left out.
    /// `of_transpose`: Aᵀ takes them to zero, too, as it does where A is symmetric. The range of A is then what is
    /// orthogonal to them, if they are all that A takes to zero. Throws InputError, on every rank alike, for more than
    /// `most`.
    NullSpace(const Comm& comm, std::vector<std::vector<double>> vectors, bool of_transpose = true);

    bool empty() const { return vectors_.empty(); }
    int size() const { return static_cast<int>(vectors_.size()); }
    const std::vector<std::vector<double>>& vectors() const { return vectors_; }
    bool of_transpose() const { return of_transpose_; }

private:
    std::vector<std::vector<double>> vectors_;
    bool of_transpose_ = false;
};

}  // namespace stretto
