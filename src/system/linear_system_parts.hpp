// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "candidates.hpp"
#include "known_null_space.hpp"
#include "stretto/system/linear_system.hpp"

namespace stretto {

/// The rows of a matrix from its values in the order in which a user gives them, on all ranks together.
struct GivenValues {
    std::function<LocalRows<double>(std::span<const double> values)> rows;  ///< null: entries were not kept
    std::size_t entries = 0;                                                ///< on this rank
};

/// What solves with the system, behind an address that stays when another takes its place.
class CurrentPreconditioner final : public Preconditioner {
public:
    void set(std::unique_ptr<Preconditioner> now) { now_ = std::move(now); }
    const Preconditioner* get() const { return now_.get(); }

    void apply(MultiVector<double> r, MultiVector<double> z) const override { now_->apply(r, z); }
    void apply(MultiVector<double> r, MultiVector<double> z, const RowWork& work) const override {
        now_->apply(r, z, work);
    }
    int parts() const override { return now_->parts(); }
    int blocks() const override { return now_->blocks(); }
    std::pair<Index, Index> block_rows(int block) const override { return now_->block_rows(block); }
    void apply_block(int block, MultiVector<double> r, MultiVector<double> z, const RowWork* work) const override {
        now_->apply_block(block, r, z, work);
    }
    void apply_transpose(MultiVector<double> r, MultiVector<double> z) const override { now_->apply_transpose(r, z); }
    bool has_transpose() const override { return now_->has_transpose(); }
    bool symmetric() const override { return now_->symmetric(); }
    bool varies() const override { return now_->varies(); }
    int reductions() const override { return now_->reductions(); }
    double bytes(int columns) const override { return now_->bytes(columns); }
    double stored() const override { return now_->stored(); }
    std::vector<std::string> remarks() const override { return now_->remarks(); }
    bool repaired() const override { return now_->repaired(); }
    std::optional<LevelSizes> level_sizes() const override { return now_->level_sizes(); }
    bool update(int solves) override { return now_ && now_->update(solves); }
    OwnedOperator<float> in_single() const override { return now_->in_single(); }

private:
    std::unique_ptr<Preconditioner> now_;
};

struct LinearSystem::Parts {
    template <class Matrix>
    Parts(Comm& on, Matrix matrix, GivenValues given, SystemOptions asked);

    template <class Matrix>
    void look(const Matrix& matrix);
    void take(DistributedRows& matrix) const;
    std::unique_ptr<PreparedSystem> prepare(DistributedRows matrix) const;
    std::unique_ptr<PreparedSystem> prepare(const DistributedGivenRows& matrix) const;
    void choose_by_structure();
    void choose();
    void settle(std::string& method, int columns);
    void choose_method_of_family(double preconditioner);
    const PartTimes& times(int columns);
    double preconditioner_seconds() const;
    int preconditioner_reductions() const;
    bool make(Expectation& candidate);
    void try_out(Expectation& candidate, MultiVector<const double> b, MultiVector<double> x, const SolveOptions& asked,
                 int iterations);
    const Expectation* next_candidate() const;
    std::vector<Expectation> candidates_now() const;
    void try_and_count(std::vector<Expectation>& ranked);
    void know_factors(const FactorCounts& factors);
    bool count_within(double most, double rest);
    void choose_progress();
    std::optional<double> difficulty_by(double iterations) const;
    void expect_of(std::optional<double> difficulty);
    void expect_indefinite();
    bool take_next(Status ended, int iterations, const std::string& method);
    void make_preconditioner();
    void check(const std::string& method) const;
    void check_open(bool open) const;
    void check_reproducible() const;
    void check_vectors(MultiVector<const double> b, MultiVector<double> x, int columns) const;

    Comm& comm;
    SystemOptions options;
    GivenValues source;
    Partition partition;
    Structure structure;
    Choice choice;
    bool chosen_precond = false;  // it was left open
    Sizes sizes;                  // and what trials have told
    KnownNullSpace null_space;
    bool negated = false;
    std::unique_ptr<PreparedSystem> prepared;
    CurrentPreconditioner preconditioner;
    int threads = 1;             // of this rank; options.threads are parts
    double precond_seconds = 0;  // of all that were made with the values there are
    bool not_definite = false;   // as an attempt or a trial found
    double busy = 0;             // cores that other programs kept busy when the number of threads was chosen
    int updates = 0;             // of the values
    int solves = 0;              // with the values there are
    bool complete = true;        // false: an update of the values broke off
};

}  // namespace stretto
