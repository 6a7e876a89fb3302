// SPDX-License-Identifier: BSD-3-Clause
// stretto bem: boundary elements.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <optional>
#include <utility>

#include "../files.hpp"
#include "../show/print.hpp"
#include "dense.hpp"
#include "stretto/bem/problem.hpp"
#include "stretto/bem/scattering.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/core/text.hpp"
#include "stretto/hmatrix/kernels.hpp"
#include "stretto/system/linear_system.hpp"

using namespace stretto;
using nlohmann::ordered_json;

namespace {

struct BemArguments : DenseArguments {
    std::string testing = "collocation", vtk, picture;
    std::optional<double> wave_number;  // none: charges
    std::optional<std::string> layer, direction;
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
    app.add_option(
        "--wave-number", bem.wave_number,
        "Scatter a plane wave of this wave number off the surfaces, which are sound-soft, in place of charges");
    app.add_option("--layer", bem.layer,
                   "What makes the scattered wave: combined (the default), or single (not at every wave number)")
        ->check(CLI::IsMember({"combined", "single"}));
    app.add_option("--direction", bem.direction, "Where the plane wave goes: X,Y,Z (0,0,1)");
    app.add_option("--vtk", bem.vtk, "Write the density to this file, FILE.vtu");
    app.add_option("--picture", bem.picture, "Draw the charge density, or the wave around the body: FILE.svg");
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

/// X,Y,Z.
Point direction_of(const std::string& text) {
    std::vector<Point> points;
    try {
        points = parse_points("--direction", text);
    } catch (const InputError&) {
        points.clear();
    }
    if (points.size() != 1 || std::ranges::count(text, ',') != 2)
        throw InputError(fmt::format("--direction {}: three numbers with commas between are wanted, as 0,0,1", text));
    return points[0];
}

/// What a density means far away, for people too where there is a table.
ordered_json tell_wave(const Context& context, const Comm& comm, const BemProblem& problem,
                       const Scattering& scattering, const std::string& layer, const std::vector<double>& density,
                       bool table) {
    const auto found = far_field(comm, scattering, complex_values(density), problem.sphere_radius, &context.interrupt);
    const double lost = std::abs(found.extinction - found.cross_section) / found.cross_section;
    ordered_json json{{"triangles", problem.mesh.size()},
                      {"wave_number", scattering.wave_number()},
                      {"layer", layer},
                      {"longest_side", scattering.longest_side()},
                      {"forward", {found.forward.real(), found.forward.imag()}},
                      {"backward", {found.backward.real(), found.backward.imag()}},
                      {"cross_section", found.cross_section},
                      {"extinction", found.extinction},
                      {"energy_error", lost},
                      {"truth", nullptr},
                      {"relative_error", nullptr}};
    std::string text = fmt::format(
        "scattering cross-section {:.6g}, extinction {:.6g} (out of balance by {:.1e}); |u∞| forwards {:.6g}, "
        "backwards {:.6g}",
        found.cross_section, found.extinction, lost, std::abs(found.forward), std::abs(found.backward));
    if (problem.sphere_radius > 0) {
        json["truth"] = {{"what", "far field"}, {"value", "Mie series"}};
        json["relative_error"] = found.sphere_error;
        text += fmt::format("; far field and Mie's series differ by {:.2e}", found.sphere_error);
    }
    if (table) print_out("  {}\n", text);
    return json;
}

int run(const Context& context, const BemArguments& asked) {
    ChosenComm chosen(*context.mpi, asked.comm);
    Comm& comm = chosen.get();
    BemArguments arguments = asked;
    // Galerkin's entries have the areas of two triangles in them, which the diagonal takes out again.
    if (asked.precond.empty()) arguments.precond = automatic;
    const auto testing = arguments.testing == "galerkin" ? Testing::galerkin : Testing::collocation;
    const bool wave = arguments.wave_number.has_value();
    for (const auto& [name, given] :
         {std::pair("--layer", arguments.layer.has_value()), {"--direction", arguments.direction.has_value()}})
        if (given && !wave) throw InputError(fmt::format("{} is of a wave: it goes with --wave-number K", name));
    if (wave && testing == Testing::galerkin)
        throw InputError("--wave-number goes with --testing collocation: leave out --testing");
    const std::string direction = arguments.direction.value_or("0,0,1"), layer = arguments.layer.value_or("combined");
    DenseMatrix matrix;
    if (wave)
        matrix.fill = ComplexFill();
    else
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
    std::optional<Scattering> scattering;
    if (wave)
        scattering.emplace(bem.mesh, *arguments.wave_number, layer == "single" ? Layer::single : Layer::combined,
                           direction_of(direction));
    DenseProblem problem{matrix};
    problem.program = shell_word(context.program) + " bem";
    problem.remarks.push_back(fmt::format("{} triangles, {} closed surface{}; {}", bem.mesh.size(),
                                          bem.potential.size(), bem.potential.size() == 1 ? "" : "s",
                                          arguments.testing));
    std::ranges::copy(bem.remarks, std::back_inserter(problem.remarks));
    if (wave) {
        matrix.fill = scattering->matrix();
        const double wave_number = scattering->wave_number(), side = scattering->longest_side();
        problem.options = {
            {"--wave-number", fmt::format("{}", wave_number)}, {"--layer", layer}, {"--direction", direction}};
        for (const auto& value : scattering->right_hand_side())
            problem.b.insert(problem.b.end(), {value.real(), value.imag()});
        problem.remarks.push_back(
            fmt::format("a wave of length {:.4g}, the longest side of a triangle is {:.2g} of it{}",
                        2 * std::numbers::pi / wave_number, side,
                        side > 0.25 ? ": warning: that is too long, more triangles are needed" : ""));
    } else {
        matrix.fill = single_layer(bem.mesh, testing);
        if (testing == Testing::galerkin) problem.options.emplace_back("--testing", arguments.testing);
        for (Index triangle = 0; triangle < bem.mesh.size(); ++triangle)
            problem.b.push_back(bem.wanted(triangle, testing));
    }
    const bool table = comm.rank() == 0 && arguments.json != "-";
    problem.tell = [&](const std::vector<double>& density) {
        return wave ? tell_wave(context, comm, bem, *scattering, layer, density, table)
                    : tell(bem, arguments.testing, density, table);
    };
    problem.write = [&](std::size_t k, const std::vector<double>& density) {
        if (!vtk_files.empty())
            write_on_first(comm, vtk_files[k],
                           [&] { return wave ? to_vtu(*scattering, complex_values(density)) : to_vtu(bem, density); });
        if (pictures.empty()) return;
        const std::string around =
            wave ? wave_picture(comm, *scattering, complex_values(density), &context.interrupt) : "";
        write_on_first(comm, pictures[k], [&] { return wave ? around : to_svg(bem, density); });
    };
    return solve_dense(context, comm, arguments, problem, plan, line);
}

}  // namespace

const Command bem_command = CommandOf<BemArguments>::row<add, run>(
    "bem", "Boundary elements: charges of conductors, and scattered waves, by a hierarchical matrix");
