// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/hmatrix/hmatrix.hpp"

#include <fmt/format.h>

#include <cstring>

#include "compression.hpp"
#include "layout.hpp"
#include "stretto/comm/collective.hpp"

namespace stretto {
namespace {

constexpr Index gap_worth_a_message = 256;  // rows that are sent although nobody asked, rather than a further message

}  // namespace

HMatrix::HMatrix(Comm& comm, const Geometry& geometry, const HMatrixOptions& options, Index parts)
    : comm_(&comm),
      parts_(parts),
      tree_(geometry, options.leaf, options.bisection),
      threads_(options.threads),
      epsilon_(options.epsilon) {}

HMatrix::HMatrix(Comm& comm, const Geometry& geometry, const Fill& fill, const HMatrixOptions& options)
    : HMatrix(comm, geometry, options, 1) {
    make(fill, options);
}

HMatrix::HMatrix(Comm& comm, const Geometry& geometry, const ComplexFill& fill, const HMatrixOptions& options)
    : HMatrix(comm, geometry, options, 2) {
    make(fill, options);
}

template <class T>
void HMatrix::make(const FillOf<T>& fill, const HMatrixOptions& options) {
    Comm& comm = *comm_;
    if (comm.reproducible())
        throw InputError(
            "a hierarchical matrix is not reproducible: its blocks are added up rank by rank "
            "(set_reproducible(false))");
    if (!(options.epsilon > 0 && options.epsilon < 1))
        throw InputError(
            fmt::format("the tolerance of a hierarchical matrix is between 0 and 1, not {}", options.epsilon));
    if (!(options.eta > 0)) throw InputError(fmt::format("eta={}: it must be above 0", options.eta));
    const auto start = Clock::now();
    const auto pairs = block_list(tree_, options.eta);
    Compression<T> compression(tree_, fill, options);
    std::vector<double> bytes_of_row;
    agree(comm, [&] { bytes_of_row = compression.guess_bytes(pairs); });
    if (options.partition)
        partition_ = *options.partition;
    else
        cut_rows(pairs, compression, bytes_of_row);
    if (partition_.ranks() != comm.size() || partition_.rows() != tree_.size())
        throw InputError("the partition is another matrix's");
    first_ = static_cast<Index>(partition_.first(comm.rank()));

    const Index begin = first_, end = begin + local_rows();
    std::vector<ClusterPair> own;
    std::vector<double> costs;
    HMatrixEstimate estimate;
    for (const auto& pair : pairs) {
        ++(pair.admissible ? estimate.low_rank_blocks : estimate.dense_blocks);
        const Cluster &s = tree_[pair.row], &t = tree_[pair.col];
        const Index rows = std::min(s.end, end) - std::max(s.begin, begin), cols = t.size();
        const bool inside = s.begin >= begin && s.end <= end && t.begin >= begin && t.end <= end;
        if (rows <= 0 || (options.symmetric && inside && s.begin > t.begin)) continue;
        own.push_back(pair);
        costs.push_back(pair.admissible ? bytes_of_row[size_class(s.size(), t.size())] * (rows + cols)
                                        : compression.dense_bytes(rows, cols));
        estimate.stored += costs.back();
        estimate.peak += costs.back() * (pair.admissible ? 2 : 1);
    }
    estimate.peak = all_max(comm, estimate.peak);
    estimate.stored = all_sum(comm, estimate.stored);
    if (options.announce) options.announce(estimate);
    if (estimate.peak > options.memory_limit)
        throw InputError(fmt::format("compression would take about {:.3g} GB on a rank, which may have {:.3g} GB",
                                     1e-9 * estimate.peak, 1e-9 * options.memory_limit));
    std::vector<Piece> pieces;
    agree(comm, [&] { pieces = compression.run(own, begin, end, costs); });

    agree(comm, [&] { pack(pieces, compression); });
    for (const auto& piece : pieces)
        blocks_.push_back({piece.row, piece.rows, piece.col, piece.cols, piece.rank, piece.mirrored});
    plan_exchange(blocks_);
    take_stock(pieces, compression.refilled());
    statistics_.seconds = all_max(comm, to_seconds(Clock::now() - start));
}

void HMatrix::take_stock(const std::vector<Piece>& pieces, Global refilled) {
    Global dense = 0, low_rank = 0, zero = 0, values = 0, sum = 0, most = 0, singles = 0, words = 0, bytes = 0;
    for (const auto& piece : pieces) {
        ++(piece.rank < 0 ? dense : low_rank);
        zero += piece.rank == 0;
        values += static_cast<Global>(piece.size());
        const Global rows = piece.rank < 0 ? piece.rows : piece.rows + piece.cols;
        singles += rows * piece.columns.in_single;
        words += rows * piece.columns.in_16_bits;
        bytes += rows * piece.columns.in_8_bits;
        sum += std::max(piece.rank, 0);
        most = std::max<Global>(most, piece.rank);
    }
    const Comm& comm = *comm_;
    statistics_.dense_blocks = all_sum(comm, dense);
    statistics_.low_rank_blocks = all_sum(comm, low_rank);
    statistics_.refilled = all_sum(comm, refilled);
    statistics_.zero_blocks = all_sum(comm, zero);
    statistics_.values = all_sum(comm, values);
    statistics_.ranks = all_sum(comm, sum);
    statistics_.max_rank = static_cast<int>(all_max(comm, most));
    const auto part = [&](Global count) {
        return static_cast<double>(all_sum(comm, count)) / std::max(1.0, static_cast<double>(statistics_.values));
    };
    statistics_.single = part(singles);
    statistics_.in_16_bits = part(words);
    statistics_.in_8_bits = part(bytes);
    stored_ = static_cast<double>(values_.size());
    for (const auto& work : work_)
        for (const auto* list :
             {&work.dense_here, &work.dense_there, &work.adjoint_here, &work.adjoint_there, &work.forward, &work.sums})
            stored_ += static_cast<double>(list->size() * sizeof(HMatrixPanel));
    statistics_.bytes = all_sum(comm, stored_);
    statistics_.largest_rank = all_max(comm, stored_);
}

/// Rows of every rank: whole leaves, at equal costs as far as that goes.
template <class T>
void HMatrix::cut_rows(const std::vector<ClusterPair>& pairs, const Compression<T>& compression,
                       const std::vector<double>& bytes_of_row) {
    // The cost of a row as differences from the row before.
    std::vector<double> cost(static_cast<std::size_t>(tree_.size()) + 1, 0.0);
    for (const auto& [row, col, admissible] : pairs) {
        const Cluster &s = tree_[row], &t = tree_[col];
        const double rows = s.size(),
                     per_row = admissible ? bytes_of_row[size_class(s.size(), t.size())] * (1 + t.size() / rows)
                                          : compression.dense_bytes(s.size(), t.size()) / rows;
        cost[static_cast<std::size_t>(s.begin)] += per_row;
        cost[static_cast<std::size_t>(s.end)] -= per_row;
    }
    std::partial_sum(cost.begin(), cost.end(), cost.begin());
    std::partial_sum(cost.begin(), cost.end(), cost.begin());  // of all rows up to this one
    std::vector<Index> ends;
    for (const Cluster& cluster : tree_.clusters())
        if (cluster.leaf()) ends.push_back(cluster.end);
    std::ranges::sort(ends);
    std::vector<Global> first{0};
    const double all = cost[static_cast<std::size_t>(tree_.size() - 1)];
    for (int p = 1; p < comm_->size(); ++p) {
        const double wanted = all * p / comm_->size();
        const auto end = std::ranges::find_if(
            ends, [&](Index e) { return cost[static_cast<std::size_t>(e - 1)] >= wanted * (1 - 1e-12); });
        first.push_back(std::max<Global>(first.back(), end == ends.end() ? tree_.size() : *end));
    }
    first.push_back(tree_.size());
    partition_ = Partition(std::move(first));
}

/// Puts the values where products will read them. False: some dense blocks fit into double precision alone, and are
/// marked so.
template <class T>
bool HMatrix::fill_panels(std::vector<Piece>& pieces, const std::vector<PlacedPanel>& panels,
                          Compression<T>& compression) {
    std::vector<std::vector<T>> scratch(static_cast<std::size_t>(threads_));
    std::atomic<bool> all_fit{true};
    constexpr std::size_t some = 64;  // a thread takes at a time
    compression.each((panels.size() + some - 1) / some, [&](std::size_t part, std::size_t thread) {
        double filled = 0;
        for (std::size_t k = part * some; k < std::min(panels.size(), (part + 1) * some); ++k) {
            const PlacedPanel& panel = panels[k];
            Piece& piece = pieces[panel.piece];
            std::byte* const to = values_.data() + panel.at;
            if (piece.rank > 0) {
                const auto skip = panel.right() ? piece.columns.bytes(piece.rows) : 0;
                std::memcpy(to, piece.panels + skip, panel.bytes());
            } else {
                if (!compression.fill(piece, to, scratch[thread])) {
                    piece.columns = {.in_double = parts_ * piece.cols};
                    all_fit = false;
                }
                filled += static_cast<double>(panel.bytes());
            }
        }
        compression.done(filled, thread);
    });
    return all_fit;
}

/// Lays the panels out, again where some turn out to need double precision.
template <class T>
void HMatrix::pack(std::vector<Piece>& pieces, Compression<T>& compression) {
    for (bool all_fit = false; !all_fit;) {
        Layout layout(pieces, first_, local_rows(), threads_, parts_);
        work_ = std::move(layout.work);
        diagonal_ = std::move(layout.diagonal);
        products_ = layout.products;
        values_ = {};  // before the next, which may be larger
        values_ = Buffer<std::byte>(layout.bytes);
        all_fit = fill_panels(pieces, layout.panels, compression);
    }
}

void HMatrix::plan_exchange(const std::vector<BlockInfo>& blocks) {
    const Index padded = round_up(tree_.size(), panel_rows);
    std::vector<char> needed(static_cast<std::size_t>(padded / panel_rows) + 1);
    for (const auto& block : blocks)
        if (block.rank != 0)
            std::fill_n(needed.begin() + block.col / panel_rows, round_up(block.cols, panel_rows) / panel_rows, 1);
    std::vector<std::vector<RankRange>> asked(static_cast<std::size_t>(comm_->size()));
    for (int p = 0; p < comm_->size(); ++p) {
        if (p == comm_->rank()) continue;
        auto& ranges = asked[static_cast<std::size_t>(p)];
        for (auto row = static_cast<Index>(partition_.first(p)); row < partition_.first(p + 1); row += panel_rows) {
            if (!needed[static_cast<std::size_t>(row / panel_rows)]) continue;
            if (!ranges.empty() && row - ranges.back().end < gap_worth_a_message)
                ranges.back().end = row + panel_rows;
            else
                ranges.push_back({p, row, row + panel_rows});
        }
        for (auto& range : ranges) {
            receives_.push_back(range);
            received_ += range.end - range.begin;
            range.rank = comm_->rank();
        }
    }
    for (const auto& ranges : all_to_all(*comm_, asked)) sends_.insert(sends_.end(), ranges.begin(), ranges.end());
}

double HMatrix::bytes(int columns) const {
    const double expanded = is_complex() ? 2.0 * (static_cast<double>(received_) + local_rows()) : 0;
    return static_cast<double>(values_.size()) +
           8.0 * columns * (static_cast<double>(received_) + 3.0 * local_rows() + 2.0 * products_ + expanded);
}

std::vector<double> HMatrix::gather(MultiVector<double> x) const {
    const auto m = static_cast<std::size_t>(x.columns());
    const std::vector<double> mine(x.values().begin(), x.values().end());
    const auto from = all_to_all(*comm_, std::vector(static_cast<std::size_t>(comm_->size()), mine));
    std::vector<double> all(static_cast<std::size_t>(tree_.size()) * m);
    auto number = tree_.order().begin();
    for (const auto& part : from)
        for (std::size_t i = 0; i < part.size(); i += m)
            std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(i), m,
                        all.begin() + static_cast<std::ptrdiff_t>(m) * *number++);
    return all;
}

}  // namespace stretto
