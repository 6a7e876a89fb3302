// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

#include "stretto/comm/comm.hpp"
#include "stretto/system/choice.hpp"

/// A machine file, as the execution-time model sees it. `machine`: of read_machine.
stretto::ModelMachine model_machine(const nlohmann::ordered_json& machine);

/// γ: what was measured; 0 where nothing was, as sums of the simulation advance by themselves.
double gamma_of(const nlohmann::ordered_json& machine);

/// Up to how many nodes its network was measured; 0: not known.
int network_measured_to(const nlohmann::ordered_json& machine);

/// Whether there is one: `stretto machine` on one rank has none to measure.
bool has_network(const nlohmann::ordered_json& machine);
/// Collective. The machine of this name, or of a file that `stretto machine` wrote; nothing where no path is given, or,
/// with `or_kept`, that of a MachineFile, there or to be made. Throws stretto::InputError where it is none of these.
std::optional<stretto::KnownMachine> known_machine(const stretto::Comm& comm, const std::string& path, bool or_kept);
