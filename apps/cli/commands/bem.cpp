// SPDX-License-Identifier: BSD-3-Clause
// stretto bem: boundary elements.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "../files.hpp"
#include "../show/print.hpp"
#include "dense.hpp"
#include "stretto/bem/problem.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/text.hpp"
#include "stretto/system/linear_system.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

struct BemArguments : DenseArguments {
    std::string testing = "collocation", vtk, picture;
};

void add(CLI::App& app, BemArguments& bem) {
    app.add_option(
           "problem", bem.problem,
           "sphere:n=20000, two_spheres:…, spheres:…, sphere_in_field:…, cube:…, humanoid:…, 100ts, 1ms, 338ts, hum2, "
           "hum4, hum6 or mesh:FILE")
        ->required();
    add_dense_options(app, bem);
    app.add_option("--testing", bem.testing, "collocation, or galerkin (a symmetric matrix)")
        ->check(CLI::IsMember({"collocation", "galerkin"}))
        ->capture_default_str();
    app.add_option("--vtk", bem.vtk, "Write the charge density to this file, FILE.vtu");
    app.add_option("--picture", bem.picture, "Draw the charge density: FILE.svg");
}

/// Collective. Writes on rank 0; any failure is everybody's.
void write_on_first(const Comm& comm, const std::string& path, const std::function<std::string()>& text) {
    agree(comm, [&] {
        if (comm.rank() == 0) write_text(path, text());
    });
}

/// What a density means, for people too where there is a table.
ordered_json tell(const BemProblem& problem, const std::string& testing, const std::vector<double>& density,
                  bool table) {
    const auto found = charges(problem, density);
    ordered_json json{{"testing", testing},     {"triangles", problem.mesh.size()},
                      {"charge", found.total},  {"charges", found.by_surface},
                      {"dipole", found.dipole}, {"capacitance", nullptr},
                      {"truth", nullptr},       {"relative_error", nullptr}};
    if (found.capacitance) json["capacitance"] = *found.capacitance;
    std::string text = fmt::format("charge {:.9g}, dipole {:.9g}", found.total, found.dipole);
    if (found.capacitance) text += fmt::format(", capacitance {:.9g}", *found.capacitance);
    if (problem.truth) {
        json["truth"] = {{"what", problem.truth->what}, {"value", problem.truth->value}};
        json["relative_error"] = *found.truth_error;
        text += fmt::format("; {} should be {:.9g}: relative error {:.2e}", problem.truth->what, problem.truth->value,
                            *found.truth_error);
    }
    if (table) print_out("  {} (times 4πε₀)\n", text);
    return json;
}

int run(const Context& context, const BemArguments& asked) {
    ChosenComm chosen(*context.mpi, asked.comm);
    Comm& comm = chosen.get();
    BemArguments arguments = asked;
    // Galerkin's entries have the areas of two triangles in them, which the diagonal takes out again.
    if (asked.precond.empty()) arguments.precond = automatic;
    const auto testing = arguments.testing == "galerkin" ? Testing::galerkin : Testing::collocation;
    DenseMatrix matrix;
    matrix.symmetric = matrix.positive_definite = testing == Testing::galerkin;
    choose_for(matrix, arguments);
    auto methods = arguments.asked_methods();
    const auto vtk_files = files_of_methods(methods, "--vtk", arguments.vtk),
               pictures = files_of_methods(methods, "--picture", arguments.picture);
    auto outputs = vtk_files;
    outputs.insert(outputs.end(), pictures.begin(), pictures.end());
    auto plan = check_dense(comm, arguments, std::move(methods), outputs);
    if (!arguments.vtk.empty() && !arguments.vtk.ends_with(".vtu"))
        throw InputError(fmt::format("--vtk {}: the name must end in .vtu", arguments.vtk));
    if (!arguments.picture.empty() && !arguments.picture.ends_with(".svg"))
        throw InputError(fmt::format("--picture {}: the name must end in .svg", arguments.picture));

    ProgressLine line(comm.rank(), arguments.progress);
    const auto bem = make_bem_problem(comm, arguments.problem);
    matrix.geometry = bem.mesh.geometry();
    matrix.fill = single_layer(bem.mesh, testing);
    DenseProblem problem{matrix};
    problem.program = shell_word(context.program) + " bem";
    if (testing == Testing::galerkin) problem.options.emplace_back("--testing", arguments.testing);
    for (Index triangle = 0; triangle < bem.mesh.size(); ++triangle) problem.b.push_back(bem.wanted(triangle, testing));
    problem.remarks.push_back(fmt::format("{} triangles, {} closed surface{}; {}", bem.mesh.size(),
                                          bem.potential.size(), bem.potential.size() == 1 ? "" : "s",
                                          arguments.testing));
    std::ranges::copy(bem.remarks, std::back_inserter(problem.remarks));
    const bool table = comm.rank() == 0 && arguments.json != "-";
    problem.tell = [&](const std::vector<double>& density) { return tell(bem, arguments.testing, density, table); };
    problem.write = [&](std::size_t k, const std::vector<double>& density) {
        if (!vtk_files.empty()) write_on_first(comm, vtk_files[k], [&] { return to_vtu(bem, density); });
        if (!pictures.empty()) write_on_first(comm, pictures[k], [&] { return to_svg(bem, density); });
    };
    return solve_dense(context, comm, arguments, problem, plan, line);
}

}  // namespace

const Command bem_command = CommandOf<BemArguments>::row<add, run>(
    "bem", "Boundary elements: the charges of conductors, by a hierarchical matrix");
