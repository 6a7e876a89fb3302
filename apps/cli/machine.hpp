// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "stretto/comm/comm.hpp"
#include "stretto/model/fit.hpp"
#include "stretto/model/probe.hpp"

/// What was measured of a machine, in a JSON file (docs/overlap.md), by host, MPI library, ranks and emulated latency.
/// Without a path it remembers nothing. Only rank 0 touches the file.
class MachineFile {
public:
    /// Collective. Throws stretto::InputError where the file is there and is none, and where one that is to be made is
    /// not called FILE.json.
    MachineFile(const stretto::Comm& comm, std::string path, const std::string& emulated_latency);

    /// Collective. What an earlier run found.
    std::optional<stretto::Probe> probe() const;

    /// Collective. Keeps it, beside what the file holds already. Throws stretto::InputError where that cannot be.
    void keep(const stretto::Probe& probe);
    void keep(const stretto::TwoLaws& point_to_point, const stretto::PowerLaw& all_reduce);

private:
    void save(const char* key, nlohmann::ordered_json value);

    const stretto::Comm& comm_;
    std::string path_;
    nlohmann::ordered_json all_, key_;
    nlohmann::ordered_json* mine_ = nullptr;  // in all_
};

/// The MPI library and its version, one line.
std::string mpi_library();

nlohmann::ordered_json to_json(const stretto::PowerLaw& law);
nlohmann::ordered_json to_json(const stretto::TwoLaws& laws);
