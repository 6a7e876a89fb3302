// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include <fmt/core.h>

#include <fstream>

#include "files.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/model/benchmarks.hpp"

using namespace stretto;
using nlohmann::ordered_json;

std::string mpi_library() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string line(text, static_cast<std::size_t>(length));
    line = line.substr(0, line.find_first_of("\n,"));
    for (char& c : line)
        if (c == '\t') c = ' ';
    return line;
}

ordered_json to_json(const PowerLaw& law) { return {{"c0", law.c0}, {"c1", law.c1}, {"n0", law.n0}, {"n1", law.n1}}; }
ordered_json to_json(const TwoLaws& laws) {
    return {{"limit_bytes", laws.limit}, {"small", to_json(laws.small)}, {"large", to_json(laws.large)}};
}

MachineFile::MachineFile(const Comm& comm, std::string path, const std::string& emulated_latency)
    : comm_(comm), path_(std::move(path)) {
    agree(comm_, [&] {
        if (comm_.rank() != 0 || path_.empty()) return;
        char host[MPI_MAX_PROCESSOR_NAME];
        int length = 0;
        MPI_Get_processor_name(host, &length);
        key_ = {{"host", std::string(host, static_cast<std::size_t>(length))},
                {"mpi", mpi_library()},
                {"ranks", comm_.size()},
                {"emulated_latency", emulated_latency}};
        all_ = {{"stretto_machine", 1}, {"configurations", ordered_json::array()}};
        if (std::ifstream file(path_); file) {
            all_ = ordered_json::parse(file, nullptr, false);
            const bool good = all_.is_object() && all_.contains("stretto_machine") && all_["stretto_machine"] == 1 &&
                              all_.contains("configurations") && all_["configurations"].is_array();
            if (!good) throw InputError(path_ + " is not a machine file");
        } else if (!path_.ends_with(".json")) {
            throw InputError(
                fmt::format("there is no machine file '{}'; what is measured can be kept in {}.json", path_, path_));
        }
        auto& configurations = all_["configurations"];
        for (auto& each : configurations) {
            bool same = each.is_object();
            for (const auto& [name, value] : key_.items()) same = same && each.contains(name) && each[name] == value;
            if (same) mine_ = &each;
        }
        if (!mine_) {
            configurations.push_back(key_);
            mine_ = &configurations.back();
        }
    });
}

std::optional<Probe> MachineFile::probe() const {
    std::string text;
    if (mine_ && mine_->contains("probe")) text = (*mine_)["probe"].dump();
    text = broadcast(comm_, text, 0);
    const auto found = ordered_json::parse(text, nullptr, false);
    const auto number = [](const ordered_json& object, const char* key) {
        const auto of = object.find(key);
        return of != object.end() && of->is_number() ? std::optional(of->get<double>()) : std::nullopt;
    };
    if (!found.is_object() || !found.contains("gamma") || !found["gamma"].is_object()) return {};
    const auto reduction = number(found, "reduction_seconds");
    if (!reduction) return {};
    Probe result{.reduction = *reduction, .gamma = {}, .seconds = number(found, "probe_seconds").value_or(0)};
    for (const auto mode : offered_modes()) {  // measured where others were offered, it says nothing of here
        const auto gamma = number(found["gamma"], std::string(name(mode)).c_str());
        if (!gamma) return {};
        result.gamma.emplace_back(mode, *gamma);
    }
    return result;
}

void MachineFile::keep(const Probe& probe) {
    if (probe.gamma.empty()) return;  // the next run may measure more
    ordered_json gamma = ordered_json::object();
    for (const auto& [mode, value] : probe.gamma) gamma[std::string(name(mode))] = value;
    save("probe", {{"reduction_seconds", probe.reduction}, {"gamma", gamma}, {"probe_seconds", probe.seconds}});
}

void MachineFile::keep(const TwoLaws& point_to_point, const PowerLaw& all_reduce) {
    save("point_to_point", to_json(point_to_point));
    save("all_reduce", to_json(all_reduce));
}

void MachineFile::save(const char* key, ordered_json value) {
    agree(comm_, [&] {
        if (!mine_) return;
        (*mine_)[key] = std::move(value);
        write_text(path_, all_.dump(2) + "\n");
    });
}
