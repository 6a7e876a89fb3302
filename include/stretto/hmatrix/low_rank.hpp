// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/hmatrix/fill.hpp"

namespace stretto {

/// How rows and columns are chosen: ACA with partial pivoting (Bebendorf 2000), or ACA+ with a reference row and column
/// (Grasedyck 2005), which sees more of a block.
enum class Pivoting { aca, aca_plus };
inline constexpr std::string_view pivoting_names[] = {"aca", "aca+"};

/// B ≈ U Vᵀ, the columns of U (rows × rank) and V (cols × rank) one after the other.
template <class T>
struct Factors {
    std::size_t rows = 0, cols = 0;
    int rank = 0;
    std::vector<T> U, V;
};

/// Adaptive cross approximation of one block after the other; memory is kept from one to the next. May go on with a
/// block where it stopped. T is double or std::complex<double>.
template <class T>
class CrossApproximation {
public:
    /// Begins with a block that is known by some of its rows and columns. The numbers must outlive it.
    void begin(const FillOf<T>& fill, std::span<const Index> rows, std::span<const Index> cols, Pivoting pivoting);

    /// Adds crosses until one is smaller than ε times the norm of what there is, or the rank is `most`. From row
    /// `first` on, where one is given.
    void run(double epsilon, int most, std::size_t first = automatic);
    static constexpr std::size_t automatic = std::numeric_limits<std::size_t>::max();

    /// Crosses of a block that is there whole, column after column, until what they leave is at most ε ‖B‖ or the rank
    /// is `most`. `block` becomes what they leave. Returns ‖B − U Vᵀ‖/‖B‖ (Frobenius): certain, because it is summed.
    double run_whole(std::span<T> block, std::size_t rows, std::size_t cols, double epsilon, int most);

    const Factors<T>& factors() const { return UV_; }

private:
    void residual_row(std::size_t i, T* row) const;
    void residual_col(std::size_t j, T* col) const;
    bool add(double epsilon, T pivot);
    void run_aca(double epsilon, int most, std::size_t row);
    void run_aca_plus(double epsilon, int most);
    std::size_t unused_row(std::size_t from) const;
    void clear(std::size_t rows, std::size_t cols);

    const FillOf<T>* fill_ = nullptr;
    std::span<const Index> rows_, cols_;
    Pivoting pivoting_ = Pivoting::aca;
    Factors<T> UV_;
    double squared_norm_ = 0;
    std::vector<double> row_open_, col_open_;  // 1: no cross goes through it yet
    std::vector<T> row_, col_, reference_row_, reference_col_;
};

/// The smallest factors within some tolerance of others: QR of U and V by Gram and Schmidt, SVD of R_U R_Vᵀ by
/// one-sided rotations (Hestenes 1958). These end when the columns are nearly orthogonal: whatever they are, what is
/// dropped is known exactly, because rotations do not change norms. Written for ranks of some tens, where LAPACK's
/// calls cost more than their work; keeps its memory. Of complex factors R_U R_Vᵀ is made of orthogonal columns by
/// unitary rotations.
template <class T>
class Recompression {
public:
    /// U Vᵀ to within ε ‖U Vᵀ‖ (Frobenius), or of rank `most`. U and V come out with columns of equal norms, so that no
    /// number is needlessly large or small.
    const Factors<T>& operator()(const Factors<T>& from, double epsilon, int most = std::numeric_limits<int>::max());

    const Factors<T>& factors() const { return result_; }
    double norm() const { return norm_; }        ///< ‖U Vᵀ‖
    double dropped() const { return dropped_; }  ///< the part of it that was dropped
    /// Of the result: the largest sum of |cosines| between a column of U and all of them. Those of V are orthogonal.
    double cosines() const;

private:
    Factors<T> result_;
    std::vector<T> Q_, P_, M_, J_, R_, S_;  // J: conjugated
    std::vector<double> squares_;
    std::vector<int> order_;
    double norm_ = 0, dropped_ = 0;
    std::size_t ld_ = 0;  // of M_
};

/// ‖B − U Vᵀ‖ and ‖B‖ in Frobenius' norm, estimated from the entries at up to `sample` rows and columns chosen by
/// chance from `seed`, all of them where there are not more; and the row where the error is largest.
struct SampledError {
    double error = 0, norm = 0;
    std::size_t worst_row = 0;
};
template <class T>
SampledError sampled_error(const FillOf<T>& fill, std::span<const Index> rows, std::span<const Index> cols,
                           const Factors<T>& factors, std::size_t sample, std::uint64_t seed);

}  // namespace stretto
