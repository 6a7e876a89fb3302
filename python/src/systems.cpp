// SPDX-License-Identifier: BSD-3-Clause
// Sparse systems: LinearSystem and SystemSolver.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>

#include "solve.hpp"
#include "stretto/core/error.hpp"
#include "stretto/device/devices.hpp"
#include "stretto/system/describe.hpp"
#include "stretto/tasks/execution.hpp"

namespace nb = nanobind;

namespace stretto::python {
namespace {

template <class Int>
using Vector = nb::ndarray<const Int, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
std::span<const T> span(const Vector<T>& x) {
    return {x.data(), x.size()};
}

nb::list described(std::span<const NextStep> steps) {
    nb::list list;
    for (const auto& step : steps) {
        nb::dict row;
        row["method"] = step.method;
        row["precond"] = step.precond;
        row["prepare"] = step.prepare;
        row["more"] = step.more;
        row["why"] = step.why;
        list.append(row);
    }
    return list;
}

int columns_of(MultiVector<const double> b) { return b.columns(); }
int columns_of(const VectorsThere& b) { return b.columns; }
VectorsThere there(std::uintptr_t address, Index rows, int columns) { return {address, rows, columns}; }

struct System {
    std::shared_ptr<Communicator> communicator;
    std::unique_ptr<Device> tasks;  // outlives the system
    LinearSystem system;
    bool chooses;  // the preconditioner

    /// For vectors on the host or on the system's device.
    template <class B, class X>
    std::unique_ptr<Outcome> solve(B b, X x, const nb::dict& given, nb::object callback) {
        Guest guest(std::move(callback));
        const SolveOptions options = guest.invited(solve_options(given), communicator->comm(), system.local_rows());
        const int columns = columns_of(b);
        std::unique_ptr<Outcome> solved;
        {
            const nb::gil_scoped_release unlocked;
            auto result = system.solve(b, x, options);
            solved = outcome(options, columns, std::move(result), guest.timeline());
        }
        guest.leave();
        return solved;
    }

    /// Of a solve that is over.
    std::unique_ptr<Outcome> outcome(const SolveOptions& options, int columns, Result result,
                                     std::vector<Span> timeline) const {
        if (!chooses && options.method != automatic && !has_automatic_depth(options.method))
            return std::make_unique<Outcome>(
                communicator, options.method, [this, options, columns] { return system.info(options, columns); },
                std::move(result), std::move(timeline));
        auto info = system.info(options, columns);  // now: the next solve may choose something else
        const auto& choice = system.choice();
        info.method = choice.method;
        info.precond = choice.precond;
        info.prepare = choice.prepare;
        info.choice = to_json(choice);
        return std::make_unique<Outcome>(
            communicator, choice.method, [info = std::move(info)] { return info; }, std::move(result),
            std::move(timeline));
    }
};

struct Given : SystemOptions {
    std::unique_ptr<Device> tasks;
};

/// What Python gives by name.
Given system_options(const nb::dict& given) {
    static const Readers<Given> readers{
        {"precond", reads<&SystemOptions::precond>},
        {"prepare", reads<&SystemOptions::prepare>},
        {"null_space", reads<&SystemOptions::null_space>},
        {"threads",
         [](Given& of, nb::handle value) {
             of.threads = taken<int>(value);
             if (of.threads < 0) throw Wanted("a number of threads, or 0 for as many as pay,");
         }},
        {"columns", reads<&SystemOptions::columns>},
        {"keep_entries", reads<&SystemOptions::keep_entries>},
        {"insist", reads<&SystemOptions::insist>},
        {"device", [](Given& of, nb::handle value) { of.device = find_device(taken<std::string>(value)); }},
        {"execution",
         [](Given& of, nb::handle value) {
             of.tasks = task_execution(taken<std::string>(value));
             if (of.tasks) of.device = of.tasks.get();
         }},
    };
    Given options;
    read_by_name(given, readers, options);
    return options;
}

/// What is free, given back: MPI may have told the allocator to keep it.
void trim(std::size_t entries) {
#ifdef __GLIBC__
    constexpr std::size_t large = 1 << 20;
    if (entries > large) malloc_trim(0);
#endif
}

/// Of one process: the arrays are not copied where they fit, and stay as long as the system.
std::unique_ptr<System> over_rows(std::shared_ptr<Communicator> communicator, const Vector<std::int32_t>& start,
                                  const Vector<std::int32_t>& columns, const Vector<double>& values,
                                  const nb::dict& given) {
    auto options = system_options(given);
    const nb::gil_scoped_release unlocked;
    auto system = LinearSystem::over_rows(communicator->comm(), span(start), span(columns), span(values), options);
    trim(values.size());
    return std::make_unique<System>(
        System{std::move(communicator), std::move(options.tasks), std::move(system), options.precond == automatic});
}

template <class Int>
void bind_from_rows(nb::class_<System>& type) {
    type.def_static(
        "from_rows",
        [](std::shared_ptr<Communicator> communicator, const Vector<Int>& start, const Vector<Int>& columns,
           const Vector<double>& values, const nb::dict& given) {
            auto options = system_options(given);
            const nb::gil_scoped_release unlocked;
            auto system =
                LinearSystem::from_rows(communicator->comm(), span(start), span(columns), span(values), options);
            trim(values.size());
            return std::make_unique<System>(System{std::move(communicator), std::move(options.tasks), std::move(system),
                                                   options.precond == automatic});
        },
        nb::arg("communicator"), nb::arg("start").noconvert(), nb::arg("columns").noconvert(),
        nb::arg("values").noconvert(), nb::arg("given"));
    type.def(
        "update_rows",
        [](System& self, const Vector<Int>& start, const Vector<Int>& columns, const Vector<double>& values) {
            const nb::gil_scoped_release unlocked;
            self.system.update_rows(span(start), span(columns), span(values));
        },
        nb::arg("start").noconvert(), nb::arg("columns").noconvert(), nb::arg("values").noconvert());
}

/// Entries (i, j, v) of any rows.
std::unique_ptr<System> from_entries(std::shared_ptr<Communicator> communicator, Global rows,
                                     const Vector<std::int64_t>& i, const Vector<std::int64_t>& j,
                                     const Vector<double>& v, const nb::dict& given) {
    auto options = system_options(given);
    const nb::gil_scoped_release unlocked;
    std::vector<Entry<double>> entries;
    entries.reserve(v.size());
    for (std::size_t k = 0; k < v.size(); ++k) entries.push_back({i(k), j(k), v(k)});
    auto system = LinearSystem::from_entries(communicator->comm(), rows, std::move(entries), options);
    return std::make_unique<System>(
        System{std::move(communicator), std::move(options.tasks), std::move(system), options.precond == automatic});
}

/// A preconditioner's trial, in words and numbers.
nb::list trials(System& self, const ConstColumns& b, int iterations, double rtol) {
    std::vector<Expectation> all;
    {
        const nb::gil_scoped_release unlocked;
        all = self.system.trials(view(b), iterations, rtol);
    }
    nb::list list;
    for (const auto& each : all) {
        nb::dict row = described({&each.step, 1})[0];
        row["setup"] = each.setup;
        row["iteration"] = each.iteration;
        row["trial"] = each.trial;
        row["residual"] = each.residual;
        row["iterations"] = each.iterations;
        row["seconds"] = each.seconds();
        row["ended"] = each.ended;
        list.append(row);
    }
    return list;
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

    template <class B, class X>
    std::unique_ptr<Outcome> solve(B b, X x, bool transposed) {
        const Result* result = nullptr;
        {
            const nb::gil_scoped_release unlocked;
            result = transposed ? &solver_.solve_transposed(b, x) : &solver_.solve(b, x);
        }
        guest_.leave();
        return system_->outcome(options_, columns_, *result, guest_.timeline());
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
        .def_prop_ro("method", [](const Outcome& self) { return self.method(); })
        .def_prop_ro("info",
                     [](const Outcome& self) { return scipy_info(self.result().status, self.result().iterations); })
        .def_prop_ro("history", [](const Outcome& self) { return self.result().history; })
        .def_prop_ro("true_history", [](const Outcome& self) { return self.result().true_history; })
        .def_prop_ro("next", [](const Outcome& self) { return described(self.result().next); })
        .def_prop_ro("norms_b",
                     [](const Outcome& self) {
                         std::vector<double> norms;
                         for (const auto& column : self.result().columns) norms.push_back(column.norm_b);
                         return norms;
                     })
        .def_prop_ro("timeline",
                     [](const Outcome& self) {
                         nb::list spans;
                         for (const auto& [name, track, begin, end] : self.timeline())
                             spans.append(nb::make_tuple(name, track, begin, end));
                         return spans;
                     })
        .def("json", [](Outcome& self) { return self.json(); });

    nb::class_<System> system(m, "System");
    bind_from_rows<std::int32_t>(system);
    bind_from_rows<std::int64_t>(system);
    system
        .def_static("over_rows", over_rows, nb::arg("communicator"), nb::arg("start").noconvert(),
                    nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("given"),
                    nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>())
        .def_static("from_entries", from_entries, nb::arg("communicator"), nb::arg("rows"), nb::arg("i"), nb::arg("j"),
                    nb::arg("v"), nb::arg("given"))
        .def(
            "solve",
            [](System& self, const ConstColumns& b, const Columns& x, const nb::dict& given, nb::object callback) {
                return self.solve(view(b), view(x), given, std::move(callback));
            },
            nb::arg("b"), nb::arg("x"), nb::arg("given"), nb::arg("callback").none(), nb::keep_alive<0, 1>())
        .def(
            "solve_there",
            [](System& self, std::uintptr_t b, std::uintptr_t x, Index rows, int columns, const nb::dict& given,
               nb::object callback) {
                return self.solve(there(b, rows, columns), there(x, rows, columns), given, std::move(callback));
            },
            nb::arg("b"), nb::arg("x"), nb::arg("rows"), nb::arg("columns"), nb::arg("given"),
            nb::arg("callback").none(), nb::keep_alive<0, 1>())
        .def("multiply",
             [](System& self, const ConstColumns& x, const Columns& y) {
                 const nb::gil_scoped_release unlocked;
                 std::vector<double> copy(x.data(), x.data() + x.size());
                 self.system.matrix().apply({copy.data(), static_cast<Index>(x.shape(0)), static_cast<int>(x.shape(1))},
                                            view(y));
             })
        .def("precondition",
             [](System& self, const ConstColumns& r, const Columns& z, bool transposed) {
                 const nb::gil_scoped_release unlocked;
                 const auto* M = self.system.preconditioner();
                 std::vector<double> copy(r.data(), r.data() + r.size());
                 const MultiVector<double> from(copy.data(), static_cast<Index>(r.shape(0)),
                                                static_cast<int>(r.shape(1)));
                 if (!M)
                     std::ranges::copy(copy, z.data());
                 else
                     transposed ? M->apply_transpose(from, view(z)) : M->apply(from, view(z));
             })
        .def("update_values",
             [](System& self, const Vector<double>& values) {
                 const nb::gil_scoped_release unlocked;
                 self.system.update_values(span(values));
             })
        .def_prop_ro("rows", [](const System& self) { return self.system.rows(); })
        .def_prop_ro("first_row",
                     [](const System& self) { return self.system.partition().first(self.system.comm().rank()); })
        .def_prop_ro("local_rows", [](const System& self) { return self.system.local_rows(); })
        .def_prop_ro("precond",
                     [](const System& self) {
                         const auto* M = self.system.preconditioner();
                         nb::dict all;
                         all["transpose"] = !M || M->has_transpose();
                         all["symmetric"] = !M || M->symmetric();
                         all["varies"] = M && M->varies();
                         all["bytes"] = M ? M->stored() : 0.0;
                         all["seconds"] = self.system.precond_seconds();
                         all["remarks"] = M ? M->remarks() : std::vector<std::string>();
                         return all;
                     })
        .def("trials", trials)
        .def_prop_ro(
            "steps",
            [](const System& self) { return described(choices(self.system.structure(), self.system.comm().size())); })
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
        .def(
            "solve",
            [](Persistent& self, const ConstColumns& b, const Columns& x, bool transposed) {
                return self.solve(view(b), view(x), transposed);
            },
            nb::arg("b"), nb::arg("x"), nb::arg("transposed") = false, nb::keep_alive<0, 1>())
        .def(
            "solve_there",
            [](Persistent& self, std::uintptr_t b, std::uintptr_t x, Index rows, int columns, bool transposed) {
                return self.solve(there(b, rows, columns), there(x, rows, columns), transposed);
            },
            nb::keep_alive<0, 1>());
}

}  // namespace stretto::python
