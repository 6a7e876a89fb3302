// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/io/right_hand_side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/random.hpp"
#include "stretto/core/spec.hpp"

namespace stretto {
namespace {

constexpr std::string_view random_name = "random";

bool is_file(const Comm& comm, const std::string& path) {
    std::error_code error;
    return any_of(comm, comm.rank() == 0 && std::filesystem::exists(path, error));
}

std::uint64_t seed_of(const std::string& text) {
    static constexpr OptionInfo seed_option[] = {{.name = "seed",
                                                  .default_value = 1,
                                                  .minimum = 0,
                                                  .maximum = 9e15,
                                                  .help = "of the random numbers",
                                                  .integral = true}};
    Spec spec{text, std::string(random_name), {}, {}};
    if (text.size() > random_name.size()) spec.options.emplace_back("seed", text.substr(random_name.size() + 1));
    return static_cast<std::uint64_t>(Options(spec, seed_option).number("seed"));
}

/// values(global row, column) for all of this rank's rows.
template <class F>
ArrayFile made(const Comm& comm, const Partition& partition, int columns, F&& values) {
    ArrayFile array{{}, columns};
    const Global first = partition.first(comm.rank()), last = partition.first(comm.rank() + 1);
    array.values.reserve(static_cast<std::size_t>(last - first) * static_cast<std::size_t>(columns));
    for (Global row = first; row < last; ++row)
        for (int j = 0; j < columns; ++j) array.values.push_back(values(row, j));
    return array;
}

}  // namespace

ArrayFile right_hand_sides(const Comm& comm, const std::string& text, int columns, const Partition& partition,
                           int threads, const std::function<double(Index row)>& row_sum, const Progress& progress) {
    const int asked = std::max(columns, 1);
    if (text == "ones") return made(comm, partition, asked, [](Global, int) { return 1.0; });
    if (text == "A*ones") {
        if (!row_sum) throw InputError("--rhs A*ones is for sparse matrices: type ones, random[:SEED] or a file");
        const Global first = partition.first(comm.rank());
        return made(comm, partition, asked, [&](Global row, int) { return row_sum(static_cast<Index>(row - first)); });
    }
    if (text == random_name || text.starts_with("random:"))
        return made(comm, partition, asked,
                    [seed = seed_of(text)](Global row, int j) { return uniform(seed, row, j); });
    if (!is_file(comm, text))
        throw InputError(fmt::format("--rhs '{}' is neither a file nor ones, {}random[:SEED]", text,
                                     row_sum ? "A*ones or " : "or "));
    auto file = read_array(comm, text, partition, threads, progress);
    if (columns != 0 && columns != file.columns)
        throw InputError(fmt::format("--columns {}, but {} has {}", columns, text, file.columns));
    return file;
}

ArrayFile read_guess(const Comm& comm, const std::string& path, int columns, const Partition& partition, int threads,
                     const Progress& progress) {
    if (!is_file(comm, path)) throw InputError(fmt::format("--guess '{}' is no file", path));
    auto file = read_array(comm, path, partition, threads, progress);
    if (file.columns != columns)
        throw InputError(fmt::format("--guess {} has {} column{}, the right-hand sides have {}", path, file.columns,
                                     file.columns == 1 ? "" : "s", columns));
    return file;
}

}  // namespace stretto
