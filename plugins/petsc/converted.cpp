// SPDX-License-Identifier: BSD-3-Clause
#include "converted.hpp"

#include <string>
#include <vector>

namespace stretto::petsc {
namespace {

// Iterations of the last solve. A conversion takes the time of about a hundred of PETSc's products. New values take
// more than they save in solves of 68 iterations, and less in those of 215 (docs/measured/petsc.md: ex48 and ex19).
constexpr int pays_once = 10, pays_each_time = 150;

PetscLogEvent event() {
    static const PetscLogEvent event = [] {
        PetscLogEvent made = 0;
        must(PetscLogEventRegister("StrettoConvert", MAT_CLASSID, &made));
        return made;
    }();
    return event;
}

bool is_convertible(Mat A) {
    PetscBool rows = PETSC_FALSE;
    must(PetscObjectTypeCompareAny(reinterpret_cast<PetscObject>(A), &rows, MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ,
                                   MATMPIBAIJ, MATSEQSBAIJ, MATMPISBAIJ, ""));
    return rows;
}

/// A, or where it has half of its entries only, one with all of them.
Mat with_all_entries(Mat A, OwnedMat& full) {
    PetscBool half = PETSC_FALSE;
    must(PetscObjectTypeCompareAny(reinterpret_cast<PetscObject>(A), &half, MATSEQSBAIJ, MATMPISBAIJ, ""));
    if (half) must(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, full.out()));
    return half ? static_cast<Mat>(full) : A;
}

/// Of this rank.
std::size_t entries(Mat A) {
    MatInfo info{};
    must(MatGetInfo(A, MAT_LOCAL, &info));
    return static_cast<std::size_t>(info.nz_used);
}

/// Calls work(columns, values, number of them) for each row of this rank.
template <class Work>
void each_row(Mat A, Work&& work) {
    PetscInt begin = 0, end = 0;
    must(MatGetOwnershipRange(A, &begin, &end));
    for (PetscInt row = begin; row < end; ++row) {
        PetscInt size = 0;
        const PetscInt* columns = nullptr;
        const PetscScalar* values = nullptr;
        must(MatGetRow(A, row, &size, &columns, &values));
        work(columns, values, size);
        must(MatRestoreRow(A, row, &size, &columns, &values));
    }
}

}  // namespace

const CsrMatrix<double>* Converted::matrix(Comm& comm, Mat A, Products products) {
    PetscObjectId id = 0;
    PetscObjectState values = 0, pattern = 0;
    must(PetscObjectGetId(reinterpret_cast<PetscObject>(A), &id));
    must(PetscObjectStateGet(reinterpret_cast<PetscObject>(A), &values));
    must(MatGetNonzeroState(A, &pattern));
    const bool same_pattern = id == id_ && pattern == pattern_, same_values = same_pattern && values == values_;
    is_another_ = !same_pattern;
    id_ = id;
    pattern_ = pattern;
    values_ = values;
    if (!same_pattern) matrix_.reset();
    if (products == Products::mult) return nullptr;
    const bool convertible = is_convertible(A);
    if (products == Products::convert && !convertible) {
        MatType type = nullptr;
        must(MatGetType(A, &type));
        throw InputError(std::string("-ksp_stretto_matrix convert: a matrix of type ") + type +
                         " has no rows to convert; aij, baij and sbaij have; use -ksp_stretto_matrix mult");
    }
    if (!convertible) return nullptr;
    if (products == Products::automatic && !(same_pattern && pays(same_values))) return nullptr;
    must(PetscLogEventBegin(event(), A, 0, 0, 0));
    if (!matrix_)
        convert(comm, A);
    else if (values != converted_values_)
        update(A);
    converted_values_ = values;
    must(PetscLogEventEnd(event(), A, 0, 0, 0));
    return matrix_.get();
}

bool Converted::pays(bool same_values) const {
    if (same_values) return matrix_ || iterations_ >= pays_once;
    return iterations_ >= pays_each_time;
}

void Converted::convert(Comm& comm, Mat A) {
    OwnedMat full;
    const Mat all = with_all_entries(A, full);
    const PetscInt* ranges = nullptr;
    must(MatGetOwnershipRanges(all, &ranges));
    LocalRows<double> rows;
    rows.columns.reserve(entries(all));  // or what grows takes twice the memory
    rows.values.reserve(entries(all));
    each_row(all, [&](const PetscInt* columns, const PetscScalar* values, PetscInt size) {
        rows.columns.insert(rows.columns.end(), columns, columns + size);
        rows.values.insert(rows.values.end(), values, values + size);
        rows.start.push_back(static_cast<Global>(rows.values.size()));
    });
    Partition partition(std::vector<Global>(ranges, ranges + comm.size() + 1));
    matrix_ = std::make_unique<CsrMatrix<double>>(comm, std::move(partition), std::move(rows));
}

void Converted::update(Mat A) {
    OwnedMat full;
    const Mat all = with_all_entries(A, full);
    std::vector<double> now;
    now.reserve(entries(all));
    each_row(all, [&](const PetscInt*, const PetscScalar* values, PetscInt size) {
        now.insert(now.end(), values, values + size);
    });
    matrix_->update_values(now);
}

void Converted::reset() {
    matrix_.reset();
    id_ = 0;
    iterations_ = 0;
}

}  // namespace stretto::petsc
