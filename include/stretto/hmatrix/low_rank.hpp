// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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
struct Factors {
    std::size_t rows = 0, cols = 0;
    int rank = 0;
    std::vector<double> U, V;
};

/// Adaptive cross approximation of a block from some of its rows and columns. May go on where it stopped.
class CrossApproximation {
public:
    /// The numbers must outlive it.
    CrossApproximation(const Fill& fill, std::span<const Index> rows, std::span<const Index> cols, Pivoting pivoting);

    /// Adds crosses until one is smaller than ε times the norm of what there is, or the rank is `most`. From row
    /// `first` on, where one is given.
    void run(double epsilon, int most, std::size_t first = automatic);
    static constexpr std::size_t automatic = std::numeric_limits<std::size_t>::max();

    const Factors& factors() const { return UV_; }
    Factors& factors() { return UV_; }

private:
    void residual_row(std::size_t i, double* row) const;
    void residual_col(std::size_t j, double* col) const;
    bool add(double epsilon, double pivot);
    void run_aca(double epsilon, int most, std::size_t row);
    void run_aca_plus(double epsilon, int most);
    std::size_t unused_row(std::size_t from) const;

    const Fill* fill_;
    std::span<const Index> rows_, cols_;
    Pivoting pivoting_;
    Factors UV_;
    double squared_norm_ = 0;
    std::vector<char> row_used_, col_used_;
    std::vector<double> row_, col_;
};

/// The smallest factors within `epsilon` of U Vᵀ, relative, in Frobenius' norm: QR of U and V, SVD of R_U R_Vᵀ. U and V
/// come out with columns of equal norms, so that no number is needlessly large or small. Returns the norm.
double recompress(Factors& factors, double epsilon, int most = std::numeric_limits<int>::max());

/// ‖B − U Vᵀ‖ and ‖B‖ in Frobenius' norm, estimated from the entries at up to `sample` rows and columns chosen by
/// chance from `seed`, all of them where there are not more; and the row where the error is largest.
struct SampledError {
    double error = 0, norm = 0;
    std::size_t worst_row = 0;
};
SampledError sampled_error(const Fill& fill, std::span<const Index> rows, std::span<const Index> cols,
                           const Factors& factors, std::size_t sample, std::uint64_t seed);

}  // namespace stretto
