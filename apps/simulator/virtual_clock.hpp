// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stretto/core/types.hpp"

class GatheredComm;

/// The time point of so many virtual seconds.
stretto::Clock::time_point at_virtual_time(double seconds);

/// Whose clock is that of the library where one process computes for all ranks; null: every rank has its own.
GatheredComm*& gathered_clock();
