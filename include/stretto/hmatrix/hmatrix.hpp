// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/comm/comm.hpp"
#include "stretto/core/buffer.hpp"
#include "stretto/core/scratch.hpp"
#include "stretto/hmatrix/cluster_tree.hpp"
#include "stretto/hmatrix/fill.hpp"
#include "stretto/hmatrix/low_rank.hpp"
#include "stretto/hmatrix/panel.hpp"
#include "stretto/sparse/partition.hpp"
#include "stretto/statements/multivector.hpp"

namespace stretto {

/// Numbers as short as the error bound allows, down to 8 bits (column by column of U and V); or blocks in single
/// precision where it allows, else in double; or all in double.
enum class Precision { automatic, double_only, single_or_double };
inline constexpr std::string_view precision_names[] = {"auto", "double", "single"};

/// What compression will take, told before it begins: dense blocks are counted, ranks are guessed from a sample.
struct HMatrixEstimate {
    double stored = 0;        ///< bytes on all ranks
    double peak = 0;          ///< bytes on the rank that has most, while low-rank blocks are put in order, twice there
    Global dense_blocks = 0;  ///< of the whole matrix
    Global low_rank_blocks = 0;
};

struct HMatrixOptions {
    double epsilon = 1e-6;  ///< ‖B − U Vᵀ‖ ≤ ε ‖B‖ for every block
    double eta = 2;         ///< blocks are admissible where min(diam) ≤ η·dist
    Index leaf = 64;        ///< clusters of more points are cut
    Bisection bisection = Bisection::geometric;
    Pivoting pivoting = Pivoting::aca_plus;
    bool symmetric = false;  ///< the kernel is: a block and its mirror image are stored once where one rank has both
    Precision precision = Precision::automatic;
    int max_rank = 0;                    ///< 0: what ε takes. Else blocks have at most this rank, and ε is not kept
    std::optional<Partition> partition;  ///< of another matrix on the same tree; else rows are cut by cost
    int threads = 1;
    double memory_limit = std::numeric_limits<double>::infinity();  ///< bytes on a rank
    std::function<void(const HMatrixEstimate&)> announce;           ///< called on every rank before compression
    std::function<void(double)> progress;                           ///< the fraction done, on the calling thread
    const std::atomic<bool>* interrupt = nullptr;                   ///< raise it on any rank to give up
};

/// What compression has made, over all ranks.
struct HMatrixStatistics {
    Global dense_blocks = 0, low_rank_blocks = 0;
    Global refilled = 0;     ///< low-rank blocks that were cut or filled densely, because ε was not kept
    Global zero_blocks = 0;  ///< low-rank blocks of rank 0
    Global values = 0;       ///< numbers stored
    Global ranks = 0;        ///< the sum of all
    int max_rank = 0;
    double bytes = 0;         ///< stored, descriptions of blocks included
    double largest_rank = 0;  ///< bytes on the MPI rank that has most
    double single = 0;        ///< the part of the numbers that is in single precision
    double in_16_bits = 0;    ///< in integers of 16 bits
    double in_8_bits = 0;     ///< of 8 bits
    double seconds = 0;       ///< compression, the longest of all ranks
};

/// A dense kernel matrix as hierarchical matrix (Hackbusch 1999), rows dealt to ranks by cost: blocks far from the
/// diagonal are U Vᵀ, found by adaptive cross approximation, recompressed, and verified by sampling. Vectors are
/// distributed and in cluster order: local row i is point original(i).
///
/// A product is y += B x and t = Vᵀ x for the columns that this rank has, while the other columns travel, then the same
/// for those, then y += U t (Yamazaki and others 2018, Section V). Panels lie in memory in the order they are used:
/// grouped by rows, rounded up to multiples of eight, and sorted by columns within a group. A thread writes its own
/// rows of y alone.
///
/// One of complex numbers is an operator on complex vectors as those in pairs (multivector.hpp): m of them are 2m
/// columns. Its panels have real and imaginary parts side by side, as columns of their own, and are multiplied as any
/// others.
class HMatrix {
public:
    /// Collective. Every rank has the whole geometry. Throws InputError (on every rank alike) for bad options or
    /// points, an entry that is not finite, when memory_limit would be, or is, exceeded, when interrupted. `comm` must
    /// outlive the matrix.
    HMatrix(Comm& comm, const Geometry& geometry, const Fill& fill, const HMatrixOptions& options = {});
    /// The same of complex numbers; `symmetric` says that they are equal to those of the mirror image, not conjugated.
    HMatrix(Comm& comm, const Geometry& geometry, const ComplexFill& fill, const HMatrixOptions& options = {});

    bool is_complex() const { return parts_ == 2; }

    /// Collective. y = A x for n_local × m vectors. Allocates only in the first call with a given m. Only one apply of
    /// a matrix may run at a time. Throws InputError when the shapes disagree.
    void apply(MultiVector<double> x, MultiVector<double> y) const;

    /// Collective. y = Aᵀ x, of complex values Aᴴ x, in the same way, the messages backwards; each thread sums into a
    /// vector of its own.
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const;

    /// Collective. y = A x for vectors that every rank has whole, n × m values in cluster order: each rank computes
    /// its rows and starts to all-gather them (Replicated), and with them one number of each rank, where there are
    /// such.
    [[nodiscard]] Pending start_replicated(MultiVector<double> x, MultiVector<double> y,
                                           std::span<double> numbers = {}) const;
    /// Collective. Starts to bring every rank's rows of such a vector to all ranks, and a number of each.
    [[nodiscard]] Pending start_gather(MultiVector<double> y, std::span<double> numbers = {}) const;

    /// The rows of a rank, of a vector that is whole here.
    MultiVector<double> rows_of(MultiVector<double> whole, int rank) const;

    Comm& comm() const { return *comm_; }
    const Partition& partition() const { return partition_; }
    Global rows() const { return partition_.rows(); }
    Index local_rows() const { return partition_.rows(comm_->rank()); }
    /// The point that local row i belongs to.
    Index original(Index i) const {
        return tree_.order()[static_cast<std::size_t>(first_) + static_cast<std::size_t>(i)];
    }
    const ClusterTree& tree() const { return tree_; }
    int threads() const { return threads_; }
    double epsilon() const { return epsilon_; }
    const HMatrixStatistics& statistics() const { return statistics_; }

    /// Bytes that one apply with m columns moves on this rank: all panels and the vectors.
    double bytes(int columns) const;
    /// Bytes of the matrix itself on this rank.
    double stored() const { return stored_; }
    /// Numbers of each column that a product receives from other ranks.
    Global received() const { return received_; }

    /// Collective. n × m values in the order of the points, on every rank, from this rank's rows.
    std::vector<double> gather(MultiVector<double> x) const;

    /// The dense blocks on the diagonal, in order of rows: begin (local row) and rows × rows values, column after
    /// column; of complex ones the real parts of a column, then its imaginary parts.
    struct DiagonalBlock {
        Index begin, rows;
        std::vector<double> values;
    };
    std::vector<DiagonalBlock> diagonal_blocks() const;

    /// The blocks of this rank's rows as they came out of compression: for tests and pictures.
    struct BlockInfo {
        Index row, rows, col, cols;  ///< positions in the cluster order
        int rank;                    ///< −1: dense
        bool mirrored;               ///< also used, transposed, in its mirror image's place
    };
    const std::vector<BlockInfo>& blocks() const { return blocks_; }

    /// Rows, by their positions, that travel between this rank and another for a product.
    struct RankRange {
        int rank;
        Index begin, end;  ///< end may be rounded up to whole slabs
    };
    /// What a product does on this rank, for devices that do it with the same panels: those of all threads, each whole.
    struct Steps {
        std::vector<HMatrixPanel> dense_here, dense_there;      ///< y += B x
        std::vector<HMatrixPanel> adjoint_here, adjoint_there;  ///< t = Pᵀ x
        std::vector<HMatrixPanel> forward;                      ///< y += P t
        std::vector<HMatrixPanel> sums;                         ///< y += t, without values
        Index products = 0;                                     ///< length of t
        std::span<const std::byte> values;
        std::span<const RankRange> receives, sends;
    };
    Steps steps() const;

private:
    struct Piece;
    struct PlacedPanel;
    template <class T>
    class Compression;
    class Layout;

    struct ThreadWork {
        // Here: columns of this rank only; there: others too.
        std::vector<HMatrixPanel> dense_here, dense_there, adjoint_here, adjoint_there;
        std::vector<HMatrixPanel> forward;  // from t
        std::vector<HMatrixPanel> sums;     // y += t, of mirrored dense blocks
        Index first_row = 0, end_row = 0;   // of y, local
    };
    struct Vectors {
        Buffer<double> x, y, t;
        Buffer<double> x_pairs;  // of complex values: x as dense blocks take it
        std::vector<Message> receives, sends;
    };
    struct TransposedVectors {
        struct Sums {
            Buffer<double> y, t;
            Buffer<double> products;  // of one panel
        };
        Buffer<double> x, received;
        std::vector<Sums> by_thread;
        std::vector<Message> receives, sends;
    };

    HMatrix(Comm& comm, const Geometry& geometry, const HMatrixOptions& options, Index parts);
    template <class T>
    void make(const FillOf<T>& fill, const HMatrixOptions& options);
    template <class T>
    void cut_rows(const std::vector<ClusterPair>& pairs, const Compression<T>& compression,
                  const std::vector<double>& bytes_of_row);
    template <class T>
    void pack(std::vector<Piece>& pieces, Compression<T>& compression);
    template <class T>
    bool fill_panels(std::vector<Piece>& pieces, const std::vector<PlacedPanel>& panels, Compression<T>& compression);
    void take_stock(const std::vector<Piece>& pieces, Global refilled);
    void plan_exchange(const std::vector<BlockInfo>& blocks);
    void check_shapes(MultiVector<double> x, MultiVector<double> y, Index rows) const;
    Vectors& vectors(int columns) const;
    TransposedVectors& transposed_vectors(int columns) const;
    template <class Exchange>
    void multiply(int m, MultiVector<double> x, Index first, MultiVector<double> y, Exchange&& exchange) const;

    Comm* comm_;
    Index parts_;  // real numbers that an entry is: 1, or 2
    ClusterTree tree_;
    Partition partition_{{0, 0}};
    int threads_;
    double epsilon_;
    Index first_ = 0;
    Index products_ = 0;  // length of t
    Global received_ = 0;
    HMatrixStatistics statistics_;
    double stored_ = 0;
    std::vector<BlockInfo> blocks_;
    Buffer<std::byte> values_;
    std::vector<ThreadWork> work_;
    std::vector<HMatrixPanel> diagonal_;

    std::vector<RankRange> receives_, sends_;
    Scratch<Vectors> vectors_;
    Scratch<TransposedVectors> transposed_vectors_;
    mutable std::vector<Message> gather_receives_, gather_sends_;
};

/// A hierarchical matrix for the layout of HACApK (Yamazaki and others 2018, Section III): every rank has all vectors
/// whole and repeats all vector operations, so that dot products need no reduction and the one communication is an
/// all-gather in each product. To be solved with on a communicator of this rank alone (MPI_COMM_SELF). All ranks must
/// compute alike: the same program, processor and number of threads.
class Replicated {
public:
    /// `interrupt` may be raised on any rank; `interrupted()` then is on all, after the same product.
    /// Where not `hides`, a product waits for its all-gather.
    explicit Replicated(const HMatrix& A, const std::atomic<bool>* interrupt = nullptr, bool hides = true)
        : A_(&A), raised_(interrupt), hides_(hides), flags_(static_cast<std::size_t>(A.comm().size())) {}

    void apply(MultiVector<double> x, MultiVector<double> y) const { start_apply(x, y).wait(); }
    /// The all-gather may be in flight; it must have been waited for before the next product.
    [[nodiscard]] Pending start_apply(MultiVector<double> x, MultiVector<double> y) const;
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const;
    double bytes(int columns) const { return A_->bytes(columns); }
    Index local_rows() const { return static_cast<Index>(A_->rows()); }
    const std::atomic<bool>& interrupted() const { return interrupted_; }

private:
    const HMatrix* A_;
    const std::atomic<bool>* raised_;
    bool hides_;
    mutable std::vector<double> flags_;  // of all ranks, come with the last product
    mutable std::atomic<bool> interrupted_{false};
};

}  // namespace stretto
