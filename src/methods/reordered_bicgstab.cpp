// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/reordered_bicgstab.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {{"refresh",
                                   20,
                                   0,
                                   1e9,
                                   "iterations between recomputations of the preconditioned residual; 0: never",
                                   true,
                                   {},
                                   true},
                                  breakdown_option,
                                  cosine_option,
                                  patience_option};
}

extern const Method reordered_bicgstab_row;
constinit const Method reordered_bicgstab_row{
    .name = "reordered_bicgstab",
    .title = "reordered BiCGStab",
    .source = "Krasnopolsky 2010; Krasnopolsky 2019, Algorithm 6",
    .classic = "bicgstab",
    .order = 320,
    .vectors = stored<6, 10>,
    .applies = 2,
    .preconditionings = 2,
    .reductions = 2,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 2,
    .options = options,
    .run = reordered_bicgstab<double>,
    .run_single = reordered_bicgstab<float>,
    .complex = complex_text([]<class T>(std::type_identity<T>) { return MethodText<T>(reordered_bicgstab<T>); }),
};

}  // namespace stretto
