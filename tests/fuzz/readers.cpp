// SPDX-License-Identifier: BSD-3-Clause
// What reads what others wrote, for libFuzzer: `readers --reader=NAME CORPUS` gives one of them any bytes. A reader
// takes them or throws InputError; nothing else may come of it. The campaign compiles this with the few sources it
// takes (studies/reliability/fuzz.py).
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "model_machine.hpp"
#include "simulated_machine.hpp"
#include "stretto/bem/mesh.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/latency_comm.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/spec.hpp"
#include "stretto/hmatrix/kernels.hpp"
#include "stretto/io/checkpoint_file.hpp"
#include "stretto/io/matrix_market.hpp"
#include "stretto/io/petsc_binary.hpp"

using namespace stretto;

namespace {

constexpr std::size_t most_bytes = 1 << 16;

const Comm& alone() {
    static const MpiComm comm(MPI_COMM_WORLD);
    return comm;
}

/// A file that holds these bytes, the same each time: in memory, where TMPDIR names a folder that is.
std::string file_of(std::string_view bytes, const char* ending = "") {
    const std::string path =
        fmt::format("{}/input_{}{}", std::filesystem::temp_directory_path().string(), getpid(), ending);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
    close(file);
    return path;
}

/// Two threads read it as one does.
template <class T>
void read_matrix_file(std::string_view bytes) {
    const auto path = file_of(bytes);
    const auto one = read_matrix<T>(alone(), path, 1).rows, two = read_matrix<T>(alone(), path, 2).rows;
    if (one.start != two.start || one.columns != two.columns) std::abort();
}

void read_vectors(std::string_view bytes) {
    constexpr Global rows = 3;
    const auto path = file_of(bytes);
    (void)read_array<double>(alone(), path, Partition::even(rows, 1), 2);
}

void read_mesh(std::string_view bytes) {
    constexpr const char* endings[] = {"a.stl", "a.off", "a.obj"};
    if (bytes.empty()) return;
    auto mesh = parse_mesh(endings[static_cast<unsigned char>(bytes[0]) % 3], bytes.substr(1));
    (void)weld(mesh);
    (void)check_mesh(mesh, "mesh");
}

void read_machine_file(std::string_view bytes) { (void)model_machine(read_machine(file_of(bytes, ".json"), {})); }

void read_kept(std::string_view bytes) {
    constexpr Index rows = 3;
    (void)read_checkpoint(alone(), file_of(bytes), rows);
}

void read_spec(std::string_view bytes) {
    static constexpr std::string_view words[] = {"double", "single"};
    static constexpr OptionInfo table[] = {{"m", 30, 1, 1000, "columns", true},
                                           {"tau", 0, 0, std::numeric_limits<double>::infinity(), "a number"},
                                           {"precision", 0, 0, 1, "of numbers", true, words}};
    const Options options(parse_spec(bytes), table, 2);
    (void)options.choice("precision");
}

const std::map<std::string_view, std::function<void(std::string_view)>> readers = {
    {"matrix", read_matrix_file<double>},
    {"complex", read_matrix_file<std::complex<double>>},
    {"vectors", read_vectors},
    {"petsc", read_matrix_file<double>},
    {"mesh", read_mesh},
    {"machine", read_machine_file},
    {"spec", read_spec},
    {"latency", [](std::string_view bytes) { (void)parse_latency(std::string(bytes)); }},
    {"checkpoint", read_kept},
    {"points", [](std::string_view bytes) { (void)parse_points("points", bytes); }},
    {"nodes", [](std::string_view bytes) { (void)parse_nodes(std::string(bytes)); }},
};

const std::function<void(std::string_view)>* reader = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    constexpr std::string_view option = "--reader=";
    for (int k = 1; k < *argc; ++k)
        if (const std::string_view word = (*argv)[k]; word.starts_with(option))
            if (const auto found = readers.find(word.substr(option.size())); found != readers.end())
                reader = &found->second;
    if (reader) return 0;
    std::fprintf(stderr, "readers: --reader=NAME names none\n");
    std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > most_bytes) return -1;
    try {
        (*reader)({reinterpret_cast<const char*>(data), size});
    } catch (const InputError&) {
    }
    return 0;
}
