// SPDX-License-Identifier: BSD-3-Clause
#include "begin_impl.hpp"

namespace stretto {

template Scalars<double> Solver<double>::Driver::first_residual(const std::string& complaint);
template std::optional<Status> Solver<double>::Driver::reached(const Column& column, double tolerance);
#if STRETTO_COMPLEX
template Scalars<std::complex<double>> Solver<std::complex<double>>::Driver::first_residual(
    const std::string& complaint);
template std::optional<Status> Solver<std::complex<double>>::Driver::reached(const Column& column, double tolerance);
#endif

}  // namespace stretto
