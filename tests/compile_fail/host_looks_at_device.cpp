// expect: no match for call to
// SPDX-License-Identifier: BSD-3-Clause
// A value on a device is not for the host to look at.
#include "stretto/execute/device/emulated.hpp"

double look(stretto::MultiVector<stretto::on_emulated> v) { return v(0); }
