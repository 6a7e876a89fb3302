// SPDX-License-Identifier: BSD-3-Clause
#include "rank_system.hpp"

#include <algorithm>

#include "stretto/core/error.hpp"
#include "stretto/core/random.hpp"

using namespace stretto;
using json = nlohmann::json;

namespace {

/// Collective. The first rank works while the others wait, for reading a file takes calls of MPI. What it throws, all
/// throw.
template <class Work>
void once(SimulatedComm& comm, Work&& work) {
    static std::string refusal;
    if (comm.rank() == 0) try {
            work();
        } catch (const InputError& error) {
            refusal = error.what();
        }
    comm.sum_before(0);
    if (!refusal.empty()) throw InputError(refusal);
}

/// One for all ranks, for it is as long as they are many and they only read it.
const Layout& shared_layout(const json& job, SimulatedComm& comm) {
    static std::unique_ptr<const Layout> layout;
    once(comm, [&] {
        layout = std::make_unique<const Layout>(job.at("problem"), comm.size(), job.at("deal"), job.at("grid"));
    });
    return *layout;
}

double eigenvalue(Global row) {
    constexpr double low = RankSystem::smallest, high = RankSystem::largest;
    return (high + low + (high - low) * uniform(1, row)) / 2;
}

}  // namespace

RankSystem::RankSystem(const json& job)
    : comm_(costs_of(job), options_of(job)), dry_(job.at("dry")), layout_(shared_layout(job, comm_)) {
    if (dry_) {
        stand_for_matrix(job.at("columns"));
    } else {
        matrix_.emplace(comm_, layout_.partition(), layout_.rows(comm_.rank()), 1,
                        job.at("storage") == "csr" ? Storage::compressed_rows : Storage::automatic);
        rows_ = real_rows_ = matrix_->local_rows();
        matrix_bytes_ = matrix_->bytes(1) - 16.0 * rows_;
        A_ = AnyOperator<double>(*matrix_);
        (void)matrix_->norm_bound();  // of the set-up, too, as by one process
    }
    make_preconditioner_of(job.at("precond"));
}

std::vector<double> RankSystem::right_hand_sides(const std::string& text, int columns) {
    static std::vector<double> all;
    once(comm_, [&] { all = layout_.right_hand_sides(text, columns); });
    const auto& partition = layout_.partition();
    return {all.begin() + partition.first(comm_.rank()) * columns,
            all.begin() + partition.first(comm_.rank() + 1) * columns};
}

void RankSystem::stand_for_matrix(int columns) {
    footprint_.emplace(layout_, comm_.rank());
    rows_ = std::max(4, 4096 / comm_.size());
    real_rows_ = footprint_->rows;
    auto A = std::make_unique<DryMatrix>(comm_, rows_, *footprint_, columns);
    for (Index row = 0; row < rows_; ++row)
        A->diagonal()[static_cast<std::size_t>(row)] = eigenvalue(Global{rows_} * comm_.rank() + row);
    comm_.set_scale(static_cast<double>(footprint_->rows) / rows_);
    matrix_bytes_ = footprint_->interior_bytes + footprint_->interface_bytes;
    A_ = AnyOperator<double>(static_cast<const DryMatrix&>(*A));
    stands_.push_back(std::move(A));
}

void RankSystem::make_preconditioner_of(const std::string& spec) {
    if (spec == "none") return;
    const double vector = 8.0 * real_rows_;
    if (spec.starts_with("cost:")) {
        stands_.push_back(
            std::make_unique<DryPreconditioner>(comm_, rows_, std::stoi(spec.substr(5)) / 2, 0.0, 2 * vector));
    } else if (spec == "matrix") {
        preconditioner_bytes_ = matrix_bytes_;
        stands_.push_back(std::make_unique<DryPreconditioner>(comm_, rows_, 1, matrix_bytes_, 2 * vector));
    } else if (dry_) {
        throw InputError("a dry run has no preconditioner but cost:K and matrix");
    } else {
        preconditioner_ = make_preconditioner(spec, *matrix_);
        preconditioner_bytes_ = preconditioner_->stored();
        M_ = AnyOperator<double>(*preconditioner_);
        return;
    }
    M_ = AnyOperator<double>(static_cast<const Stand&>(*stands_.back()));
}
