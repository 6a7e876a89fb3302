// SPDX-License-Identifier: BSD-3-Clause
#include "vectors.hpp"

#include <algorithm>

namespace stretto::petsc {
namespace {

PetscInt local_size(Vec v) {
    PetscInt size = 0;
    must(VecGetLocalSize(v, &size));
    return size;
}

/// Calls work(part, values of it) for the parts of a nest, nests in it included, or for a Vec that is none.
template <class T, class Work>
void each_part(Vec v, std::span<T> values, Work&& work) {
    PetscBool nest = PETSC_FALSE;
    must(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(v), VECNEST, &nest));
    if (!nest) return work(v, values);
    PetscInt parts = 0;
    Vec* part = nullptr;
    must(VecNestGetSubVecs(v, &parts, &part));
    std::size_t at = 0;
    for (PetscInt i = 0; i < parts; ++i) {
        const auto size = static_cast<std::size_t>(local_size(part[i]));
        each_part(part[i], values.subspan(at, size), work);
        at += size;
    }
}

}  // namespace

void copy_out(Vec from, std::span<double> to) {
    each_part(from, to, [](Vec part, std::span<double> values) {
        const double* array = nullptr;
        must(VecGetArrayRead(part, &array));
        std::copy_n(array, values.size(), values.data());
        must(VecRestoreArrayRead(part, &array));
    });
}

void copy_in(std::span<const double> from, Vec to) {
    each_part(to, from, [](Vec part, std::span<const double> values) {
        double* array = nullptr;
        must(VecGetArrayWrite(part, &array));
        std::ranges::copy(values, array);
        must(VecRestoreArrayWrite(part, &array));
    });
    must(PetscObjectStateIncrease(reinterpret_cast<PetscObject>(to)));
}

bool takes_arrays(Vec v) {
    PetscBool plain = PETSC_FALSE;
    must(PetscObjectTypeCompareAny(reinterpret_cast<PetscObject>(v), &plain, VECSEQ, VECMPI, ""));
    return plain;
}

void LentVec::make_like(Vec v) {
    must(VecDuplicate(v, vec_.out()));
    rows_ = static_cast<Index>(local_size(v));
    takes_arrays_ = takes_arrays(v);
}

}  // namespace stretto::petsc
