// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/predict_and_recompute_cg.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {patience_option};
}

extern const Method predict_and_recompute_cg_row;
constinit const Method predict_and_recompute_cg_row{
    .name = "predict_and_recompute_cg",
    .title = "predict-and-recompute pipelined conjugate gradients",
    .source = "Chen and Carson 2020, PIPE-PR-CG",
    .classic = "cg",
    .order = 135,
    .needs = Needs::positive_definite,
    .vectors = stored<5, 9>,
    .applies = 2,
    .preconditionings = 2,
    .reductions = 1,
    .hidden_reductions = 1,
    .hidden_reductions_preconditioned = 1,
    .options = options,
    .run = predict_and_recompute_cg<double>,
    .run_single = predict_and_recompute_cg<float>,
};

}  // namespace stretto
