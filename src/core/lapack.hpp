// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The routines of LAPACK that are used. Matrices are column after column; `size` is the length of `work`.

#include <complex>

extern "C" {

/// The eigenvalues of a Hessenberg matrix, which is overwritten.
void dhseqr_(const char* job, const char* vectors, const int* n, const int* low, const int* high, double* h,
             const int* ldh, double* real, double* imaginary, double* z, const int* ldz, double* work, const int* size,
             int* info);

void zhseqr_(const char* job, const char* vectors, const int* n, const int* low, const int* high,
             std::complex<double>* h, const int* ldh, std::complex<double>* values, std::complex<double>* z,
             const int* ldz, std::complex<double>* work, const int* size, int* info);

/// The shortest solution of a least squares problem, of any rank.
void dgelsy_(const int* m, const int* n, const int* columns, double* a, const int* lda, double* b, const int* ldb,
             int* pivots, const double* rcond, int* rank, double* work, const int* size, int* info);

/// A = U Σ Vᵀ; `a` is overwritten, `v` is Vᵀ.
void dgesvd_(const char* want_u, const char* want_v, const int* m, const int* n, double* a, const int* lda, double* s,
             double* u, const int* ldu, double* v, const int* ldv, double* work, const int* size, int* info);

/// The same by divide and conquer, faster where there are many; `integers`: 8 n of them.
void dgesdd_(const char* want, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
             const int* ldu, double* v, const int* ldv, double* work, const int* size, int* integers, int* info);

/// P A = L U.
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);

void zgetrf_(const int* m, const int* n, std::complex<double>* a, const int* lda, int* pivots, int* info);

/// A⁻¹ from these factors, in their place.
void dgetri_(const int* n, double* a, const int* lda, const int* pivots, double* work, const int* size, int* info);

void zgetri_(const int* n, std::complex<double>* a, const int* lda, const int* pivots, std::complex<double>* work,
             const int* size, int* info);

}  // extern "C"
