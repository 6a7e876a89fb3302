// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/my_method.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
// Replace: the options of the method. Each has a name, default, range and help; patience every method has.
constexpr OptionInfo options[] = {patience_option};
}  // namespace

// Replace: all of it. The tests hold the loop to the numbers here.
extern const Method my_method_row;
constinit const Method my_method_row{
    .name = "my_method",
    .title = "conjugate gradients, to be replaced",
    .source = "Hestenes and Stiefel 1952",
    .classic = "cg",  // what goes on where this gets no further; its own name for the first of a family
    .order = 190,     // place in tables; the hundreds are the family
    .needs = Needs::positive_definite,
    .vectors = stored<3, 4>,  // beyond x and b, without and with a preconditioner
    .applies = 1,
    .preconditionings = 1,
    .reductions = 2,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .run = my_method<double>,
    .run_single = my_method<float>,
};

}  // namespace stretto
