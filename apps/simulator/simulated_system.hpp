// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "layout.hpp"
#include "simulated_comm.hpp"
#include "stand.hpp"
#include "stretto/operators/linear_map.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/sparse/csr.hpp"

/// The system of a job, a JSON file that `stretto simulate` writes, on one rank: its communicator, A and M; in a dry
/// run what stands for A and M.
class SimulatedSystem {
public:
    /// Eigenvalues of the diagonal matrix of a dry run: well enough conditioned that no method fails, and not so well
    /// that one converges in a hundred iterations.
    static constexpr double smallest = 1, largest = 400;

    /// Collective. Throws InputError for a preconditioner that a dry run does not have.
    explicit SimulatedSystem(const nlohmann::json& job);

    SimulatedComm& comm() { return comm_; }
    const stretto::AnyOperator<double>& A() const { return A_; }
    const stretto::AnyOperator<double>& M() const { return M_; }
    bool dry() const { return dry_; }
    stretto::Index rows() const { return rows_; }            ///< of this rank's vectors
    stretto::Index real_rows() const { return real_rows_; }  ///< of the problem on this rank: more, in a dry run
    stretto::Global all_rows() const { return layout_.partition().rows(); }
    int neighbours() const {
        return dry_ ? static_cast<int>(footprint_->receives.size()) : static_cast<int>(matrix_->neighbours());
    }
    /// What A, M and so many vectors of `columns` columns take on this rank, in bytes.
    double working_set(int vectors, int columns) const {
        return matrix_bytes_ + preconditioner_bytes_ + 8.0 * real_rows_ * columns * vectors;
    }
    /// Products with A so far, of a dry run.
    int products() const { return dry_ ? stands_.front()->applied() : 0; }

private:
    void stand_for_matrix(int columns);
    void make_preconditioner_of(const std::string& spec);

    SimulatedComm comm_;
    bool dry_;
    const Layout& layout_;
    std::optional<Footprint> footprint_;
    std::optional<stretto::CsrMatrix<double>> matrix_;
    std::vector<std::unique_ptr<Stand>> stands_;  ///< that of the matrix first
    std::unique_ptr<stretto::Preconditioner> preconditioner_;
    stretto::AnyOperator<double> A_, M_;
    stretto::Index rows_ = 0, real_rows_ = 0;
    double matrix_bytes_ = 0, preconditioner_bytes_ = 0;
};
