// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <span>
#include <string>
#include <string_view>

#include "stretto/comm/comm.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/io/matrix_market.hpp"
#include "stretto/sparse/distributed_rows.hpp"

namespace stretto {

/// A complex problem that can be generated, as `stretto list` prints it.
struct ComplexProblemKind {
    std::string_view name, arguments, help;
    std::span<const OptionInfo> options;
    std::string_view grid;  ///< the real problem whose entries it changes
    bool hermitian;         ///< and positive definite; else it is complex symmetric
    /// The entry at (row, column), counted from 0, of a grid of nx cells along x and nx · ny in a plane, where the real
    /// problem has `value`.
    std::complex<double> (*entry)(const Options& options, Global nx, Global ny, Global row, Global column,
                                  double value);
};

std::span<const ComplexProblemKind> complex_problems();
bool is_complex_problem(const std::string& name);

/// Collective. The matrix that `name` means, its rows dealt evenly: a generated complex problem, or the path of a file,
/// complex or real, or a real problem as load_problem takes it. Throws InputError, the same on every rank.
DistributedRowsOf<std::complex<double>> load_complex_problem(const Comm& comm, const std::string& name, int threads = 1,
                                                             const Progress& progress = {});

}  // namespace stretto
