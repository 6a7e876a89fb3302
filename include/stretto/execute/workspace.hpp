// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "stretto/execute/executor_for.hpp"
#include "stretto/statements/multivector.hpp"
#include "stretto/statements/panel.hpp"

namespace stretto {

/// All vectors of a solver, in one slab of an executor's memory: allocated once, zeroed by the threads that will use
/// them. Their starts are staggered, because vectors a power of two apart fall into the same cache sets (2 to 3 times
/// slower).
template <class T>
class Workspace {
public:
    /// `vectors` vectors of `rows` by `columns` values, in the memory of the executor.
    Workspace(const ExecutorFor<T>& executor, Index rows, int columns, int vectors)
        : rows_(rows),
          columns_(columns),
          capacity_(vectors),
          stride_(round_up(MultiVector<T>(nullptr, rows, columns).size() * sizeof(T), page) / sizeof(T) +
                  stagger / sizeof(T)),
          slab_(executor.allocate(stride_ * static_cast<std::size_t>(vectors))) {
        for (int k = 0; k < capacity_; ++k) executor.clear((*this)[k]);
    }
    /// The same outside of a space, for so many threads.
    Workspace(Index rows, int columns, int vectors, int threads)
        : Workspace(ExecutorFor<T>(columns, threads, Formulation::merged), rows, columns, vectors) {}

    /// The next vector of the slab: zero the first time, finite later. Throws std::length_error when the slab is used
    /// up: the registry row of the method names too few vectors.
    MultiVector<T> take() {
        if (taken_ == capacity_) throw std::length_error("workspace: all vectors are taken");
        return (*this)[taken_++];
    }
    /// The next `count` vectors, one after the other.
    Panel<T> take_panel(int count) {
        if (count > capacity_ - taken_) throw std::length_error("workspace: all vectors are taken");
        return {(*this)[std::exchange(taken_, taken_ + count)], stride_, count};
    }
    int taken() const { return taken_; }
    std::size_t stride() const { return stride_; }  ///< values between vectors
    int capacity() const { return capacity_; }
    /// The k-th vector of the slab, taken or not.
    MultiVector<T> operator[](int k) const {
        return {slab_.data() + static_cast<std::size_t>(k) * stride_, rows_, columns_};
    }
    /// Makes room for so many, all zero; those taken are gone.
    void grow(const ExecutorFor<T>& executor, int vectors) {
        if (vectors > capacity_) *this = Workspace(executor, rows_, columns_, vectors);
    }
    /// Gives all back, as they are.
    void release() { taken_ = 0; }

private:
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t stagger = 320;

    Index rows_;
    int columns_;
    int capacity_;
    int taken_ = 0;
    std::size_t stride_;
    typename ExecutorFor<T>::Memory slab_;
};

}  // namespace stretto
