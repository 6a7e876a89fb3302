// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/io/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "stretto/comm/collective.hpp"
#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"
#include "stretto/core/text.hpp"
#include "stretto/io/complex_problem.hpp"

namespace stretto {
namespace {

constexpr std::string_view kron = "kron:";

bool is_generated(const std::string& name) {
    return std::ranges::find(problems(), name.substr(0, name.find(':')), &ProblemKind::name) != problems().end();
}

/// FILE of kron:FILE,N.
std::string file_of_sum(const std::string& name) { return name.substr(kron.size(), name.rfind(',') - kron.size()); }

Global layers_of(const std::string& name) {
    const auto comma = name.rfind(',');
    const auto layers = parse_count(comma == std::string::npos ? "" : std::string_view(name).substr(comma + 1));
    if (!layers || *layers < 1 || file_of_sum(name).empty())
        throw InputError(fmt::format("'{}': a Kronecker sum is kron:FILE,N, for a positive number N of layers", name));
    return *layers;
}

/// All rows of a distributed matrix, on every rank.
LocalRows<double> everywhere(const Comm& comm, const DistributedRows& file) {
    std::vector<Entry<double>> mine;
    const Global first = file.partition.first(comm.rank());
    for (Index i = 0; i < file.rows.rows(); ++i)
        for (auto k = static_cast<std::size_t>(file.rows.start[static_cast<std::size_t>(i)]);
             k < static_cast<std::size_t>(file.rows.start[static_cast<std::size_t>(i) + 1]); ++k)
            mine.push_back({first + i, file.rows.columns[k], file.rows.values[k]});
    LocalRows<double> all;
    Global row = 0;
    for (const auto& part : all_to_all(comm, std::vector(static_cast<std::size_t>(comm.size()), mine)))
        for (const auto& entry : part) {
            for (; row < entry.row; ++row) all.start.push_back(static_cast<Global>(all.columns.size()));
            all.columns.push_back(entry.column);
            all.values.push_back(entry.value);
        }
    for (; row < file.partition.rows(); ++row) all.start.push_back(static_cast<Global>(all.columns.size()));
    return all;
}

/// Rows begin … end − 1 of A ⊗ I + I ⊗ tridiag(−1, 2, −1).
LocalRows<double> kronecker_sum(const LocalRows<double>& A, Global layers, Global begin, Global end) {
    const Global n = A.rows();
    LocalRows<double> rows;
    const auto put = [&](Global column, double value) {
        rows.columns.push_back(column);
        rows.values.push_back(value);
    };
    for (Global row = begin; row < end; ++row) {
        const Global layer = row / n, i = row % n;
        if (layer > 0) put(row - n, -1);
        bool diagonal = false;
        for (auto k = static_cast<std::size_t>(A.start[static_cast<std::size_t>(i)]);
             k < static_cast<std::size_t>(A.start[static_cast<std::size_t>(i) + 1]); ++k) {
            if (!diagonal && A.columns[k] >= i) {
                diagonal = true;
                if (A.columns[k] > i) put(row, 2);
            }
            put(layer * n + A.columns[k], A.values[k] + (A.columns[k] == i ? 2 : 0));
        }
        if (!diagonal) put(row, 2);
        if (layer + 1 < layers) put(row + n, -1);
        rows.start.push_back(static_cast<Global>(rows.columns.size()));
    }
    return rows;
}

}  // namespace

std::string file_of_problem(const std::string& name) {
    return is_generated(name) ? "" : name.starts_with(kron) ? file_of_sum(name) : name;
}

DistributedRows load_problem(const Comm& comm, const std::string& name, int threads, const Progress& progress) {
    if (is_generated(name)) return generate(comm, name);
    if (is_complex_problem(name))
        throw InputError(
            fmt::format("{0} has complex values, and real ones are asked for: stretto solve {0} is there", name));
    Global layers = 0;
    if (name.starts_with(kron)) agree(comm, [&] { layers = layers_of(name); });
    const std::string path = file_of_problem(name);
    agree(comm, [&] {
        std::error_code error;
        if (comm.rank() != 0 || std::filesystem::exists(path, error)) return;
        if (path.find_first_of("/.") != std::string::npos) throw InputError(fmt::format("there is no file '{}'", path));
        throw InputError(refusal(fmt::format("'{}' is neither a file nor a problem", path),
                                 path.substr(0, path.find(':')), names_of(problems(), &ProblemKind::name),
                                 "the problems are"));
    });
    auto file = read_matrix(comm, path, threads, progress);
    if (layers == 0) return file;

    const auto A = everywhere(comm, file);
    std::optional<DistributedRows> problem;
    agree(comm, [&] {
        const Global of_a_layer = static_cast<Global>(A.columns.size()) + 3 * A.rows();
        constexpr Global most = std::numeric_limits<Index>::max();
        if (of_a_layer > 0 && layers > most * comm.size() / of_a_layer)
            throw InputError(
                fmt::format("'{}': {} layers of up to {} nonzeros are more than {} ranks of {} each can hold", name,
                            layers, of_a_layer, comm.size(), most));
        auto partition = Partition::even(A.rows() * layers, comm.size());
        auto rows = kronecker_sum(A, layers, partition.first(comm.rank()), partition.first(comm.rank() + 1));
        problem.emplace(std::move(partition), std::move(rows));
    });
    return std::move(*problem);
}

}  // namespace stretto
