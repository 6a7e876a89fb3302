// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "stretto/core/spec.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/hmatrix/hmatrix.hpp"
#include "stretto/io/result_json.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "stretto/system/advice.hpp"
#include "stretto/system/device.hpp"

namespace stretto {

/// What a dense matrix is made of: points, or elements, and a function of two of them.
struct DenseMatrix {
    Geometry geometry;
    std::variant<Fill, ComplexFill> fill;
    bool symmetric = false;  ///< entry (i, j) is entry (j, i), of complex ones without conjugation
    bool positive_definite = false;
    bool is_complex() const { return std::holds_alternative<ComplexFill>(fill); }
    /// What methods call symmetric.
    bool hermitian() const { return symmetric && !is_complex(); }
    /// About how many times errors of the hierarchical matrix would be in a residual, ‖A‖‖x‖/‖b‖: ε is rtol over it.
    double error_growth = 1;
};

/// The kernel that NAME:key=value,… names, on these points (make_kernel). Throws InputError.
std::unique_ptr<const DenseMatrix> kernel_matrix(const std::string& spec, std::vector<Point> points);

/// How a dense system is set up.
struct DenseOptions {
    std::string precond = "none";  ///< NAME[:key=value,…] of those of hierarchical matrices, or auto: what suits it
    std::string hmatrix = {};      ///< key=value,…, see hmatrix_options()
    DenseLayout layout = {};       ///< where vectors are
    int threads = 1;               ///< of this rank; 0: as many as pay (default_threads)
    int columns = 1;               ///< that will be solved for together
    double rtol = 1e-6;            ///< that will be asked for: ε follows where `hmatrix` has none
    bool insist = false;           ///< run methods for SPD matrices also on others
    std::vector<std::string> methods = {};  ///< to be used: refused before the set-up where they cannot be
    const Accelerator* device = nullptr;    ///< that methods run on; null: this process's threads. It must stay.
    /// Told before compression, with the bytes that a rank may use.
    std::function<void(const HMatrixEstimate&, double limit)> announce = {};
    std::function<void(double)> progress = {};     ///< told the fraction that is compressed
    const std::atomic<bool>* interrupt = nullptr;  ///< raise it on any rank to give up; it must stay
};

/// What `hmatrix` of DenseOptions takes.
std::span<const OptionInfo> hmatrix_options();

/// `step` with what suits a dense matrix where its method or preconditioner is auto.
NextStep chosen_for(const DenseMatrix& matrix, NextStep step);

/// A x = b for a dense A, as a hierarchical matrix, as `stretto bem` and `stretto kernel` solve it: compressed as far
/// as the tolerance takes, with a preconditioner; what is called converged is so with A's own entries, too, on some
/// rows. Vectors are whole on every rank, n × columns, in the order of the points. Of a complex matrix they are those
/// of std::complex<double>, or real ones in pairs, of twice as many columns (multivector.hpp).
///
/// All calls are collective unless said otherwise. Bad input is an InputError, the same on every rank.
class DenseSystem {
public:
    /// The matrix must outlive it.
    DenseSystem(Comm& comm, const DenseMatrix& matrix, DenseOptions options = {});
    DenseSystem(DenseSystem&&) noexcept;
    ~DenseSystem();

    /// Solves for the columns of b; x holds the initial guess and returns the solution. options.threads is the
    /// system's.
    Result solve(MultiVector<const double> b, MultiVector<double> x, SolveOptions options = {});
    Result solve(MultiVector<const std::complex<double>> b, MultiVector<std::complex<double>> x,
                 const SolveOptions& options = {}) {
        return solve(in_pairs(b), in_pairs(x), options);
    }
    /// y = A x, or Aᵀ x, of complex values Aᴴ x.
    void apply(MultiVector<const double> x, MultiVector<double> y, bool transposed = false) const;

    Comm& comm() const;
    const HMatrix& matrix() const;
    const Preconditioner* preconditioner() const;  ///< null: none
    const std::string& precond() const;            ///< as it was asked for, or chosen
    double epsilon() const;
    int threads() const;
    /// What a user should know of the set-up, where so small a residual is asked for.
    std::vector<std::string> remarks(double rtol) const;
    /// ‖b − A x‖/‖b‖ of the last solve with A's own entries, estimated from some rows, of each column.
    const std::vector<double>& kernel_residuals() const;
    /// What the JSON of a solve tells of the system.
    RunInfo info(const SolveOptions& options) const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace stretto
