// SPDX-License-Identifier: BSD-3-Clause
// Sparse systems: LinearSystem and SystemSolver.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "solve.hpp"
#include "stretto/core/error.hpp"

namespace nb = nanobind;

namespace stretto::python {
namespace {

template <class Int>
using Vector = nb::ndarray<const Int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
std::span<const T> span(const Vector<T>& x) {
    return {x.data(), x.size()};
}

struct System {
    std::shared_ptr<Communicator> communicator;
    LinearSystem system;
};

SystemOptions system_options(const std::string& precond, const std::string& prepare, const std::string& null_space,
                             int threads, int columns) {
    SystemOptions options;
    options.precond = precond;
    options.prepare = prepare;
    options.null_space = null_space;
    options.threads = threads;
    options.columns = columns;
    return options;
}

template <class Int>
void bind_from_rows(nb::class_<System>& type) {
    type.def_static(
        "from_rows",
        [](std::shared_ptr<Communicator> communicator, const Vector<Int>& start, const Vector<Int>& columns,
           const Vector<double>& values, const std::string& precond, const std::string& prepare,
           const std::string& null_space, int threads, int width) {
            const auto options = system_options(precond, prepare, null_space, threads, width);
            const nb::gil_scoped_release unlocked;
            auto system =
                LinearSystem::from_rows(communicator->comm(), span(start), span(columns), span(values), options);
            return std::make_unique<System>(System{std::move(communicator), std::move(system)});
        },
        nb::arg("communicator"), nb::arg("start").noconvert(), nb::arg("columns").noconvert(),
        nb::arg("values").noconvert(), nb::arg("precond"), nb::arg("prepare"), nb::arg("null_space"),
        nb::arg("threads"), nb::arg("width"));
}

/// Many solves with one method.
class Persistent {
public:
    Persistent(System& system, const nb::dict& given, int columns)
        : system_(&system),
          guest_(nb::none()),
          options_(guest_.invited(solve_options(given))),
          columns_(columns),
          solver_(system.system.solver(options_, columns)) {}

    std::unique_ptr<Outcome> solve(const ConstColumns& b, const Columns& x, bool transposed) {
        const Result* result = nullptr;
        {
            const nb::gil_scoped_release unlocked;
            result = transposed ? &solver_.solve_transposed(view(b), view(x)) : &solver_.solve(view(b), view(x));
        }
        guest_.leave();
        return std::make_unique<Outcome>(system_->communicator, system_->system.info(options_, columns_), *result);
    }

private:
    System* system_;
    Guest guest_;
    SolveOptions options_;
    int columns_;
    SystemSolver solver_;
};

}  // namespace

void bind_systems(nb::module_& m) {
    nb::class_<Outcome>(m, "Outcome")
        .def_prop_ro("status", [](const Outcome& self) { return std::string(name(self.result().status)); })
        .def_prop_ro("converged", [](const Outcome& self) { return self.result().converged(); })
        .def_prop_ro("iterations", [](const Outcome& self) { return self.result().iterations; })
        .def_prop_ro("residual", [](const Outcome& self) { return self.result().relative_residual(); })
        .def_prop_ro("info",
                     [](const Outcome& self) { return scipy_info(self.result().status, self.result().iterations); })
        .def_prop_ro("history", [](const Outcome& self) { return self.result().history; })
        .def_prop_ro("true_history", [](const Outcome& self) { return self.result().true_history; })
        .def_prop_ro("next",
                     [](const Outcome& self) {
                         nb::list steps;
                         for (const auto& step : self.result().next) {
                             nb::dict row;
                             row["method"] = step.method;
                             row["precond"] = step.precond;
                             row["prepare"] = step.prepare;
                             row["more"] = step.more;
                             row["why"] = step.why;
                             steps.append(row);
                         }
                         return steps;
                     })
        .def_prop_ro("norms_b",
                     [](const Outcome& self) {
                         std::vector<double> norms;
                         for (const auto& column : self.result().columns) norms.push_back(column.norm_b);
                         return norms;
                     })
        .def("json", [](Outcome& self) { return self.json(); });

    nb::class_<System> system(m, "System");
    bind_from_rows<std::int32_t>(system);
    bind_from_rows<std::int64_t>(system);
    system
        .def(
            "solve",
            [](System& self, const ConstColumns& b, const Columns& x, const nb::dict& given, nb::object callback) {
                Guest guest(std::move(callback));
                const SolveOptions options = guest.invited(solve_options(given));
                std::unique_ptr<Outcome> outcome;
                {
                    const nb::gil_scoped_release unlocked;
                    auto result = self.system.solve(view(b), view(x), options);
                    outcome = std::make_unique<Outcome>(
                        self.communicator, self.system.info(options, static_cast<int>(b.shape(1))), std::move(result));
                }
                guest.leave();
                return outcome;
            },
            nb::arg("b"), nb::arg("x"), nb::arg("given"), nb::arg("callback").none())
        .def("multiply",
             [](System& self, const ConstColumns& x, const Columns& y) {
                 const nb::gil_scoped_release unlocked;
                 std::vector<double> copy(x.data(), x.data() + x.size());
                 self.system.matrix().apply({copy.data(), static_cast<Index>(x.shape(0)), static_cast<int>(x.shape(1))},
                                            view(y));
             })
        .def("update_values",
             [](System& self, const Vector<double>& values) {
                 const nb::gil_scoped_release unlocked;
                 self.system.update_values(span(values));
             })
        .def_prop_ro("rows", [](const System& self) { return self.system.rows(); })
        .def_prop_ro("local_rows", [](const System& self) { return self.system.local_rows(); })
        .def_prop_ro("negated", [](const System& self) { return self.system.negated(); })
        .def_prop_ro("choice",
                     [](const System& self) {
                         const auto& step = self.system.choice();
                         return std::pair(step.options(), step.why);
                     })
        .def("structure", [](const System& self) { return self.system.structure().lines(); })
        .def("remarks", [](const System& self, int columns) { return self.system.remarks(columns); });

    nb::class_<Persistent>(m, "Persistent")
        .def(nb::init<System&, const nb::dict&, int>(), nb::keep_alive<1, 2>())
        .def("solve", &Persistent::solve, nb::arg("b"), nb::arg("x"), nb::arg("transposed") = false);
}

}  // namespace stretto::python
