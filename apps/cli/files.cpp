// SPDX-License-Identifier: BSD-3-Clause
#include "files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "show/print.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/io/complex_problem.hpp"
#include "stretto/io/generators.hpp"
#include "stretto/io/result_json.hpp"

using namespace stretto;
using nlohmann::ordered_json;

static InputError cannot_write(const std::string& path, int error) {
    return InputError(
        fmt::format("cannot write {}{}{}", path, error != 0 ? ": " : "", error != 0 ? std::strerror(error) : ""));
}

void write_text(const std::string& path, const std::string& text) {
    if (path == "-") {
        write_out(text);
        return;
    }
    errno = 0;
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw cannot_write(path, errno);
}

void write_json(const std::string& path, const ordered_json& members) {
    const auto whole = [](const ordered_json& one) {
        ordered_json object{{"stretto", version()}};
        object.update(one);
        return object;
    };
    ordered_json all = ordered_json::array();
    if (members.is_array())
        for (const auto& one : members) all.push_back(whole(one));
    else
        all = whole(members);
    write_text(path, all.dump(2) + "\n");
}

bool exists(const Comm& comm, const std::string& path) {
    std::error_code error;
    return any_of(comm, comm.rank() == 0 && std::filesystem::exists(path, error));
}

bool names_problem(const std::string& text) {
    const auto name = text.substr(0, text.find(':'));
    return name == "kron" || text.ends_with(".mtx") || text.ends_with(".mtx.gz") ||
           std::ranges::find(problems(), name, &ProblemKind::name) != problems().end() || is_complex_problem(name);
}

DistributedRows load_problem(const Comm& comm, const std::string& problem, int threads, ProgressLine& line) {
    auto loaded = stretto::load_problem(comm, problem, threads, [&](double fraction) {
        line.show_fraction("reading " + file_of_problem(problem), fraction);
    });
    line.clear();
    return loaded;
}

CsrMatrix<double> load_matrix(Comm& comm, const std::string& problem, const std::string& storage, int threads,
                              ProgressLine& line) {
    auto [partition, rows] = load_problem(comm, problem, threads, line);
    return {comm, std::move(partition), std::move(rows), threads, Storage(storage)};
}

/// Why it cannot be written, an errno; 0: it can. Leaves no file behind, also where another run checks the same name at
/// the same time.
static int error_of_writing(const std::string& path) {
    if (const int created = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); created >= 0) {
        close(created);
        return unlink(path.c_str()) == 0 ? 0 : errno;
    }
    if (errno != EEXIST) return errno;
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return EISDIR;
    // ENOENT: the other run's check has just taken its file away.
    return access(path.c_str(), W_OK) == 0 || errno == ENOENT ? 0 : errno;
}

void check_outputs(const std::vector<std::string>& inputs, const std::string& json,
                   const std::vector<std::string>& others) {
    const auto place = [](const std::string& path) {
        const auto whole = std::filesystem::absolute(path);
        std::error_code error;  // where another run's check has just taken its file away
        const auto found = std::filesystem::weakly_canonical(whole, error);
        return error ? std::filesystem::weakly_canonical(whole.parent_path()) / whole.filename() : found;
    };
    std::set<std::filesystem::path> taken;
    for (const auto& path : inputs)
        if (std::error_code error; std::filesystem::exists(path, error)) taken.insert(place(path));
    const auto check = [&](const std::string& path) {
        if (path.empty()) return;
        if (path == "-") throw InputError("only --json can go to standard output (-)");
        if (const int error = error_of_writing(path); error != 0) throw cannot_write(path, error);
        std::error_code error;
        const bool device = std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
        if (!device && !taken.insert(place(path)).second)
            throw InputError(path + " is an input, or another output too");
    };
    if (json != "-") check(json);
    for (const auto& path : others) check(path);
}

void check_outputs(const Comm& comm, const std::vector<std::string>& inputs, const std::string& json,
                   const std::vector<std::string>& others) {
    agree(comm, [&] {
        if (comm.rank() == 0) check_outputs(inputs, json, others);
    });
}

template <class T>
static void write_array_whole(const Comm& comm, const Partition& partition, const std::string& path,
                              std::span<const T> x, int columns) {
    std::string part;  // keeps the ending of the name, which chooses the format; empty for a pipe or a device
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        const std::filesystem::path target(path);
        if (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target)) return;
        for (int k = 0; part.empty() || std::filesystem::exists(part); ++k)
            part = target.parent_path() / fmt::format("part{}.{}", k, target.filename().string());
    });
    part = broadcast(comm, part, 0);
    if (part.empty()) return write_array(comm, path, partition, x, columns);
    write_array(comm, part, partition, x, columns);
    agree(comm, [&] {
        if (comm.rank() == 0) std::filesystem::rename(part, path);
    });
}

void write_solution(const Comm& comm, const Partition& partition, const std::string& path, std::span<const double> x,
                    int columns) {
    write_array_whole(comm, partition, path, x, columns);
}
void write_solution(const Comm& comm, const Partition& partition, const std::string& path,
                    std::span<const std::complex<double>> x, int columns) {
    write_array_whole(comm, partition, path, x, columns);
}
