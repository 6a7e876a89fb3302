// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/io/result_json.hpp"
#include "stretto/precond/complex.hpp"
#include "stretto/sparse/complex_structure.hpp"
#include "stretto/sparse/distributed_rows.hpp"

namespace stretto {

/// How a complex system is set up.
struct ComplexOptions {
    std::string precond = "auto";  ///< NAME[:key=value,…], see make_complex_preconditioner; auto: what suits A
    Storage storage = Storage::automatic;
    int threads = 1;      ///< of this rank
    bool insist = false;  ///< run methods for hermitian matrices also on others
};

/// A x = b for a sparse A of complex numbers, as `stretto solve` solves it: what A is, by products with a random
/// vector, a method and a preconditioner that suit it, and what to try next. Vectors are this rank's rows × columns.
///
/// All calls are collective. Bad input is an InputError, the same on every rank.
class ComplexSystem {
public:
    using Complex = std::complex<double>;

    /// `comm` must outlive it. Columns increase in each row.
    ComplexSystem(Comm& comm, DistributedRowsOf<Complex> matrix, const ComplexOptions& options = {});

    /// `method`, or what suits where it is auto. Throws where it cannot be right.
    std::string chosen(const std::string& method) const;
    /// options.threads is the system's.
    Result solve(MultiVector<const Complex> b, MultiVector<Complex> x, SolveOptions options = {}) const;

    const CsrMatrix<Complex>& matrix() const { return *A_; }
    const ComplexStructure& structure() const { return structure_; }
    const ComplexPreconditioner* preconditioner() const { return M_.get(); }  ///< null: none
    double precond_seconds() const { return precond_seconds_; }
    const std::string& precond() const { return precond_; }  ///< as it was asked for, or chosen
    /// What the JSON of a solve tells of the system.
    RunInfo info(const SolveOptions& options, int columns) const;

private:
    Comm* comm_;
    bool insist_;
    Storage storage_;
    std::string precond_;
    std::unique_ptr<const CsrMatrix<Complex>> A_;
    ComplexStructure structure_;
    std::unique_ptr<ComplexPreconditioner> M_;
    double setup_seconds_ = 0, precond_seconds_ = 0;
};

}  // namespace stretto
