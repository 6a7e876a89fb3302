// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>

#include "stretto/model/execution_time.hpp"

/// A machine file, as the execution-time model sees it. `machine`: of read_machine.
stretto::ModelMachine model_machine(const nlohmann::ordered_json& machine);

/// γ: what was measured; 0 where nothing was, as sums of the simulation advance by themselves.
double gamma_of(const nlohmann::ordered_json& machine);

/// Up to how many nodes its network was measured; 0: not known.
int network_measured_to(const nlohmann::ordered_json& machine);
