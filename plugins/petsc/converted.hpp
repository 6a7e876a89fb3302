// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "petsc.hpp"
#include "settings.hpp"

namespace stretto::petsc {

/// A matrix of PETSc as a matrix of Stretto's, kept while its pattern stays; and whether that pays.
class Converted {
public:
    /// Collective. The matrix to multiply with now, up to date; nothing: PETSc's product is to be taken. Throws
    /// InputError where `convert` is asked for and A is of a kind that cannot be converted.
    const CsrMatrix<double>* matrix(Comm& comm, Mat A, Products products);
    /// Of the solve that follows on matrix().
    void solved(int iterations) { iterations_ = iterations; }
    void reset();
    const CsrMatrix<double>* present() const { return matrix_.get(); }
    /// Whether what is now multiplied with is another matrix than at the last solve, not the same with other values.
    bool is_another() const { return is_another_; }

private:
    void convert(Comm& comm, Mat A);
    void update(Mat A);
    bool pays(bool same_values) const;

    std::unique_ptr<CsrMatrix<double>> matrix_;
    PetscObjectId id_ = 0;
    PetscObjectState values_ = 0, converted_values_ = 0;
    PetscObjectState pattern_ = 0;
    int iterations_ = 0;
    bool is_another_ = true;
};

}  // namespace stretto::petsc
