// SPDX-License-Identifier: BSD-3-Clause
// That what measures devices runs; no figure of it means anything.
#include "stretto/execute/device/emulated.hpp"
#include "measure.hpp"

int main(int argc, char** argv) { return stretto::measure_main<stretto::EmulatedDevice>(argc, argv, nullptr); }
