// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/model/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "stretto/core/error.hpp"
#include "stretto/io/problem.hpp"
#include "stretto/precond/table.hpp"
#include "stretto/sparse/csr.hpp"
#include "stretto/sparse/structure.hpp"

namespace stretto {
namespace {

/// Of a matrix that is not all looked at: as many rows at either end of a rank, and as many of them all.
constexpr Global most_looked_at = 2'000'000, usual_sample = 50'000;

LocalRows<double> rows_between(const LocalRows<double>& all, Global begin, Global end) {
    LocalRows<double> rows;
    const Global first = all.start[static_cast<std::size_t>(begin)], last = all.start[static_cast<std::size_t>(end)];
    rows.columns.assign(all.columns.begin() + first, all.columns.begin() + last);
    rows.values.assign(all.values.begin() + first, all.values.begin() + last);
    for (Global row = begin; row < end; ++row)
        rows.start.push_back(all.start[static_cast<std::size_t>(row) + 1] - first);
    return rows;
}

LocalRows<double> read_file(const std::string& problem) {
    if (file_of_problem(problem).empty()) return {};
    MpiComm alone(MPI_COMM_SELF);
    return load_problem(alone, problem).rows;
}

Generator generator_of(const std::string& problem, const LocalRows<double>& read) {
    if (file_of_problem(problem).empty()) return generator(problem);
    return {
        read.rows(), [&read](Global begin, Global end) { return rows_between(read, begin, end); }, {read.rows(), 1, 1}};
}

/// The rows of a sample, without what they have outside of it.
LocalRows<double> cut_out(const LocalRows<double>& rows, Global begin, Global end) {
    LocalRows<double> inside;
    for (Index i = 0; i < rows.rows(); ++i) {
        for (auto k = static_cast<std::size_t>(rows.start[static_cast<std::size_t>(i)]);
             k < static_cast<std::size_t>(rows.start[static_cast<std::size_t>(i) + 1]); ++k) {
            if (rows.columns[k] < begin || rows.columns[k] >= end) continue;
            inside.columns.push_back(rows.columns[k] - begin);
            inside.values.push_back(rows.values[k]);
        }
        inside.start.push_back(static_cast<Global>(inside.columns.size()));
    }
    return inside;
}

/// By its account for one column and for two, of a sample of which all rows are `scale` times as many.
template <class Operator>
Moved moved_by(const Operator& op, double scale) {
    const double one = op.bytes(1), two = op.bytes(2);
    return {scale * (2 * one - two), scale * (two - one)};
}

double vectors_of_cost(const std::string& spec) {
    double vectors = -1;
    const auto text = spec.substr(std::string("cost:").size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), vectors);
    if (error != std::errc() || end != text.data() + text.size() || !(vectors >= 0 && vectors <= 1e6) ||
        std::fmod(vectors, 2) != 0)
        throw InputError(fmt::format("--precond {}: cost:K moves an even number K of vectors, from 0 to 1e6", spec));
    return vectors;
}

}  // namespace

ModelMatrix::ModelMatrix(const std::string& problem)
    : read_(read_file(problem)), generator_(generator_of(problem, read_)) {
    if (read_.rows() > 0) {
        MpiComm alone(MPI_COMM_SELF);
        const auto structure = analyse(alone, {Partition::even(read_.rows(), 1), read_});
        positive_definite_ = structure.symmetric() && structure.positive_diagonal == structure.rows;
    } else {
        const auto kind = std::ranges::find(problems(), parse_spec(problem).name, &ProblemKind::name);
        positive_definite_ = kind != problems().end() && kind->positive_definite;
    }
}

/// Of a rank with very many rows only the first and the last are looked at: the others need nobody.
Boundary ModelMatrix::boundary(int ranks) const {
    const auto partition = Partition::even(rows(), ranks);
    const int rank = ranks / 2;
    const Global first = partition.first(rank), last = partition.first(rank + 1);
    Boundary result{.rows = static_cast<double>(last - first)};
    std::map<int, std::vector<Global>> needed;  // by owner
    const auto look_at = [&](Global begin, Global end) {
        const auto rows = generator_.make(begin, end);
        for (std::size_t i = 0; i + 1 < rows.start.size(); ++i) {
            bool waits = false;
            for (auto k = static_cast<std::size_t>(rows.start[i]); k < static_cast<std::size_t>(rows.start[i + 1]);
                 ++k) {
                const Global column = rows.columns[k];
                if (column >= first && column < last) continue;
                needed[partition.owner(column)].push_back(column);
                waits = true;
            }
            result.interface += waits;
        }
    };
    if (last - first <= 2 * most_looked_at) {
        look_at(first, last);
    } else {
        look_at(first, first + most_looked_at);
        look_at(last - most_looked_at, last);
    }
    for (auto& [owner, columns] : needed) {
        std::ranges::sort(columns);
        columns.erase(std::ranges::unique(columns).begin(), columns.end());
        const auto count = static_cast<double>(columns.size());
        result.halo += count;
        result.message = std::max(result.message, count);
        ++result.neighbours;
    }
    return result;
}

ModelSystem ModelMatrix::system(const std::string& preconditioner, Storage storage) const {
    const Global middle = rows() / 2;
    const auto look = generator_.make(middle, std::min(rows(), middle + 1));
    Global band = 1;
    for (const Global column : look.columns) band = std::max(band, std::abs(column - middle));
    // So many that what is cut off at the ends is a hundredth.
    const Global size = std::min(rows(), std::clamp(24 * band, usual_sample, most_looked_at));
    const Global begin = std::min(middle - size / 2, rows() - size), end = begin + size;
    const auto whole = generator_.make(begin, end);
    const double scale = static_cast<double>(rows()) / static_cast<double>(size);

    MpiComm alone(MPI_COMM_SELF);
    const CsrMatrix<double> matrix(alone, Partition::even(size, 1), cut_out(whole, begin, end), 1, storage);
    ModelSystem system;
    system.N = static_cast<double>(rows());
    system.C = static_cast<double>(whole.columns.size()) / static_cast<double>(size);
    system.product = moved_by(matrix, scale);
    system.stored = system.product.once;
    system.diagonal = preconditioner == "none" || preconditioner.starts_with("jacobi");
    if (preconditioner.starts_with("cost:")) {
        const double vectors = vectors_of_cost(preconditioner);
        system.preconditioner = {0, 8 * system.N * vectors, static_cast<int>(vectors) / 2};
    } else if (preconditioner == "matrix") {
        system.preconditioner = {system.product.once, 16 * system.N};
        system.stored += system.product.once;
    } else if (preconditioner != "none") {
        const auto M = make_preconditioner(preconditioner, matrix);
        system.preconditioner = moved_by(*M, scale);
        system.preconditioner.reductions = M->reductions();
        system.rows_on = M->parts() > 0;
        system.stored += scale * M->stored();
    }
    auto known = std::make_shared<std::map<int, Boundary>>();
    system.boundary = [this, known](int ranks) {
        const auto [found, fresh] = known->try_emplace(ranks);
        if (fresh) found->second = boundary(ranks);
        return found->second;
    };
    return system;
}

}  // namespace stretto
