// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/core/error.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

class HMatrix;

/// Vectors in the memory of a device: rows × columns, row-major, from an address that only the device follows.
struct VectorsThere {
    std::uintptr_t address = 0;
    Index rows = 0;
    int columns = 1;

    std::size_t size() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }
};

/// What is in flight behind dot products and updates while a product with replicated vectors ends, where the method has
/// any (pipelined_bicgstab): nothing; the copies from devices to the host; or the all-gather between hosts, behind the
/// copies (Yamazaki and others 2018, Section VII: block, pipe1, pipe2).
enum class Hiding : std::uint8_t { nothing, copies, gather };
inline constexpr std::string_view hiding_names[] = {"block", "pipe1", "pipe2"};

inline constexpr int most_devices = 16;  // of a rank

/// Where the vectors of a dense system are.
struct DenseLayout {
    bool replicated = false;         ///< whole on every rank (Replicated in hmatrix.hpp), not their rows of it
    int devices = 1;                 ///< of each rank: several take vectors that are replicated
    bool shared = false;             ///< these devices share the rows of vectors; otherwise each has, and does, all
    Hiding hiding = Hiding::gather;  ///< of replicated vectors
};

/// Solves for vectors of this process, wherever it computes.
class HostedSolver {
public:
    virtual ~HostedSolver() = default;
    /// Collective. As Solver::solve and, for `transposed`, solve_transposed.
    virtual const Result& solve(MultiVector<const double> b, MultiVector<double> x, bool transposed) = 0;
    /// The same for vectors in the memory of the device that it computes on, with −b for b where `negated`. b stays as
    /// it is; what others do there is waited for. Throws InputError, on every rank alike, where they are not there.
    virtual const Result& solve_there(const VectorsThere& /*b*/, const VectorsThere& /*x*/, bool /*negated*/,
                                      bool /*transposed*/) {
        throw InputError("vectors on a device are for sparse systems that are solved there (--device)");
    }
    virtual void set_tolerances(double rtol, double atol, int max_iterations) = 0;
    virtual void forget() = 0;
};

/// A product with a hierarchical matrix on a device, by one of the schemes of batched kernels.
struct BatchedProduct {
    std::string_view where;  ///< in Yamazaki and others (2018); empty: ours
    std::string_view scheme;
    bool disjoint;         ///< rows of y; otherwise sums are atomic
    std::size_t launches;  ///< of kernels
    double seconds;        ///< the fastest
    std::vector<double> y;
};

/// What a method can run on beside this process's threads: devices are in `device`, tasks in `tasks`.
class Device {
public:
    virtual ~Device() = default;
    virtual std::string_view name() const = 0;
    /// What it is, in a few words.
    virtual std::string title() const = 0;
    /// How it was asked for on the command line.
    virtual std::string asked() const { return "--device " + std::string(name()); }
    /// Whether it computes here, so that all that prepares a system is as without it.
    virtual bool is_host() const { return false; }
    /// Into how many parts the rows of a rank with so many threads are dealt.
    virtual int parts(int threads) const { return threads; }
    /// Collective. Throws InputError, on every rank alike, where it does not have this preconditioner of A,
    /// NAME[:key=value,…], and says what to ask for instead.
    virtual void check(const std::string& precond, const CsrMatrix<double>& A) const = 0;
    /// Collective. The matrix and a preconditioner (null: none) of a kind that passed check() are brought to the device
    /// as they are now; both must stay. Throws InputError as Solver does.
    virtual std::unique_ptr<HostedSolver> solver(const CsrMatrix<double>& A, const Preconditioner* M, int columns,
                                                 const SolveOptions& options) const = 0;
};

/// A device with a memory of its own, which has hierarchical matrices, too.
class Accelerator : public Device {
public:
    using Device::solver;
    /// Of those of its kind that this process could have, the one that it has.
    virtual int number() const = 0;
    /// Memory for so many doubles, zeros at first, until its last owner goes. Throws std::bad_alloc.
    virtual std::shared_ptr<void> memory(std::size_t values) const = 0;
    /// Copies of so many doubles, to it, from it and inside of it, that are there when these return.
    virtual void send(const double* from, void* to, std::size_t values) const = 0;
    virtual void bring(const void* from, double* to, std::size_t values) const = 0;
    virtual void copy(const void* from, void* to, std::size_t values) const = 0;
    /// As solver() of a sparse matrix, with a hierarchical one, in its order. The preconditioner is one that passed
    /// check_hierarchical(). Several devices of a rank have no transposed products: InputError.
    virtual std::unique_ptr<HostedSolver> solver(const HMatrix& A, const Preconditioner* M, const DenseLayout& layout,
                                                 int columns, const SolveOptions& options) const = 0;
    /// Not collective. Throws InputError where it does not have this preconditioner for hierarchical matrices.
    virtual void check_hierarchical(const std::string& precond) const = 0;

    /// Collective. Times y = A x, n_local × columns values, by every scheme, or `ours` alone, so many times.
    virtual std::vector<BatchedProduct> compare_batches(const HMatrix& A, const std::vector<double>& x, int columns,
                                                        int repeats, bool ours) const = 0;
    /// Bytes per second of a triad, the fastest of so many.
    virtual double triad(std::size_t values, int repeats) const = 0;
};

}  // namespace stretto
