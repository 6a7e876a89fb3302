// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fmt/format.h>
#include <mpi.h>

#include "stretto/core/error.hpp"

namespace stretto {

/// Runs work() with MPI; the exit code.
template <class Work>
int run_with_mpi(int argc, char** argv, const Work& work) {
    MPI_Init(&argc, &argv);
    int code = 0;
    try {
        work();
    } catch (const InputError& error) {
        fmt::print(stderr, "{}\n", error.what());
        code = 2;
    }
    MPI_Finalize();
    return code;
}

}  // namespace stretto
