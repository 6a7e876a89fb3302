// SPDX-License-Identifier: BSD-3-Clause
#include "stretto/bem/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "stretto/comm/collective.hpp"
#include "stretto/core/names.hpp"

namespace stretto {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr OptionInfo n_option{"n", 5120, 12, 1e8, "triangles, about", true};
constexpr OptionInfo radius_option{"radius", 1, 1e-30, 1e30, "of a sphere"};
constexpr OptionInfo sphere_options[] = {n_option, radius_option};
constexpr OptionInfo two_options[] = {
    n_option, radius_option, {"distance", 4, 2, 1e6, "of the centres, in radii; above 2"}};
constexpr OptionInfo spheres_options[] = {
    n_option, radius_option, {"pairs", 8, 1, 1e6, "of spheres at +1 V and −1 V", true}};
constexpr OptionInfo cube_options[] = {n_option, {"grading", 1, 1, 10, "above 1: smaller triangles at the edges"}};
constexpr OptionInfo humanoid_options[] = {n_option,
                                           {"grid", 1, 1, 1000, "grid × grid figures, n triangles each", true},
                                           {"spacing", 2, 1.2, 1e6, "of the grid, in metres"}};

/// The problems of Yamazaki and others (2018), Fig. 3, in shape and about their size. How far apart their spheres and
/// figures are is not said there.
struct PaperProblem {
    std::string_view name, spec;
};
constexpr PaperProblem paper_problems[] = {
    {"100ts", "two_spheres:n=101250"},   {"338ts", "spheres:n=338000,pairs=8"}, {"1ms", "two_spheres:n=1004400"},
    {"hum2", "humanoid:n=19664,grid=2"}, {"hum4", "humanoid:n=19664,grid=4"},   {"hum6", "humanoid:n=19664,grid=6"},
};

/// What a problem of the paper stands for, with the options that were given.
Spec resolved(Spec spec) {
    const auto paper = std::ranges::find(paper_problems, spec.name, &PaperProblem::name);
    if (paper == std::end(paper_problems)) return spec;
    Spec meant = parse_spec(std::string(paper->spec));
    std::erase_if(meant.options, [&](const auto& usual) {
        return std::ranges::any_of(spec.options, [&](const auto& given) { return given.first == usual.first; });
    });
    std::ranges::copy(spec.options, std::back_inserter(meant.options));
    return meant;
}

/// Q/(aV) of two spheres of radius a at ±V, whose centres are `ratio` radii apart (Smythe 1950).
double charge_of_two_spheres(double ratio) {
    const double mu = std::acosh(ratio / 2);
    double sum = 0;
    for (int k = 1; k < 100000; ++k) {
        const double term = 1 / std::sinh((2 * k - 1) * mu) + 1 / std::sinh(2 * k * mu);
        sum += term;
        if (term < 1e-17 * sum) break;
    }
    return std::sinh(mu) * sum;
}

TriangleMesh sphere_of(double n, double radius) {
    auto mesh = icosphere(std::max<Index>(1, static_cast<Index>(std::lround(std::sqrt(n / 20)))));
    for (Point& p : mesh.vertices) p = radius * p;
    return mesh;
}

std::string read_text(const Comm& comm, const std::string& path) {
    std::string text;
    agree(comm, [&] {
        if (comm.rank() != 0) return;
        std::ifstream file(path, std::ios::binary);
        if (!file) throw InputError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
        std::error_code error;
        if (std::filesystem::is_directory(path, error)) throw InputError(path + " is a directory");
        text.assign(std::istreambuf_iterator<char>(file), {});
        if (text.size() > std::size_t{1} << 30) throw InputError(path + ": meshes above 1 GiB are not read");
    });
    return broadcast(comm, std::move(text), 0);
}

}  // namespace

std::span<const BemProblemKind> bem_problems() {
    static constexpr BemProblemKind kinds[] = {
        {"sphere", "n=…", "a sphere at 1 V", sphere_options},
        {"two_spheres", "n=…,distance=…", "two spheres at +1 V and −1 V", two_options},
        {"spheres", "n=…,pairs=…", "many pairs of spheres at +1 V and −1 V on a grid", spheres_options},
        {"sphere_in_field", "n=…", "a sphere in a uniform field", sphere_options},
        {"cube", "n=…,grading=…", "the unit cube at 1 V", cube_options},
        {"humanoid", "n=…,grid=…", "figures of people, earthed, standing on a grid in a uniform field",
         humanoid_options},
        {"100ts", "n=…", "two_spheres of 101,250 triangles, as Yamazaki and others (2018)", two_options},
        {"1ms", "n=…", "two_spheres of 1,004,400", two_options},
        {"338ts", "n=…,pairs=…", "spheres of 338,000", spheres_options},
        {"hum2", "n=…", "humanoid: 2 × 2 figures of 19,664", humanoid_options},
        {"hum4", "n=…", "4 × 4 figures", humanoid_options},
        {"hum6", "n=…", "6 × 6 figures", humanoid_options},
        {"mesh", "FILE", "a mesh (.stl, .off, .obj), every surface of it at 1 V", {}},
    };
    return kinds;
}

BemProblem make_bem_problem(const Comm& comm, const std::string& text) {
    BemProblem problem;
    auto& mesh = problem.mesh;
    if (text == "mesh" || text.starts_with("mesh:")) {
        const std::string path = text.substr(std::min(text.size(), std::size_t{5}));
        if (path.empty()) throw InputError("mesh: the name of a file is missing, as in mesh:part.stl");
        mesh = parse_mesh(path, read_text(comm, path));
        const auto welded = weld(mesh);
        problem.remarks = check_mesh(mesh, path);
        if (!welded.empty()) problem.remarks.insert(problem.remarks.begin(), welded);
        problem.surface = mesh.surfaces();
        problem.potential.assign(static_cast<std::size_t>(*std::ranges::max_element(problem.surface)) + 1, 1.0);
        return problem;
    }
    for (const auto* ending : {".stl", ".off", ".obj"})
        if (text.ends_with(ending))
            throw InputError(fmt::format("there is no boundary element problem '{0}': did you mean mesh:{0}?", text));
    const Spec spec = resolved(parse_spec(text));
    const auto kind = std::ranges::find(bem_problems(), spec.name, &BemProblemKind::name);
    if (kind == bem_problems().end())
        throw InputError(refusal(fmt::format("there is no boundary element problem '{}'", spec.name), spec.name,
                                 names_of(bem_problems(), &BemProblemKind::name)));
    const Options options(spec, kind->options);
    const double n = options.number("n");
    if (spec.name == "cube") {
        mesh = unit_cube(std::max<Index>(1, static_cast<Index>(std::lround(std::sqrt(n / 12)))),
                         options.number("grading"));
        problem.potential = {1};
        problem.truth = {"capacitance", 0.6606782};
    } else if (spec.name == "humanoid") {
        const auto figure = humanoid(static_cast<Index>(n));
        const int grid = static_cast<int>(options.number("grid"));
        if (n * grid * grid > 1e9) throw InputError(fmt::format("{}: more triangles than can be counted", text));
        for (int i = 0; i < grid; ++i)
            for (int j = 0; j < grid; ++j) mesh.add(figure, options.number("spacing") * Point{1.0 * i, 1.0 * j, 0});
        problem.field = 1;
    } else {
        const double radius = options.number("radius");
        if (spec.name == "sphere" || spec.name == "sphere_in_field") {
            mesh = sphere_of(n, radius);
            problem.potential = {1};
            problem.truth = {"capacitance", radius};
            problem.sphere_radius = radius;
            if (spec.name == "sphere_in_field") {
                problem.potential = {0};
                problem.field = 1;
                problem.truth = {"dipole", radius * radius * radius};
            }
        } else if (spec.name == "two_spheres") {
            const double ratio = options.number("distance");
            if (!(ratio > 2)) throw InputError(fmt::format("{}: the spheres touch", text));
            const auto one = sphere_of(n / 2, radius);
            mesh.add(one);
            mesh.add(one, {ratio * radius, 0, 0});
            problem.potential = {1, -1};
            problem.truth = {"charge", radius * charge_of_two_spheres(ratio)};
        } else {
            const int pairs = static_cast<int>(options.number("pairs"));
            const auto one = sphere_of(n / (2 * pairs), radius);
            const int side = static_cast<int>(std::ceil(std::cbrt(pairs)));
            for (int k = 0; k < pairs; ++k) {
                const int row = k / side, layer = row / side;
                const Point at = 8 * radius * Point{1.0 * (k % side), 1.0 * (row % side), 1.0 * layer};
                mesh.add(one, at);
                mesh.add(one, at + Point{3 * radius, 0, 0});
                problem.potential.insert(problem.potential.end(), {1, -1});
            }
        }
    }
    check_mesh(mesh, text);
    problem.surface = mesh.surfaces();
    problem.potential.resize(static_cast<std::size_t>(*std::ranges::max_element(problem.surface)) + 1, 0.0);
    return problem;
}

double BemProblem::wanted(Index triangle, Testing testing) const {
    const auto i = static_cast<std::size_t>(triangle);
    const double value = potential[static_cast<std::size_t>(surface[i])] + field * mesh.centroid(triangle)[2];
    return testing == Testing::galerkin ? mesh.area(triangle) * value : value;
}

BemCharges charges(const BemProblem& problem, std::span<const double> density) {
    BemCharges result{
        .by_surface = std::vector<double>(problem.potential.size(), 0.0), .capacitance = {}, .truth_error = {}};
    for (Index i = 0; i < problem.mesh.size(); ++i) {
        const double charge = density[static_cast<std::size_t>(i)] * problem.mesh.area(i);
        result.by_surface[static_cast<std::size_t>(problem.surface[static_cast<std::size_t>(i)])] += charge;
        result.total += charge;
        result.dipole += charge * problem.mesh.centroid(i)[2];
    }
    // Conductors that are all at V together; with ±V, what the positive ones have.
    const double V = problem.potential[0];
    if (problem.field == 0 && std::ranges::all_of(problem.potential, [&](double v) { return std::abs(v) == V; })) {
        double charge = 0;
        for (std::size_t s = 0; s < problem.potential.size(); ++s)
            charge += problem.potential[s] == V ? result.by_surface[s] : 0;
        result.capacitance = charge / V;
    }
    if (problem.truth) {
        const auto& [what, value] = *problem.truth;
        const double found = what == "capacitance" ? *result.capacitance
                             : what == "charge"    ? result.by_surface[0]
                                                   : result.dipole;
        result.truth_error = std::abs(found - value) / std::abs(value);
    }
    return result;
}

std::string to_vtu(const BemProblem& problem, std::span<const double> density) {
    std::vector<double> potential;
    for (const Index surface : problem.surface)
        potential.push_back(problem.potential[static_cast<std::size_t>(surface)]);
    const CellData data[] = {{"charge density", {density.begin(), density.end()}},
                             {"potential", potential},
                             {"surface", {problem.surface.begin(), problem.surface.end()}, true}};
    return to_vtu(problem.mesh, data);
}

std::string to_vtu(const TriangleMesh& mesh, std::span<const CellData> data) {
    std::string text = fmt::format(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
        "<UnstructuredGrid>\n<Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">\n<Points>\n"
        "<DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">\n",
        mesh.vertices.size(), mesh.triangles.size());
    auto out = std::back_inserter(text);
    for (const Point& p : mesh.vertices) fmt::format_to(out, "{} {} {}\n", p[0], p[1], p[2]);
    text += "</DataArray>\n</Points>\n<Cells>\n<DataArray type=\"Int32\" Name=\"connectivity\" format=\"ascii\">\n";
    for (const auto& [a, b, c] : mesh.triangles) fmt::format_to(out, "{} {} {}\n", a, b, c);
    text += "</DataArray>\n<DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">\n";
    for (Index i = 1; i <= mesh.size(); ++i) fmt::format_to(out, "{}\n", 3 * static_cast<Global>(i));
    text += "</DataArray>\n<DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">\n";
    for (Index i = 0; i < mesh.size(); ++i) text += "5\n";
    fmt::format_to(out, "</DataArray>\n</Cells>\n<CellData Scalars=\"{}\">\n", data.front().name);
    for (const auto& [name, values, integer] : data) {
        fmt::format_to(out, "<DataArray type=\"{}\" Name=\"{}\" format=\"ascii\">\n", integer ? "Int32" : "Float64",
                       name);
        for (const double value : values) fmt::format_to(out, "{}\n", value);
        text += "</DataArray>\n";
    }
    return text + "</CellData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n";
}

std::string to_svg(const BemProblem& problem, std::span<const double> density) {
    const auto& mesh = problem.mesh;
    // Seen from the front, the right and above: u to the right, v up, what has a smaller depth is nearer.
    const Point right{0.5, std::sqrt(0.75), 0}, up{-0.25 * std::sqrt(0.75), 0.125, std::sqrt(61.0) / 8};
    const Point towards = cross(right, up);
    double low = infinity, top = -infinity, left = infinity, end = -infinity, most = 0;
    for (const Point& p : mesh.vertices) {
        left = std::min(left, dot(p, right));
        end = std::max(end, dot(p, right));
        low = std::min(low, dot(p, up));
        top = std::max(top, dot(p, up));
    }
    std::vector<double> sizes;
    for (const double value : density) sizes.push_back(std::abs(value));
    std::ranges::sort(sizes);
    if (!sizes.empty()) most = sizes[sizes.size() * 99 / 100];  // edges and corners would make all else pale
    std::vector<Index> seen;
    for (Index i = 0; i < mesh.size(); ++i) {
        const auto [a, b, c] = mesh.corners(i);
        if (dot(cross(b - a, c - a), towards) > 0) seen.push_back(i);
    }
    std::ranges::stable_sort(seen, {}, [&](Index i) { return dot(mesh.centroid(i), towards); });
    const double scale = 800 / std::max(end - left, top - low);
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\">\n<rect "
        "width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        scale * (end - left) + 40, scale * (top - low) + 70);
    for (const Index i : seen) {
        const double share = most > 0 ? std::clamp(density[static_cast<std::size_t>(i)] / most, -1.0, 1.0) : 0;
        const int pale = static_cast<int>(std::lround(235 * (1 - std::abs(share))));
        const auto colour = share > 0 ? fmt::format("#eb{0:02x}{0:02x}", pale) : fmt::format("#{0:02x}{0:02x}eb", pale);
        text += fmt::format("<path fill=\"{0}\" stroke=\"{0}\" stroke-width=\"0.3\" d=\"M", colour);
        for (const Point& p : mesh.corners(i))
            text += fmt::format("{:.1f} {:.1f} ", 20 + scale * (dot(p, right) - left), 20 + scale * (top - dot(p, up)));
        text += "Z\"/>\n";
    }
    return text + fmt::format(
                      "<text x=\"20\" y=\"{:.0f}\" font-family=\"sans-serif\" font-size=\"16\">charge density / "
                      "4πε₀: blue −{:.3g}, red +{:.3g}</text>\n</svg>\n",
                      scale * (top - low) + 55, most, most);
}

}  // namespace stretto
