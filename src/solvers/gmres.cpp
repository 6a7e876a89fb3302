// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/solvers/gmres.hpp"

#include "stretto/solvers/registry.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    restart_option,
    {"orth", 0, 0, 3, "orthogonalisation", false, GramSchmidt<double>::names},
    side_option,
    patience_option(10000),
};

int vectors(const Options& given, bool preconditioned) {
    return Arnoldi<double>::vectors(static_cast<int>(given.number("m")), preconditioned);
}
}  // namespace

extern const Method gmres_row;
constinit const Method gmres_row{
    .name = "gmres",
    .title = "generalised minimal residuals, restarted",
    .source = "Saad and Schultz 1986",
    .classic = "gmres",
    .positive_definite = false,
    .vectors = 32,
    .vectors_preconditioned = 33,
    .vectors_with = vectors,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 1,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .run = gmres<double>,
};

}  // namespace stretto
