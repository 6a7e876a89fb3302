// SPDX-License-Identifier: BSD-3-Clause
// Dense systems as hierarchical matrices: DenseSystem, kernels of Python, boundary elements.
#include <nanobind/stl/array.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "solve.hpp"
#include "stretto/bem/problem.hpp"
#include "stretto/bem/scattering.hpp"
#include "stretto/core/error.hpp"
#include "stretto/device/devices.hpp"
#include "stretto/hmatrix/kernels.hpp"
#include "stretto/system/dense_system.hpp"

namespace nb = nanobind;

namespace stretto::python {
namespace {

using Points = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Triangles = nb::ndarray<const Index, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

std::vector<Point> points_of(const Points& given) {
    std::vector<Point> points(given.shape(0));
    for (std::size_t i = 0; i < points.size(); ++i) points[i] = {given(i, 0), given(i, 1), given(i, 2)};
    return points;
}

template <class Rows>
auto array_of_rows(const Rows& rows) {
    using Value = typename Rows::value_type::value_type;
    auto* const kept = new std::vector<Value>;
    for (const auto& row : rows) kept->insert(kept->end(), row.begin(), row.end());
    const nb::capsule owner(kept, [](void* data) noexcept { delete static_cast<std::vector<Value>*>(data); });
    return nb::ndarray<nb::numpy, Value, nb::ndim<2>>(kept->data(), {rows.size(), 3}, owner);
}

template <class T>
using ConstColumnsOf = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Entries by a function of Python or one that is compiled, for real ones, of the coordinates of two groups of points.
template <class T>
class Blocks {
public:
    /// `kernel`: called with (rows, dimensions) and (columns, dimensions), returns rows × columns; or the address of
    /// void(const double* x, int64 rows, const double* y, int64 columns, int64 dimensions, double* out), out row after
    /// row, which is called by several threads without Python. `nugget` is added where both are the same point.
    Blocks(std::shared_ptr<Guest> guest, nb::object kernel, std::uintptr_t address, double nugget, int dimensions,
           const std::vector<Point>& points)
        : guest_(std::move(guest)),
          kernel_(std::move(kernel)),
          compiled_(reinterpret_cast<Compiled>(address)),
          nugget_(nugget),
          dimensions_(static_cast<std::size_t>(dimensions)),
          points_(points) {}

    void operator()(std::span<const Index> rows, std::span<const Index> cols, T* out) const {
        auto x = gathered(rows), y = gathered(cols);
        std::vector<T> block(rows.size() * cols.size(), std::numeric_limits<double>::quiet_NaN());
        if (compiled_)
            compiled_(x.data(), static_cast<std::int64_t>(rows.size()), y.data(),
                      static_cast<std::int64_t>(cols.size()), static_cast<std::int64_t>(dimensions_), block.data());
        else
            guest_->run([&] { ask(x, y, rows.size(), cols.size(), block); });
        for (std::size_t j = 0; j < cols.size(); ++j)
            for (std::size_t i = 0; i < rows.size(); ++i)
                *out++ = block[i * cols.size() + j] + (rows[i] == cols[j] ? nugget_ : 0);
    }

private:
    using Compiled = void (*)(const double*, std::int64_t, const double*, std::int64_t, std::int64_t, T*);

    std::vector<double> gathered(std::span<const Index> which) const {
        std::vector<double> values;
        values.reserve(which.size() * dimensions_);
        for (const Index i : which) {
            const auto& point = points_[static_cast<std::size_t>(i)];
            values.insert(values.end(), point.begin(), point.begin() + static_cast<std::ptrdiff_t>(dimensions_));
        }
        return values;
    }

    void ask(std::vector<double>& x, std::vector<double>& y, std::size_t rows, std::size_t cols,
             std::vector<T>& block) const {
        const auto array = [&](std::vector<double>& values, std::size_t count) {
            const std::size_t shape[] = {count, dimensions_};
            const nb::ndarray<nb::numpy, double, nb::ndim<2>> view(values.data(), 2, shape, nb::handle());
            return nb::cast(view, nb::rv_policy::copy);
        };
        const nb::object answer = kernel_(array(x, rows), array(y, cols));
        const auto found = nb::cast<ConstColumnsOf<T>>(answer);  // of rows × columns
        std::copy_n(found.data(), rows * cols, block.data());
    }

    std::shared_ptr<Guest> guest_;
    nb::object kernel_;
    Compiled compiled_;
    double nugget_;
    std::size_t dimensions_;
    const std::vector<Point>& points_;
};

/// A matrix with its system. What it is made of stays in its place.
class Dense {
public:
    Dense(std::shared_ptr<Communicator> communicator, std::shared_ptr<Guest> guest,
          std::unique_ptr<const DenseMatrix> matrix, DenseOptions options)
        : communicator_(std::move(communicator)), guest_(std::move(guest)), matrix_(std::move(matrix)) {
        options.interrupt = &guest_->interrupt();
        options.progress = [this](double fraction) { guest_->told(fraction); };
        try {
            const nb::gil_scoped_release unlocked;
            system_.emplace(communicator_->comm(), *matrix_, std::move(options));
        } catch (const std::exception&) {
            guest_->leave();  // what Python threw comes before what came of it
            if (!guest_->interrupt()) throw;
            PyErr_SetNone(PyExc_KeyboardInterrupt);
            throw nb::python_error();
        }
        guest_->leave();
    }

    const DenseSystem& system() const { return *system_; }

    std::unique_ptr<Outcome> solve(const ConstColumns& b, const Columns& x, const nb::dict& given,
                                   nb::object callback) {
        Guest guest(std::move(callback));
        const SolveOptions options = guest.invited(solve_options(given));
        std::unique_ptr<Outcome> outcome;
        {
            const nb::gil_scoped_release unlocked;
            auto result = system_->solve(view(b), view(x), options);
            auto info = system_->info(options);
            outcome = std::make_unique<Outcome>(
                communicator_, info.method, [info] { return info; }, std::move(result), guest.timeline());
        }
        guest.leave();
        guest_->leave();
        return outcome;
    }

    void multiply(const ConstColumns& x, const Columns& y, bool transposed) const {
        const nb::gil_scoped_release unlocked;
        system_->apply(view(x), view(y), transposed);
    }

    nb::dict statistics() const {
        const auto& of = system_->matrix().statistics();
        nb::dict all;
        all["dense_blocks"] = of.dense_blocks;
        all["low_rank_blocks"] = of.low_rank_blocks;
        all["refilled"] = of.refilled;
        all["values"] = of.values;
        all["mean_rank"] =
            of.low_rank_blocks > 0 ? static_cast<double>(of.ranks) / static_cast<double>(of.low_rank_blocks) : 0.0;
        all["max_rank"] = of.max_rank;
        all["bytes"] = of.bytes;
        all["single"] = of.single;
        all["in_16_bits"] = of.in_16_bits;
        all["in_8_bits"] = of.in_8_bits;
        all["seconds"] = of.seconds;
        return all;
    }

    /// (row, rows, column, columns, rank) of this process' blocks.
    nb::list blocks() const {
        nb::list list;
        for (const auto& block : system_->matrix().blocks()) {
            list.append(nb::make_tuple(block.row, block.rows, block.col, block.cols, block.rank));
            if (block.mirrored) list.append(nb::make_tuple(block.col, block.cols, block.row, block.rows, block.rank));
        }
        return list;
    }

private:
    std::shared_ptr<Communicator> communicator_;
    std::shared_ptr<Guest> guest_;  // of the kernel; it outlives the matrix, whose entries solves ask for again
    std::unique_ptr<const DenseMatrix> matrix_;
    std::optional<DenseSystem> system_;
};

DenseOptions dense_options(const nb::dict& given) {
    static const Readers<DenseOptions> readers{
        {"precond", reads<&DenseOptions::precond>},
        {"hmatrix", reads<&DenseOptions::hmatrix>},
        {"threads", reads<&DenseOptions::threads>},
        {"columns", reads<&DenseOptions::columns>},
        {"rtol", reads<&DenseOptions::rtol>},
        {"insist", reads<&DenseOptions::insist>},
        {"device", [](DenseOptions& of, nb::handle value) { of.device = find_device(taken<std::string>(value)); }},
    };
    DenseOptions options;
    read_by_name(given, readers, options);
    return options;
}

std::unique_ptr<Dense> of_kernel(std::shared_ptr<Communicator> communicator, const Points& points,
                                 const std::string& spec, nb::object progress, const nb::dict& given) {
    return std::make_unique<Dense>(std::move(communicator), std::make_shared<Guest>(std::move(progress)),
                                   kernel_matrix(spec, points_of(points)), dense_options(given));
}

std::unique_ptr<Dense> of_blocks(std::shared_ptr<Communicator> communicator, const Points& points, int dimensions,
                                 nb::object kernel, std::uintptr_t address, double nugget, bool symmetric,
                                 bool positive_definite, bool is_complex, double error_growth, nb::object progress,
                                 const nb::dict& given) {
    auto guest = std::make_shared<Guest>(std::move(progress));
    auto matrix = std::make_unique<DenseMatrix>();
    matrix->geometry.points = points_of(points);
    matrix->symmetric = symmetric;
    matrix->positive_definite = positive_definite;
    matrix->error_growth = error_growth;
    const auto fill = [&]<class T>(T) -> FillOf<T> {
        // It is copied from thread to thread: objects of Python are not, without its lock.
        return [blocks = std::make_shared<const Blocks<T>>(guest, std::move(kernel), address, nugget, dimensions,
                                                           matrix->geometry.points)](
                   std::span<const Index> rows, std::span<const Index> cols, T* out) { (*blocks)(rows, cols, out); };
    };
    if (is_complex)
        matrix->fill = fill(std::complex<double>());
    else
        matrix->fill = fill(0.0);
    return std::make_unique<Dense>(std::move(communicator), std::move(guest), std::move(matrix), dense_options(given));
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
    const double length = norm(direction);
    if (!(wave_number > 0 && wave_number <= 1e30))
        throw InputError("wave_number is to be above 0, and up to 1e30, not " + std::to_string(wave_number));
    if (!(length > 0 && std::isfinite(length))) throw InputError("direction is to be three numbers, not all of them 0");
    Scattering wave(problem.mesh, wave_number, layer == "single" ? Layer::single : Layer::combined,
                    (1 / length) * direction);
    if (wave.longest_side() > 1)
        throw InputError("the longest side of a triangle is " + std::to_string(wave.longest_side()) +
                         " wave lengths: a quarter is needed, by more triangles or a smaller wave number");
    return wave;
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

nb::list kernel_table() {
    nb::list list;
    for (const auto& kind : kernel_kinds()) {
        nb::dict row;
        row["name"] = std::string(kind.name);
        row["title"] = std::string(kind.help);
        row["positive_definite"] = kind.positive_definite;
        row["options"] = describe(kind.options);
        list.append(row);
    }
    return list;
}

}  // namespace

void bind_dense(nb::module_& m) {
    m.def("kernels", kernel_table);
    m.def("hmatrix_options", [] { return describe(hmatrix_options()); });

    nb::class_<Dense>(m, "Dense")
        .def_static("of_kernel", of_kernel, nb::arg("communicator"), nb::arg("points"), nb::arg("kernel"),
                    nb::arg("progress").none(), nb::arg("given"))
        .def_static("of_blocks", of_blocks, nb::arg("communicator"), nb::arg("points"), nb::arg("dimensions"),
                    nb::arg("kernel").none(), nb::arg("address"), nb::arg("nugget"), nb::arg("symmetric"),
                    nb::arg("positive_definite"), nb::arg("is_complex"), nb::arg("error_growth"),
                    nb::arg("progress").none(), nb::arg("given"))
        .def_static("of_bem", of_bem, nb::arg("communicator"), nb::arg("problem"), nb::arg("galerkin"),
                    nb::arg("progress").none(), nb::arg("given"))
        .def_static("of_wave", of_wave, nb::arg("communicator"), nb::arg("wave"), nb::arg("progress").none(),
                    nb::arg("given"))
        .def("solve", &Dense::solve, nb::arg("b"), nb::arg("x"), nb::arg("given"), nb::arg("callback").none())
        .def("multiply", &Dense::multiply)
        .def("statistics", &Dense::statistics)
        .def("blocks", &Dense::blocks)
        .def_prop_ro("rows", [](const Dense& self) { return self.system().matrix().rows(); })
        .def_prop_ro("epsilon", [](const Dense& self) { return self.system().epsilon(); })
        .def_prop_ro("precond", [](const Dense& self) { return self.system().precond(); })
        .def_prop_ro("threads", [](const Dense& self) { return self.system().threads(); })
        .def_prop_ro("order",
                     [](const Dense& self) {
                         const auto order = self.system().matrix().tree().order();
                         return std::vector<Index>(order.begin(), order.end());
                     })
        .def_prop_ro("kernel_residuals", [](const Dense& self) { return self.system().kernel_residuals(); })
        .def("remarks", [](const Dense& self, double rtol) { return self.system().remarks(rtol); });

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
        .def("vtu", [](const Scattering& self, const Density& density) {
            CellData parts[] = {{"real part", {}}, {"imaginary part", {}}, {"size", {}}};
            for (const auto& value : span_of(density)) {
                parts[0].values.push_back(value.real());
                parts[1].values.push_back(value.imag());
                parts[2].values.push_back(std::abs(value));
            }
            return to_vtu(self.mesh(), parts);
        });
    m.def("bem_scattering", scattering, nb::arg("problem"), nb::arg("wave_number"), nb::arg("layer"),
          nb::arg("direction"), nb::keep_alive<0, 1>());
    m.def("bem_problem", [](Communicator& communicator, const std::string& spec) {
        return make_bem_problem(communicator.comm(), spec);
    });
    m.def("bem_conductors", conductors, nb::arg("vertices"), nb::arg("triangles"), nb::arg("potential"),
          nb::arg("field"));
}

}  // namespace stretto::python
