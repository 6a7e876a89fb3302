// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/core/spec.hpp"
#include "stretto/hmatrix/fill.hpp"
#include "stretto/hmatrix/geometry.hpp"

namespace stretto {

/// A row of the table of kernels that have a name. All are symmetric.
struct KernelKind {
    std::string_view name, help;
    bool positive_definite;
    std::span<const OptionInfo> options;
};
std::span<const KernelKind> kernel_kinds();

/// The kernel that NAME:key=value,… names, on these points. Throws InputError.
Fill make_kernel(const std::string& spec, const std::vector<Point>& points);

/// Points of a text file, one a line: one to three numbers, with blanks or commas between; # begins a comment. Throws
/// InputError, naming line and reason.
std::vector<Point> parse_points(std::string_view name, std::string_view text);

}  // namespace stretto
