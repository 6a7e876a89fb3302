// SPDX-License-Identifier: BSD-3-Clause
#include "begin_impl.hpp"

namespace stretto {

template Scalars<double> Solver<double>::Driver::first_residual(const std::string& complaint);
template std::optional<Status> Solver<double>::Driver::reached(const Column& column, double tolerance);

}  // namespace stretto
