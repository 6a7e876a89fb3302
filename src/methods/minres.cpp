// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/minres.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {patience_option};
}  // namespace

extern const Method minres_row;
constinit const Method minres_row{
    .name = "minres",
    .title = "minimal residuals, MINRES",
    .source = "Paige and Saunders 1975",
    .classic = "minres",
    .order = 200,
    .needs = Needs::symmetric,
    .vectors = stored<5, 7>,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 2,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .run = minres<double>,
    .run_single = minres<float>,
};

}  // namespace stretto
