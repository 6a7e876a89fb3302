// SPDX-License-Identifier: BSD-3-Clause
#include "gathered_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <simgrid/s4u.hpp>

#include "stretto/core/error.hpp"
#include "stretto/precond/table.hpp"

using namespace stretto;
using json = nlohmann::json;
namespace s4u = simgrid::s4u;

namespace {

constexpr double value_bytes = sizeof(double);

std::vector<s4u::Host*> hosts_of(const json& job) {
    std::vector<s4u::Host*> hosts;
    const int ranks_per_node = job.at("costs").at("ranks_per_node");
    for (const std::string name : job.at("hosts")) {
        auto* const host = s4u::Host::by_name_or_null(name);
        if (!host) throw InputError(fmt::format("Host not found: '{}'", name));
        hosts.insert(hosts.end(), static_cast<std::size_t>(ranks_per_node), host);
    }
    return hosts;
}

LocalRows<double> all_rows_of(const Layout& layout) {
    LocalRows<double> all;
    for (int p = 0; p < layout.partition().ranks(); ++p) {
        const auto rows = layout.rows(p);
        const auto before = all.start.back();
        all.columns.insert(all.columns.end(), rows.columns.begin(), rows.columns.end());
        all.values.insert(all.values.end(), rows.values.begin(), rows.values.end());
        for (Index i = 0; i < rows.rows(); ++i) all.start.push_back(before + rows.start[i + 1]);
    }
    return all;
}

/// `rows`: by sender, how many it sends to whom.
GatheredComm::Exchange exchange_of(Network& network, const std::vector<std::map<int, std::size_t>>& rows,
                                   std::size_t bytes_of_row) {
    GatheredComm::Exchange exchange{{}, std::vector<int>(rows.size())};
    for (std::size_t p = 0; p < rows.size(); ++p) {
        auto& messages = exchange.messages.emplace_back();
        for (const auto& [to, count] : rows[p]) {
            messages.push_back({to, network.exchanged(static_cast<int>(p), to, count * bytes_of_row)});
            ++exchange.senders[static_cast<std::size_t>(to)];
        }
    }
    return exchange;
}

}  // namespace

/// As CsrMatrix counts on a rank: interior rows, which need nothing of other ranks, then those that wait for the halo.
GatheredMatrix::GatheredMatrix(GatheredComm& comm, const CsrMatrix<double>& matrix, const Partition& partition,
                               const LocalRows<double>& rows, int columns)
    : comm_(comm), matrix_(matrix) {
    const int ranks = partition.ranks();
    std::vector<std::map<int, std::size_t>> sent(static_cast<std::size_t>(ranks)), received(sent.size());
    const double vector = value_bytes * columns;
    for (int p = 0; p < ranks; ++p) {
        const Global first = partition.first(p), last = partition.first(p + 1);
        std::set<Global> halo;
        double inside = sizeof(Index), outside = 0, interior_rows = 0, interface_rows = 0;
        for (Global row = first; row < last; ++row) {
            bool waits = false;
            for (Global k = rows.start[row]; k < rows.start[row + 1]; ++k) {
                const Global column = rows.columns[k];
                if (column >= first && column < last) continue;
                halo.insert(column);
                waits = true;
            }
            const auto nonzeros = static_cast<double>(rows.start[row + 1] - rows.start[row]);
            (waits ? outside : inside) += nonzeros * (value_bytes + sizeof(Index)) + sizeof(Index);
            ++(waits ? interface_rows : interior_rows);
        }
        for (const Global row : halo) {
            const int owner = partition.owner(row);
            ++sent[static_cast<std::size_t>(owner)][p];
            ++received[static_cast<std::size_t>(p)][owner];
        }
        const auto needed = static_cast<double>(halo.size());
        interior_.push_back(inside + 2 * interior_rows * vector);
        interface_.push_back(outside + (2 * interface_rows + needed) * vector);
        transposed_.push_back(inside + outside + (3 * (interior_rows + interface_rows) + 2 * needed) * vector);
        stored_.push_back(inside + outside + needed * value_bytes);
    }
    const std::size_t bytes_of_row = static_cast<std::size_t>(columns) * sizeof(double);
    halo_ = exchange_of(comm.network(), sent, bytes_of_row);
    way_back_ = exchange_of(comm.network(), received, bytes_of_row);
    for (std::size_t p = 0; p < sent.size(); ++p) {
        auto neighbours = sent[p];
        neighbours.insert(received[p].begin(), received[p].end());
        if (neighbours.empty()) interface_[p] = -1;
        neighbours_ = std::max(neighbours_, static_cast<int>(neighbours.size()));
    }
}

/// What the rows have for other ranks is sent there when all is multiplied.
void GatheredMatrix::apply_transpose(MultiVector<double> x, MultiVector<double> y) const {
    comm_.charge_each(transposed_);
    matrix_.apply_transpose(x, y);
    comm_.prepare(way_back_);
    comm_.start_exchange({}, {}).wait();
}

GatheredBlocks::GatheredBlocks(GatheredComm& comm, const std::string& spec, const Partition& partition,
                               const LocalRows<double>& rows)
    : comm_(comm), moved_(static_cast<std::size_t>(partition.ranks())) {
    for (int p = 0; p < partition.ranks(); ++p) {
        const Global first = partition.first(p), last = partition.first(p + 1);
        LocalRows<double> block;
        for (Global row = first; row < last; ++row) {
            for (Global k = rows.start[row]; k < rows.start[row + 1]; ++k) {
                if (rows.columns[k] < first || rows.columns[k] >= last) continue;
                block.columns.push_back(rows.columns[k] - first);
                block.values.push_back(rows.values[k]);
            }
            block.start.push_back(static_cast<Global>(block.columns.size()));
        }
        auto A = std::make_unique<CsrMatrix<double>>(alone_, Partition::even(last - first, 1), std::move(block), 1,
                                                     Storage::compressed_rows);
        auto M = make_preconditioner(spec, *A);
        blocks_.push_back({static_cast<Index>(first), std::move(A), std::move(M)});
    }
}

double GatheredBlocks::bytes(int columns) const {
    double sum = 0;
    for (const auto& block : blocks_) sum += block.M->bytes(columns);
    return sum;
}

void GatheredBlocks::each(MultiVector<double> r, MultiVector<double> z, bool transpose) const {
    const int m = r.columns();
    for (std::size_t p = 0; p < blocks_.size(); ++p) {
        const auto& [first, A, M] = blocks_[p];
        moved_[p] = M->bytes(m);
        const auto at = static_cast<std::size_t>(first) * static_cast<std::size_t>(m);
        const MultiVector<double> mine(r.data() + at, A->local_rows(), m), solved(z.data() + at, A->local_rows(), m);
        if (transpose)
            M->apply_transpose(mine, solved);
        else
            M->apply(mine, solved);
    }
    comm_.charge_each(moved_);
}

GatheredSystem::GatheredSystem(const json& job)
    : layout_(job.at("problem"), static_cast<int>(hosts_of(job).size()), job.at("deal"), job.at("grid")),
      comm_(costs_of(job), options_of(job), hosts_of(job), layout_.partition()),
      rows_(all_rows_of(layout_)),
      matrix_(alone_, Partition::even(layout_.partition().rows(), 1), rows_),
      gathered_matrix_(comm_, matrix_, layout_.partition(), rows_, job.at("columns")),
      A_(gathered_matrix_) {
    const std::string precond = job.at("precond");
    if (precond == "none") return;
    if (precond.starts_with("block_jacobi")) {
        blocks_ = std::make_unique<GatheredBlocks>(comm_, precond, layout_.partition(), rows_);
        M_ = AnyOperator<double>(*blocks_);
        return;
    }
    if (precond != "jacobi")
        throw InputError(
            fmt::format("--precond {} is another one on as many ranks: it takes --numerics ranks", precond));
    preconditioner_ = make_preconditioner(precond, matrix_);
    gathered_preconditioner_ = std::make_unique<GatheredPreconditioner>(comm_, *preconditioner_);
    M_ = AnyOperator<double>(*gathered_preconditioner_);
}

Index GatheredSystem::rows_of_a_rank() const {
    Index most = 0;
    for (int p = 0; p < ranks(); ++p) most = std::max(most, layout_.partition().rows(p));
    return most;
}

void GatheredSystem::begin(int vectors, int columns) {
    const double stored = preconditioner_ ? preconditioner_->stored() / static_cast<double>(all_rows()) : 0;
    comm_.begin([&](int p) {
        const auto rows = static_cast<double>(layout_.partition().rows(p));
        return gathered_matrix_.stored(p) + (blocks_ ? blocks_->stored(p) : stored * rows) +
               value_bytes * columns * vectors * rows;
    });
}
