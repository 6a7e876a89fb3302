// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/sparse/csr.hpp"

namespace stretto {
namespace {

constexpr std::array<std::string_view, 5> on_devices{"none", "jacobi", "chebyshev", "block_jacobi", "amg"};

}  // namespace

void check_preconditioner(std::string_view device, const std::string& precond, const CsrMatrix<double>& A) {
    const auto refuse = [&](const std::string& why, const std::string& instead) {
        throw InputError(fmt::format("--precond {} is not there on the device {}{}: ask for {} (--device cpu has all)",
                                     precond, device, why, instead));
    };
    const auto [kind, options] = choose_preconditioner(precond, MatrixKind::sparse);
    if (std::ranges::find(on_devices, kind->name) == on_devices.end())
        refuse("", "--precond amg, chebyshev, jacobi, block_jacobi:sai or small blocks of block_jacobi");
    if (kind->name == "amg" && options.choice("cycle") == "hypre")
        refuse(", where cycles are Stretto's own", "--precond amg without cycle=hypre");
    if (kind->name != "block_jacobi" || options.choice("inner") == "sai") return;
    const Global rows = all_max(A.comm(), Global{A.local_rows()});
    const Global enough = (rows + most_dense_rows - 1) / most_dense_rows;
    const auto asked = static_cast<Global>(options.number("blocks"));
    if ((asked > 0 ? asked : A.threads()) >= enough) return;
    refuse(fmt::format(", which has blocks of at most {} rows", most_dense_rows),
           fmt::format("--precond block_jacobi:inner={},blocks={} or more, or --precond chebyshev",
                       options.choice("inner"), enough));
}

}  // namespace stretto
