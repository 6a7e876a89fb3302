// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "converted.hpp"
#include "logged_matrix.hpp"
#include "operators.hpp"
#include "settings.hpp"

namespace stretto::petsc {

/// What a KSP of type `stretto` holds: it solves, again and again, and keeps what the next solve can use.
class Session {
public:
    explicit Session(KSP ksp);

    Settings settings;

    /// Collective. As KSPSolve asks: ksp->vec_rhs, vec_sol, tolerances, test and monitors.
    void solve();
    /// Collective. As KSPMatSolve asks, for the columns of dense matrices.
    void solve_columns(Mat B, Mat X);
    /// The iterate as it is now.
    void build_solution(Vec to);
    void forget_operators();
    void view(PetscViewer viewer) const;

private:
    /// What a Solver was made for; another is made where this changes.
    struct Shape {
        std::string method = {};
        Index rows = 0;
        int columns = 1;
        bool converted = false;
        enum { none, diagonal, callback } preconditioner = none;
        enum { right, left, symmetric } side = right;
        Verify verify = Verify::true_residual;
        bool operator==(const Shape&) const = default;
    };

    void prepare(int columns);
    void make_solver(const CsrMatrix<double>* converted, int columns);
    std::string method() const;
    Verify verify() const;
    AnyOperator<double> product(const CsrMatrix<double>* converted);
    AnyOperator<double> preconditioner();
    const Result& run(const double* b, double* x);
    const double* right_hand_side(const double* b, const double* x);
    bool change_sign(Status status);
    void keep_finite(std::span<double> x) const;
    bool told(const IterationInfo& info);
    PetscErrorCode ask(PetscInt iteration, PetscReal norm);
    void conclude(const Result& result);

    KSP ksp_;
    std::unique_ptr<MpiComm> comm_;
    Callbacks callbacks_;
    Product product_{callbacks_};
    Preconditioning preconditioning_{callbacks_};
    Diagonal diagonal_;
    Converted converted_;
    std::unique_ptr<LoggedMatrix> logged_;  // of the converted matrix
    std::unique_ptr<LeftPreconditioned> left_;
    std::unique_ptr<SymmetricallyPreconditioned> symmetric_;
    Shape shape_;
    std::unique_ptr<Solver<double>> solver_;
    Buffer<double> b_;         // what stands in the place of b
    Buffer<double> x_;         // x and b, where PETSc's are no arrays, or columns
    std::string finished_by_;  // the method that ended the last solve

    // Of the solve under way.
    bool began_ = false;         // iteration 0 was told
    bool test_is_asked_ = true;  // of each iteration, as of a single column
    bool trusts_test_ = false;   // where it says that the solve has converged
    double* iterate_ = nullptr;  // x, where it is no array of PETSc's, or not what is solved for
};

}  // namespace stretto::petsc
