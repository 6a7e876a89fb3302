// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stretto/core/spec.hpp"
#include "stretto/operators/preconditioner.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {

/// A row of the table of preconditioners.
struct PreconditionerKind {
    std::string_view name;
    std::string_view title;
    std::string_view source;
    std::span<const OptionInfo> options;
    std::unique_ptr<Preconditioner> (*make)(const CsrMatrix<double>& A, const Options& options);
};

std::span<const PreconditionerKind> preconditioners();

/// The preconditioner that a specification NAME[:key=value,…] names; null for none. Throws InputError that
/// lists the names there are.
std::unique_ptr<Preconditioner> make_preconditioner(const std::string& spec, const CsrMatrix<double>& A);

}  // namespace stretto
