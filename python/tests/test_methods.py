# SPDX-License-Identifier: BSD-3-Clause
"""What SciPy's own tests ask of its iterative solvers, of every method."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TRANSPOSED, matrix_for, residual
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import stretto


def call(method, *args, **more):
    return getattr(stretto, method)(*args, **more)


def test_converges_and_leaves_its_arguments(method, rng):
    A = matrix_for(method)
    b, x0 = rng.standard_normal(A.shape[0]), rng.standard_normal(A.shape[0])
    kept = A.copy(), b.copy(), x0.copy()
    for guess in (None, x0):
        x, info = call(method, A, b, guess, rtol=1e-9)
        assert info == 0 and x.shape == b.shape and residual(A, x, b) <= 1e-9
    assert (A != kept[0]).nnz == 0 and np.array_equal(b, kept[1]) and np.array_equal(x0, kept[2])


@pytest.mark.parametrize("kind", [sp.csc_matrix, sp.coo_matrix, sp.lil_matrix, lambda A: A.toarray(), aslinearoperator,
                                  lambda A: (lambda v: A @ v), lambda A: A.astype(np.float32)])
def test_kinds_of_matrices(method, kind, rng):
    A = matrix_for(method)
    b = rng.standard_normal(A.shape[0])
    if method in TRANSPOSED and not hasattr(kind(A), "T"):
        with pytest.raises(stretto.InputError, match="Aᵀ"):
            call(method, kind(A), b)
        return
    x, info = call(method, kind(A), b, rtol=1e-5)
    assert info == 0 and residual(A, x, b) <= 1.1e-5


def test_a_guess_that_is_the_solution_takes_no_iteration(method, rng):
    A = matrix_for(method)
    truth = rng.standard_normal(A.shape[0])
    r = stretto.solve(A, A @ truth, truth, method=method, precond="none")
    assert r.converged and r.iterations == 0 and np.array_equal(r.x, truth)


def test_b_of_zeros(method):
    A = matrix_for(method)
    x, info = call(method, A, np.zeros(A.shape[0]))
    assert info == 0 and not x.any()


def test_tolerances(method, rng):
    A = matrix_for(method)
    b = rng.standard_normal(A.shape[0])
    for rtol in (1e-1, 1e-4, 1e-8):
        x, info = call(method, A, b, rtol=rtol)
        assert info == 0 and np.linalg.norm(b - A @ x) <= rtol * np.linalg.norm(b)
    x, info = call(method, A, b, rtol=0.0, atol=1e-3)
    assert info == 0 and np.linalg.norm(b - A @ x) <= 1e-3


def test_maxiter_is_told(method, rng):
    A = matrix_for(method)
    x, info = call(method, A, rng.standard_normal(A.shape[0]), rtol=1e-12, maxiter=2)
    assert 0 < info <= 2 and np.isfinite(x).all()


def test_many_right_hand_sides(method, rng):
    A = matrix_for(method)
    B = rng.standard_normal((A.shape[0], 3))
    X, info = call(method, A, B, rtol=1e-8)
    assert info == 0 and X.shape == B.shape and residual(A, X, B) <= 1e-8


def test_preconditioners(method, rng):
    A = matrix_for(method)
    b = rng.standard_normal(A.shape[0])
    d = np.abs(A.diagonal())
    once = LinearOperator(A.shape, lambda v: v.ravel() / d, rmatvec=lambda v: v.ravel() / d)
    for M in ("jacobi", sp.diags(1 / d), once, *([lambda v: v / d] if method not in TRANSPOSED else [])):
        x, info = call(method, A, b, M=M, rtol=1e-8)
        assert info == 0 and residual(A, x, b) <= 1e-8


def test_callback(method, rng):
    A = matrix_for(method)
    b = rng.standard_normal(A.shape[0])
    told = []
    r = stretto.solve(A, b, method=method, precond="none", callback=told.append)
    assert told[0] == 1 and len(told) == r.iterations + 1
    assert stretto.solve(A, b, method=method, precond="none", callback=lambda residual: residual > 0.5).status == "interrupted"


def test_signature_and_help(method):
    function = getattr(stretto, method)
    parameters = inspect.signature(function).parameters
    assert list(parameters)[:3] == ["A", "b", "x0"]
    row = next(row for row in stretto.methods() if row["name"] == method)
    for option in row["options"]:
        assert option["name"] in parameters and f"{option['name']} : " in function.__doc__
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'; its options are"):
        function(matrix_for(method), np.ones(289), nothing=1)


def test_options_are_the_methods_own():
    A = stretto.problem("poisson2d:40")
    b = np.ones(A.shape[0])
    assert stretto.deep_pipelined_cg(A, b, l=3)[1] == 0
    assert stretto.s_step_cg(A, b, s=2, refuge="pipelined_cg")[1] == 0
    with pytest.raises(stretto.InputError, match="deep_pipelined_cg.*option l"):
        stretto.deep_pipelined_cg(A, b, l=0)
