// SPDX-License-Identifier: BSD-3-Clause
#include "simulated_system.hpp"

#include <algorithm>

#include "stretto/core/error.hpp"
#include "stretto/core/random.hpp"

using namespace stretto;
using json = nlohmann::json;

namespace {

Costs costs_of(const json& job) {
    Costs costs;
    const auto& of = job.at("costs");
    of.at("memory_bandwidth").get_to(costs.memory_bandwidth);
    of.at("cache_bandwidth").get_to(costs.cache_bandwidth);
    of.at("cache").get_to(costs.cache);
    of.at("kernel").get_to(costs.kernel);
    of.at("message").get_to(costs.message);
    of.at("node_latency").get_to(costs.node_latency);
    of.at("node_bandwidth").get_to(costs.node_bandwidth);
    of.at("network_bandwidth").get_to(costs.network_bandwidth);
    of.at("imbalance").get_to(costs.imbalance);
    of.at("detour_seconds").get_to(costs.detour_seconds);
    of.at("detour_rate").get_to(costs.detour_rate);
    of.at("all_reduce").get_to(costs.all_reduce);
    of.at("exchange").get_to(costs.exchange);
    of.at("seed").get_to(costs.seed);
    of.at("ranks_per_node").get_to(costs.ranks_per_node);
    return costs;
}

SimulationOptions options_of(const json& job) {
    SimulationOptions options;
    const std::string reductions = job.at("reductions"), exchanges = job.at("exchanges");
    options.reductions = reductions == "rd"    ? Reductions::rd
                         : reductions == "act" ? Reductions::act
                         : reductions == "ana" ? Reductions::ana
                                               : Reductions::mpi;
    options.exchanges = exchanges == "memory" ? Exchanges::memory : Exchanges::messages;
    job.at("blocking").get_to(options.blocking);
    job.at("polls").get_to(options.polls);
    job.at("dry").get_to(options.dry);
    return options;
}

/// One for all ranks, for it is as long as they are many and they only read it.
const Layout& shared_layout(const json& job, int ranks) {
    static const Layout layout(job.at("problem"), ranks, job.at("boxes"));
    return layout;
}

double eigenvalue(Global row) {
    constexpr double low = SimulatedSystem::smallest, high = SimulatedSystem::largest;
    return (high + low + (high - low) * uniform(1, row)) / 2;
}

}  // namespace

SimulatedSystem::SimulatedSystem(const json& job)
    : comm_(costs_of(job), options_of(job)), dry_(job.at("dry")), layout_(shared_layout(job, comm_.size())) {
    if (dry_) {
        stand_for_matrix(job.at("columns"));
    } else {
        matrix_.emplace(comm_, layout_.partition(), layout_.rows(comm_.rank()), 1,
                        job.at("storage") == "csr" ? Storage::compressed_rows : Storage::automatic);
        rows_ = real_rows_ = matrix_->local_rows();
        matrix_bytes_ = matrix_->bytes(1) - 16.0 * rows_;
        A_ = AnyOperator<double>(*matrix_);
    }
    make_preconditioner_of(job.at("precond"));
}

void SimulatedSystem::stand_for_matrix(int columns) {
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

void SimulatedSystem::make_preconditioner_of(const std::string& spec) {
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
