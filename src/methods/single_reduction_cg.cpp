// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/single_reduction_cg.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {patience_option};
}

extern const Method single_reduction_cg_row;
constinit const Method single_reduction_cg_row{
    .name = "single_reduction_cg",
    .title = "conjugate gradients with one reduction per iteration",
    .source = "Chronopoulos and Gear 1989",
    .classic = "cg",
    .order = 110,
    .needs = Needs::positive_definite,
    .vectors = stored<4, 5>,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 1,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .run = single_reduction_cg<double>,
    .run_single = single_reduction_cg<float>,
};

}  // namespace stretto
