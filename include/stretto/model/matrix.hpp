// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "stretto/io/generators.hpp"
#include "stretto/model/execution_time.hpp"
#include "stretto/sparse/storage.hpp"

namespace stretto {

/// A matrix of which the model knows what it needs without making all of it: rows of a generated problem are made where
/// they are looked at, those of a file are read.
class ModelMatrix {
public:
    /// As for load_problem. Throws InputError.
    explicit ModelMatrix(const std::string& problem);
    ModelMatrix(const ModelMatrix&) = delete;

    Global rows() const { return generator_.rows; }
    /// Whether methods for symmetric positive definite matrices may be asked for: what generators say of themselves,
    /// and of files whether a look at all entries speaks against it.
    bool positive_definite() const { return positive_definite_; }
    /// Of the rank in the middle of so many to which rows are dealt evenly.
    Boundary boundary(int ranks) const;
    /// Products in a storage, and a preconditioner, measured by their own account on some rows from the middle:
    /// NAME[:key=value,…], `cost:K`, which moves K vectors, two in a pass, or `matrix`, which moves as much as an
    /// ILU(0). What preconditioners send between ranks is not known. Throws InputError. The matrix must outlive what is
    /// returned.
    ModelSystem system(const std::string& preconditioner, Storage storage) const;

private:
    LocalRows<double> read_;  // all rows of a file
    Generator generator_;
    bool positive_definite_ = false;
};

}  // namespace stretto
