// SPDX-License-Identifier: BSD-3-Clause
#include "begin_impl.hpp"

namespace stretto {

template Scalars<double> Driver<double>::first_residual(const std::string& complaint);
template std::optional<Status> Driver<double>::reached(const Column& column, double norm_b) const;
#if STRETTO_COMPLEX
template Scalars<std::complex<double>> Driver<std::complex<double>>::first_residual(const std::string& complaint);
template std::optional<Status> Driver<std::complex<double>>::reached(const Column& column, double norm_b) const;
#endif

}  // namespace stretto
