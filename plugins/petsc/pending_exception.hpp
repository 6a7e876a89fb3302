// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlfcn.h>

namespace stretto::petsc {

/// Puts aside, as long as it lives, the Python exception that a callback has left for the caller of the solve, for
/// another callback would clear it. It does nothing in programs without Python.
class PendingException {
public:
    PendingException() {
        const auto is_initialized = find<int()>("Py_IsInitialized");
        if (!is_initialized || !is_initialized()) return;
        state_ = find<int()>("PyGILState_Ensure")();
        find<void(void**, void**, void**)>("PyErr_Fetch")(&type_, &value_, &traceback_);
        held_ = true;
    }
    PendingException(const PendingException&) = delete;
    PendingException& operator=(const PendingException&) = delete;
    ~PendingException() {
        if (!held_) return;
        find<void(void*, void*, void*)>("PyErr_Restore")(type_, value_, traceback_);
        find<void(int)>("PyGILState_Release")(state_);
    }

private:
    /// Of the Python that the program runs in, which the plug-in is not linked with.
    template <class Function>
    static Function* find(const char* name) {
        return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
    }

    int state_ = 0;
    void *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
    bool held_ = false;
};

}  // namespace stretto::petsc
