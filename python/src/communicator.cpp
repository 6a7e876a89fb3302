// SPDX-License-Identifier: BSD-3-Clause
#include "communicator.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdlib>
#include <tuple>

#include "stretto/comm/collective.hpp"

namespace nb = nanobind;

namespace stretto::python {
namespace {

bool finalized() {
    int ended = 0;
    MPI_Finalized(&ended);
    return ended != 0;
}

void start_mpi() {
    int started = 0;
    MPI_Initialized(&started);
    if (started != 0) return;
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);  // Python has threads
    std::atexit([] {
        if (!finalized()) MPI_Finalize();
    });
}

MPI_Comm duplicate(std::optional<std::uintptr_t> handle) {
    start_mpi();
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_dup(handle ? (MPI_Comm)*handle : MPI_COMM_SELF, &own);  // a pointer or a number, as the library has it
    return own;
}

std::string mpi_library() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    return {text, static_cast<std::size_t>(length)};
}

/// Collective. The lowest rank that failed, else the lowest whose text is not that of rank 0, else −1; whether one
/// failed; that rank's text, and rank 0's.
std::tuple<int, bool, std::string, std::string> compare(Communicator& self, bool failed, std::string text) {
    const nb::gil_scoped_release unlocked;
    const Comm& comm = self.comm();
    const auto lowest = [&](bool mine) { return all_min(comm, Global{mine ? comm.rank() : comm.size()}); };
    auto first = broadcast(comm, text, 0);
    auto rank = lowest(failed);
    const bool any = rank < comm.size();
    if (!any) rank = lowest(text != first);
    if (rank == comm.size()) return {-1, false, {}, {}};
    return {static_cast<int>(rank), any, broadcast(comm, std::move(text), static_cast<int>(rank)), std::move(first)};
}

}  // namespace

Communicator::Communicator(std::optional<std::uintptr_t> handle, bool reproducible) : own_(duplicate(handle)) {
    comm_.emplace(own_).set_reproducible(reproducible);
}

Communicator::~Communicator() {
    comm_.reset();
    if (!finalized()) MPI_Comm_free(&own_);
}

void bind_communicator(nb::module_& m) {
    nb::class_<Communicator>(m, "Communicator")
        .def(nb::init<std::optional<std::uintptr_t>, bool>(), nb::arg("handle") = nb::none(),
             nb::arg("reproducible") = false)
        .def_prop_ro("rank", [](Communicator& self) { return self.comm().rank(); })
        .def_prop_ro("size", [](Communicator& self) { return self.comm().size(); })
        .def_prop_ro("reproducible", [](Communicator& self) { return self.comm().reproducible(); })
        .def("total", [](Communicator& self, Global mine) { return all_sum(self.comm(), mine); })
        .def("compare", compare);
    m.def("mpi_library", mpi_library);
}

}  // namespace stretto::python
