// SPDX-License-Identifier: BSD-3-Clause
#include "known_null_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/driver/solver.hpp"

namespace stretto {
namespace {

using Vector = std::vector<double>;

double largest(const Comm& comm, const Vector& v) {
    double most = 0;
    for (const double value : v) most = std::max(most, std::abs(value));
    return all_max(comm, most);
}

/// A n, or Aᵀ n.
Vector product(const CsrMatrix<double>& A, Vector& n, bool transposed) {
    Vector image(n.size());
    const MultiVector<double> x(n.data(), A.local_rows(), 1), y(image.data(), A.local_rows(), 1);
    transposed ? A.apply_transpose(x, y) : A.apply(x, y);
    return image;
}

/// Collective. The largest |A n| of a row over that of |A|, relative to the largest of n: 0 where A takes n to zero, up
/// to 1.
double remainder(const CsrMatrix<double>& A, Vector& n) {
    Vector image = product(A, n, false);
    for (std::size_t i = 0; i < image.size(); ++i) {
        double sum = 0;
        for (const double value : A.row(static_cast<Index>(i)).values) sum += std::abs(value);
        if (sum > 0) image[i] /= sum;
    }
    const double most = largest(A.comm(), n);
    return most > 0 ? largest(A.comm(), image) / most : 1;
}

constexpr double negligible = 1e-10;

/// Ones where the diagonal is zero, as at the pressures of a flow, which are given but for a constant.
Vector without_diagonal(const CsrMatrix<double>& A) {
    Vector v;
    for (const double a : A.diagonal()) v.push_back(a == 0 ? 1 : 0);
    return v;
}

/// Whether A, or Aᵀ, takes all of them to zero.
bool takes_to_zero(const CsrMatrix<double>& A, std::vector<Vector>& vectors, bool transposed) {
    const double norm = A.norm();
    return std::ranges::all_of(vectors, [&](Vector& n) {
        return largest(A.comm(), product(A, n, transposed)) <= negligible * norm * largest(A.comm(), n);
    });
}

/// What Aᵀ takes to zero, as many vectors as A does, or the other way round. Aᵀ n is orthogonal to n and so in the
/// range of Aᵀ: with Aᵀ y = Aᵀ n there is n − y, which is not zero for it has n's part of n where y is not n. Empty:
/// that system was not solved in a thousand iterations.
std::vector<Vector> of_the_other(const PreparedSystem& system, std::vector<Vector>& vectors, bool transposed,
                                 int threads) {
    const auto& A = system.matrix();
    const auto m = vectors.size(), rows = static_cast<std::size_t>(A.local_rows());
    std::vector<double> b(rows * m), y(rows * m);
    for (std::size_t j = 0; j < m; ++j) {
        const Vector image = product(A, vectors[j], transposed);
        for (std::size_t i = 0; i < rows; ++i) b[i * m + j] = image[i];
    }
    const auto M = system.preconditioner(A.comm().size() > 1 ? "additive_schwarz:ilut" : "block_jacobi:ilut");
    const auto columns = static_cast<int>(m);
    Solver<double> solver(A.comm(), A, *M, A.local_rows(), columns,
                          {.method = "bicgstab", .rtol = 1e-12, .max_iterations = 1000, .threads = threads});
    const MultiVector<const double> right(b.data(), A.local_rows(), columns);
    const MultiVector<double> solution(y.data(), A.local_rows(), columns);
    transposed ? solver.solve_transposed(right, solution) : solver.solve(right, solution);
    auto found = vectors;
    for (std::size_t j = 0; j < m; ++j)
        for (std::size_t i = 0; i < rows; ++i) found[j][i] -= y[i * m + j];
    const bool good =
        takes_to_zero(A, found, transposed) && NullSpace(A.comm(), found).size() == NullSpace(A.comm(), vectors).size();
    return good ? found : std::vector<Vector>{};
}

}  // namespace

KnownNullSpace::KnownNullSpace(const Comm& comm, std::string asked, const Partition& partition)
    : asked_(std::move(asked)), partition_(partition) {
    if (asked_ == "auto" || asked_ == "constant" || asked_ == "none") return;
    std::error_code error;
    if (!any_of(comm, comm.rank() == 0 && std::filesystem::exists(asked_, error)))
        throw InputError(fmt::format("--null-space '{}' is neither a file nor auto, constant or none", asked_));
    file_ = read_array(comm, asked_, partition, default_threads(comm));
}

Vector KnownNullSpace::from_file(const PreparedSystem& system, std::size_t column) const {
    Vector v;
    for (auto k = column; k < file_.values.size(); k += static_cast<std::size_t>(file_.columns))
        v.push_back(file_.values[k]);
    return system.forward(v, 1);
}

Vector KnownNullSpace::constants(const Comm& comm, const Constants& which) const {
    Vector v;
    for (Global row = partition_.first(comm.rank()); row < partition_.first(comm.rank() + 1); ++row)
        v.push_back(which.has(row) ? 1 : 0);
    return v;
}

void KnownNullSpace::look(const Structure& structure, const PreparedSystem& system, int threads) {
    const auto& A = system.matrix();
    auto vectors = candidates(structure, system);
    other_ = {};
    space_ = {};
    if (vectors.empty() && asked_ != "none" && !structure.symmetric()) {
        std::vector<Vector> left{system.forward(constants(A.comm(), {1, 0}), 1)};
        if (takes_to_zero(A, left, true)) {
            auto right = of_the_other(system, left, false, threads);
            other_ = right.empty() ? Other::unknown : Other::computed;
            if (!right.empty()) names_.emplace_back("computed");
            space_ = NullSpace(A.comm(), std::move(right), std::move(left));
            left_first_ = true;
            return;
        }
    }
    left_first_ = false;
    if (asked_ == "constant" && vectors.empty()) {
        auto ones = system.forward(constants(A.comm(), {1, 0}), 1);
        throw InputError(
            fmt::format("--null-space constant: A takes constants not to zero: a row's sum is up to {:.1e} of "
                        "its absolute values (--null-space auto removes what is there)",
                        remainder(A, ones)));
    }
    if (structure.symmetric() || takes_to_zero(A, vectors, true)) {
        space_ = NullSpace(A.comm(), std::move(vectors));
        return;
    }
    auto left = asked_ == "none" ? std::vector<Vector>{} : of_the_other(system, vectors, true, threads);
    other_ = left.empty() ? Other::unknown : Other::computed;
    space_ = NullSpace(A.comm(), std::move(vectors), std::move(left));
}

std::vector<Vector> KnownNullSpace::candidates(const Structure& structure, const PreparedSystem& system) {
    const auto& A = system.matrix();
    std::vector<Vector> vectors;
    names_.clear();
    for (int j = 0; j < file_.columns; ++j) {
        vectors.push_back(from_file(system, static_cast<std::size_t>(j)));
        if (const double left = remainder(A, vectors.back()); !(left <= negligible))
            throw InputError(
                fmt::format("--null-space {}: A takes column {} not to zero: in some row A n is {:.1e} of "
                            "|A| |n|, and no more than {:.0e} counts as zero",
                            asked_, j + 1, left, negligible));
    }
    if (file_.columns > 0)
        names_.push_back(fmt::format("{} column{} of {}", file_.columns, file_.columns == 1 ? "" : "s", asked_));
    else
        for (const auto& found : structure.null_vectors) {
            names_.push_back(found.name());
            vectors.push_back(system.forward(constants(A.comm(), found), 1));
        }
    if (vectors.empty() && asked_ != "none" && structure.zero_diagonal > 0)
        if (auto pressure = without_diagonal(A); remainder(A, pressure) <= negligible) {
            names_.emplace_back("constants on the rows whose diagonal is zero");
            vectors.push_back(std::move(pressure));
        }
    return vectors;
}

std::vector<double> KnownNullSpace::outside_range(const PreparedSystem& system, std::span<const double> b,
                                                  int columns) const {
    if (space_.left().empty()) return {};
    const Comm& comm = system.matrix().comm();
    const auto m = static_cast<std::size_t>(columns);
    const auto moved = system.forward(b, columns);
    std::vector<double> outside;
    for (std::size_t j = 0; j < m; ++j) {
        double square = 0, all = 0;
        for (std::size_t k = j; k < moved.size(); k += m) all += moved[k] * moved[k];
        for (const auto& n : space_.left()) {
            double overlap = 0;
            for (std::size_t i = 0; i < n.size(); ++i) overlap += n[i] * moved[i * m + j];
            overlap = all_sum(comm, overlap);
            square += overlap * overlap;
        }
        all = all_sum(comm, all);
        outside.push_back(all > 0 ? std::sqrt(square / all) : 0);
    }
    return outside;
}

std::vector<std::string> KnownNullSpace::remarks() const {
    if (space_.empty()) return {};
    if (asked_ == "none") return {"null space: known, and left in b and x, as asked for (--null-space none)"};
    const bool computed = other_ == Other::computed;
    if (left_first_)
        return {
            std::string("null space: Aᵀ takes constants to zero, which are removed from b; what A takes to zero was ") +
            (computed ? "computed, and is removed from x" : "sought in vain, and stays in x")};
    const std::string what = fmt::format("null space: {}: removed from ", fmt::join(names_, ", "));
    if (other_ == Other::same) return {what + "b and x"};
    return {what + (computed
                        ? "x; what Aᵀ takes to zero was computed, and is removed from b"
                        : "x; what Aᵀ takes to zero was sought in vain, so that it is not known whether b is in the "
                          "range of A: if a solve fails, it may be for that")};
}

std::string KnownNullSpace::json() const {
    if (space_.empty()) return {};
    return nlohmann::ordered_json{{"vectors", names_},
                                  {"dimension", space_.size()},
                                  {"range_known", !space_.left().empty()},
                                  {"removed", removed() != nullptr}}
        .dump();
}

}  // namespace stretto
