// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>

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
    EXPECT_EQ(formula_of("bicgstab", false), "18 T_vec + 2 T_SpMV + T_G(24m) + 2 T_G(8m)");          // (13)
    EXPECT_EQ(formula_of("improved_bicgstab", false), "20 T_vec + 2 T_SpMV + T_G(56m)");             // (15)
    EXPECT_EQ(formula_of("pipelined_bicgstab", false),                                               // (16)
              "26 T_vec + max(T_SpMV + γ T_G(24m), T_G(24m)) + max(T_SpMV + γ T_G(32m), T_G(32m))");
    EXPECT_EQ(formula_of("bicgstab", true), "19 T_vec + 2 T_SpMV + 2 T_prec + T_G(24m) + 2 T_G(8m)");  // (17)
    EXPECT_EQ(formula_of("reordered_bicgstab", true),                                                  // (18)
              "21 T_vec + 2 T_SpMV + max(T_prec + γ T_G(8m), T_G(8m)) + max(T_prec + γ T_G(32m), T_G(32m))");
    EXPECT_EQ(formula_of("pipelined_bicgstab", true),  // (19)
              "34 T_vec + max(T_SpMV + T_prec + γ T_G(24m), T_G(24m)) + "
              "max(T_SpMV + T_prec + γ T_G(32m), T_G(32m))");
}

// Depth l: three products, or three sums, are under way for each iteration.
TEST(Formulas, OfPipelinesKnowHowManySumsAreInFlight) {
    EXPECT_EQ(formula_of("deep_pipelined_cg:l=1", false), "11 T_vec + max(T_SpMV + γ T_G(16m), T_G(16m))");
    EXPECT_EQ(formula_of("deep_pipelined_cg:l=3", false),
              "max(17 T_vec + T_SpMV + γ T_G(32m), (17 T_vec + T_G(32m))/3)");
    EXPECT_EQ(formula_of("s_step_cg:s=4", false), "13 T_vec + T_SpMV + 0.25 T_G(904m)");
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

}  // namespace
