// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/model/fit.hpp"
#include "stretto/model/iteration.hpp"
#include "stretto/model/trial.hpp"

namespace stretto {

// The execution-time model of Krasnopolsky 2019, section 3, in its letters: p nodes, N rows, C nonzeros in a row, m
// right-hand sides, b bytes per second of a node, l bytes of a message, T seconds. Numbers in parentheses are its
// formulas.

/// A machine. Bandwidths and caches are those of a node.
struct ModelMachine {
    int ranks_per_node = 1;
    double memory_bandwidth = 0, cache = 0, cache_bandwidth = 0;
    /// Measured: bytes that are gone through again and again, and their bandwidth; in increasing order. It takes the
    /// place of the three above. `reads`: the same where nothing is written.
    std::vector<std::pair<double, double>> sweep{}, reads{};
    double kernel = 0;  ///< seconds that each pass, product and preconditioner takes besides
    /// Of a device whose loops may be one kernel: seconds of a barrier of its blocks, with the sums of dot products
    /// that it brings, and the most rows of such a loop; 0: none is.
    double barrier = 0, one_kernel_rows = 0;
    /// Seconds of a processor at each end of a message; latency and bandwidth within a node, and of the links between.
    double message = 0, node_latency = 0, node_bandwidth = 0, link_latency = 0, network_bandwidth = 0;
    bool dragonfly = false;                ///< or a fat tree with 16 nodes to a switch
    std::optional<TwoLaws> exchange{};     ///< (8); without it messages take their latency and bandwidth
    std::optional<PowerLaw> all_reduce{};  ///< (9), by nodes; without it a sum is recursive doubling

    /// Of a working set of so many bytes on a node: its part that fits the cache is moved at the cache's bandwidth.
    double b(double working_set) const;
    double b_of_reads(double working_set) const;
    double T_L(double l, int p) const;  ///< (7), (8)
    double T_G(int p, double l) const;  ///< (9)

private:
    double latency(int distance) const;  // between nodes
};

/// Bytes that one use of an operator moves, over all rows: for any number of columns, and for each column besides. It
/// waits for so many reductions.
struct Moved {
    double once = 0, column = 0;
    int passes = 1, reductions = 0;
    double operator()(int m) const { return once + m * column; }
};

/// How a rank hangs together with others.
struct Boundary {
    double rows = 0;       ///< of the rank
    double interface = 0;  ///< of these, those that need values of other ranks
    double halo = 0;       ///< values of other ranks that it needs
    double message = 0;    ///< rows in its longest message
    int neighbours = 0;
};

/// A system to be solved: what its products and its preconditioner move.
struct ModelSystem {
    double N = 0, C = 0;
    double stored = 0;  ///< bytes of matrix and preconditioner
    Moved product{}, preconditioner{};
    bool rows_on = false;   ///< whether the preconditioner hands its rows on (trace_iteration)
    bool diagonal = false;  ///< whether it is a diagonal, or none
    std::function<Boundary(int ranks)> boundary;
    /// Where the machine is this one: what the parts take on its ranks beside so many vectors, measured. They take the
    /// place of (7), (9), (14) and the preconditioner's account, on one number of nodes.
    std::function<const TrialTimes&(int vectors)> trial{};

    /// As the paper has it: (3), where x is read again for every nonzero, and (14), where all of a product hides the
    /// exchange, of which l in (8) is all that a rank receives where ranks are few: the same on any number of nodes.
    ModelSystem published() const;
};

/// Seconds of an iteration, and of what. They add up to it.
struct IterationTime {
    double vectors = 0, products = 0, exchanges = 0, preconditioner = 0, sums = 0;  ///< of the last: what is not hidden
    double total() const { return vectors + products + exchanges + preconditioner + sums; }
};

class ExecutionTime {
public:
    /// γ: what of a sum behind work remains, from 0 (all is hidden) to 1 (nothing is).
    ExecutionTime(ModelMachine machine, ModelSystem system, int m, double gamma)
        : machine_(std::move(machine)), system_(std::move(system)), m_(m), gamma_(gamma) {}

    /// T(p) of a method, (13) to (19) where it is one of the paper's.
    IterationTime operator()(const MethodIteration& iteration, int p) const;

    /// The terms, for a method that stores so many vectors beyond x and b.
    double T_vec(int p, int vectors) const;   ///< (6)
    double T_mul(int p, int vectors) const;   ///< (4)
    double T_SpMV(int p, int vectors) const;  ///< (14)
    double T_prec(int p, int vectors) const;
    double T_G(int p, int k, int vectors) const;  ///< of k dot products

    /// (21): N m / p at which a sum takes as long as a vector's pass. Methods that hide or avoid sums pay below.
    double range_of_optimality(int p, int vectors) const;

private:
    double working_set(int p, int vectors) const;
    double b(int p, int vectors) const { return machine_.b(working_set(p, vectors)); }
    double pass_time(const MethodIteration& iteration, const MethodIteration::Event& event, int p) const;
    bool is_one_kernel(const MethodIteration& iteration, int p) const;
    IterationTime in_one_kernel(const MethodIteration& iteration) const;

    ModelMachine machine_;
    ModelSystem system_;
    int m_;
    double gamma_;
};

}  // namespace stretto
