// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/deep_pipelined_cg.hpp"

#include <limits>

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    {"l", 2, 1, deepest_pipeline, "iterations that a reduction may take, at most: as many are in flight", true},
    {"warmup", 20, 2, 1000, "iterations of CG that find the largest eigenvalue, where lmax does not give it", true},
    {"lmin", 0, 0, std::numeric_limits<double>::infinity(), "lower end of the interval of the shifts"},
    {"lmax", 0, 0, std::numeric_limits<double>::infinity(), "upper end; 0: 1.01 times the largest Ritz value"},
    {"drift", 1e-9, 0, 1, "error of a dot product known otherwise, relative, that is borne at any residual"},
    {"growth", 10, 1, std::numeric_limits<double>::infinity(),
     "growth of errors that no dot product sees, that is borne at any residual"},
    check_option(50),
    {"gap", 0.1, 0, std::numeric_limits<double>::infinity(),
     "difference of recursive and true residual, over the tolerance, that is borne"},
    {"again", 1e9, 0, 1e9, "times that columns may leave the pipeline and enter it again", true},
    refuge_option("predict_and_recompute_cg"),
    patience_option,
};

int vectors(const Options& given, bool preconditioned) {
    const int l = static_cast<int>(given.number("l"));
    return 2 * l + std::max(3, l + 1) + 1 + (preconditioned ? 4 : 0);
}
}  // namespace

extern const Method deep_pipelined_cg_row;
constinit const Method deep_pipelined_cg_row{
    .name = "deep_pipelined_cg",
    .title = "deep pipelined conjugate gradients, p(l)-CG",
    .source = "Cools, Cornelis, Ghysels and Vanroose 2019, Algorithm 1",
    .classic = "cg",
    .order = 130,
    .needs = Needs::positive_definite,
    .hands_over = true,
    .vectors = vectors,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 1,
    .hidden_reductions = 1,
    .hidden_reductions_preconditioned = 1,
    .options = options,
    .steady = "lmax=NORM,drift=1,growth=1e300,gap=1e300",
    .run = deep_pipelined_cg<double>,
    .run_single = deep_pipelined_cg<float>,
};

}  // namespace stretto
