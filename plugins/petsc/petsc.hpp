// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Stretto's headers come first: those of PETSc make macros of MPI's functions.
#include <functional>
#include <new>
#include <source_location>

#include "stretto/comm/collective.hpp"
#include "stretto/driver/check.hpp"
#include "stretto/driver/solver.hpp"
#include "stretto/sparse/csr.hpp"

// PETSc's headers, private ones included: these change between minor versions, so that there is a plug-in for each.
#include <petscconf.h>
#ifndef PETSC_FUNCTION_NAME_CXX  // a PETSc configured without C++ lacks it, and its headers use it
#define PETSC_FUNCTION_NAME_CXX __func__
#define PETSC_CXX_RESTRICT __restrict
#endif
#include <petsc/private/kspimpl.h>

#if !defined PETSC_USE_REAL_DOUBLE || defined PETSC_USE_COMPLEX
#error "Stretto solves in real double precision; this PETSc was configured for other numbers."
#endif
#if PETSC_VERSION_MAJOR != 3 || PETSC_VERSION_MINOR < 18 || PETSC_VERSION_MINOR > 26
#error "The plug-in is for PETSc 3.18 to 3.26."
#endif

namespace stretto::petsc {

#if PETSC_VERSION_MINOR >= 23
using OptionItems = PetscOptionItems;
#else
using OptionItems = PetscOptionItems*;
#endif

constexpr auto success = static_cast<PetscErrorCode>(0);

/// An error that PETSc has reported already; only its code is to be returned.
struct Failed {
    PetscErrorCode code;
};

/// Throws Failed unless `code` is success, and adds a line to PETSc's traceback.
inline void must(PetscErrorCode code, std::source_location where = std::source_location::current()) {
    if (code == success) return;
    const auto line = static_cast<int>(where.line());
    throw Failed{
        PetscError(PETSC_COMM_SELF, line, where.function_name(), where.file_name(), code, PETSC_ERROR_REPEAT, " ")};
}

/// The boundary to PETSc: what work() throws becomes an error of PETSc's, reported by it.
template <class Work>
PetscErrorCode guarded(MPI_Comm comm, Work&& work,
                       std::source_location where = std::source_location::current()) noexcept {
    const auto raise = [&](PetscErrorCode code, const char* text) {
        return PetscError(comm, static_cast<int>(where.line()), where.function_name(), where.file_name(), code,
                          PETSC_ERROR_INITIAL, "Stretto: %s", text);
    };
    try {
        work();
        return success;
    } catch (const Failed& failed) {
        return failed.code;
    } catch (const InputError& error) {
        return raise(PETSC_ERR_USER_INPUT, error.what());
    } catch (const std::bad_alloc&) {
        return raise(PETSC_ERR_MEM, "memory is exhausted");
    } catch (const std::exception& error) {
        return raise(PETSC_ERR_LIB, error.what());
    }
}

template <class Object>
MPI_Comm comm_of(Object object) {
    return PetscObjectComm(reinterpret_cast<PetscObject>(object));
}

/// A PETSc object that is destroyed with its owner.
template <class Object, PetscErrorCode (*destroy)(Object*)>
class Owned {
public:
    Owned() = default;
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() { reset(); }

    void reset() {
        if (object_) static_cast<void>(destroy(&object_));
        object_ = nullptr;
    }
    operator Object() const { return object_; }
    /// Where a creating function writes; what was there is destroyed.
    Object* out() {
        reset();
        return &object_;
    }

private:
    Object object_ = nullptr;
};
using OwnedVec = Owned<Vec, VecDestroy>;
using OwnedMat = Owned<Mat, MatDestroy>;

}  // namespace stretto::petsc
