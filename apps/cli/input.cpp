// SPDX-License-Identifier: BSD-3-Clause
#include "input.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/sparse/storage_report.hpp"

using namespace stretto;
using nlohmann::ordered_json;

int default_threads(const Comm& comm) {
    if (const char* set = std::getenv("OMP_NUM_THREADS")) {
        int threads = 0;
        agree(comm, [&] {
            const std::string_view text(set);
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
            // A list gives a number for each level of nesting; the first is ours.
            if (error != std::errc() || threads < 1 || (end != text.data() + text.size() && *end != ','))
                throw InputError(fmt::format("OMP_NUM_THREADS={} is not a number of threads", text));
        });
        return threads;
    }
    MPI_Comm node = MPI_COMM_NULL;
    int ranks = 1;
    MPI_Comm_split_type(comm.mpi(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks);
    MPI_Comm_free(&node);
    cpu_set_t bound;
    CPU_ZERO(&bound);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const Global allowed = sched_getaffinity(0, sizeof bound, &bound) == 0 ? CPU_COUNT(&bound) : online;
    return static_cast<int>(all_min(comm, std::max<Global>(1, std::min<Global>(allowed, online / ranks))));
}

bool exists(const Comm& comm, const std::string& path) {
    std::error_code error;
    return any_of(comm, comm.rank() == 0 && std::filesystem::exists(path, error));
}

DistributedRows load_problem(Comm& comm, const std::string& problem, int threads, ProgressLine& line) {
    auto loaded = stretto::load_problem(comm, problem, threads, [&](double fraction) {
        line.show_fraction("reading " + file_of_problem(problem), fraction);
    });
    line.clear();
    return loaded;
}

std::vector<std::string> storage_choices() { return {storage_names.begin(), storage_names.end()}; }

Storage storage_of(const std::string& name) { return Storage(name); }

CsrMatrix<double> load_matrix(Comm& comm, const std::string& problem, const std::string& storage, int threads,
                              ProgressLine& line) {
    auto [partition, rows] = load_problem(comm, problem, threads, line);
    return {comm, std::move(partition), std::move(rows), threads, storage_of(storage)};
}

ordered_json describe_storage(const CsrMatrix<double>& A, int columns) {
    const auto storage = report_storage(A, columns);
    ordered_json rows;
    for (const auto& form : storage.forms) rows[std::string(form.name)] = form.rows;
    const double bytes = storage.bytes_per_nonzero;
    return {{"form", storage.main},
            {"rows", rows},
            {"halved_rows", storage.halved_rows},
            {"bytes_per_nonzero", std::isfinite(bytes) ? ordered_json(bytes) : ordered_json()}};
}

std::string storage_in_words(const CsrMatrix<double>& A, int columns, const std::string& asked) {
    return report_storage(A, columns).in_words(asked);
}

/// Leaves no file behind, also where another run checks the same name at the same time.
static bool writable(const std::string& path) {
    if (const int created = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); created >= 0) {
        close(created);
        return unlink(path.c_str()) == 0;
    }
    if (errno != EEXIST) return false;
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return false;
    // ENOENT: the other run's check has just taken its file away.
    return access(path.c_str(), W_OK) == 0 || errno == ENOENT;
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
        if (!writable(path)) throw InputError("cannot write " + path);
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
