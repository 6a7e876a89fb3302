// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/pipelined_s_step_cg.hpp"

#include <algorithm>

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    {"s", 4, 1, 10, "iterations of a block, which has one reduction", true},
    {"l", 1, 1, most_products_ahead, "products of a block, at most s, that its reduction hides behind", true},
    interval_option,
    {"loss", 1e-10, 0, 1,
     "of orthogonality in a step, relative; after three blocks in a row above it all is recomputed"},
    {"drift", 1e-10, 0, 1, "asymmetry of products, relative, above which all is recomputed"},
    check_option(50),
    gap_option,
    refuge_option("s_step_cg"),
    patience_option,
};
int vectors(const Options& given, bool preconditioned) {
    const int s = static_cast<int>(given.number("s")), l = std::min(s, static_cast<int>(given.number("l")));
    return preconditioned ? (2 * l + 4) * s + 3 * (s + l) + l + 1 : (l + 3) * s + 2 * (s + l);
}
}  // namespace

extern const Method pipelined_s_step_cg_row;
constinit const Method pipelined_s_step_cg_row{
    .name = "pipelined_s_step_cg",
    .title = "pipelined s-step conjugate gradients",
    .source = "Tiwari and Vadhiyar 2021",
    .classic = "cg",
    .order = 138,
    .needs = Needs::positive_definite,
    .hands_over = true,
    .vectors = vectors,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 0.25,
    .hidden_reductions = 0.25,
    .hidden_reductions_preconditioned = 0.25,
    .options = options,
    .steady = "lmax=NORM,loss=1,drift=1",
    .run = pipelined_s_step_cg<double>,
    .run_single = pipelined_s_step_cg<float>,
};

}  // namespace stretto
