// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "petsc.hpp"

namespace stretto::petsc {

/// Whose products a solve takes.
enum class Products {
    automatic,  ///< PETSc's, and those of a converted matrix where that is likely to pay
    mult,       ///< PETSc's: MatMult
    convert,    ///< those of a converted matrix
};

/// What the options of a KSP say: -ksp_stretto_NAME.
struct Settings {
    std::string method = "auto";  ///< `auto` or NAME[:key=value,…]
    Products products = Products::automatic;
    std::optional<Verify> verify;  ///< none: by the kind of the matrix
    ProgressMode progress = ProgressMode::poll;

    /// Reads them where a program calls KSPSetFromOptions.
    void read(OptionItems items);
};
extern const char* const products_names[];

/// Which norms and sides a KSP of this method has; PETSc refuses others. `auto` has all.
void support_norms(KSP ksp, const std::string& method);

/// The method for the operators of a KSP where the options name none.
std::string automatic_method(KSP ksp);

/// Whether the PC may be another operator in each use, as far as its type tells.
bool varies(PC pc);

}  // namespace stretto::petsc
