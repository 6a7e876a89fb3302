// SPDX-License-Identifier: BSD-3-Clause
// Complex systems.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

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
using ConstComplexColumns = nb::ndarray<const Complex, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ComplexColumns = nb::ndarray<Complex, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

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

std::unique_ptr<Outcome> solve_complex(const std::shared_ptr<Communicator>& communicator,
                                       const Vector<std::int64_t>& start, const Vector<std::int64_t>& columns,
                                       const Vector<Complex>& values, const ConstComplexColumns& b,
                                       const ComplexColumns& x, const std::string& precond, int threads, bool insist,
                                       const nb::dict& given, nb::object callback) {
    Guest guest(std::move(callback));
    SolveOptions options = guest.invited(solve_options(given));
    const auto rows = static_cast<Index>(b.shape(0));
    const int m = static_cast<int>(b.shape(1));
    std::unique_ptr<Outcome> outcome;
    {
        const nb::gil_scoped_release unlocked;
        Comm& comm = communicator->comm();
        const ComplexSystem system(
            comm, rows_of(comm, start, columns, values),
            {.precond = precond, .threads = threads > 0 ? threads : default_threads(comm), .insist = insist});
        options.method = system.chosen(options.method);
        auto result = system.solve({b.data(), rows, m}, {x.data(), rows, m}, options);
        outcome = std::make_unique<Outcome>(
            communicator, options.method, [info = system.info(options, m)] { return info; }, std::move(result),
            guest.timeline());
    }
    guest.leave();
    return outcome;
}

}  // namespace

void bind_complex(nb::module_& m) {
    m.def("solve_complex", solve_complex, nb::arg("communicator"), nb::arg("start").noconvert(),
          nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("b").noconvert(),
          nb::arg("x").noconvert(), nb::arg("precond"), nb::arg("threads"), nb::arg("insist"), nb::arg("given"),
          nb::arg("callback").none());
}

}  // namespace stretto::python

#else

void stretto::python::bind_complex(nb::module_&) {}

#endif
