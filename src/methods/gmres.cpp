// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/methods/gmres.hpp"

#include "stretto/methods/method.hpp"

namespace stretto {
namespace {
constexpr OptionInfo options[] = {
    restart_option,
    {"orth", 0, 0, 3, "orthogonalisation", false, GramSchmidt<double>::names},
    side_option,
    {"flexible", 0, 0, 1, "1: the preconditioner may be another one in each use", true},
    {"basis", 0, 0, 1, "single: all vectors of a cycle in single precision, as by refine", false, precisions},
    patience_option,
};

int vectors(const Options& given, bool preconditioned) {
    const int m = static_cast<int>(given.number("m"));
    return Arnoldi<double>::vectors(m, preconditioned) + (preconditioned && given.number("flexible") > 0 ? m : 0);
}
bool flexible(const Options& given) { return given.number("flexible") > 0; }
}  // namespace

extern const Method gmres_row;
constinit const Method gmres_row{
    .name = "gmres",
    .title = "generalised minimal residuals, restarted",
    .source = "Saad and Schultz 1986",
    .classic = "gmres",
    .order = 400,
    .flexible = flexible,
    .vectors = vectors,
    .applies = 1,
    .preconditionings = 1,
    .reductions = 31. / 30,
    .hidden_reductions = 0,
    .hidden_reductions_preconditioned = 0,
    .options = options,
    .run = gmres<double>,
    .run_single = gmres<float>,
    .complex = complex_text([]<class T>(std::type_identity<T>) { return MethodText<T>(gmres<T>); }),
};

}  // namespace stretto
