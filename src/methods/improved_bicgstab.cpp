// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/improved_bicgstab.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {breakdown_option, cosine_option, patience_option};
}

extern const Method improved_bicgstab_row;
constinit const Method improved_bicgstab_row{
    .name = "improved_bicgstab",
    .title = "improved BiCGStab",
    .source = "Yang and Brent 2002; Krasnopolsky 2019, Algorithm 3",
    .classic = "bicgstab",
    .order = 310,
    .transpose = true,
    .vectors = stored<9, 12>,
    .applies = 2,
    .preconditionings = 2,
    .reductions = 1,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .run = improved_bicgstab<double>,
    .run_single = improved_bicgstab<float>,
    .complex = complex_text([]<class T>(std::type_identity<T>) { return MethodText<T>(improved_bicgstab<T>); }),
};

}  // namespace stretto
