// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/io/checkpoint_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/messages.hpp"
#include "stretto/core/error.hpp"

namespace stretto {
namespace {

using nlohmann::json;

constexpr std::string_view magic = "stretto checkpoint 2\n";
constexpr int tag = 14;

/// A file that is being written, on rank 0. What fails first is kept; nothing is written after it.
class Writing {
public:
    explicit Writing(const std::string& path)
        : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
        if (file_ < 0) error_ = errno;
    }
    ~Writing() {
        if (file_ >= 0) close(file_);
    }
    Writing(const Writing&) = delete;

    void write(std::span<const std::byte> bytes) {
        while (error_ == 0 && !bytes.empty()) {
            const auto written = ::write(file_, bytes.data(), bytes.size());
            if (written < 0 && errno != EINTR) error_ = errno;
            if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
    }
    /// To the disk. Returns what failed, an errno; 0: nothing.
    int finish() {
        if (error_ == 0 && fsync(file_) != 0) error_ = errno;
        if (file_ >= 0 && close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
        return error_;
    }

private:
    int file_, error_ = 0;
};

/// Whether there is something that is not to be replaced, as a device or a folder.
bool is_no_file(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
}

/// The name of a file is on the disk once its folder is.
int synchronise_folder_of(const std::filesystem::path& path) {
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return errno;
    const int error = fsync(file) == 0 || errno == EINVAL ? 0 : errno;  // EINVAL: a file system that has no need of it
    close(file);
    return error;
}

template <class X>
auto bytes_of(const std::vector<X>& values) {
    return std::as_bytes(std::span(values));
}

}  // namespace

CheckpointFile::CheckpointFile(const Comm& comm, const std::string& asked) : comm_(comm) {
    if (asked.empty()) return;
    const auto spec = parse_checkpoint(asked);
    path_ = spec.path;
    seconds = spec.seconds;
    iterations = spec.iterations;
}

std::string CheckpointFile::save(const Snapshot& snapshot) {
    if (path_.empty()) return {};
    const auto start = Clock::now();
    const auto sizes = all_gather(comm_, snapshot.vectors.front().size());
    const std::string part = path_ + ".part";
    std::string failed;
    if (any_of(comm_, comm_.rank() == 0 && is_no_file(path_))) return path_ + " is no regular file";
    if (comm_.rank() != 0) {
        for (const auto& vector : snapshot.vectors)
            each_message(bytes_of(vector), [&](std::span<const std::byte> piece) {
                MPI_Send(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, 0, tag, comm_.mpi());
            });
    } else {
        const json about{{"method", snapshot.method},
                         {"precond", snapshot.precond},
                         {"loop", snapshot.loop},
                         {"iteration", snapshot.iteration},
                         {"run", snapshot.run},
                         {"done", snapshot.done},
                         {"has_directions", snapshot.has_directions},
                         {"counts", snapshot.counts},
                         {"columns", snapshot.columns},
                         {"complex", snapshot.is_complex},
                         {"numbers", std::accumulate(sizes.begin(), sizes.end(), std::size_t{0})},
                         {"vectors", snapshot.vectors.size()},
                         {"scalars", snapshot.scalars.size()}};
        Writing file(part);
        for (const auto& text : {std::string(magic), about.dump() + "\n"}) file.write(std::as_bytes(std::span(text)));
        file.write(bytes_of(snapshot.scalars));
        std::vector<std::byte> piece;
        for (const auto& vector : snapshot.vectors) {
            file.write(bytes_of(vector));
            for (int p = 1; p < comm_.size(); ++p) {
                piece.resize(sizes[static_cast<std::size_t>(p)] * sizeof(double));
                each_message(std::span(piece), [&](std::span<std::byte> to) {
                    MPI_Recv(to.data(), static_cast<int>(to.size()), MPI_BYTE, p, tag, comm_.mpi(), MPI_STATUS_IGNORE);
                });
                file.write(piece);
            }
        }
        int error = file.finish();
        if (error == 0 && std::rename(part.c_str(), path_.c_str()) != 0) error = errno;
        if (error == 0) error = synchronise_folder_of(path_);
        if (error != 0) {
            failed = fmt::format("cannot write {}: {}", path_, std::strerror(error));
            unlink(part.c_str());
        }
    }
    failed = broadcast(comm_, failed, 0);
    saved_ += failed.empty();
    seconds_ += to_seconds(Clock::now() - start);
    return failed;
}

namespace {

/// A file that is read, on rank 0, and what its header says.
struct Reading {
    Reading(const Comm& comm, const std::string& path) {
        std::string header;
        agree(comm, [&] {
            if (comm.rank() != 0) return;
            file.open(path, std::ios::binary);
            if (!file) throw InputError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
            std::string first(magic.size(), ' ');
            file.read(first.data(), std::ssize(first));
            if (!file || first != magic || !std::getline(file, header))
                throw InputError(fmt::format("{} is no checkpoint of a solve", path));
        });
        header = broadcast(comm, header, 0);
        agree(comm, [&] {
            try {
                const auto about = json::parse(header);
                const auto is_integer = [](const json& value) { return value.is_number_integer(); };
                for (const auto* name : {"iteration", "run", "done", "columns", "numbers", "vectors", "scalars"})
                    if (!is_integer(about.at(name)))
                        throw InputError(fmt::format("{} is no checkpoint: its {} is no integer", path, name));
                if (!std::ranges::all_of(about.at("counts"), is_integer))
                    throw InputError(fmt::format("{} is no checkpoint: its counts are no integers", path));
                about.at("method").get_to(snapshot.method);
                about.at("precond").get_to(snapshot.precond);
                about.at("loop").get_to(snapshot.loop);
                about.at("iteration").get_to(snapshot.iteration);
                about.at("run").get_to(snapshot.run);
                about.at("done").get_to(snapshot.done);
                about.at("has_directions").get_to(snapshot.has_directions);
                about.at("counts").get_to(snapshot.counts);
                about.at("columns").get_to(snapshot.columns);
                about.at("complex").get_to(snapshot.is_complex);
                about.at("numbers").get_to(numbers);
                about.at("vectors").get_to(vectors);
                about.at("scalars").get_to(scalars);
            } catch (const json::exception&) {
                throw InputError(fmt::format("{} is no checkpoint of a solve", path));
            }
        });
    }
    void read(std::span<std::byte> to) {
        file.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
    }

    std::ifstream file;
    Snapshot snapshot;
    std::size_t numbers = 0, vectors = 0, scalars = 0;
};

}  // namespace

Snapshot read_checkpoint_header(const Comm& comm, const std::string& path) { return Reading(comm, path).snapshot; }

Snapshot read_checkpoint(const Comm& comm, const std::string& path, Index rows) {
    const auto all_rows = all_gather(comm, Global{rows});
    const auto total = static_cast<std::size_t>(std::accumulate(all_rows.begin(), all_rows.end(), Global{0}));
    Reading reading(comm, path);
    auto& [file, snapshot, numbers, vectors, scalars] = reading;
    agree(comm, [&] {
        if (vectors == 0 || total == 0 || numbers % total != 0)
            throw InputError(fmt::format("{} is of another system: it has {} numbers in x, and there are {} rows", path,
                                         numbers, total));
        if (comm.rank() != 0) return;
        const auto here = file.tellg();
        file.seekg(0, std::ios::end);
        const auto left = static_cast<std::size_t>(file.tellg() - here),
                   wanted = sizeof(double) * (scalars + vectors * numbers);
        file.seekg(here);
        if (left != wanted)
            throw InputError(fmt::format("{} is not whole: {} bytes where there should be {}", path, left, wanted));
    });
    const std::size_t of_row = numbers / total;
    snapshot.scalars.resize(scalars);
    snapshot.vectors.resize(vectors);
    if (comm.rank() == 0) reading.read(std::as_writable_bytes(std::span(snapshot.scalars)));
    MPI_Bcast(snapshot.scalars.data(), static_cast<int>(scalars), MPI_DOUBLE, 0, comm.mpi());
    std::vector<std::byte> piece;
    for (auto& vector : snapshot.vectors) {
        vector.resize(static_cast<std::size_t>(rows) * of_row);
        const auto mine = std::as_writable_bytes(std::span(vector));
        if (comm.rank() != 0) {
            each_message(mine, [&](std::span<std::byte> to) {
                MPI_Recv(to.data(), static_cast<int>(to.size()), MPI_BYTE, 0, tag, comm.mpi(), MPI_STATUS_IGNORE);
            });
            continue;
        }
        reading.read(mine);
        for (int p = 1; p < comm.size(); ++p) {
            piece.resize(static_cast<std::size_t>(all_rows[static_cast<std::size_t>(p)]) * of_row * sizeof(double));
            reading.read(piece);
            each_message(std::span<const std::byte>(piece), [&](std::span<const std::byte> from) {
                MPI_Send(from.data(), static_cast<int>(from.size()), MPI_BYTE, p, tag, comm.mpi());
            });
        }
    }
    agree(comm, [&] {
        if (comm.rank() == 0 && !file) throw InputError(fmt::format("cannot read {}", path));
    });
    return std::move(snapshot);
}

CheckpointSpec parse_checkpoint(const std::string& text) {
    CheckpointSpec spec;
    constexpr std::string_view key = ",every=";
    const auto at = text.rfind(key);
    spec.path = text.substr(0, at);
    const auto last = spec.path.rfind(',');
    if (last != spec.path.npos && (last + 1 == spec.path.size() || spec.path.find('=', last) != spec.path.npos))
        throw InputError(
            fmt::format("'{}' of the checkpoint is neither a file's name nor every=…, as in every=10min, once",
                        spec.path.substr(last + 1)));
    if (at == text.npos) {
        if (spec.path.empty()) throw InputError("a checkpoint needs a file: FILE[,every=10min]");
        return spec;
    }
    const std::string_view every = std::string_view(text).substr(at + key.size());
    double number = 0;
    const auto [end, error] = std::from_chars(every.data(), every.data() + every.size(), number);
    const std::string unit(end, every.data() + every.size());
    const bool counts = unit.empty() || unit == "it", known = counts || unit == "s" || unit == "min" || unit == "h";
    if (spec.path.empty() || error != std::errc() || !known || !(number > 0) || !(number < 1e9) ||
        (counts && number != std::floor(number)))
        throw InputError(
            fmt::format("every={}: how long from one checkpoint to the next, as in every=10min, 30s, 1h, or "
                        "iterations: every=500",
                        every));
    if (counts)
        spec.iterations = static_cast<int>(number);
    else
        spec.seconds = number * (unit == "h" ? 3600 : unit == "min" ? 60 : 1);
    return spec;
}

}  // namespace stretto
