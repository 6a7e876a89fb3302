// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "simulated_system.hpp"

/// Collective. Solves the system of a job with one method; the line that tells of it is the same on all ranks but for
/// `simulated_in`. Writes the timeline where the job asks for one. Throws InputError where a dry run ends too early to
/// be timed, and for a method that there is not.
nlohmann::json run_method(SimulatedSystem& system, const nlohmann::json& job, const std::string& method);
