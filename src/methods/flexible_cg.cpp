// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/flexible_cg.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    {"m", 1, 1, most_directions, "last directions that the next one is made conjugate to", true},
    patience_option,
};

int vectors(const Options& given, bool preconditioned) {
    return 2 * static_cast<int>(given.number("m")) + 3 + (preconditioned ? 1 : 0);
}
}  // namespace

extern const Method flexible_cg_row;
constinit const Method flexible_cg_row{
    .name = "flexible_cg",
    .title = "flexible conjugate gradients, FCG(m)",
    .source = "Notay 2000, Algorithm 2.1",
    .classic = "flexible_cg",
    .order = 140,
    .needs = Needs::positive_definite,
    .flexible = always,
    .vectors = vectors,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 2,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .run = flexible_cg<double>,
    .run_single = flexible_cg<float>,
};

}  // namespace stretto
