// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/solvers/pipelined_bicgstab.hpp"

#include "stretto/solvers/registry.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    {.name = "check",
     .default_value = 25,
     .minimum = 0,
     .maximum = 1e9,
     .help = "iterations between measurements of the residual gap; 0: never",
     .integral = true},
    {.name = "patience",
     .default_value = 500,
     .minimum = 1,
     .maximum = 1e9,
     .help = "iterations in which the residual must halve, or the run is given up",
     .integral = true},
};
}

extern const Method pipelined_bicgstab_row;
constinit const Method pipelined_bicgstab_row{
    .name = "pipelined_bicgstab",
    .title = "pipelined BiCGStab",
    .source = "Cools and Vanroose 2017; Krasnopolsky 2019, Algorithms 4 and 7",
    .classic = "bicgstab",
    .positive_definite = false,
    .vectors = 10,
    .vectors_preconditioned = 15,
    .applies = 2,
    .preconditionings = 2,
    .reductions = 2,
    .hidden_reductions = 2,
    .options = options,
    .run = pipelined_bicgstab<double>,
};

}  // namespace stretto
