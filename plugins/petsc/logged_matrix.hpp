// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "petsc.hpp"

namespace stretto::petsc {

/// The products of a converted matrix, in -log_view as StrettoMult.
class LoggedMatrix {
public:
    explicit LoggedMatrix(const CsrMatrix<double>& A) : A_(A), event_(event()) {
        for (Index i = 0; i < A.local_rows(); ++i) flops_ += 2.0 * static_cast<double>(A.row(i).columns.size()) - 1;
    }

    void apply(MultiVector<double> x, MultiVector<double> y) const {
        log(x.columns(), [&] { A_.apply(x, y); });
    }
    void apply(MultiVector<double> x, MultiVector<double> y, const RowWork& work) const {
        log(x.columns(), [&] { A_.apply(x, y, work); });
    }
    int parts() const { return A_.parts(); }
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const {
        log(x.columns(), [&] { A_.apply_transpose(x, y); });
    }
    void residual(MultiVector<double> b, MultiVector<double> x, MultiVector<double> r) const {
        log(x.columns(), [&] { A_.residual(b, x, r); });
    }
    int prepare_powers(int h) const { return A_.prepare_powers(h); }
    void apply_powers(const Panel<double>& v, int first, int count, const SmallMatrix<double>& B) const {
        log(count, [&] { A_.apply_powers(v, first, count, B); });
    }
    double bytes(int columns) const { return A_.bytes(columns); }
    Index local_rows() const { return A_.local_rows(); }

private:
    static PetscLogEvent event() {
        PetscLogEvent event = 0;
        must(PetscLogEventRegister("StrettoMult", MAT_CLASSID, &event));  // the same one each time
        return event;
    }
    template <class Work>
    void log(int times, Work&& work) const {
        must(PetscLogEventBegin(event_, 0, 0, 0, 0));
        work();
        must(PetscLogFlops(times * flops_));
        must(PetscLogEventEnd(event_, 0, 0, 0, 0));
    }

    const CsrMatrix<double>& A_;
    PetscLogEvent event_;
    double flops_ = 0;
};

}  // namespace stretto::petsc
