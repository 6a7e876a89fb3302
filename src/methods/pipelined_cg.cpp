// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/pipelined_cg.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    check_option(50),
    gap_option,
    {"replacements", 1e9, 0, 1e9, "times that all may be recomputed before the refuge goes on", true},
    refuge_option("cg"),
    patience_option,
};
}

extern const Method pipelined_cg_row;
constinit const Method pipelined_cg_row{
    .name = "pipelined_cg",
    .title = "pipelined conjugate gradients",
    .source = "Ghysels and Vanroose 2014, Algorithm 4",
    .classic = "cg",
    .order = 120,
    .needs = Needs::positive_definite,
    .hands_over = true,
    .vectors = stored<6, 9>,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 1,
    .hidden_reductions = 1,
    .hidden_reductions_preconditioned = 1,
    .options = options,
    .run = pipelined_cg<double>,
    .run_single = pipelined_cg<float>,
};

}  // namespace stretto
