// SPDX-License-Identifier: BSD-3-Clause
#include "hmat_oss.hpp"

std::optional<HmatOss> measure_hmat_oss(const ChargeKernel&, double, const std::vector<double>&, int) { return {}; }
