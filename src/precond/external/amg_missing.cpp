// SPDX-License-Identifier: BSD-3-Clause
#include "../kinds.hpp"
#include "stretto/core/error.hpp"

namespace stretto {

std::unique_ptr<Preconditioner> make_amg(const CsrMatrix<double>&, const Options&) {
    throw InputError(
        "amg needs hypre, which this Stretto was built without: install libhypre-dev (or name one by HYPRE_DIR) and "
        "configure again");
}

bool amg_is_built() { return false; }

}  // namespace stretto
