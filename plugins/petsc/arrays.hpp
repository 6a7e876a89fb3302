// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "petsc.hpp"

namespace stretto::petsc {

/// This rank's values of a Vec, to read, until the end of the scope.
class ReadArray {
public:
    explicit ReadArray(Vec v) : vec_(v) { must(VecGetArrayRead(v, &data_)); }
    ReadArray(const ReadArray&) = delete;
    ~ReadArray() { static_cast<void>(VecRestoreArrayRead(vec_, &data_)); }
    const double* data() const { return data_; }

private:
    Vec vec_;
    const double* data_ = nullptr;
};

/// The same to read and write.
class WriteArray {
public:
    explicit WriteArray(Vec v) : vec_(v) { must(VecGetArray(v, &data_)); }
    WriteArray(const WriteArray&) = delete;
    ~WriteArray() { static_cast<void>(VecRestoreArray(vec_, &data_)); }
    double* data() const { return data_; }

private:
    Vec vec_;
    double* data_ = nullptr;
};

}  // namespace stretto::petsc
