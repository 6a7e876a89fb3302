// SPDX-License-Identifier: BSD-3-Clause
// The table of functions by which PETSc knows a KSP of type `stretto`.
#include "ksp.hpp"

#include "session.hpp"

namespace stretto::petsc {
namespace {

Session& session(KSP ksp) { return *static_cast<Session*>(ksp->data); }

PetscErrorCode set_up(KSP ksp) {
    return guarded(comm_of(ksp), [&] {
        Mat A = nullptr;
        PetscInt rows = 0, columns = 0;
        must(KSPGetOperators(ksp, &A, nullptr));
        must(MatGetSize(A, &rows, &columns));
        if (rows != columns)
            throw InputError("the matrix is " + std::to_string(rows) + " x " + std::to_string(columns) +
                             "; its methods are for square ones (for least squares: -ksp_type lsqr)");
    });
}

PetscErrorCode solve(KSP ksp) {
    return guarded(comm_of(ksp), [&] { session(ksp).solve(); });
}

PetscErrorCode solve_columns(KSP ksp, Mat B, Mat X) {
    return guarded(comm_of(ksp), [&] { session(ksp).solve_columns(B, X); });
}

PetscErrorCode build_solution(KSP ksp, Vec v, Vec* solution) {
    return guarded(comm_of(ksp), [&] {
        const Vec to = v ? v : ksp->vec_sol;
        session(ksp).build_solution(to);
        *solution = to;
    });
}

PetscErrorCode set_from_options(KSP ksp, OptionItems items) {
    return guarded(comm_of(ksp), [&] {
        session(ksp).settings.read(items);
        support_norms(ksp, session(ksp).settings.method);
    });
}

PetscErrorCode reset(KSP ksp) {
    return guarded(comm_of(ksp), [&] { session(ksp).forget_operators(); });
}

PetscErrorCode destroy(KSP ksp) {
    return guarded(comm_of(ksp), [&] {
        delete &session(ksp);
        ksp->data = nullptr;
        must(KSPDestroyDefault(ksp));
    });
}

PetscErrorCode view(KSP ksp, PetscViewer viewer) {
    return guarded(comm_of(ksp), [&] { session(ksp).view(viewer); });
}

}  // namespace

PetscErrorCode create(KSP ksp, const char* method) {
    return guarded(comm_of(ksp), [&] {
        ksp->data = new Session(ksp);
        session(ksp).settings.method = method;
        support_norms(ksp, method);
        ksp->ops->setup = set_up;
        ksp->ops->solve = solve;
        ksp->ops->matsolve = solve_columns;
        ksp->ops->setfromoptions = set_from_options;
        ksp->ops->buildsolution = build_solution;
        ksp->ops->buildresidual = KSPBuildResidualDefault;
        ksp->ops->reset = reset;
        ksp->ops->destroy = destroy;
        ksp->ops->view = view;
    });
}

}  // namespace stretto::petsc
