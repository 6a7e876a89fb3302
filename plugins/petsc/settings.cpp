// SPDX-License-Identifier: BSD-3-Clause
#include "settings.hpp"

#include <array>

namespace stretto::petsc {
namespace {
const char* const verify_names[] = {"true", "recurrence"};
const char* const progress_names[] = {"none", "poll", "thread", "library"};

bool is_a(PC pc, const char* type) {
    PetscBool same = PETSC_FALSE;
    must(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(pc), type, &same));
    return same;
}

/// Whether a smoother or an inner solver is one and the same operator in each use.
bool is_linear(KSP ksp) {
    PetscBool linear = PETSC_FALSE;
    must(PetscObjectTypeCompareAny(reinterpret_cast<PetscObject>(ksp), &linear, KSPPREONLY, KSPRICHARDSON, KSPCHEBYSHEV,
                                   ""));
    return linear;
}
}  // namespace

const char* const products_names[] = {"auto", "mult", "convert"};

void Settings::read(OptionItems PetscOptionsObject) {
    std::array<char, 512> text{};
    PetscInt products_chosen = static_cast<PetscInt>(products), verify_chosen = 0,
             progress_chosen = static_cast<PetscInt>(progress);
    PetscBool given = PETSC_FALSE, verify_given = PETSC_FALSE;
    const auto ask = [&]() -> PetscErrorCode {
        PetscOptionsHeadBegin(PetscOptionsObject, "Stretto options");
        PetscCall(PetscOptionsString("-ksp_stretto_method", "auto, or NAME[:key=value,...] as of `stretto list`", "",
                                     method.c_str(), text.data(), text.size(), &given));
        PetscCall(PetscOptionsEList("-ksp_stretto_matrix", "Whose products", "", products_names, 3,
                                    products_names[products_chosen], &products_chosen, nullptr));
        PetscCall(PetscOptionsEList("-ksp_stretto_verify", "Recompute b - Ax before a solve is said to have converged",
                                    "", verify_names, 2, "by the matrix", &verify_chosen, &verify_given));
        PetscCall(PetscOptionsEList("-ksp_stretto_progress", "How sums in flight advance", "", progress_names, 4,
                                    progress_names[progress_chosen], &progress_chosen, nullptr));
        PetscOptionsHeadEnd();
        return success;
    };
    must(ask());
    if (given) {
        if (std::string_view(text.data()).starts_with("auto:"))
            throw InputError("-ksp_stretto_method " + std::string(text.data()) +
                             ": auto takes no options; name a method, as in gmres:m=50");
        if (std::string_view(text.data()) != "auto")
            choose_method(text.data());  // throws where there is no such method
        method = text.data();
    }
    products = static_cast<Products>(products_chosen);
    progress = static_cast<ProgressMode>(progress_chosen);
    if (verify_given) verify = verify_chosen == 0 ? Verify::true_residual : Verify::recurrence;
}

void support_norms(KSP ksp, const std::string& method) {
    const bool any = method == "auto";
    const bool general = any || choose_method(method).method->needs == Needs::any;
    for (auto& sides : ksp->normsupporttable)
        for (auto& priority : sides) priority = 0;
    if (general) {
        must(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 4));
        must(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 1));
        must(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 3));
        must(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_SYMMETRIC, 1));
    }
    if (any || !general) must(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 2));
    must(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
}

bool varies(PC pc) {
    if (is_a(pc, PCKSP) || is_a(pc, PCFIELDSPLIT) || is_a(pc, PCTELESCOPE)) return true;
    if (!is_a(pc, PCMG) && !is_a(pc, PCGAMG)) return false;
    PetscInt levels = 0;
    must(PCMGGetLevels(pc, &levels));
    for (PetscInt level = 0; level < levels; ++level) {
        KSP down = nullptr, up = nullptr;
        must(PCMGGetSmootherDown(pc, level, &down));  // of level 0: the coarse solver
        if (level > 0) must(PCMGGetSmootherUp(pc, level, &up));
        if (!is_linear(down) || (up && !is_linear(up))) return true;
    }
    return false;
}

std::string automatic_method(KSP ksp) {
    Mat A = nullptr;
    must(KSPGetOperators(ksp, &A, nullptr));
    PetscBool known = PETSC_FALSE, symmetric = PETSC_FALSE, spd = PETSC_FALSE, is_spd = PETSC_FALSE;
    must(MatIsSymmetricKnown(A, &known, &symmetric));
    must(MatIsSPDKnown(A, &spd, &is_spd));
    const bool flexible = varies(ksp->pc);
    const bool preconditioned = ksp->pc_side != PC_RIGHT && ksp->normtype == KSP_NORM_PRECONDITIONED;
    if (((known && symmetric) || (spd && is_spd)) && !preconditioned) return flexible ? "flexible_cg" : "cg";
    return flexible && !preconditioned ? "gmres:flexible=1" : "bicgstab";
}

}  // namespace stretto::petsc
