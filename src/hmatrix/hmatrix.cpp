// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/hmatrix/hmatrix.hpp"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <tuple>

#include "stretto/core/collective.hpp"
#include "stretto/core/parallel.hpp"

namespace stretto {
namespace {

constexpr double unit_single = 0x1p-24;
// How ε is shared: the crosses stop at one part, rounding to single precision may take another, and the SVD drops up to
// what is left.
constexpr double cross_part = 0.2;
double rounding_part(double epsilon) { return epsilon >= 16 * unit_single ? 4 * unit_single / epsilon : 0; }
double svd_part(double epsilon) { return 1 - cross_part - rounding_part(epsilon); }
constexpr std::size_t sample = 32;  // rows and columns of a large block that verify it
constexpr std::size_t small_block =
    4096;  // entries up to which a block is filled densely to be compressed, and verified whole
constexpr Index gap_worth_a_message = 256;  // rows that are sent although nobody asked, rather than a further message

std::size_t size_class(Index rows, Index cols) {
    return static_cast<std::size_t>(
        std::bit_width(static_cast<std::uint32_t>(rows) + static_cast<std::uint32_t>(cols)));
}

/// Rank from which on a block is smaller when stored densely.
int profitable(std::size_t rows, std::size_t cols) { return static_cast<int>(rows * cols / (rows + cols)); }

double squares(const std::vector<double>& values) {
    return std::transform_reduce(values.begin(), values.end(), 0.0, std::plus<>(), [](double v) { return v * v; });
}

/// Whether a block of this norm and number of values is within what single precision can hold.
bool fits_single(double norm, std::size_t values) {
    return norm < 1e37 && norm > 1e-25 * std::sqrt(static_cast<double>(values));
}

/// Blocks are small: threads that LAPACK starts for one cost more than they bring.
struct OneThreadInside {
#ifdef _OPENMP
    OneThreadInside() { omp_set_num_threads(1); }
    ~OneThreadInside() { omp_set_num_threads(before); }
    int before = omp_get_max_threads();
#endif
};

}  // namespace

/// A block as it comes out of compression.
struct HMatrix::Piece {
    Index row, rows, col, cols;
    int rank;  // −1: dense
    bool single, mirrored;
    std::vector<double> values;  // dense, or U and then V, column after column
    std::vector<float> singles;

    std::size_t size() const { return values.size() + singles.size(); }
    void shorten() {
        singles.assign(values.begin(), values.end());
        values = {};
        single = true;
    }
};

/// Compresses the blocks of this rank's rows.
class HMatrix::Compression {
public:
    Compression(const ClusterTree& tree, const Fill& fill, const HMatrixOptions& options)
        : tree_(tree), fill_(fill), options_(options) {}

    /// The mean rank of low-rank blocks by size_class, from a few blocks of each, thinned out to few rows and columns.
    std::vector<double> guess_ranks(const std::vector<ClusterPair>& pairs) const {
        static constexpr std::size_t blocks = 8, most = 128;
        std::vector<std::vector<ClusterPair>> classes(34);
        for (const auto& pair : pairs)
            if (pair.admissible) classes[size_class(tree_[pair.row].size(), tree_[pair.col].size())].push_back(pair);
        std::vector<double> ranks(classes.size(), 0.0);
        std::vector<std::pair<std::size_t, ClusterPair>> chosen;
        for (std::size_t c = 0; c < classes.size(); ++c)
            for (std::size_t k = 0; k < std::min(blocks, classes[c].size()); ++k)
                chosen.emplace_back(c, classes[c][classes[c].size() * k / std::min(blocks, classes[c].size())]);
        std::vector<int> found(chosen.size());
        const auto thin = [](std::span<const Index> numbers) {
            std::vector<Index> few;
            const std::size_t count = std::min(numbers.size(), most);
            for (std::size_t k = 0; k < count; ++k) few.push_back(numbers[numbers.size() * k / count]);
            return few;
        };
        each(chosen.size(), [&](std::size_t k, std::vector<double>&) {
            const auto [row, col] = std::pair(tree_[chosen[k].second.row], tree_[chosen[k].second.col]);
            const auto rows = thin(numbers(row.begin, row.end)), cols = thin(numbers(col.begin, col.end));
            const int limit = options_.max_rank > 0 ? options_.max_rank : profitable(rows.size(), cols.size());
            CrossApproximation cross(fill_, rows, cols, options_.pivoting);
            cross.run(cross_part * options_.epsilon, limit);
            (void)recompress(cross.factors(), svd_part(options_.epsilon) * options_.epsilon, limit);
            found[k] = cross.factors().rank;
        });
        for (std::size_t k = 0; k < chosen.size(); ++k)
            ranks[chosen[k].first] += found[k] / static_cast<double>(std::min(blocks, classes[chosen[k].first].size()));
        return ranks;
    }

    /// The blocks of rows begin … end − 1, whose costs (for progress) are as given.
    std::vector<Piece> run(const std::vector<ClusterPair>& pairs, Index begin, Index end,
                           const std::vector<double>& costs) {
        begin_ = begin;
        end_ = end;
        const double all = std::accumulate(costs.begin(), costs.end(), 0.0);
        // The largest first, so that no thread is left with one at the end.
        std::vector<std::size_t> order(pairs.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t k) { return costs[k]; });
        std::vector<std::vector<Piece>> pieces(pairs.size());
        std::atomic<double> done{0};
        each(pairs.size(), [&](std::size_t place, std::vector<double>& scratch) {
            const std::size_t k = order[place];
            const auto& [row, col, admissible] = pairs[k];
            compress(tree_[row], tree_[col], admissible, scratch, pieces[k]);
            done.fetch_add(costs[k], std::memory_order_relaxed);
            if (options_.progress && parallel_rank() == 0) options_.progress(all > 0 ? done / all : 1);
        });
        std::vector<Piece> result;
        for (auto& some : pieces)
            for (auto& piece : some) result.push_back(std::move(piece));
        return result;
    }

    Global refilled() const { return refilled_; }

private:
    std::span<const Index> numbers(Index begin, Index end) const {
        return tree_.order().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    }
    static int parallel_rank() {
#ifdef _OPENMP
        return omp_get_thread_num();
#else
        return 0;
#endif
    }

    /// work(k, scratch) for every k, dealt to threads as they are free. Rethrows what one of them threw.
    template <class Work>
    void each(std::size_t count, Work&& work) const {
        std::atomic<std::size_t> next{0};
        std::exception_ptr error;
        std::mutex mutex;
        [[maybe_unused]] const OneThreadInside libraries;
        parallel(options_.threads, [&](int, int) {
            std::vector<double> scratch;
            for (std::size_t k = next++; k < count; k = next++) try {
                    if (options_.interrupt && *options_.interrupt) throw InputError("interrupted while compressing");
                    work(k, scratch);
                } catch (...) {
                    const std::lock_guard lock(mutex);
                    if (!error) error = std::current_exception();
                    next = count;
                }
        });
        if (error) std::rethrow_exception(error);
    }

    void compress(const Cluster& s, const Cluster& t, bool admissible, std::vector<double>& filled,
                  std::vector<Piece>& out) {
        Piece piece{.row = std::max(s.begin, begin_),
                    .rows = 0,
                    .col = t.begin,
                    .cols = t.size(),
                    .rank = -1,
                    .single = false,
                    .mirrored = false,
                    .values = {},
                    .singles = {}};
        piece.rows = std::min(s.end, end_) - piece.row;
        if (piece.rows <= 0) return;
        const bool both =
            options_.symmetric && s.begin >= begin_ && s.end <= end_ && t.begin >= begin_ && t.end <= end_;
        if (both && s.begin > t.begin) return;  // its mirror image is stored
        piece.mirrored = both && s.begin < t.begin;
        const auto rows = numbers(piece.row, piece.row + piece.rows), cols = numbers(t.begin, t.end);
        const bool small = rows.size() * cols.size() <= small_block || (s.leaf() && t.leaf());
        filled.clear();
        if (admissible && small && options_.max_rank == 0) {
            filled.resize(rows.size() * cols.size());
            fill_(rows, cols, filled.data());
        }
        if (!admissible || !low_rank(rows, cols, filled, piece)) {
            if (admissible) ++refilled_;
            if (admissible && !small) {
                for (const Index u : s.leaf() ? std::vector<Index>{} : std::vector{s.sons[0], s.sons[1]})
                    for (const Index v : t.leaf() ? std::vector<Index>{} : std::vector{t.sons[0], t.sons[1]})
                        compress(tree_[u], tree_[v], true, filled, out);
                if (s.leaf())
                    for (const Index v : t.sons) compress(s, tree_[v], true, filled, out);
                if (t.leaf())
                    for (const Index u : s.sons) compress(tree_[u], t, true, filled, out);
                return;
            }
            if (filled.empty()) {
                filled.resize(rows.size() * cols.size());
                fill_(rows, cols, filled.data());
            }
            dense(rows, cols, filled, piece);
        }
        stored_ += 8 * piece.values.size() + 4 * piece.singles.size();
        if (2.0 * static_cast<double>(stored_) > options_.memory_limit)
            throw InputError(fmt::format("the blocks take more than the {:.4g} GB that a rank may have",
                                         1e-9 * options_.memory_limit));
        out.push_back(std::move(piece));
    }

    /// Whether the block has a low rank that keeps ε. All entries are in `filled`, where it is small; else they are
    /// asked for.
    bool low_rank(std::span<const Index> rows, std::span<const Index> cols, const std::vector<double>& filled,
                  Piece& piece) const {
        if (filled.empty()) return low_rank(fill_, rows, cols, sample, piece);
        const auto counted = [](std::size_t size) {
            std::vector<Index> numbers(size);
            std::iota(numbers.begin(), numbers.end(), 0);
            return numbers;
        };
        const auto entry = [&filled, m = rows.size()](Index i, Index j) {
            return filled[static_cast<std::size_t>(j) * m + static_cast<std::size_t>(i)];
        };
        return low_rank(entries(entry), counted(rows.size()), counted(cols.size()), small_block, piece);
    }

    bool low_rank(const Fill& fill, std::span<const Index> rows, std::span<const Index> cols, std::size_t verify,
                  Piece& piece) const {
        const double epsilon = options_.epsilon;
        const int most = options_.max_rank > 0 ? options_.max_rank : profitable(rows.size(), cols.size());
        CrossApproximation cross(fill, rows, cols, options_.pivoting);
        cross.run(cross_part * epsilon, most);
        for (int attempt = 0;; ++attempt) {
            if (options_.max_rank == 0 && cross.factors().rank >= most) return false;
            Factors factors = cross.factors();
            const double norm = recompress(factors, svd_part(epsilon) * epsilon, most);
            const auto seed = static_cast<std::uint64_t>(piece.row) << 32 | static_cast<std::uint64_t>(piece.col);
            const auto sampled = sampled_error(fill, rows, cols, factors, verify, seed);
            if (!std::isfinite(norm) || !std::isfinite(sampled.error)) return false;
            if (options_.max_rank == 0 && sampled.error > epsilon * sampled.norm) {
                if (attempt == 3) return false;
                cross.run(0.1 * cross_part * epsilon, most, sampled.worst_row);
                continue;
            }
            piece.rank = factors.rank;
            // Their columns have equal norms, so that this is ‖U‖ ‖V‖.
            const double rounding = 2 * unit_single * squares(factors.U);
            piece.values = std::move(factors.U);
            piece.values.insert(piece.values.end(), factors.V.begin(), factors.V.end());
            if (options_.precision == Precision::automatic && rounding <= rounding_part(epsilon) * epsilon * norm &&
                fits_single(norm, piece.values.size()))
                piece.shorten();
            return true;
        }
    }

    void dense(std::span<const Index> rows, std::span<const Index> cols, const std::vector<double>& filled,
               Piece& piece) const {
        const double norm = std::sqrt(squares(filled));
        if (!std::isfinite(norm)) not_finite(rows, cols);
        piece.single = options_.precision == Precision::automatic &&
                       unit_single <= rounding_part(options_.epsilon) * options_.epsilon &&
                       fits_single(norm, filled.size());
        if (piece.single)
            piece.singles.assign(filled.begin(), filled.end());
        else
            piece.values = filled;
    }

    [[noreturn]] void not_finite(std::span<const Index> rows, std::span<const Index> cols) const {
        double value = 0;
        for (const Index row : rows)
            for (const Index col : cols) {
                fill_({&row, 1}, {&col, 1}, &value);
                if (!std::isfinite(value))
                    throw InputError(fmt::format("the kernel is {} at points {} and {}", value, row + 1, col + 1));
            }
        throw InputError("the kernel's values are too large");
    }

    const ClusterTree& tree_;
    const Fill& fill_;
    const HMatrixOptions& options_;
    Index begin_ = 0, end_ = 0;
    std::atomic<Global> refilled_{0};
    std::atomic<std::size_t> stored_{0};
};

HMatrix::HMatrix(Comm& comm, const Geometry& geometry, const Fill& fill, const HMatrixOptions& options)
    : comm_(&comm),
      tree_(geometry, options.leaf, options.bisection),
      threads_(options.threads),
      epsilon_(options.epsilon) {
    if (!(options.epsilon > 0 && options.epsilon < 1))
        throw InputError(
            fmt::format("the tolerance of a hierarchical matrix is between 0 and 1, not {}", options.epsilon));
    if (!(options.eta > 0)) throw InputError(fmt::format("eta={}: it must be above 0", options.eta));
    const auto start = Clock::now();
    const auto pairs = block_list(tree_, options.eta);
    Compression compression(tree_, fill, options);
    std::vector<double> ranks;
    agree(comm, [&] { ranks = compression.guess_ranks(pairs); });
    const bool single =
        options.precision == Precision::automatic && unit_single <= rounding_part(options.epsilon) * options.epsilon;
    const double value_bytes = single ? 4 : 8;
    if (options.partition)
        partition_ = *options.partition;
    else
        cut_rows(pairs, ranks, value_bytes);
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
        const double rows = std::min(s.end, end) - std::max(s.begin, begin), cols = t.size();
        const bool inside = s.begin >= begin && s.end <= end && t.begin >= begin && t.end <= end;
        if (rows <= 0 || (options.symmetric && inside && s.begin > t.begin)) continue;
        own.push_back(pair);
        costs.push_back(pair.admissible ? ranks[size_class(s.size(), t.size())] * (rows + cols) : rows * cols);
        estimate.stored += value_bytes * costs.back();
    }
    estimate.peak = 2 * all_max(comm, estimate.stored);
    estimate.stored = all_sum(comm, estimate.stored);
    if (options.announce) options.announce(estimate);
    if (estimate.peak > options.memory_limit)
        throw InputError(fmt::format("compression would take about {:.3g} GB on a rank, which may have {:.3g} GB",
                                     1e-9 * estimate.peak, 1e-9 * options.memory_limit));
    std::vector<Piece> pieces;
    agree(comm, [&] { pieces = compression.run(own, begin, end, costs); });

    Global dense = 0, low_rank = 0, zero = 0, values = 0, sum = 0, singles = 0, most = 0;
    for (const auto& piece : pieces) {
        ++(piece.rank < 0 ? dense : low_rank);
        zero += piece.rank == 0;
        values += static_cast<Global>(piece.size());
        singles += static_cast<Global>(piece.singles.size());
        sum += std::max(piece.rank, 0);
        most = std::max<Global>(most, piece.rank);
        blocks_.push_back({piece.row, piece.rows, piece.col, piece.cols, piece.rank, piece.single, piece.mirrored});
    }
    agree(comm, [&] { pack(std::move(pieces)); });
    plan_exchange(blocks_);
    statistics_.dense_blocks = all_sum(comm, dense);
    statistics_.low_rank_blocks = all_sum(comm, low_rank);
    statistics_.refilled = all_sum(comm, compression.refilled());
    statistics_.zero_blocks = all_sum(comm, zero);
    statistics_.values = all_sum(comm, values);
    statistics_.ranks = all_sum(comm, sum);
    statistics_.max_rank = static_cast<int>(all_max(comm, most));
    statistics_.single = statistics_.values > 0
                             ? static_cast<double>(all_sum(comm, singles)) / static_cast<double>(statistics_.values)
                             : 0;
    double mine = static_cast<double>(values_.size());
    for (const auto& work : work_)
        for (const auto* list :
             {&work.dense_here, &work.dense_there, &work.adjoint_here, &work.adjoint_there, &work.forward, &work.sums})
            mine += static_cast<double>(list->size() * sizeof(HMatrixPanel));
    statistics_.bytes = all_sum(comm, mine);
    statistics_.largest_rank = all_max(comm, mine);
    statistics_.seconds = all_max(comm, to_seconds(Clock::now() - start));
}

/// Rows of every rank: whole leaves, at equal costs as far as that goes.
void HMatrix::cut_rows(const std::vector<ClusterPair>& pairs, const std::vector<double>& rank_by_size,
                       double value_bytes) {
    // The cost of a row as differences from the row before.
    std::vector<double> cost(static_cast<std::size_t>(tree_.size()) + 1, 0.0);
    for (const auto& [row, col, admissible] : pairs) {
        const Cluster &s = tree_[row], &t = tree_[col];
        const double rank = rank_by_size[size_class(s.size(), t.size())];
        const double per_row = value_bytes * (admissible ? rank * (1 + static_cast<double>(t.size()) / s.size())
                                                         : static_cast<double>(t.size()));
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

/// Puts the values where products will read them, each thread its own, and lists what each thread does.
void HMatrix::pack(std::vector<Piece> pieces) {
    enum Use { dense_here, dense_there, left, right_here, right_there };  // there: needs columns of other ranks
    static constexpr int order[] = {0, 2, 4, 1, 3};                       // in which a product comes to them
    struct Store {
        const Piece* piece;
        Use use;
        Index rows, cols;
        std::size_t thread = 0, at = 0;
        double bytes() const { return (piece->single ? 4.0 : 8.0) * round_up(rows, panel_rows) * cols; }
    };
    const auto threads = static_cast<std::size_t>(threads_);
    const Index begin = first_, end = begin + local_rows(), padded = round_up(local_rows(), panel_rows);
    std::vector<Store> stores;
    std::vector<double> cost(static_cast<std::size_t>(padded / panel_rows) + 1, 0.0);  // of y's panels, as differences
    const auto spend = [&](Index row, Index rows, double bytes) {
        const auto first = static_cast<std::size_t>(row / panel_rows),
                   panels = static_cast<std::size_t>(round_up(rows, panel_rows) / panel_rows);
        cost[first] += bytes / static_cast<double>(panels);
        cost[first + panels] -= bytes / static_cast<double>(panels);
    };
    double right_bytes = 0;
    for (const Piece& piece : pieces) {
        const bool there = piece.col < begin || piece.col + piece.cols > end;
        if (piece.rank == 0) continue;
        stores.push_back({&piece,
                          piece.rank > 0 ? left
                          : there        ? dense_there
                                         : dense_here,
                          piece.rows, piece.rank > 0 ? piece.rank : piece.cols});
        spend(piece.row - begin, piece.rows, stores.back().bytes());
        if (piece.rank < 0) continue;
        stores.push_back({&piece, there ? right_there : right_here, piece.cols, piece.rank});
        if (piece.mirrored) spend(piece.col - begin, piece.cols, stores.back().bytes());
        right_bytes += stores.back().bytes();
    }
    std::partial_sum(cost.begin(), cost.end(), cost.begin());
    std::partial_sum(cost.begin(), cost.end(), cost.begin());
    work_.resize(threads);
    for (std::size_t t = 0; t < threads; ++t) {
        const double wanted = cost.back() * static_cast<double>(t + 1) / static_cast<double>(threads);
        const auto cut = static_cast<Index>(std::ranges::lower_bound(cost, wanted) - cost.begin()) * panel_rows;
        work_[t].first_row = t == 0 ? 0 : work_[t - 1].end_row;
        work_[t].end_row = t + 1 == threads ? padded : std::clamp(cut, work_[t].first_row, padded);
    }
    // Vᵀx is dealt by bytes, the rest to whom the first row of y belongs.
    double done = 0;
    for (Store& store : stores) {
        if (store.use == right_here || store.use == right_there) {
            store.thread =
                std::min(threads - 1, static_cast<std::size_t>(done / right_bytes * static_cast<double>(threads)));
            done += store.bytes();
        } else {
            while (work_[store.thread].end_row <= store.piece->row - begin) ++store.thread;
        }
    }
    std::ranges::stable_sort(stores, {}, [&](const Store& store) {
        return std::tuple(store.thread, order[store.use], store.piece->single, round_up(store.rows, panel_rows),
                          store.cols);
    });
    std::size_t total = 0;
    std::map<const Piece*, std::pair<Index, Index>> products;  // where Vᵀx and Uᵀx go
    for (Store& store : stores) {
        if (&store == stores.data() || store.thread != (&store - 1)->thread) total = round_up(total, std::size_t{64});
        store.at = total;
        total += static_cast<std::size_t>(store.bytes());
    }
    for (const Piece& piece : pieces) {
        if (piece.rank == 0 || (piece.rank < 0 && !piece.mirrored)) continue;
        auto& [right, other] = products[&piece];
        right = products_;
        products_ += std::max(piece.rank, 0);
        other = products_;
        if (piece.mirrored) products_ += piece.rank > 0 ? piece.rank : piece.cols;
    }
    for (const Store& store : stores) {
        const Piece& piece = *store.piece;
        ThreadWork& own = work_[store.thread];
        const bool is_right = store.use == right_here || store.use == right_there;
        const auto [right, other] = piece.rank > 0 || piece.mirrored ? products.at(&piece) : std::pair<Index, Index>();
        const auto slab = static_cast<std::size_t>(panel_rows * store.cols) * (piece.single ? 4 : 8);
        // y += panel · (x or t at col), every thread its rows of y.
        const auto forward = [&](std::vector<HMatrixPanel> ThreadWork::* list, Index row, Index col) {
            for (auto& work : work_) {
                const Index from = std::max(row, work.first_row), to = std::min(row + store.rows, work.end_row);
                if (from < to)
                    (work.*list)
                        .push_back({store.at + static_cast<std::size_t>((from - row) / panel_rows) * slab, from,
                                    to - from, col, store.cols, piece.single});
            }
        };
        const HMatrixPanel whole{store.at,    is_right ? piece.col : piece.row, store.rows, right, store.cols,
                                 piece.single};
        if (piece.row == piece.col && piece.rank < 0)
            diagonal_.push_back({store.at, piece.row - begin, piece.rows, 0, piece.cols, piece.single});
        HMatrixPanel mirror = whole;
        mirror.col = other;
        switch (store.use) {
            case dense_here: forward(&ThreadWork::dense_here, piece.row - begin, piece.col); break;
            case dense_there: forward(&ThreadWork::dense_there, piece.row - begin, piece.col); break;
            case left: forward(&ThreadWork::forward, piece.row - begin, right); break;
            case right_here: own.adjoint_here.push_back(whole); break;
            case right_there: own.adjoint_there.push_back(whole); break;
        }
        if (!piece.mirrored) continue;
        if (is_right) {
            forward(&ThreadWork::forward, piece.col - begin, other);
            continue;
        }
        own.adjoint_here.push_back(mirror);
        if (piece.rank > 0) continue;
        // Bᵀx goes through t: these rows of y may be another thread's.
        for (auto& work : work_) {
            const Index row = piece.col - begin, from = std::max(row, work.first_row),
                        to = std::min(row + piece.cols, work.end_row);
            if (from < to) work.sums.push_back({0, from, to - from, other + from - row, 1, false});
        }
    }
    std::ranges::sort(diagonal_, {}, &HMatrixPanel::row);
    values_ = Buffer<std::byte>(total);
    parallel(threads_, [&](int t, int all) {
        for (const Store& store : stores) {
            if (static_cast<int>(store.thread) % all != t) continue;
            const auto copy = [&](auto* to, const auto* from) {
                for (Index row = 0; row < store.rows; row += panel_rows) {
                    const Index count = std::min(panel_rows, store.rows - row);
                    for (Index j = 0; j < store.cols; ++j) {
                        to = std::copy_n(from + static_cast<std::ptrdiff_t>(j) * store.rows + row, count, to);
                        to = std::fill_n(to, panel_rows - count, 0);
                    }
                }
            };
            const Piece& piece = *store.piece;
            const bool second = store.use == right_here || store.use == right_there;
            const std::size_t from =
                second ? static_cast<std::size_t>(piece.rank) * static_cast<std::size_t>(piece.rows) : 0;
            std::byte* const to = values_.data() + store.at;
            if (piece.single)
                copy(reinterpret_cast<float*>(to), piece.singles.data() + from);
            else
                copy(reinterpret_cast<double*>(to), piece.values.data() + from);
        }
    });
}

void HMatrix::plan_exchange(const std::vector<BlockInfo>& blocks) {
    const Index padded = round_up(tree_.size(), panel_rows);
    std::vector<char> needed(static_cast<std::size_t>(padded / panel_rows) + 1);
    for (const auto& block : blocks)
        if (block.rank != 0)
            std::fill_n(needed.begin() + block.col / panel_rows, round_up(block.cols, panel_rows) / panel_rows, 1);
    std::vector<std::vector<Stretch>> asked(static_cast<std::size_t>(comm_->size()));
    for (int p = 0; p < comm_->size(); ++p) {
        if (p == comm_->rank()) continue;
        auto& stretches = asked[static_cast<std::size_t>(p)];
        for (auto row = static_cast<Index>(partition_.first(p)); row < partition_.first(p + 1); row += panel_rows) {
            if (!needed[static_cast<std::size_t>(row / panel_rows)]) continue;
            if (!stretches.empty() && row - stretches.back().end < gap_worth_a_message)
                stretches.back().end = row + panel_rows;
            else
                stretches.push_back({p, row, row + panel_rows});
        }
        for (auto& stretch : stretches) {
            receives_.push_back(stretch);
            received_ += stretch.end - stretch.begin;
            stretch.rank = comm_->rank();
        }
    }
    for (const auto& stretches : all_to_all(*comm_, asked))
        sends_.insert(sends_.end(), stretches.begin(), stretches.end());
}

double HMatrix::bytes(int columns) const {
    return static_cast<double>(values_.size()) +
           8.0 * columns * (static_cast<double>(received_) + 3.0 * local_rows() + 2.0 * products_);
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
