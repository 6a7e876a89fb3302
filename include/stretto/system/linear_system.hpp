// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stretto/driver/solver.hpp"
#include "stretto/io/problem.hpp"
#include "stretto/io/result_json.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "stretto/sparse/csr.hpp"
#include "stretto/sparse/structure.hpp"
#include "stretto/system/advice.hpp"
#include "stretto/system/choice.hpp"
#include "stretto/system/device.hpp"
#include "stretto/system/prepare.hpp"

namespace stretto {

/// The name of a method or preconditioner that stands for what is expected to take least, and for another where that
/// turns out to be wrong (docs/choosing.md).
inline constexpr std::string_view automatic = "auto";

/// How a system is set up.
struct SystemOptions {
    std::string precond = "none";  ///< NAME[:key=value,…], see `stretto list`; auto: what is expected to take least
    std::string prepare = {};      ///< equilibrate, rcm, and metis or nonzeros, with commas between
    /// Of the null space of A, where it is singular: `auto` (constants, or constants by component, where A takes them
    /// to zero) and `constant` (the same; refused where it does not), or a Matrix Market array of vectors, is kept out
    /// of b and x; `none` leaves it there.
    std::string null_space = "auto";
    Storage storage = Storage::automatic;  ///< of the matrix, for its products
    int threads = 1;                       ///< of this rank; 0: as many as pay (default_threads)
    int columns = 1;                       ///< that will be solved for together, for the number of threads that pays
    bool insist = false;                   ///< run methods for SPD matrices also where the structure speaks against
    bool keep_entries = true;              ///< for update_values: up to 24 bytes an entry
    /// That methods run on; null: this process's threads. It must stay.
    const Device* device = nullptr;
    std::vector<std::string> methods = {};  ///< to be used: refused before the set-up where they cannot be
    Progress reading = {};                  ///< of load()
    /// For auto: what is chosen by its times, and not by times measured here, is the same in every run.
    std::optional<KnownMachine> machine = {};
    /// For auto: what trials before the choice may take, as a part of what the solve is expected to take; 0: none.
    double trial_budget = 0.05;
    /// For auto: whether the progress mode of an MpiComm is measured and set where nothing lets reductions advance, the
    /// solve is expected to wait for them, and the budget allows it.
    bool probe = false;
};

class SystemSolver;
class AutomaticSolver;
class MovedCheckpoint;

/// A x = b, from a matrix to what solves with it, as `stretto solve` does it: the structure is looked at, a negative
/// definite matrix changes its sign, rows are scaled, ordered and dealt, the preconditioner is made. None of this is
/// seen from outside: b, x, residuals and tolerances are those of the system as it was given, its rows where they were
/// given.
///
///     auto system = LinearSystem::load(comm, "poisson3d:100", {.precond = "amg"});
///     std::vector<double> b(system.local_rows(), 1.0), x(b.size());
///     auto result = system.solve(b, x, {.method = "pipelined_cg"});
///
/// All calls are collective unless said otherwise. Bad input is an InputError, the same on every rank.
class LinearSystem {
public:
    /// A generated problem, the path of a Matrix Market file, or kron:FILE,N; rows dealt evenly (load_problem).
    static LinearSystem load(Comm& comm, const std::string& name, SystemOptions options = {});

    /// This rank's rows as compressed rows; they follow those of the rank before. Row i of them has the entries
    /// start[i] … start[i + 1] − 1 at global columns, counted from 0, in any order; entries of the same place are
    /// added. Any rank may have no rows (start = {0}). What is given is copied.
    template <std::integral Offset, std::integral Column>
    static LinearSystem from_rows(Comm& comm, std::span<const Offset> start, std::span<const Column> columns,
                                  std::span<const double> values, SystemOptions options = {}) {
        return from_rows(comm, std::vector<Global>(start.begin(), start.end()),
                         std::vector<Global>(columns.begin(), columns.end()), values, std::move(options));
    }
    static LinearSystem from_rows(Comm& comm, std::vector<Global> start, std::vector<Global> columns,
                                  std::span<const double> values, SystemOptions options = {});

    /// The same of rows where they are, with 32-bit numbers; the arrays must stay, and stay as they are, as long as the
    /// system. On one rank products read them there, unless columns of a row do not increase, the diagonal is negative
    /// or options.prepare has steps: then they are copied as of from_rows.
    static LinearSystem over_rows(Comm& comm, std::span<const Index> start, std::span<const Index> columns,
                                  std::span<const double> values, SystemOptions options = {});

    /// A matrix of so many rows from entries anywhere, counted from 0, those of the same place added; rows dealt
    /// evenly.
    static LinearSystem from_entries(Comm& comm, Global rows, std::vector<Entry<double>> entries,
                                     SystemOptions options = {});

    /// Rows as readers and generators make them.
    LinearSystem(Comm& comm, DistributedRows matrix, SystemOptions options = {});

    LinearSystem(LinearSystem&&) noexcept;
    LinearSystem& operator=(LinearSystem&&) noexcept;
    ~LinearSystem();

    /// Solves for the columns of b; x holds the initial guess and returns the solution: n_local × columns, row-major.
    /// Throws InputError for wrong sizes or options, where x overlaps b, and where check(options.method) does.
    /// options.threads and options.null_space are the system's.
    Result solve(MultiVector<const double> b, MultiVector<double> x, SolveOptions options = {});
    /// The same for one column.
    Result solve(std::span<const double> b, std::span<double> x, SolveOptions options = {}) {
        return solve(MultiVector<const double>(b.data(), static_cast<Index>(b.size()), 1),
                     MultiVector<double>(x.data(), static_cast<Index>(x.size()), 1), std::move(options));
    }
    /// The same for vectors in the memory of options.device of the system, where no rows are moved (prepare).
    Result solve(const VectorsThere& b, const VectorsThere& x, SolveOptions options = {});
    /// For many solves. The system must outlive it.
    SystemSolver solver(SolveOptions options = {}, int columns = 1) &;
    SystemSolver solver(SolveOptions options = {}, int columns = 1) && = delete;

    /// What was chosen, or would be, where `auto` was asked for: the method of SolveOptions, preconditioner and steps
    /// of preparation, what was expected of it and of others, and why. A solve may change it.
    const Choice& choice() const;

    /// Collective. With `auto` as preconditioner: every candidate, the likeliest first, after a trial: so many
    /// iterations of its family's classic method from x = 0, and those that it would take at that rate down to rtol.
    /// Those that cannot be made say so in `ended`. What was chosen is as before.
    std::vector<Expectation> trials(MultiVector<const double> b, int iterations, double rtol);

    /// Not collective. Throws InputError where a method, NAME[:key=value,…], cannot be right here: it needs a symmetric
    /// matrix, a symmetric preconditioner, and what there is is not. Nothing with `insist`.
    void check(const std::string& method) const;

    /// Other values of the same entries, in the order in which they were given to the constructor on this rank (of
    /// load: by rows, then columns). The structure is looked at and the rows scaled anew, the preconditioner follows in
    /// the memory it has where it can (jacobi, block_jacobi), and is made anew else; how rows are ordered and dealt
    /// stays. What follows is, to the bit, what follows of a system made with these values in that order. References
    /// and solvers stay valid.
    void update_values(std::span<const double> values);
    /// The same from rows as from_rows takes them, with the places that they had: no entries need be kept for it.
    template <std::integral Offset, std::integral Column>
    void update_rows(std::span<const Offset> start, std::span<const Column> columns, std::span<const double> values) {
        update_rows({{start.begin(), start.end()}, {columns.begin(), columns.end()}, {values.begin(), values.end()}});
    }

    Comm& comm() const;
    int threads() const;
    /// Of b and x.
    const Partition& partition() const;
    Index local_rows() const;
    Global rows() const;
    const Structure& structure() const;
    /// Whether −A x = −b is solved, for A's diagonal is negative.
    bool negated() const;
    /// The matrix that methods multiply with: ordered, dealt, and with its sign changed where negated().
    const CsrMatrix<double>& matrix() const;
    /// What is removed; null: nothing. Its rows are those of matrix().
    const NullSpace* null_space() const;
    /// Collective. How far each column of b is outside of the range of A, relative to its length; empty: not known.
    std::vector<double> outside_range(MultiVector<const double> b) const;
    /// Of matrix(); null: none.
    const Preconditioner* preconditioner() const;
    const PartitionQuality& partition_quality() const;
    /// Seconds that the preconditioner's set-up took on this rank.
    double precond_seconds() const;

    /// What a user should know of the set-up, for solves of so many columns.
    std::vector<std::string> remarks(int columns = 1) const;
    /// What the JSON of a solve with these options tells of the system and of them.
    RunInfo info(const SolveOptions& options = {}, int columns = 1) const;

private:
    friend class SystemSolver;
    friend class AutomaticSolver;
    struct Parts;
    explicit LinearSystem(std::unique_ptr<Parts> parts);
    void update_rows(LocalRows<double> given);
    void follow(DistributedRows matrix);
    std::unique_ptr<Parts> parts_;
};

/// Solves with one system, one after the other: what a method needs is allocated once, and what it learns of A stays
/// until A's values change.
class SystemSolver {
public:
    /// Collective. As LinearSystem::solve, with the options and the number of columns given to solver(). What is
    /// returned is good until the next solve.
    const Result& solve(MultiVector<const double> b, MultiVector<double> x) { return run(b, x, false); }
    /// The same with Aᵀ. Throws InputError also where the preconditioner has no transpose.
    const Result& solve_transposed(MultiVector<const double> b, MultiVector<double> x) { return run(b, x, true); }
    /// solve for one column.
    const Result& solve(std::span<const double> b, std::span<double> x) {
        return solve(MultiVector<const double>(b.data(), static_cast<Index>(b.size()), 1),
                     MultiVector<double>(x.data(), static_cast<Index>(x.size()), 1));
    }
    const Result& solve(const VectorsThere& b, const VectorsThere& x) { return run(b, x, false); }
    const Result& solve_transposed(const VectorsThere& b, const VectorsThere& x) { return run(b, x, true); }
    /// Of the next solves.
    void set_tolerances(double rtol, double atol, int max_iterations);
    /// What to do where the last solve did not converge, the likeliest first: what Result::next has of
    /// LinearSystem::solve.
    std::vector<NextStep> next() const;

private:
    friend class LinearSystem;
    SystemSolver(LinearSystem::Parts& parts, SolveOptions options, int columns);
    std::unique_ptr<HostedSolver> made();
    const Result& run(MultiVector<const double> b, MultiVector<double> x, bool transposed);
    const Result& run(const VectorsThere& b, const VectorsThere& x, bool transposed);
    void follow_values();

    LinearSystem::Parts* parts_;
    SolveOptions options_;
    int updates_;  // of the values that the solver has seen
    int columns_;
    Tried tried_;
    std::shared_ptr<MovedCheckpoint> checkpoint_;  // where rows have moved and one was asked for
    std::shared_ptr<AutomaticSolver> automatic_;   // where something is left to be chosen
    std::unique_ptr<HostedSolver> solver_;         // where nothing is
    std::vector<double> b_, x_;                    // where rows have moved; b_ also where the sign has changed
    RowMoves::Packed packed_;
    const Result* last_ = nullptr;
};

}  // namespace stretto
