// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stretto/driver/null_space.hpp"
#include "stretto/execute/space.hpp"

namespace stretto {

/// Takes a null space out of vectors: v := v − N Nᵀv, in one reduction.
template <class T>
class Projection {
public:
    /// None: nothing is taken out. Their places are taken from `memory`.
    Projection(Space<T>& V, const std::vector<std::vector<double>>& vectors, Workspace<T>& memory) : V_(V) {
        for (const auto& values : vectors) {
            std::vector<Number<T>> wide;  // the same in every column
            wide.reserve(values.size() * static_cast<std::size_t>(V.width()));
            for (const double value : values) wide.insert(wide.end(), static_cast<std::size_t>(V.width()), value);
            N_.push_back(memory.take());
            V.upload(wide, N_.back());
        }
    }
    /// Of the null spaces of A and Aᵀ, and one for what b has in the range.
    static int vectors_stored(const NullSpace* null_space) {
        if (!null_space || null_space->empty()) return 0;
        return static_cast<int>(null_space->vectors().size() +
                                (null_space->of_transpose() ? 0 : null_space->left().size()) + 1);
    }

    explicit operator bool() const { return !N_.empty(); }
    /// Returns the squares of what was taken out, per column.
    Scalars<T> take_out_of(MultiVector<T> v) const {
        const auto part = [&](int i) { return N_[static_cast<std::size_t>(i)]; };
        const auto overlaps =
            V_.start(each<NullSpace::most>(static_cast<int>(N_.size()), [&](int i) { return dot(part(i), v); })).wait();
        auto squares = V_.scalars();
        for (int i = 0; i < static_cast<int>(N_.size()); ++i) {
            const auto& overlap = overlaps[static_cast<std::size_t>(i)];
            squares = squares + conjugate(overlap) * overlap;
            V_.run(v <<= v - overlap * part(i));
        }
        return squares;
    }

private:
    Space<T>& V_;
    std::vector<MultiVector<T>> N_;
};

}  // namespace stretto
