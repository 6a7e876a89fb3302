// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/improved_bicgstab.hpp"

#include "stretto/driver/registry.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {breakdown_option, patience_option(500)};
}

extern const Method improved_bicgstab_row;
constinit const Method improved_bicgstab_row{
    .name = "improved_bicgstab",
    .title = "improved BiCGStab",
    .source = "Yang and Brent 2002; Krasnopolsky 2019, Algorithm 3",
    .classic = "bicgstab",
    .positive_definite = false,
    .transpose = true,
    .vectors = 9,
    .vectors_preconditioned = 12,
    .applies = 2,
    .preconditionings = 2,
    .reductions = 1,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .run = improved_bicgstab<double>,
};

}  // namespace stretto
