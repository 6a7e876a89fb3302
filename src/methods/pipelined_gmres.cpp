// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/pipelined_gmres.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    {"l", 2, 1, 20, "iterations that a reduction may take: as many are in flight", true},
    restart_option,
    warmup_option,
    {"basis", 0, 0, 2, "the first l vectors", false, NewtonBasis::names},
    {"tau", 0, 0, 1, "entries of the change of basis below tau · ‖A‖ are left out"},
    side_option,
    patience_option,
};
}  // namespace

extern const Method pipelined_gmres_row;
constinit const Method pipelined_gmres_row{
    .name = "pipelined_gmres",
    .title = "pipelined GMRES of depth l, l-GMRES",
    .source = "Ghysels, Ashby, Meerbergen and Vanroose 2013; Yamazaki et al. 2017, Fig. 2",
    .classic = "gmres",
    .order = 410,
    .vectors = vectors_in_pipeline,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 1,
    .hidden_reductions = 1,
    .hidden_reductions_preconditioned = 1,
    .options = options,
    .steady = "warmup=2",
    .run = pipelined_gmres<double>,
    .run_single = pipelined_gmres<float>,
    .complex = complex_text([]<class T>(std::type_identity<T>) { return MethodText<T>(pipelined_gmres<T>); }),
};

}  // namespace stretto
