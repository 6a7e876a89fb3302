# SPDX-License-Identifier: BSD-3-Clause
"""SciPy's own test cases of its iterative solvers, and the properties that its tests assert, on ours."""

import itertools

import numpy as np
import pytest
from conftest import NEEDS, TRANSPOSED
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from scipy.sparse.linalg import bicgstab, cg, gmres, minres

import stretto

theirs = pytest.importorskip("scipy.sparse.linalg._isolve.tests.test_iterative")
if not hasattr(theirs, "params"):
    pytest.skip("this SciPy has its cases elsewhere", allow_module_level=True)
CASES = [case for case in theirs.params.cases if not np.iscomplexobj(case.A)]  # complex ones are refused: test_solve.py


def like(method):
    """SciPy's method whose exceptions ours has."""
    if NEEDS[method] != "square":
        return minres if NEEDS[method] == "symmetric" else cg
    return gmres if "gmres" in method else bicgstab


def cases(method):
    return [case for case in CASES if like(method) not in case.skip]


def solver(method):
    """Ours with the arguments of SciPy's tests: `tol`, and a callback that is called after iterations alone."""
    def solve(A, b, x0=None, tol=1e-5, maxiter=None, M=None, callback=None, atol=0.0):
        told = itertools.count()
        return getattr(stretto, method)(A, b, x0, rtol=tol, atol=atol, maxiter=maxiter, M=M,
                                        callback=callback and (lambda residual: callback(residual) if next(told) else None))
    return solve


def close(A, x, b, tol):
    return np.linalg.norm(A @ x - b) <= tol * np.linalg.norm(b)


def test_maxiter(method):
    for case in cases(method):
        if like(method) in case.nonconvergence:
            continue
        told = []
        x, info = solver(method)(case.A, case.b, x0=0 * case.b, tol=1e-12, maxiter=1, callback=told.append)
        assert (info, len(told)) in ((1, 1), (0, 1)), case  # SciPy's say 1 even where one iteration was enough


def test_convergence(method):
    for case in cases(method):
        tol = 1e-8 if case.A.dtype.char in "dD" else 1e-2
        x0 = 0 * case.b
        x, info = solver(method)(case.A, case.b, x0=x0, tol=tol)
        assert np.array_equal(x0, 0 * case.b)
        if like(method) in case.nonconvergence and info != 0:  # of ours some do converge there
            assert np.linalg.norm(case.A @ x - case.b) <= np.linalg.norm(case.b)
        else:
            assert info == 0 and close(case.A, x, case.b, tol), (case, info)


def test_precond_dummy(method):
    for case in cases(method):
        if like(method) in case.nonconvergence:
            continue
        identity = LinearOperator(case.A.shape, lambda v: v, rmatvec=lambda v: v)
        for A, M in ((case.A, identity), (aslinearoperator(case.A), None)):
            x, info = solver(method)(A, case.b, x0=0 * case.b, M=M, tol=1e-8)
            assert info == 0 and close(case.A, x, case.b, 1e-8), case


@pytest.mark.parametrize("case", [theirs.params.Poisson1D, theirs.params.Poisson2D])
def test_precond_inverse(method, case):
    inverse = np.linalg.inv(case.A.toarray())
    counted = itertools.count()

    def product(v):
        next(counted)
        return case.A @ v

    A = LinearOperator(case.A.shape, product, rmatvec=lambda v: case.A.T @ v)
    M = LinearOperator(case.A.shape, lambda v: inverse @ v, rmatvec=lambda v: inverse.T @ v)
    r = stretto.solve(A, case.b, 0 * case.b, method=method, M=M, rtol=1e-8)
    assert r.converged and close(case.A, r.x, case.b, 1e-8)
    # Nearly instant. SciPy's may take three products, and compute no residual in the end; blocks and pipelines run ahead.
    assert r.iterations <= 2 and next(counted) <= (4 if method in ("cg", "flexible_cg", "minres", "single_reduction_cg") else 12)


def test_reentrancy(method):
    if method in TRANSPOSED:
        pytest.skip("multiplies with the transpose")

    def product(x):
        y, info = solver(method)(np.diag([1.0, 2.0, 3.0]), x)
        assert info == 0
        return y
    y, info = solver(method)(LinearOperator((3, 3), matvec=product, rmatvec=product, dtype=float), np.array([1, 1 / 2, 1 / 3]))
    assert info == 0 and np.allclose(y, [1, 1, 1], rtol=1e-4)


def test_atol(method):
    np.random.seed(1234)
    A = np.random.rand(10, 10)
    A = A @ A.T + 10 * np.eye(10)
    b = 1e3 * np.random.rand(10)
    tols = np.r_[0, np.logspace(-10, 2, 7), np.inf]
    M0 = np.random.randn(10, 10)
    M0 = M0 @ M0.T
    for M, tol, atol in itertools.product([None, 1e-6 * M0, 1e6 * M0], tols, tols):
        if tol == 0 and atol == 0:
            continue
        x, info = solver(method)(A, b, M=M, tol=tol, atol=atol)
        assert info == 0 and np.linalg.norm(A @ x - b) <= max(atol, tol * np.linalg.norm(b)), (tol, atol)


def test_zero_rhs(method):
    np.random.seed(1234)
    A = np.random.rand(10, 10)
    A = A @ A.T + 10 * np.eye(10)
    for tol in np.logspace(-10, 2, 7):
        for more in ({}, {"x0": np.ones(10)}, {"atol": tol}, {"atol": 0.0}):
            x, info = solver(method)(A, np.zeros(10), tol=tol, **more)
            assert info == 0 and np.allclose(x, 0, atol=tol if "x0" in more else 1e-15)


def test_x0_working(method):
    np.random.seed(1)
    A = np.random.rand(10, 10)
    A = A @ A.T
    b, x0 = np.random.rand(10), np.random.rand(10)
    for guess in (None, x0):
        x, info = solver(method)(A, b, x0=guess, atol=0.0, tol=1e-6)
        assert info == 0 and close(A, x, b, 1e-6)
