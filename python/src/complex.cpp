// SPDX-License-Identifier: BSD-3-Clause
// Complex systems.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "solve.hpp"
#include "stretto/comm/collective.hpp"
#include "stretto/comm/default_threads.hpp"
#include "stretto/system/complex_system.hpp"

namespace nb = nanobind;

#if STRETTO_COMPLEX

namespace stretto::python {
namespace {

using Complex = std::complex<double>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstComplexColumns = ColumnsOf<const Complex>;
using ComplexColumns = ColumnsOf<Complex>;

/// The rows of all processes, one after the other's.
DistributedRowsOf<Complex> rows_of(const Comm& comm, const Vector<std::int64_t>& start,
                                   const Vector<std::int64_t>& columns, const Vector<Complex>& values) {
    const std::vector<Global> mine{static_cast<Global>(start.size()) - 1};
    std::vector<Global> first{0};
    for (const auto& of : all_to_all(comm, std::vector(static_cast<std::size_t>(comm.size()), mine)))
        first.push_back(first.back() + of.at(0));
    LocalRows<Complex> rows;
    rows.start.assign(start.data(), start.data() + start.size());
    rows.columns.assign(columns.data(), columns.data() + columns.size());
    rows.values.assign(values.data(), values.data() + values.size());
    return {Partition(std::move(first)), std::move(rows)};
}

/// What products and preconditioners take: they are given vectors that they may write to.
std::vector<Complex> copied(const ConstComplexColumns& x) { return {x.data(), x.data() + x.size()}; }

struct ComplexMatrix {
    std::shared_ptr<Communicator> communicator;
    ComplexSystem system;

    ComplexMatrix(std::shared_ptr<Communicator> on, const Vector<std::int64_t>& start,
                  const Vector<std::int64_t>& columns, const Vector<Complex>& values, const std::string& precond,
                  int threads, bool insist)
        : communicator(std::move(on)),
          system(make(communicator->comm(), start, columns, values, precond, threads, insist)) {}

    std::unique_ptr<Outcome> solve(const ConstComplexColumns& b, const ComplexColumns& x, const nb::dict& given,
                                   nb::object callback) {
        Guest guest(std::move(callback));
        SolveOptions options = guest.invited(solve_options(given), communicator->comm(), system.matrix().local_rows());
        std::unique_ptr<Outcome> outcome;
        {
            const nb::gil_scoped_release unlocked;
            options.method = system.chosen(options.method);
            outcome = told(options, view(b).columns(), system.solve(view(b), view(x), options), guest.timeline());
        }
        guest.leave();
        return outcome;
    }
    std::unique_ptr<Outcome> told(const SolveOptions& options, int columns, Result result,
                                  std::vector<Span> timeline) const {
        return std::make_unique<Outcome>(
            communicator, options.method, [info = system.info(options, columns)] { return info; }, std::move(result),
            std::move(timeline));
    }

private:
    static ComplexSystem make(Comm& comm, const Vector<std::int64_t>& start, const Vector<std::int64_t>& columns,
                              const Vector<Complex>& values, const std::string& precond, int threads, bool insist) {
        const nb::gil_scoped_release unlocked;
        return {comm,
                rows_of(comm, start, columns, values),
                {.precond = precond, .threads = threads > 0 ? threads : default_threads(comm), .insist = insist}};
    }
};

/// Many solves with one method.
class ComplexPersistent {
public:
    ComplexPersistent(ComplexMatrix& of, const nb::dict& given, int columns)
        : of_(&of),
          guest_(nb::none()),
          options_(guest_.invited(solve_options(given))),
          columns_(columns),
          solver_(of.communicator->comm(), of.system.matrix(), by(), of.system.matrix().local_rows(), columns,
                  ready()) {}

    std::unique_ptr<Outcome> solve(const ConstComplexColumns& b, const ComplexColumns& x, bool transposed) {
        std::unique_ptr<Outcome> outcome;
        {
            const nb::gil_scoped_release unlocked;
            const Result& result =
                transposed ? solver_.solve_transposed(view(b), view(x)) : solver_.solve(view(b), view(x));
            outcome = of_->told(options_, columns_, result, guest_.timeline());
        }
        guest_.leave();
        return outcome;
    }

private:
    AnyOperator<Complex> by() const {
        const auto* const M = of_->system.preconditioner();
        return M ? AnyOperator<Complex>(*M) : AnyOperator<Complex>();
    }
    const SolveOptions& ready() {
        options_.method = of_->system.chosen(options_.method);
        options_.threads = of_->system.matrix().threads();
        return options_;
    }

    ComplexMatrix* of_;
    Guest guest_;
    SolveOptions options_;
    int columns_;
    Solver<Complex> solver_;
};

}  // namespace

void bind_complex(nb::module_& m) {
    nb::class_<ComplexMatrix>(m, "ComplexMatrix")
        .def(nb::init<std::shared_ptr<Communicator>, const Vector<std::int64_t>&, const Vector<std::int64_t>&,
                      const Vector<Complex>&, const std::string&, int, bool>(),
             nb::arg("communicator"), nb::arg("start").noconvert(), nb::arg("columns").noconvert(),
             nb::arg("values").noconvert(), nb::arg("precond"), nb::arg("threads"), nb::arg("insist"))
        .def("solve", &ComplexMatrix::solve, nb::arg("b").noconvert(), nb::arg("x").noconvert(), nb::arg("given"),
             nb::arg("callback").none())
        .def("multiply",
             [](ComplexMatrix& self, const ConstComplexColumns& x, const ComplexColumns& y) {
                 const nb::gil_scoped_release unlocked;
                 auto from = copied(x);
                 self.system.matrix().apply({from.data(), view(x).rows(), view(x).columns()}, view(y));
             })
        .def("precondition",
             [](ComplexMatrix& self, const ConstComplexColumns& r, const ComplexColumns& z, bool transposed) {
                 const nb::gil_scoped_release unlocked;
                 auto copy = copied(r);
                 const MultiVector<Complex> from(copy.data(), view(r).rows(), view(r).columns());
                 const auto* const M = self.system.preconditioner();
                 if (!M)
                     std::ranges::copy(copy, z.data());
                 else
                     transposed ? M->apply_transpose(from, view(z)) : M->apply(from, view(z));
             })
        .def_prop_ro("rows", [](const ComplexMatrix& self) { return self.system.matrix().rows(); })
        .def_prop_ro("first_row",
                     [](const ComplexMatrix& self) {
                         return self.system.matrix().partition().first(self.communicator->comm().rank());
                     })
        .def_prop_ro("local_rows", [](const ComplexMatrix& self) { return self.system.matrix().local_rows(); })
        .def_prop_ro("negated", [](const ComplexMatrix&) { return false; })
        .def_prop_ro("precond",
                     [](const ComplexMatrix& self) {
                         const auto* const M = self.system.preconditioner();
                         nb::dict all;
                         all["transpose"] = !M || M->has_transpose();
                         all["symmetric"] = !M || M->hermitian();
                         all["varies"] = false;
                         all["bytes"] = M ? M->stored() : 0.0;
                         all["seconds"] = self.system.precond_seconds();
                         all["remarks"] = M ? M->remarks() : std::vector<std::string>();
                         return all;
                     })
        .def_prop_ro("choice",
                     [](const ComplexMatrix& self) {
                         return std::pair(
                             "--method " + self.system.chosen("auto") + " --precond " + self.system.precond(),
                             std::string(self.system.structure().in_words()));
                     })
        .def("structure", [](const ComplexMatrix& self) {
            return std::vector{"complex values: " + std::string(self.system.structure().in_words())};
        });
    nb::class_<ComplexPersistent>(m, "ComplexPersistent")
        .def(nb::init<ComplexMatrix&, const nb::dict&, int>(), nb::keep_alive<1, 2>())
        .def("solve", &ComplexPersistent::solve, nb::arg("b").noconvert(), nb::arg("x").noconvert(),
             nb::arg("transposed") = false);
}

}  // namespace stretto::python

#else

void stretto::python::bind_complex(nb::module_&) {}

#endif
