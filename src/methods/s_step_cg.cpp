// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/s_step_cg.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    {"s", 4, 1, 10, "iterations of a block, which has one reduction", true},
    interval_option,
    {"loss", 1e-10, 0, 1, "of orthogonality in a step, relative; three blocks in a row above it halve s"},
    check_option(50),
    gap_option,
    refuge_option("cg"),
    patience_option,
};
int vectors(const Options& given, bool preconditioned) {
    return 4 * static_cast<int>(given.number("s")) + 1 + preconditioned;
}
}  // namespace

extern const Method s_step_cg_row;
constinit const Method s_step_cg_row{
    .name = "s_step_cg",
    .title = "s-step conjugate gradients",
    .source = "Chronopoulos and Gear 1989",
    .classic = "cg",
    .order = 137,
    .needs = Needs::positive_definite,
    .hands_over = true,
    .vectors = vectors,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 0.25,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .steady = "lmax=NORM,loss=1",
    .run = s_step_cg<double>,
    .run_single = s_step_cg<float>,
};

}  // namespace stretto
