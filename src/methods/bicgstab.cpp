// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/bicgstab.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {breakdown_option, cosine_option, patience_option};
}

extern const Method bicgstab_row;
constinit const Method bicgstab_row{
    .name = "bicgstab",
    .title = "stabilised biconjugate gradients",
    .source = "van der Vorst 1992; Krasnopolsky 2019, Algorithms 2 and 5",
    .classic = "bicgstab",
    .order = 300,
    .flexible = always,
    .vectors = stored<6, 8>,
    .applies = 2,
    .preconditionings = 2,
    .reductions = 3,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .run = bicgstab<double>,
    .run_single = bicgstab<float>,
    .complex = complex_text([]<class T>(std::type_identity<T>) { return MethodText<T>(bicgstab<T>); }),
};

}  // namespace stretto
