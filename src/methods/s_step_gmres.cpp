// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/s_step_gmres.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    {"s", 5, 1, 50, "vectors of a block", true},
    {"h", 1, 1, 50, "products for one exchange of the halo, without a preconditioner (matrix powers kernel)", true},
    restart_option,
    {"orth", 1, 0, 2, "orthogonalisation of a block", false, BlockGramSchmidt<double>::names},
    {"basis", 0, 0, 2, "of a block", false, NewtonBasis::names},
    warmup_option,
    side_option,
    patience_option,
};

int vectors(const Options& given, bool preconditioned) {
    return Arnoldi<double>::vectors(static_cast<int>(given.number("m")), preconditioned);
}
}  // namespace

extern const Method s_step_gmres_row;
constinit const Method s_step_gmres_row{
    .name = "s_step_gmres",
    .title = "s-step GMRES",
    .source = "Hoemmen 2010; Yamazaki et al. 2017, Fig. 3",
    .classic = "gmres",
    .order = 420,
    .vectors = vectors,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 0.2,  // as long as no block needs a second pass
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .steady = "warmup=2",
    .run = s_step_gmres<double>,
    .run_single = s_step_gmres<float>,
    .complex = complex_text([]<class T>(std::type_identity<T>) { return MethodText<T>(s_step_gmres<T>); }),
};

}  // namespace stretto
