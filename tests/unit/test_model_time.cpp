// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "stretto/core/error.hpp"
#include "stretto/driver/registry.hpp"
#include "stretto/model/execution_time.hpp"
#include "stretto/model/matrix.hpp"

using namespace stretto;

namespace {

std::string formula_of(const std::string& method, bool preconditioned) {
    return formula(trace_iteration(method, Formulation::merged, preconditioned));
}

// Krasnopolsky 2019, symbol by symbol.
TEST(Formulas, OfBicgstabMethodsAreThoseOfThePaper) {
    EXPECT_EQ(formula_of("bicgstab", false), "18 T_vec + 2 T_SpMV + T_G(24m) + 2 T_G(8m)");  // (13)
    EXPECT_EQ(formula_of("improved_bicgstab", false), "20 T_vec + 2 T_SpMV + T_G(56m)");     // (15)
    EXPECT_EQ(formula_of("pipelined_bicgstab", false),                                       // (16)
              "26 T_vec + max(T_SpMV + γ T_G(24m), T_G(24m)) + max(T_SpMV + γ T_G(32m), T_G(32m))");
    EXPECT_EQ(formula_of("bicgstab", true), "19 T_vec + 2 T_SpMV + 2 T_prec + T_G(24m) + 2 T_G(8m)");  // (17)
    EXPECT_EQ(formula_of("reordered_bicgstab", true),                                                  // (18)
              "21 T_vec + 2 T_SpMV + max(T_prec + γ T_G(8m), T_G(8m)) + max(T_prec + γ T_G(32m), T_G(32m))");
    EXPECT_EQ(formula_of("pipelined_bicgstab", true),  // (19)
              "34 T_vec + max(T_SpMV + T_prec + γ T_G(24m), T_G(24m)) + "
              "max(T_SpMV + T_prec + γ T_G(32m), T_G(32m))");
}

// A preconditioner that keeps its rows to itself: its result is read again.
TEST(Formulas, KnowWhetherRowsAreHandedOn) {
    const auto vectors = [](bool rows_on) {
        double sum = 0;
        for (const auto& event : trace_iteration("cg", Formulation::merged, true, rows_on).events) sum += event.vectors;
        return sum;
    };
    EXPECT_GT(vectors(false), vectors(true));
}

// Depth l: three products, or three sums, are under way for each iteration.
TEST(Formulas, OfPipelinesKnowHowManySumsAreInFlight) {
    EXPECT_EQ(formula_of("deep_pipelined_cg:l=1", false), "11 T_vec + max(T_SpMV + γ T_G(16m), T_G(16m))");
    EXPECT_EQ(formula_of("deep_pipelined_cg:l=3", false),
              "max(17 T_vec + T_SpMV + γ T_G(32m), (17 T_vec + T_G(32m))/3)");
    EXPECT_EQ(formula_of("s_step_cg:s=4", false), "13 T_vec + T_SpMV + 0.25 T_G(904m)");
    for (const auto* spec : {"gmres:m=5", "gmres:m=300", "pipelined_gmres:l=4,m=60", "pipelined_s_step_gmres:t=3,l=2",
                             "deep_pipelined_cg:l=10", "s_step_cg:s=10", "pipelined_s_step_cg:s=2"})
        EXPECT_NO_THROW((void)formula_of(spec, true)) << spec;
    EXPECT_THROW((void)formula_of("cg:l=2", false), InputError);
}

// What the model is made of is what `stretto list` shows.
TEST(Formulas, AreMadeOfWhatIterationsCost) {
    for (const Method* method : methods())
        for (const bool preconditioned : {false, true})
            for (const auto formulation : {Formulation::merged, Formulation::basic}) {
                const std::string name(method->name);
                const auto traced = trace_iteration(name, formulation, preconditioned);
                const auto cost = iteration_cost(name, formulation, preconditioned);
                double vectors = 0, products = 0, preconditioners = 0;
                for (const auto& event : traced.events) {
                    vectors += event.vectors;
                    if (event.kind == Step::product) products += event.count;
                    if (event.kind == Step::preconditioner) preconditioners += event.count;
                }
                const double n = traced.iterations;
                if (n >= 30) continue;  // a cycle, of which the counts of one iteration leave the restart out
                EXPECT_NEAR(products / n, cost.applies, 1e-9) << name << preconditioned;
                EXPECT_NEAR(preconditioners / n, cost.preconditionings, 1e-9) << name << preconditioned;
                EXPECT_NEAR(traced.sums() / n, cost.reductions, 1e-9) << name << preconditioned;
                EXPECT_NEAR(vectors / n, cost.vector_reads + cost.vector_writes, 1e-9) << name << preconditioned;
            }
}

// ---- times ----

/// Lomonosov with one bandwidth, as formulas (13) to (19) have it, and laws (8) and (10).
ModelMachine lomonosov(double bandwidth) {
    return {.ranks_per_node = 8,
            .memory_bandwidth = bandwidth,
            .cache_bandwidth = bandwidth,
            .exchange = TwoLaws{2048, {2.4e-6, 6.9e-8, 0.56}, {3.2e-6, 2e-9, 1}},
            .all_reduce = PowerLaw{3.5e-6, 1.7e-6, 0.21, 0.54}};
}

/// The six of the paper, with cost:K for their preconditioner.
struct Six {
    explicit Six(double alpha) : matrix("poisson2d:1000"), plain(matrix.system("none", Storage::compressed_rows)) {
        with_M = matrix.system(fmt::format("cost:{}", alpha), Storage::compressed_rows);
    }
    ModelMatrix matrix;
    ModelSystem plain, with_M;
};

double max_of(double calc, double gamma, double G) { return std::max(calc + gamma * G, G); }  // (12)

// The formulas of the paper, typed in, against what the texts of the methods give.
TEST(Times, AreThoseOfFormulas13To19) {
    constexpr double b = 32e9, N = 1e6, alpha = 20;
    const Six six(alpha);
    const auto merged = [](const char* method, bool M) { return trace_iteration(method, Formulation::merged, M); };
    for (const int m : {1, 4, 16})
        for (const double gamma : {0.0, 0.5, 1.0})
            for (const int p : {1, 2, 16, 128, 1024}) {
                const double C = six.plain.C;
                const ExecutionTime T(lomonosov(b), six.plain.published(), m, gamma);
                const ExecutionTime TM(lomonosov(b), six.with_M.published(), m, gamma);
                const double V = 8 * N * m / (b * p), mul = N * (8 * m * (C + 1) + 4 * (3 * C + 1)) / (b * p);
                const double L = 3.2e-6 + 2e-9 * 8 * m * 2000;  // two lines of the grid
                const double A = std::max(mul, L), P = alpha * V;
                const auto G = [&](int k) { return 3.5e-6 + 1.7e-6 * std::pow(8.0 * m * k, 0.21) * std::pow(p, 0.54); };
                const auto is = [&](const ExecutionTime& of, const char* method, bool M, double expected) {
                    EXPECT_NEAR(of(merged(method, M), p).total() / expected, 1, 2e-3) << method << M << " on " << p;
                };
                is(T, "bicgstab", false, 18 * V + 2 * A + G(3) + 2 * G(1));
                is(T, "improved_bicgstab", false, 20 * V + 2 * A + G(7));
                is(T, "pipelined_bicgstab", false, 26 * V + max_of(A, gamma, G(3)) + max_of(A, gamma, G(4)));
                is(TM, "bicgstab", true, 19 * V + 2 * A + 2 * P + G(3) + 2 * G(1));
                is(TM, "reordered_bicgstab", true, 21 * V + 2 * A + max_of(P, gamma, G(1)) + max_of(P, gamma, G(4)));
                is(TM, "pipelined_bicgstab", true, 34 * V + max_of(A + P, gamma, G(3)) + max_of(A + P, gamma, G(4)));
            }
}

// Tables 5 and 6, the columns of the model, in seconds: BiCGStab, Improved, Pipelined, then with a copy for M. The
// bandwidths are the ones with which they were computed, as near as their digits tell: Table A.7 has 32 and 60 GB/s.
TEST(Times, AreThoseOfTables5And6) {
    struct Row {
        double bandwidth;
        int m;
        std::array<double, 6> printed;
    };
    const ModelMatrix matrix("poisson3d:200");
    const auto plain = matrix.system("none", Storage::compressed_rows).published();
    const auto copy = matrix.system("cost:2", Storage::compressed_rows).published();
    for (const auto& row :
         {Row{33.85e9, 1, {0.106, 0.109, 0.12, 0.115, 0.119, 0.143}},
          Row{33.85e9, 4, {0.3, 0.32, 0.36, 0.34, 0.35, 0.45}},
          Row{62.5e9, 1, {0.057, 0.059, 0.065, 0.062, 0.064, 0.077}},
          Row{62.5e9, 4, {0.16, 0.17, 0.19, 0.18, 0.19, 0.24}}, Row{62.5e9, 16, {0.59, 0.62, 0.71, 0.66, 0.7, 0.9}}}) {
        const ExecutionTime T(lomonosov(row.bandwidth), plain, row.m, 1), TM(lomonosov(row.bandwidth), copy, row.m, 1);
        int k = 0;
        for (const bool M : {false, true})
            for (const auto* method :
                 {"bicgstab", M ? "reordered_bicgstab" : "improved_bicgstab", "pipelined_bicgstab"}) {
                const double seconds = (M ? TM : T)(trace_iteration(method, Formulation::merged, M), 1).total();
                EXPECT_NEAR(seconds / row.printed[static_cast<std::size_t>(k++)], 1, 0.03)
                    << method << M << ", m = " << row.m << ", " << row.bandwidth;
            }
    }
}

// Where sums take longest, a pipeline of depth l has l of them under way.
TEST(Times, OfPipelinesFallWithTheirDepth) {
    const ModelMatrix matrix("poisson2d:200");
    auto slow = lomonosov(32e9);
    slow.all_reduce = PowerLaw{1e-2, 0, 0, 0};
    const ExecutionTime T(slow, matrix.system("none", Storage::compressed_rows), 1, 0);
    for (const int l : {1, 2, 3, 5}) {
        const auto iteration = trace_iteration(fmt::format("deep_pipelined_cg:l={}", l), Formulation::merged, false);
        EXPECT_NEAR(T(iteration, 64).total() / (1e-2 / l), 1, 0.02) << l;
    }
    const ExecutionTime all(slow, matrix.system("none", Storage::compressed_rows), 1, 1);
    EXPECT_GT(all(trace_iteration("deep_pipelined_cg:l=3", Formulation::merged, false), 64).total(), 1e-2);
}

// A device whose small loops are one kernel: its barriers, and its bytes at one bandwidth, are counted by hand.
TEST(Times, OfLoopsThatAreOneKernelAreBarriersAndBytes) {
    constexpr double b = 4e12, barrier = 4e-6, kernel = 5e-6;
    ModelMachine device{.memory_bandwidth = b,
                        .cache_bandwidth = b,
                        .kernel = kernel,
                        .node_bandwidth = 1e10,
                        .all_reduce = PowerLaw{1e-5, 0, 0, 0}};
    const ModelMatrix matrix("poisson3d:50");
    const auto plain = matrix.system("none", Storage::automatic), jacobi = matrix.system("jacobi", Storage::automatic),
               ilu = matrix.system("block_jacobi:ilu0", Storage::automatic);
    const auto traced = [](const char* method, bool M) { return trace_iteration(method, Formulation::merged, M); };
    const auto seconds = [&](const ModelSystem& system, const char* method, int m = 1) {
        return ExecutionTime(device, system, m, 0)(traced(method, &system != &plain), 1).total();
    };
    const double cg = seconds(plain, "cg"), gmres = seconds(plain, "gmres"), with_ilu = seconds(ilu, "cg"),
                 two_columns = seconds(plain, "cg", 2);
    device.barrier = barrier;
    device.one_kernel_rows = 1e5;
    EXPECT_EQ(seconds(plain, "cg"), cg) << "too many rows";
    device.one_kernel_rows = 2e5;
    EXPECT_EQ(seconds(plain, "gmres"), gmres) << "a loop that is never one kernel";
    EXPECT_EQ(seconds(ilu, "cg"), with_ilu) << "a preconditioner that is no diagonal";
    EXPECT_EQ(seconds(plain, "cg", 2), two_columns) << "several columns";
    const double N = plain.N, vector = 8 * N / b, product = (12 * plain.C + 16) * N / b;
    const auto vectors = [&](const char* method) {
        double all = 0;
        for (const auto& event : traced(method, false).events) all += event.vectors;
        return all * vector;
    };
    EXPECT_NEAR(seconds(plain, "cg") / (3 * barrier + product + vectors("cg")), 1, 1e-12);
    EXPECT_NEAR(seconds(plain, "pipelined_cg") / (2 * barrier + product + vectors("pipelined_cg")), 1, 1e-12);
    EXPECT_NEAR(seconds(plain, "bicgstab") / (5 * barrier + 2 * product + 18 * vector), 1, 1e-3);
    EXPECT_GT(seconds(jacobi, "cg"), seconds(plain, "cg"));
    device.ranks_per_node = 2;
    EXPECT_GT(seconds(plain, "cg"), 3 * kernel) << "two ranks launch kernels";
}

TEST(Machine, MovesWhatFitsItsCacheAtTheCachesBandwidth) {
    ModelMachine machine{.memory_bandwidth = 10e9, .cache = 1e6, .cache_bandwidth = 40e9};
    EXPECT_DOUBLE_EQ(machine.b(1e5), 40e9);
    EXPECT_DOUBLE_EQ(machine.b(2e6), 1 / (0.5 / 40e9 + 0.5 / 10e9));
    machine.sweep = {{1e5, 100e9}, {1e7, 10e9}};
    EXPECT_DOUBLE_EQ(machine.b(1e3), 100e9);
    EXPECT_DOUBLE_EQ(machine.b(1e9), 10e9);
    EXPECT_NEAR(machine.b(1e6) / std::sqrt(1e21), 1, 1e-12);
}

// Without a law a sum takes a step for each doubling of the ranks, within the node and beyond.
TEST(Machine, AddsUpByDoublingWhereNoLawIsKnown) {
    const ModelMachine machine{.ranks_per_node = 4,
                               .message = 1e-6,
                               .node_latency = 1e-6,
                               .node_bandwidth = 1e30,
                               .link_latency = 1e-6,
                               .network_bandwidth = 1e30};
    EXPECT_NEAR(machine.T_G(1, 8), 6e-6, 1e-15);
    EXPECT_NEAR(machine.T_G(2, 8), 10e-6, 1e-15);
    EXPECT_NEAR(machine.T_G(16, 8), 6e-6 + 4 * 4e-6, 1e-15);
    EXPECT_NEAR(machine.T_G(32, 8), 6e-6 + 4 * 4e-6 + 6e-6, 1e-15);
}

TEST(Matrix, KnowsTheBoundaryOfARank) {
    const ModelMatrix matrix("poisson2d:1000");
    const auto few = matrix.boundary(8), many = matrix.boundary(8192);
    EXPECT_EQ(few.rows, 125000);
    EXPECT_EQ(few.interface, 2000);
    EXPECT_EQ(few.halo, 2000);
    EXPECT_EQ(few.message, 1000);
    EXPECT_EQ(few.neighbours, 2);
    EXPECT_EQ(many.interface, many.rows);
    EXPECT_GT(many.neighbours, 2);
    EXPECT_LE(many.message, 123);
    EXPECT_EQ(matrix.boundary(1).neighbours, 0);
}

TEST(Matrix, MovesWhatProductsAndPreconditionersMove) {
    const ModelMatrix matrix("poisson2d:100");
    const auto system = matrix.system("jacobi", Storage::compressed_rows);
    EXPECT_EQ(system.N, 10000);
    EXPECT_DOUBLE_EQ(system.C, 4.96);
    EXPECT_NEAR(system.product(1), 12 * 49600 + 4 * 10001 + 16 * 10000, 1);
    EXPECT_NEAR(system.product(3) - system.product(2), 16 * 10000, 1);
    EXPECT_NEAR(system.preconditioner(1), 24 * 10000, 1);
    EXPECT_EQ(matrix.system("cost:6", Storage::compressed_rows).preconditioner(2), 12.0 * 8 * 10000);
    EXPECT_LT(matrix.system("none", Storage::automatic).product(1), system.product(1));
    EXPECT_THROW((void)matrix.system("cost:3", Storage::automatic), InputError);
    EXPECT_THROW((void)matrix.system("nothing", Storage::automatic), InputError);
    EXPECT_THROW(ModelMatrix("nowhere.mtx"), InputError);
}

}  // namespace
