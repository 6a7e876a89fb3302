// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Turns the blocks of a hierarchical matrix into numbers.

#include <atomic>
#include <bit>
#include <numeric>

#include "rounding.hpp"
#include "stretto/core/parallel.hpp"
#include "stretto/hmatrix/hmatrix.hpp"

namespace stretto {

/// Blocks of about so many rows and columns have about the same rank.
inline std::size_t size_class(Index rows, Index cols) {
    return static_cast<std::size_t>(
        std::bit_width(static_cast<std::uint32_t>(rows) + static_cast<std::uint32_t>(cols)));
}

/// A block as it comes out of compression.
struct HMatrix::Piece {
    Index row, rows, col, cols;
    int rank;              // −1: dense
    PanelColumns columns;  // of B, or of U and V alike
    bool mirrored;
    const std::byte* panels;  // of U and then V; none of a dense block, which is filled where it is to stand

    /// Real numbers that are stored.
    std::size_t size() const {
        return static_cast<std::size_t>(columns.all()) *
               (static_cast<std::size_t>(rows) + static_cast<std::size_t>(rank < 0 ? 0 : cols));
    }
};

/// Compresses the blocks of this rank's rows. Owns the panels of low-rank blocks.
template <class T>
class HMatrix::Compression {
public:
    static constexpr Index parts = reals_in<T>;

    Compression(const ClusterTree& tree, const FillOf<T>& fill, const HMatrixOptions& options);

    /// What a row of U or V takes in the mean, in bytes, by size_class of blocks: from a few blocks of each, thinned
    /// out to few rows and columns.
    std::vector<double> guess_bytes(const std::vector<ClusterPair>& pairs) const;

    /// The blocks of rows begin … end − 1 in a fixed order, low-rank ones compressed. `costs` are for progress.
    std::vector<Piece> run(const std::vector<ClusterPair>& pairs, Index begin, Index end,
                           const std::vector<double>& costs);

    /// Fills a dense block as a panel. False: only double precision can hold it. Throws InputError where an entry is
    /// not finite.
    bool fill(const Piece& piece, std::byte* to, std::vector<T>& scratch) const;

    /// work(k, thread) for every k, dealt to threads as they are free. Rethrows what one of them threw.
    template <class Work>
    void each(std::size_t count, Work&& work) const {
        std::atomic<std::size_t> next{0};
        parallel(options_.threads, [&](int thread, int) {
            for (std::size_t k = next++; k < count; k = next++) try {
                    if (options_.interrupt && *options_.interrupt) throw InputError("interrupted while compressing");
                    work(k, static_cast<std::size_t>(thread));
                } catch (...) {
                    next = count;  // the others need not go on
                    throw;
                }
        });
    }

    /// A part of the work, in the units of the costs, is done.
    void done(double cost, std::size_t thread);
    /// The numbers of a dense block, where they can hold it.
    PanelColumns dense_columns(Index rows, Index cols) const;
    double dense_bytes(Index rows, Index cols) const {
        return static_cast<double>(dense_columns(rows, cols).bytes(rows));
    }
    /// Low-rank blocks that were cut or are dense, because ε was not kept.
    Global refilled() const { return refilled_; }

private:
    /// What a thread needs again and again.
    struct Workspace {
        std::vector<T> block;
        CrossApproximation<T> cross;
        Recompression<T> recompress;
        RealFactors factors;                 // of recompress
        std::vector<double> real_U, real_V;  // of complex ones
        Rounding rounding;
        std::vector<Buffer<std::byte>> panels;
        std::size_t left = 0;  // bytes, of the last buffer
        std::vector<Piece> pieces;

        std::byte* take(std::size_t bytes);
    };

    std::span<const Index> numbers(Index begin, Index end) const {
        return tree_.order().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    }
    void compress(const Cluster& s, const Cluster& t, bool admissible, bool mirrored, Workspace& own);
    bool low_rank(std::span<const Index> rows, std::span<const Index> cols, Workspace& own, Piece& piece) const;
    void recompress(double error, int most, Workspace& own) const;
    [[noreturn]] void not_finite(std::span<const Index> rows, std::span<const Index> cols) const;

    const ClusterTree& tree_;
    const FillOf<T>& fill_;
    const HMatrixOptions& options_;
    Index begin_ = 0, end_ = 0;
    double all_ = 0;  // costs
    std::vector<Workspace> workspaces_;
    std::atomic<double> done_{0};
    std::atomic<Global> refilled_{0};
    std::atomic<std::size_t> stored_{0};
};

}  // namespace stretto
