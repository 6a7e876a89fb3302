// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/pipelined_bicgstab.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {check_option(50), gap_option, breakdown_option, cosine_option, patience_option};
}

extern const Method pipelined_bicgstab_row;
constinit const Method pipelined_bicgstab_row{
    .name = "pipelined_bicgstab",
    .title = "pipelined BiCGStab",
    .source = "Cools and Vanroose 2017; Krasnopolsky 2019, Algorithms 4 and 7",
    .classic = "bicgstab",
    .order = 330,
    .vectors = stored<10, 15>,
    .applies = 2,
    .preconditionings = 2,
    .reductions = 2,
    .hidden_reductions = 2,
    .hidden_reductions_preconditioned = 2,
    .options = options,
    .run = pipelined_bicgstab<double>,
    .run_single = pipelined_bicgstab<float>,
    .complex = complex_text([]<class T>(std::type_identity<T>) { return MethodText<T>(pipelined_bicgstab<T>); }),
};

}  // namespace stretto
