// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Conjugate gradients as one writes them with NVIDIA's libraries: cuSPARSE's product, cuBLAS's dots and updates, one
// call after the other, scalars on the host. What ours is compared with.

#include <cublas_v2.h>
#include <cusparse.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "../timing.hpp"
#include "stretto/execute/device/cuda.hpp"
#include "stretto/io/problem.hpp"

namespace stretto {

inline void must(bool succeeded, const char* what) {
    if (!succeeded) throw std::runtime_error(what);
}
inline void must(cusparseStatus_t status) { must(status == CUSPARSE_STATUS_SUCCESS, "cuSPARSE failed"); }
inline void must(cublasStatus_t status) { must(status == CUBLAS_STATUS_SUCCESS, "cuBLAS failed"); }

/// A matrix of cuSPARSE, on one rank.
class CusparseMatrix {
public:
    template <class X>
    using Array = DeviceArray<X, CudaDevice>;

    explicit CusparseMatrix(const LocalRows<double>& rows)
        : start_(std::vector<int>(rows.start.begin(), rows.start.end())),
          columns_(std::vector<int>(rows.columns.begin(), rows.columns.end())),
          values_(rows.values) {
        must(cusparseCreate(&library_));
        must(cusparseCreateCsr(&matrix_, rows.rows(), rows.rows(), static_cast<std::int64_t>(rows.values.size()),
                               start_.data(), columns_.data(), values_.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                               CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
        must(cusparseCreateDnVec(&x_, rows.rows(), values_.data(), CUDA_R_64F));
        must(cusparseCreateDnVec(&y_, rows.rows(), values_.data(), CUDA_R_64F));
        const double one = 1, zero = 0;
        std::size_t bytes = 0;
        must(cusparseSpMV_bufferSize(library_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, x_, &zero, y_,
                                     CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
        room_ = Array<std::byte>(bytes + 1);
        must(cusparseSpMV_preprocess(library_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, x_, &zero, y_,
                                     CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, room_.data()));
    }
    CusparseMatrix(const CusparseMatrix&) = delete;
    ~CusparseMatrix() {
        cusparseDestroyDnVec(x_);
        cusparseDestroyDnVec(y_);
        cusparseDestroySpMat(matrix_);
        cusparseDestroy(library_);
    }
    void apply(double* x, double* y) const {
        const double one = 1, zero = 0;
        must(cusparseDnVecSetValues(x_, x));
        must(cusparseDnVecSetValues(y_, y));
        must(cusparseSpMV(library_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, x_, &zero, y_, CUDA_R_64F,
                          CUSPARSE_SPMV_ALG_DEFAULT, room_.data()));
    }

private:
    Array<int> start_, columns_;
    Array<double> values_;
    Array<std::byte> room_;
    cusparseHandle_t library_ = nullptr;
    cusparseSpMatDescr_t matrix_ = nullptr;
    cusparseDnVecDescr_t x_ = nullptr, y_ = nullptr;
};

/// Seconds of an iteration, of so many, for b = 1 and x = 0.
inline double cusparse_cg_seconds(const LocalRows<double>& rows, int iterations) {
    const CusparseMatrix A(rows);
    const auto size = static_cast<std::size_t>(rows.rows());
    const std::vector<double> ones(size, 1.0), zeros(size, 0.0);
    const DeviceArray<double, CudaDevice> x_of(zeros), r_of(ones), p_of(ones), s_of(zeros);
    const auto raw = [](const auto& array) { return reinterpret_cast<double*>(array.data()); };
    double *const x = raw(x_of), *const r = raw(r_of), *const p = raw(p_of), *const s = raw(s_of);
    CudaDevice::wait();
    cublasHandle_t blas = nullptr;
    must(cublasCreate(&blas));
    const int n = rows.rows();
    const double one = 1;
    double rr = 0, ps = 0;
    must(cublasDdot(blas, n, r, 1, r, 1, &rr));
    const double time = seconds([&] {
        for (int k = 0; k < iterations; ++k) {
            A.apply(p, s);
            must(cublasDdot(blas, n, p, 1, s, 1, &ps));
            const double alpha = rr / ps, minus = -alpha, before = rr;
            must(cublasDaxpy(blas, n, &alpha, p, 1, x, 1));
            must(cublasDaxpy(blas, n, &minus, s, 1, r, 1));
            must(cublasDdot(blas, n, r, 1, r, 1, &rr));
            const double beta = rr / before;
            must(cublasDscal(blas, n, &beta, p, 1));
            must(cublasDaxpy(blas, n, &one, r, 1, p, 1));
        }
        cudaDeviceSynchronize();
    });
    cublasDestroy(blas);
    return time / iterations;
}

/// cusparse PROBLEM…: a line of JSON for each.
inline int cusparse_main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int code = 0;
    try {
        CudaDevice::take();
        MpiComm comm(MPI_COMM_SELF);
        for (int k = 2; k < argc; ++k) {
            const auto matrix = load_problem(comm, argv[k]);
            fmt::print(R"({{"what": "cg, cusparse and cublas", "problem": "{}", "rows": {}, "seconds": {:.4g}}})"
                       "\n",
                       argv[k], matrix.rows.rows(), cusparse_cg_seconds(matrix.rows, 100));
        }
    } catch (const InputError& error) {
        fmt::print(stderr, "{}\n", error.what());
        code = 2;
    }
    MPI_Finalize();
    return code;
}

}  // namespace stretto
