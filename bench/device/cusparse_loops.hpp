// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// CG, BiCGStab and GMRES(30) as one writes them with NVIDIA's libraries: cuSPARSE's product, cuBLAS's dots and updates,
// one call after the other, scalars on the host. What ours are compared with.

#include <cublas_v2.h>
#include <cusparse.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "../timing.hpp"
#include "cg_in_one_kernel.hpp"
#include "run.hpp"
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

/// Vectors of n values on the device, zero at first, and cuBLAS's calls on them.
class CublasVectors {
public:
    CublasVectors(int n, int number)
        : n_(n), values_(std::vector<double>(static_cast<std::size_t>(n) * static_cast<std::size_t>(number), 0.0)) {
        must(cublasCreate(&blas_));
    }
    CublasVectors(const CublasVectors&) = delete;
    ~CublasVectors() { cublasDestroy(blas_); }

    double* operator[](int k) const {
        return reinterpret_cast<double*>(values_.data()) + static_cast<std::size_t>(k) * static_cast<std::size_t>(n_);
    }
    void fill(int k, double value) const {
        const std::vector<double> all(static_cast<std::size_t>(n_), value);
        must(cudaMemcpy((*this)[k], all.data(), all.size() * sizeof(double), cudaMemcpyHostToDevice) == cudaSuccess,
             "the GPU does not copy");
    }
    double dot(const double* x, const double* y) const {
        double sum = 0;
        must(cublasDdot(blas_, n_, x, 1, y, 1, &sum));
        return sum;
    }
    /// y ← y + a x
    void add(double a, const double* x, double* y) const { must(cublasDaxpy(blas_, n_, &a, x, 1, y, 1)); }
    void scale(double a, double* x) const { must(cublasDscal(blas_, n_, &a, x, 1)); }
    void copy(const double* x, double* y) const { must(cublasDcopy(blas_, n_, x, 1, y, 1)); }
    /// h ← Qᵀ w, of the first `columns` vectors from Q on; h on the device.
    void project(int columns, const double* Q, const double* w, double* h) const {
        const double one = 1, zero = 0;
        must(cublasDgemv(blas_, CUBLAS_OP_T, n_, columns, &one, Q, n_, w, 1, &zero, h, 1));
    }
    /// y ← y + a Q h
    void combine(double a, int columns, const double* Q, const double* h, double* y) const {
        const double one = 1;
        must(cublasDgemv(blas_, CUBLAS_OP_N, n_, columns, &a, Q, n_, h, 1, &one, y, 1));
    }

private:
    int n_;
    DeviceArray<double, CudaDevice> values_;
    cublasHandle_t blas_ = nullptr;
};

/// Each solves for b = 1 from x = 0 and returns the seconds of an iteration, of so many.
inline double cusparse_cg(const CusparseMatrix& A, int n, int iterations) {
    const CublasVectors V(n, 4);
    double *const x = V[0], *const r = V[1], *const p = V[2], *const s = V[3];
    V.fill(1, 1);
    V.fill(2, 1);
    double rr = V.dot(r, r);
    return seconds([&] {
               for (int k = 0; k < iterations; ++k) {
                   A.apply(p, s);
                   const double alpha = rr / V.dot(p, s), before = rr;
                   V.add(alpha, p, x);
                   V.add(-alpha, s, r);
                   rr = V.dot(r, r);
                   V.scale(rr / before, p);
                   V.add(1, r, p);
               }
               cudaDeviceSynchronize();
           }) /
           iterations;
}

inline double cusparse_bicgstab(const CusparseMatrix& A, int n, int iterations) {
    const CublasVectors V(n, 6);
    double *const x = V[0], *const r = V[1], *const shadow = V[2], *const p = V[3], *const v = V[4], *const t = V[5];
    for (const int k : {1, 2, 3}) V.fill(k, 1);
    double rho = V.dot(shadow, r);
    return seconds([&] {
               for (int k = 0; k < iterations; ++k) {
                   A.apply(p, v);
                   const double alpha = rho / V.dot(shadow, v);
                   V.add(-alpha, v, r);
                   A.apply(r, t);
                   const double omega = V.dot(t, r) / V.dot(t, t), before = rho;
                   V.add(alpha, p, x);
                   V.add(omega, r, x);
                   V.add(-omega, t, r);
                   rho = V.dot(shadow, r);
                   const double beta = rho / before * alpha / omega;
                   V.add(-omega, v, p);
                   V.scale(beta, p);
                   V.add(1, r, p);
               }
               cudaDeviceSynchronize();
           }) /
           iterations;
}

/// Classical Gram–Schmidt, restarts of 30.
inline double cusparse_gmres(const CusparseMatrix& A, int n, int iterations) {
    constexpr int m = 30;
    const CublasVectors V(n, m + 4), small(m + 1, 1);
    double *const Q = V[0], *const x = V[m + 1], *const r = V[m + 2], *const b = V[m + 3], *const h = small[0];
    std::vector<double> H((m + 1) * m), g(m + 1), cosine(m), sine(m);
    const auto at = [&](int i, int j) -> double& { return H[static_cast<std::size_t>(j * (m + 1) + i)]; };
    for (const int k : {m + 2, m + 3}) V.fill(k, 1);
    int done = 0;
    const double time = seconds([&] {
        while (done < iterations) {
            const double beta = std::sqrt(V.dot(r, r));
            V.copy(r, Q);
            V.scale(1 / beta, Q);
            g.assign(m + 1, 0);
            g[0] = beta;
            for (int j = 0; j < m; ++j, ++done) {
                double* const w = V[j + 1];
                A.apply(V[j], w);
                V.project(j + 1, Q, w, h);
                V.combine(-1, j + 1, Q, h, w);
                must(cudaMemcpy(&at(0, j), h, sizeof(double) * static_cast<std::size_t>(j + 1),
                                cudaMemcpyDeviceToHost) == cudaSuccess,
                     "the GPU does not copy");
                const double norm = std::sqrt(V.dot(w, w));
                V.scale(1 / norm, w);
                for (int i = 0; i < j; ++i) {
                    const double upper = at(i, j), lower = at(i + 1, j);
                    at(i, j) = cosine[i] * upper + sine[i] * lower;
                    at(i + 1, j) = cosine[i] * lower - sine[i] * upper;
                }
                const double all = std::hypot(at(j, j), norm);
                cosine[j] = at(j, j) / all;
                sine[j] = norm / all;
                at(j, j) = all;
                g[j + 1] = -sine[j] * g[j];
                g[j] *= cosine[j];
            }
            for (int i = m - 1; i >= 0; --i) {
                for (int j = i + 1; j < m; ++j) g[i] -= at(i, j) * g[j];
                g[i] /= at(i, i);
            }
            must(cudaMemcpy(h, g.data(), sizeof(double) * m, cudaMemcpyHostToDevice) == cudaSuccess,
                 "the GPU does not copy");
            V.combine(1, m, Q, h, x);
            A.apply(x, Q);
            V.copy(b, r);
            V.add(-1, Q, r);
        }
        cudaDeviceSynchronize();
    });
    return time / done;
}

/// PROBLEM…: a line of JSON for each, and method.
inline void measure_cusparse(int number, char** problems) {
    CudaDevice::take();
    MpiComm comm(MPI_COMM_SELF);
    for (int k = 0; k < number; ++k) {
        const auto [partition, rows] = load_problem(comm, problems[k]);
        const CusparseMatrix A(rows);
        const auto tell = [&](const char* what, const char* method, const auto& loop) {
            CudaDevice::wait();
            fmt::print(R"({{"what": "{}", "method": "{}", "problem": "{}", "rows": {}, "seconds": {:.4g}}})"
                       "\n",
                       what, method, problems[k], rows.rows(), loop(90));
        };
        const auto libraries = [&](double (*loop)(const CusparseMatrix&, int, int)) {
            return [&A, loop, n = rows.rows()](int iterations) { return loop(A, n, iterations); };
        };
        tell("cusparse and cublas", "cg", libraries(cusparse_cg));
        tell("cusparse and cublas", "bicgstab", libraries(cusparse_bicgstab));
        tell("cusparse and cublas", "gmres", libraries(cusparse_gmres));
        tell("one kernel", "cg", [&](int iterations) { return one_kernel_cg(rows, iterations); });
    }
}

}  // namespace stretto
