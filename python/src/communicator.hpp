// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "stretto/comm/comm.hpp"

namespace stretto::python {

/// A communicator of its own for a caller's processes; MPI is started where nobody has.
class Communicator {
public:
    /// `handle`: of an MPI communicator, as mpi4py has it; none: this process alone.
    Communicator(std::optional<std::uintptr_t> handle, bool reproducible);
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    ~Communicator();

    Comm& comm() { return *comm_; }

private:
    MPI_Comm own_;
    std::optional<MpiComm> comm_;
};

void bind_communicator(nanobind::module_& m);

}  // namespace stretto::python
