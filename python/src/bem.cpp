// SPDX-License-Identifier: BSD-3-Clause
// Boundary elements: charges of conductors, and scattered waves.
#include <nanobind/stl/array.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "dense.hpp"
#include "stretto/bem/problem.hpp"
#include "stretto/bem/scattering.hpp"
#include "stretto/core/error.hpp"

namespace nb = nanobind;

namespace stretto::python {
namespace {

using Triangles = nb::ndarray<const Index, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

template <class Rows>
auto array_of_rows(const Rows& rows) {
    using Value = typename Rows::value_type::value_type;
    auto* const kept = new std::vector<Value>;
    for (const auto& row : rows) kept->insert(kept->end(), row.begin(), row.end());
    const nb::capsule owner(kept, [](void* data) noexcept { delete static_cast<std::vector<Value>*>(data); });
    return nb::ndarray<nb::numpy, Value, nb::ndim<2>>(kept->data(), {rows.size(), 3}, owner);
}

std::unique_ptr<Dense> of_bem(std::shared_ptr<Communicator> communicator, const BemProblem& problem, bool galerkin,
                              nb::object progress, const nb::dict& given) {
    auto matrix = std::make_unique<DenseMatrix>();
    matrix->symmetric = matrix->positive_definite = galerkin;
    matrix->geometry = problem.mesh.geometry();
    matrix->fill = single_layer(problem.mesh, galerkin ? Testing::galerkin : Testing::collocation);
    return std::make_unique<Dense>(std::move(communicator), std::make_shared<Guest>(std::move(progress)),
                                   std::move(matrix), dense_options(given));
}

using Density = nb::ndarray<const std::complex<double>, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
std::span<const std::complex<double>> span_of(const Density& density) { return {density.data(), density.size()}; }

Scattering scattering(const BemProblem& problem, double wave_number, const std::string& layer, const Point& direction) {
    return {problem.mesh, wave_number, layer == "single" ? Layer::single : Layer::combined, direction};
}

std::unique_ptr<Dense> of_wave(std::shared_ptr<Communicator> communicator, const Scattering& wave, nb::object progress,
                               const nb::dict& given) {
    auto matrix = std::make_unique<DenseMatrix>();
    matrix->geometry = wave.mesh().geometry();
    matrix->fill = wave.matrix();
    return std::make_unique<Dense>(std::move(communicator), std::make_shared<Guest>(std::move(progress)),
                                   std::move(matrix), dense_options(given));
}

nb::dict far_away(const Scattering& wave, Communicator& communicator, const Density& density, double radius) {
    const auto found = far_field(communicator.comm(), wave, span_of(density), radius);
    nb::dict all;
    all["forward"] = found.forward;
    all["backward"] = found.backward;
    all["cross_section"] = found.cross_section;
    all["extinction"] = found.extinction;
    if (radius > 0)
        all["sphere_error"] = found.sphere_error;
    else
        all["sphere_error"] = nb::none();
    return all;
}

/// f(point) of each.
template <class F>
std::vector<std::complex<double>> at_points(const Points& points, F&& f) {
    const nb::gil_scoped_release unlocked;
    std::vector<std::complex<double>> values;
    for (const Point& p : points_of(points)) values.push_back(f(p));
    return values;
}

/// Conductors of a mesh in arrays: closed surfaces, each with its potential.
BemProblem conductors(const Points& vertices, const Triangles& triangles, const std::vector<double>& potential,
                      double field) {
    BemProblem problem;
    problem.mesh.vertices = points_of(vertices);
    for (std::size_t t = 0; t < triangles.shape(0); ++t)
        problem.mesh.triangles.push_back({triangles(t, 0), triangles(t, 1), triangles(t, 2)});
    if (auto welded = weld(problem.mesh); !welded.empty()) problem.remarks.push_back(std::move(welded));
    std::ranges::move(check_mesh(problem.mesh, "the mesh"), std::back_inserter(problem.remarks));
    problem.surface = problem.mesh.surfaces();
    const auto surfaces = static_cast<std::size_t>(std::ranges::max(problem.surface)) + 1;
    problem.potential = potential;
    if (potential.size() == 1) problem.potential.resize(surfaces, potential.front());
    if (problem.potential.size() != surfaces)
        throw InputError("the mesh has " + std::to_string(surfaces) + " closed surfaces, and " +
                         std::to_string(potential.size()) + " potentials were given");
    problem.field = field;
    return problem;
}

nb::dict amounts(const BemProblem& problem, const ConstColumns& density) {
    const auto found = charges(problem, {density.data(), density.size()});
    nb::dict all;
    all["by_surface"] = found.by_surface;
    all["total"] = found.total;
    all["dipole"] = found.dipole;
    all["capacitance"] = found.capacitance;
    all["truth_error"] = found.truth_error;
    return all;
}

}  // namespace

void bind_bem(nb::module_& m) {
    nb::class_<BemProblem>(m, "BemProblem")
        .def_prop_ro(
            "vertices", [](const BemProblem& self) { return array_of_rows(self.mesh.vertices); }, nb::rv_policy::move)
        .def_prop_ro(
            "triangles", [](const BemProblem& self) { return array_of_rows(self.mesh.triangles); }, nb::rv_policy::move)
        .def_ro("surface", &BemProblem::surface)
        .def_ro("potential", &BemProblem::potential)
        .def_ro("field", &BemProblem::field)
        .def_ro("remarks", &BemProblem::remarks)
        .def_ro("sphere_radius", &BemProblem::sphere_radius)
        .def_prop_ro("truth",
                     [](const BemProblem& self) -> std::optional<std::pair<std::string, double>> {
                         if (!self.truth) return {};
                         return std::pair(self.truth->what, self.truth->value);
                     })
        .def("wanted",
             [](const BemProblem& self, bool galerkin) {
                 std::vector<double> b;
                 for (Index t = 0; t < self.mesh.size(); ++t)
                     b.push_back(self.wanted(t, galerkin ? Testing::galerkin : Testing::collocation));
                 return b;
             })
        .def("amounts", amounts)
        .def("vtu", [](const BemProblem& self,
                       const ConstColumns& density) { return to_vtu(self, {density.data(), density.size()}); })
        .def("svg", [](const BemProblem& self, const ConstColumns& density) {
            return to_svg(self, {density.data(), density.size()});
        });
    nb::class_<Scattering>(m, "Scattering")
        .def_prop_ro("longest_side", &Scattering::longest_side)
        .def("wanted", &Scattering::right_hand_side)
        .def("far_away", far_away)
        .def("far_field",
             [](const Scattering& self, const Density& density, const Points& directions) {
                 return at_points(directions, [&](const Point& d) { return self.far_field(span_of(density), d); });
             })
        .def("field",
             [](const Scattering& self, const Density& density, const Points& points) {
                 return at_points(
                     points, [&](const Point& p) { return self.incident(p) + self.scattered(span_of(density), p); });
             })
        .def("svg",
             [](const Scattering& self, Communicator& communicator, const Density& density) {
                 const nb::gil_scoped_release unlocked;
                 return wave_picture(communicator.comm(), self, span_of(density));
             })
        .def("vtu", [](const Scattering& self, const Density& density) { return to_vtu(self, span_of(density)); });
    m.def("bem_scattering", scattering, nb::arg("problem"), nb::arg("wave_number"), nb::arg("layer"),
          nb::arg("direction"), nb::keep_alive<0, 1>());
    m.def("bem_problem", [](Communicator& communicator, const std::string& spec) {
        return make_bem_problem(communicator.comm(), spec);
    });
    m.def("bem_conductors", conductors, nb::arg("vertices"), nb::arg("triangles"), nb::arg("potential"),
          nb::arg("field"));
    m.def("dense_of_bem", of_bem, nb::arg("communicator"), nb::arg("problem"), nb::arg("galerkin"),
          nb::arg("progress").none(), nb::arg("given"));
    m.def("dense_of_wave", of_wave, nb::arg("communicator"), nb::arg("wave"), nb::arg("progress").none(),
          nb::arg("given"));
}

}  // namespace stretto::python
