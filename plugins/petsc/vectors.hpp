// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "petsc.hpp"

namespace stretto::petsc {

/// This rank's values of any Vec, those of a nest one part after the other.
void copy_out(Vec from, std::span<double> to);
void copy_in(std::span<const double> from, Vec to);

/// Whether a Vec can be given an array in the place of its own for a while.
bool takes_arrays(Vec v);

/// A Vec for values that lie elsewhere: they are lent to it for a call, or copied where it takes no arrays.
class LentVec {
public:
    /// A Vec of the kind of this one.
    void make_like(Vec v);
    void reset() { vec_.reset(); }

    /// What work(Vec) returns. It reads `values`.
    template <class Work>
    PetscErrorCode reading(const double* values, Work&& work) {
        return lend(const_cast<double*>(values), true, false, work);
    }
    /// The same where it writes them.
    template <class Work>
    PetscErrorCode writing(double* values, Work&& work) {
        return lend(values, false, true, work);
    }
    Vec vec() const { return vec_; }
    Index rows() const { return rows_; }

private:
    template <class Work>
    PetscErrorCode lend(double* values, bool read, bool write, Work& work) {
        const std::span<double> span(values, static_cast<std::size_t>(rows_));
        if (takes_arrays_)
            must(VecPlaceArray(vec_, values));
        else if (read)
            copy_in(span, vec_);
        const PetscErrorCode code = work(static_cast<Vec>(vec_));
        if (takes_arrays_)
            must(VecResetArray(vec_));
        else if (write && code == success)
            copy_out(vec_, span);
        return code;
    }

    OwnedVec vec_;
    Index rows_ = 0;
    bool takes_arrays_ = false;
};

}  // namespace stretto::petsc
