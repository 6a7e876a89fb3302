// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "layout.hpp"
#include "simulated_comm.hpp"
#include "simulated_system.hpp"
#include "stand.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/sparse/csr.hpp"

/// A system on one rank of as many as are simulated: each has its rows; in a dry run what stands for A and M.
class RankSystem final : public SimulatedSystem {
public:
    /// Eigenvalues of the diagonal matrix of a dry run: well enough conditioned that no method fails, and not so well
    /// that one converges in a hundred iterations.
    static constexpr double smallest = 1, largest = 400;

    /// Collective. Throws InputError for a preconditioner that a dry run does not have.
    explicit RankSystem(const nlohmann::json& job);

    stretto::Comm& comm() override { return comm_; }
    const stretto::AnyOperator<double>& A() const override { return A_; }
    const stretto::AnyOperator<double>& M() const override { return M_; }
    std::vector<double> right_hand_sides(const std::string& text, int columns) override;
    stretto::Index rows() const override { return rows_; }
    bool dry() const override { return dry_; }
    int products() const override { return dry_ ? stands_.front()->applied() : 0; }
    int ranks() const override { return comm_.size(); }
    stretto::Global all_rows() const override { return layout_.partition().rows(); }
    stretto::Index rows_of_a_rank() const override { return real_rows_; }
    int neighbours() const override {
        return dry_ ? static_cast<int>(footprint_->receives.size()) : static_cast<int>(matrix_->neighbours());
    }
    void begin(int vectors, int columns) override {
        comm_.begin(matrix_bytes_ + preconditioner_bytes_ + 8.0 * real_rows_ * columns * vectors);
    }
    double now() override { return comm_.now(); }
    void largest_of(std::span<double> values) override { comm_.largest_of(values); }

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
    stretto::Index rows_ = 0, real_rows_ = 0;  ///< of vectors, and of the problem: more, in a dry run
    double matrix_bytes_ = 0, preconditioner_bytes_ = 0;
};
