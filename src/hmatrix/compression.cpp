// SPDX-License-Identifier: BSD-3-Clause
#include "compression.hpp"

#include <fmt/format.h>

#include <cmath>

#include "columns.hpp"
#include "stretto/core/error.hpp"

namespace stretto {
namespace {

// How ε is shared: the crosses stop at one part, rounding may take another, and the SVD drops up to what is left. Where
// it drops less, rounding may take the rest.
constexpr double cross_part = 0.2, rounded_part = 0.15, dense_part = 0.25;
double single_part(double epsilon) { return epsilon >= 16 * unit_single ? 4 * unit_single / epsilon : 0; }
constexpr std::size_t sample = 32;         // rows and columns of a large block that verify it
constexpr std::size_t small_block = 4096;  // entries up to which a block is filled whole to be compressed

/// Rank from which on a block is smaller when stored densely.
int profitable(std::size_t rows, std::size_t cols) { return static_cast<int>(rows * cols / (rows + cols)); }

}  // namespace

template <class T>
HMatrix::Compression<T>::Compression(const ClusterTree& tree, const FillOf<T>& fill, const HMatrixOptions& options)
    : tree_(tree), fill_(fill), options_(options), workspaces_(static_cast<std::size_t>(options.threads)) {}

template <class T>
std::byte* HMatrix::Compression<T>::Workspace::take(std::size_t bytes) {
    // Twice as large each time: a small matrix wastes little, a large one has huge pages.
    constexpr std::size_t first = std::size_t{1} << 18, largest = std::size_t{1} << 26;
    if (bytes == 0) return nullptr;
    bytes = round_up(bytes, std::size_t{64});
    if (bytes > left) {
        left = std::max(bytes, std::min(largest, panels.empty() ? first : 2 * panels.back().size()));
        panels.emplace_back(left);
    }
    left -= bytes;
    return panels.back().data() + panels.back().size() - left - bytes;
}

template <class T>
PanelColumns HMatrix::Compression<T>::dense_columns(Index rows, Index cols) const {
    const double epsilon = options_.epsilon;
    if (options_.precision == Precision::automatic && error_in_16_bits(rows) <= dense_part * epsilon)
        return {.in_16_bits = cols * parts};
    if (options_.precision != Precision::double_only && unit_single <= single_part(epsilon) * epsilon)
        return {.in_single = cols * parts};
    return {.in_double = cols * parts};
}

template <class T>
std::vector<double> HMatrix::Compression<T>::guess_bytes(const std::vector<ClusterPair>& pairs) const {
    static constexpr std::size_t blocks = 8, most = 128;
    std::vector<std::vector<ClusterPair>> classes(34);
    for (const auto& pair : pairs)
        if (pair.admissible) classes[size_class(tree_[pair.row].size(), tree_[pair.col].size())].push_back(pair);
    std::vector<double> bytes(classes.size(), 0.0);
    std::vector<std::pair<std::size_t, ClusterPair>> chosen;
    for (std::size_t c = 0; c < classes.size(); ++c)
        for (std::size_t k = 0; k < std::min(blocks, classes[c].size()); ++k)
            chosen.emplace_back(c, classes[c][classes[c].size() * k / std::min(blocks, classes[c].size())]);
    std::vector<std::size_t> found(chosen.size());
    const auto thin = [](std::span<const Index> numbers) {
        std::vector<Index> few;
        const std::size_t count = std::min(numbers.size(), most);
        for (std::size_t k = 0; k < count; ++k) few.push_back(numbers[numbers.size() * k / count]);
        return few;
    };
    each(chosen.size(), [&](std::size_t k, std::size_t) {
        const auto [row, col] = std::pair(tree_[chosen[k].second.row], tree_[chosen[k].second.col]);
        const auto rows = thin(numbers(row.begin, row.end)), cols = thin(numbers(col.begin, col.end));
        const int limit = options_.max_rank > 0 ? options_.max_rank : profitable(rows.size(), cols.size());
        Workspace own;
        own.cross.begin(fill_, rows, cols, options_.pivoting);
        own.cross.run(cross_part * options_.epsilon, limit);
        recompress(cross_part * options_.epsilon, limit, own);
        found[k] = own.rounding.columns().slab_bytes() / panel_rows;
    });
    for (std::size_t k = 0; k < chosen.size(); ++k)
        bytes[chosen[k].first] +=
            static_cast<double>(found[k]) / static_cast<double>(std::min(blocks, classes[chosen[k].first].size()));
    return bytes;
}

template <class T>
std::vector<HMatrix::Piece> HMatrix::Compression<T>::run(const std::vector<ClusterPair>& pairs, Index begin, Index end,
                                                         const std::vector<double>& costs) {
    begin_ = begin;
    end_ = end;
    all_ = std::accumulate(costs.begin(), costs.end(), 0.0);
    // The largest first, so that no thread is left with one at the end.
    std::vector<std::size_t> order(pairs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (options_.threads > 1)
        std::ranges::stable_sort(order, std::greater<>(),
                                 [&](std::size_t k) { return pairs[k].admissible ? costs[k] : 0; });
    each(pairs.size(), [&](std::size_t place, std::size_t thread) {
        const std::size_t k = order[place];
        const auto& [row, col, admissible] = pairs[k];
        const Cluster &s = tree_[row], &t = tree_[col];
        const bool both = options_.symmetric && s.begin >= begin && s.end <= end && t.begin >= begin && t.end <= end;
        if (both && s.begin > t.begin) return;  // its mirror image is stored
        compress(s, t, admissible, both && s.begin < t.begin, workspaces_[thread]);
        if (admissible) done(costs[k], thread);
    });
    std::vector<Piece> result;
    for (auto& own : workspaces_) {
        result.insert(result.end(), own.pieces.begin(), own.pieces.end());
        own.pieces = {};
    }
    std::ranges::sort(result, {}, [](const Piece& piece) { return std::pair(piece.row, piece.col); });
    return result;
}

template <class T>
void HMatrix::Compression<T>::done(double cost, std::size_t thread) {
    if (!options_.progress) return;
    done_.fetch_add(cost, std::memory_order_relaxed);
    if (thread == 0) options_.progress(all_ > 0 ? std::min(1.0, done_ / all_) : 1);
}

/// Sons are mirrored where the whole block is: of one that other ranks have a part of, the mirror image is a block of
/// its own.
template <class T>
void HMatrix::Compression<T>::compress(const Cluster& s, const Cluster& t, bool admissible, bool mirrored,
                                       Workspace& own) {
    Piece piece{.row = std::max(s.begin, begin_),
                .rows = 0,
                .col = t.begin,
                .cols = t.size(),
                .rank = -1,
                .columns = {},
                .mirrored = mirrored,
                .panels = nullptr};
    piece.rows = std::min(s.end, end_) - piece.row;
    if (piece.rows <= 0) return;
    const auto rows = numbers(piece.row, piece.row + piece.rows), cols = numbers(t.begin, t.end);
    if (admissible && !low_rank(rows, cols, own, piece)) {
        ++refilled_;
        if (rows.size() * cols.size() > small_block && !(s.leaf() && t.leaf())) {
            for (const Index u : s.leaf() ? std::vector<Index>{} : std::vector{s.sons[0], s.sons[1]})
                for (const Index v : t.leaf() ? std::vector<Index>{} : std::vector{t.sons[0], t.sons[1]})
                    compress(tree_[u], tree_[v], true, mirrored, own);
            if (s.leaf())
                for (const Index v : t.sons) compress(s, tree_[v], true, mirrored, own);
            if (t.leaf())
                for (const Index u : s.sons) compress(tree_[u], t, true, mirrored, own);
            return;
        }
    }
    if (piece.rank < 0) {
        piece.columns = dense_columns(piece.rows, piece.cols);
        stored_ += piece.columns.bytes(piece.rows);
    } else {  // twice while they are put in order
        stored_ += 2 * (piece.columns.bytes(piece.rows) + piece.columns.bytes(piece.cols));
    }
    if (static_cast<double>(stored_) > options_.memory_limit)
        throw InputError(
            fmt::format("the blocks take more than the {:.4g} GB that a rank may have", 1e-9 * options_.memory_limit));
    own.pieces.push_back(piece);
}

/// The smallest factors, in the shortest numbers, where the crosses err by `error`.
template <class T>
void HMatrix::Compression<T>::recompress(double error, int most, Workspace& own) const {
    const double epsilon = options_.epsilon;
    const bool automatic = options_.precision == Precision::automatic;
    const double rounding = epsilon * (automatic ? rounded_part : single_part(epsilon));
    const Factors<T>& found = own.recompress(own.cross.factors(), epsilon - error - rounding, most);
    own.factors = {found.rows,
                   found.cols,
                   found.rank,
                   parts,
                   real_columns(found.U, found.rows, own.real_U),
                   real_columns(found.V, found.cols, own.real_V)};
    const double norm = own.recompress.norm();
    if (!std::isfinite(norm)) return;
    const bool fits = fits_single(norm, own.factors.U.size() + own.factors.V.size());
    if (!fits || options_.precision == Precision::double_only)
        own.rounding.choose(own.factors, 0, 1);
    else if (automatic)
        own.rounding.choose(own.factors, norm * std::max(rounding, epsilon - error - own.recompress.dropped()),
                            own.recompress.cosines());
    else
        own.rounding.choose_single(own.factors, norm * rounding);
}

/// Whether the block has a low rank that keeps ε.
template <class T>
bool HMatrix::Compression<T>::low_rank(std::span<const Index> rows, std::span<const Index> cols, Workspace& own,
                                       Piece& piece) const {
    const double epsilon = options_.epsilon;
    const int most = options_.max_rank > 0 ? options_.max_rank : profitable(rows.size(), cols.size());
    const bool whole = options_.max_rank == 0 && rows.size() * cols.size() <= small_block;
    auto& [block, cross, recompression, real, real_U, real_V, rounding, panels, left, pieces] = own;
    double error = cross_part * epsilon;
    if (whole) {
        block.resize(rows.size() * cols.size());
        fill_(rows, cols, block.data());
        error = cross.run_whole(block, rows.size(), cols.size(), error, most);
        if (!(error <= cross_part * epsilon)) return false;
    } else {
        cross.begin(fill_, rows, cols, options_.pivoting);
        cross.run(error, most);
    }
    for (int attempt = 0;; ++attempt) {
        if (options_.max_rank == 0 && cross.factors().rank >= most) return false;
        recompress(error, most, own);
        if (!std::isfinite(recompression.norm())) return false;
        if (!whole) {
            const auto seed = static_cast<std::uint64_t>(piece.row) << 32 | static_cast<std::uint64_t>(piece.col);
            const auto sampled = sampled_error(fill_, rows, cols, recompression.factors(), sample, seed);
            if (!std::isfinite(sampled.error)) return false;
            const double rounded = recompression.norm() > 0 ? rounding.error() / recompression.norm() : 0;
            if (options_.max_rank == 0 && sampled.error > (epsilon - rounded) * sampled.norm) {
                if (attempt == 3) return false;
                cross.run(0.1 * cross_part * epsilon, most, sampled.worst_row);
                continue;
            }
        }
        piece.rank = real.rank;
        piece.columns = rounding.columns();
        const std::size_t of_U = piece.columns.bytes(piece.rows);
        std::byte* const to = own.take(of_U + piece.columns.bytes(piece.cols));
        write_panel(real.U.data(), rows.size(), piece.columns, to);
        write_panel(real.V.data(), cols.size(), piece.columns, to + of_U);
        piece.panels = to;
        return true;
    }
}

template <class T>
bool HMatrix::Compression<T>::fill(const Piece& piece, std::byte* to, std::vector<T>& scratch) const {
    const auto rows = numbers(piece.row, piece.row + piece.rows), cols = numbers(piece.col, piece.col + piece.cols);
    scratch.resize(rows.size() * cols.size());
    fill_(rows, cols, scratch.data());
    const double squares = columns::squared_norm(scratch.data(), scratch.size());
    if (!std::isfinite(squares)) not_finite(rows, cols);
    if (piece.columns.in_double == 0 && !fits_single(std::sqrt(squares), scratch.size())) return false;
    std::vector<double> apart;
    write_panel(real_columns(scratch, rows.size(), apart).data(), rows.size(), piece.columns, to);
    return true;
}

template <class T>
void HMatrix::Compression<T>::not_finite(std::span<const Index> rows, std::span<const Index> cols) const {
    T value{};
    for (const Index row : rows)
        for (const Index col : cols) {
            fill_({&row, 1}, {&col, 1}, &value);
            for (const double part : {std::real(value), std::imag(value)})
                if (!std::isfinite(part))
                    throw InputError(fmt::format("the kernel is {} at points {} and {}", part, row + 1, col + 1));
        }
    throw InputError("the kernel's values are too large");
}

template class HMatrix::Compression<double>;
template class HMatrix::Compression<std::complex<double>>;

}  // namespace stretto
