// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/cg.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {patience_option};
}

extern const Method cg_row;
constinit const Method cg_row{
    .name = "cg",
    .title = "conjugate gradients",
    .source = "Hestenes and Stiefel 1952",
    .classic = "cg",
    .order = 100,
    .needs = Needs::positive_definite,
    .vectors = stored<3, 4>,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 2,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .run = cg<double>,
    .run_single = cg<float>,
};

}  // namespace stretto
