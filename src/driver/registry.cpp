// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/driver/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "stretto/core/error.hpp"
#include "stretto/core/names.hpp"
#include "stretto/driver/solver.hpp"

namespace stretto {

/// Of every src/methods/*.cpp, in the order of their names. Written by CMake (cmake/StrettoMethods.cmake): a static
/// library drops files that only register themselves.
std::span<const Method* const> method_rows();

std::span<const Method* const> methods() {
    static const auto rows = [] {
        const auto all = method_rows();
        std::vector<const Method*> sorted(all.begin(), all.end());
        std::ranges::sort(sorted, {}, [](const Method* row) { return std::pair(row->order, row->name); });
        return sorted;
    }();
    return rows;
}

const Method& find_method(std::string_view name) {
    const auto found = std::ranges::find(methods(), name, &Method::name);
    if (found != methods().end()) return **found;
    if (name == "refine")
        throw InputError(
            "refine:inner=NAME is a way to solve with another method: it has no iteration of its own to list, "
            "predict or simulate");
    throw InputError(refusal(fmt::format("there is no method '{}'", name), name, names_of(methods(), &Method::name)));
}

int vectors_stored(const Method& method, bool preconditioned) {
    return method.vectors(Options(Spec{}, method.options), preconditioned);
}

Options options_for(Spec spec, const Method& method) {
    const Method& asked = find_method(spec.name);
    std::erase_if(spec.options, [&](const auto& option) {
        const auto said = std::ranges::find(asked.options, option.first, &OptionInfo::name);
        return said == asked.options.end() || !std::ranges::count(method.options, *said);
    });
    return {spec, method.options};
}

std::string without_safeguards(const std::string& spec, double norm) {
    const Spec parsed = parse_spec(spec);
    const Method& method = find_method(parsed.name);
    std::string text = spec;
    const auto add = [&](std::string_view name, std::string_view value) {
        const bool given = std::ranges::any_of(parsed.options, [&](auto& one) { return one.first == name; });
        if (given) return;
        text += fmt::format("{}{}=", text == parsed.name ? ":" : ",", name);
        text += value == "NORM" ? fmt::format("{}", norm) : std::string(value);
    };
    for (const auto& option : method.options)
        if (option.safeguard) add(option.name, "0");
    if (method.steady.empty()) return text;
    for (const auto& [name, value] : parse_spec(fmt::format("steady:{}", method.steady)).options) add(name, value);
    return text;
}

namespace {
/// diag(√1, …, √n): as a matrix for which every method runs a while, and as its preconditioner. Hands its rows on, as
/// sparse matrices and jacobi do.
struct Counting {
    void apply(MultiVector<double> x, MultiVector<double> y, const RowWork& work) const {
        apply(x, y);
        work(0, 0, y.rows());
    }
    int parts() const { return 1; }
    void apply(MultiVector<double> x, MultiVector<double> y) const {
        for (Index row = 0; row < x.rows(); ++row) y(row) = std::sqrt(1.0 + row) * x(row);
    }
    void apply_transpose(MultiVector<double> x, MultiVector<double> y) const { apply(x, y); }
    double bytes(int) const { return 0; }
};
}  // namespace

PerIteration iteration_cost(const std::string& spec, Formulation formulation, bool preconditioned) {
    MpiComm alone(MPI_COMM_SELF);
    constexpr int rows = 64;
    std::vector<double> b(rows, 1.0), x(rows, 0.0);
    const Counting A;
    const AnyOperator<double> M = preconditioned ? AnyOperator<double>(A) : AnyOperator<double>();
    SolveOptions options;
    // Eigenvalues of A M⁻¹ go up to √64, or to 64.
    options.method = without_safeguards(spec, preconditioned ? rows : std::sqrt(rows));
    options.rtol = 0;
    options.max_iterations = 33;
    options.formulation = formulation;
    return solve<double>(alone, A, M, {b.data(), rows, 1}, {x.data(), rows, 1}, options).per_iteration;
}

}  // namespace stretto
