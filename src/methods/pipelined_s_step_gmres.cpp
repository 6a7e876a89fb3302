// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/pipelined_s_step_gmres.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    {"l", 2, 2, 10, "blocks until a reduction is waited for; one less are in flight behind products", true},
    {"t", 5, 1, 20, "vectors of a block", true},
    restart_option,
    warmup_option,
    {"basis", 0, 0, 2, "the first l t − 1 vectors", false, NewtonBasis::names},
    {"tau", 0.01, 0, 1, "entries of the change of basis below tau · ‖A‖ are left out"},
    side_option,
    patience_option,
};
}  // namespace

extern const Method pipelined_s_step_gmres_row;
constinit const Method pipelined_s_step_gmres_row{
    .name = "pipelined_s_step_gmres",
    .title = "pipelined s-step GMRES, (l,t)-GMRES",
    .source = "Yamazaki, Hoemmen, Luszczek and Dongarra 2017, Fig. 4",
    .classic = "gmres",
    .order = 430,
    .vectors = vectors_in_pipeline,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 0.2,
    .hidden_reductions = 0.2,
    .hidden_reductions_preconditioned = 0.2,
    .options = options,
    .steady = "warmup=2",
    .run = pipelined_s_step_gmres<double>,
    .run_single = pipelined_s_step_gmres<float>,
    .complex = complex_text([]<class T>(std::type_identity<T>) { return MethodText<T>(pipelined_s_step_gmres<T>); }),
};

}  // namespace stretto
