// SPDX-License-Identifier: BSD-3-Clause
#include "communicator.hpp"

namespace stretto::petsc {
namespace {

int free_duplicate(MPI_Comm, int, void* attribute, void*) {
    auto* duplicate = static_cast<MPI_Comm*>(attribute);
    const int code = MPI_Comm_free(duplicate);
    delete duplicate;
    return code;
}

int key = MPI_KEYVAL_INVALID;

/// When PETSc ends. Communicators that still have a duplicate keep the key until they are freed.
PetscErrorCode free_key() {
    if (key != MPI_KEYVAL_INVALID) MPI_Comm_free_keyval(&key);
    return success;
}

}  // namespace

MPI_Comm duplicate_of(MPI_Comm comm) {
    if (key == MPI_KEYVAL_INVALID) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_duplicate, &key, nullptr);
        must(PetscRegisterFinalize(free_key));
    }
    MPI_Comm* duplicate = nullptr;
    int there = 0;
    MPI_Comm_get_attr(comm, key, static_cast<void*>(&duplicate), &there);
    if (!there) {
        duplicate = new MPI_Comm;
        MPI_Comm_dup(comm, duplicate);
        MPI_Comm_set_attr(comm, key, duplicate);
    }
    return *duplicate;
}

}  // namespace stretto::petsc
