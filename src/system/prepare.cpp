// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/system/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>

#include "renumber.hpp"
#include "stretto/core/names.hpp"
#include "stretto/system/ordering.hpp"

namespace stretto {
namespace {

struct TwoTimes {
    double one = INFINITY, other = INFINITY;
};

/// Collective. Seconds of a product with either, in turn, the best of some rounds, on the slowest rank.
TwoTimes time_products(const CsrMatrix<double>& A, const CsrMatrix<double>& B) {
    constexpr int rounds = 10;
    std::vector<double> x(static_cast<std::size_t>(A.local_rows()), 1), y(x.size());
    const auto seconds = [&](const CsrMatrix<double>& matrix) {
        MPI_Barrier(matrix.comm().mpi());
        const auto begin = std::chrono::steady_clock::now();
        matrix.apply({x.data(), matrix.local_rows(), 1}, {y.data(), matrix.local_rows(), 1});
        return all_max(matrix.comm(), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    };
    TwoTimes best;
    for (int round = 0; round <= rounds; ++round) {
        const double one = seconds(A), other = seconds(B);
        if (round == 0) continue;  // which touches everything
        best.one = std::min(best.one, one);
        best.other = std::min(best.other, other);
    }
    return best;
}

}  // namespace

PrepareSteps parse_prepare(const std::string& text) {
    struct Choice {
        std::string_view name;
        bool PrepareSteps::* chosen;
    };
    static constexpr Choice known[] = {{"equilibrate", &PrepareSteps::equilibrate},
                                       {"rcm", &PrepareSteps::rcm},
                                       {"metis", &PrepareSteps::metis},
                                       {"nonzeros", &PrepareSteps::nonzeros}};
    PrepareSteps steps;
    for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
        const auto end = std::min(text.find(',', begin), text.size());
        const auto name = text.substr(begin, end - begin);
        const auto step = std::ranges::find(known, name, &Choice::name);
        if (step == std::end(known))
            throw InputError(
                refusal(fmt::format("--prepare: there is no step '{}'", name), name, names_of(known, &Choice::name)));
        steps.*step->chosen = true;
        begin = end + 1;
    }
    if (steps.metis && steps.nonzeros)
        throw InputError("--prepare: metis balances nonzeros itself; name one of metis and nonzeros");
    return steps;
}

PreparedSystem::PreparedSystem(Comm& comm, DistributedRows matrix, const PrepareSteps& steps, bool symmetric,
                               int threads, Storage storage)
    : comm_(&comm), steps_(steps), threads_(threads), storage_(storage) {
    if (steps.metis || steps.nonzeros) {
        auto dealt = deal(comm, matrix, steps.metis ? Dealing::metis : Dealing::nonzeros);
        moved_ = dealt.kept;
        numbers_ = std::move(dealt.numbers);
        remarks_.push_back(std::move(dealt.remark));
    }
    quality_ = quality(comm, matrix);
    if (steps.rcm)
        reorder(matrix);
    else
        A_ = stored(matrix.partition, to_store(matrix.rows));
    if (moved_) moves_ = RowMoves(comm, numbers_, A_->partition());
    if (steps.equilibrate) scale(std::move(matrix), symmetric);
}

PreparedSystem::PreparedSystem(Comm& comm, const DistributedGivenRows& matrix, int threads, Storage storage)
    : comm_(&comm),
      steps_{},
      threads_(threads),
      storage_(storage),
      quality_(quality(comm, matrix)),
      A_(std::make_unique<CsrMatrix<double>>(comm, matrix.partition, matrix.rows, threads, storage)) {}

void PreparedSystem::update(DistributedRows matrix, bool symmetric) {
    if (moved_) matrix = renumber(*comm_, std::move(matrix), numbers_, A_->partition());
    A_->update_values(matrix.rows);
    if (steps_.equilibrate) scale(std::move(matrix), symmetric);
}

LocalRows<double> PreparedSystem::to_store(LocalRows<double>& rows) const {
    return steps_.equilibrate ? rows : std::move(rows);
}

std::unique_ptr<CsrMatrix<double>> PreparedSystem::stored(const Partition& partition, LocalRows<double> rows) const {
    return std::make_unique<CsrMatrix<double>>(*comm_, partition, std::move(rows), threads_, storage_);
}

void PreparedSystem::reorder(DistributedRows& matrix) {
    const auto order = reverse_cuthill_mckee(*comm_, matrix);
    const Global first = matrix.partition.first(comm_->rank());
    std::vector<Global> fresh(order.size());
    for (std::size_t k = 0; k < order.size(); ++k)
        fresh[static_cast<std::size_t>(order[k])] = first + static_cast<Global>(k);

    auto reordered = renumber(*comm_, matrix, fresh, matrix.partition);
    A_ = stored(matrix.partition, to_store(matrix.rows));
    auto after = stored(reordered.partition, to_store(reordered.rows));
    const auto times = time_products(*A_, *after);
    // What noise decides would change the order, and with it roundings, between equal runs.
    constexpr double worthwhile = 0.95;
    const bool keep = times.other < worthwhile * times.one;
    remarks_.push_back(fmt::format("rcm: a product takes {:.3g} ms instead of {:.3g} ms: {}", 1e3 * times.other,
                                   1e3 * times.one, keep ? "reordered" : "left as it was"));
    if (!keep) return;
    numbers_ = moved_ ? look_up(*comm_, matrix.partition, fresh, numbers_) : std::move(fresh);
    moved_ = true;
    A_ = std::move(after);
    matrix = std::move(reordered);
}

void PreparedSystem::scale(DistributedRows matrix, bool symmetric) {
    scales_ = equilibrate(*comm_, matrix, symmetric);
    if (scaled_)
        scaled_->update_values(matrix.rows);
    else
        scaled_ = stored(matrix.partition, std::move(matrix.rows));
}

std::vector<std::string> PreparedSystem::remarks() const {
    auto all = remarks_;
    if (steps_.equilibrate)
        all.push_back(fmt::format(
            "equilibrated {}: rows scaled by {:.3g} to {:.3g}; residuals stay those of the original system",
            scales_.symmetric ? "symmetrically" : "by rows and columns", scales_.smallest, scales_.largest));
    return all;
}

std::unique_ptr<Preconditioner> PreparedSystem::preconditioner(const std::string& spec) const {
    auto inner = make_preconditioner(spec, scaled());
    return scaled_ ? scaled_preconditioner(*A_, scales_, std::move(inner)) : std::move(inner);
}

}  // namespace stretto
