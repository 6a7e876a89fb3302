# SPDX-License-Identifier: BSD-3-Clause
"""One call for all methods, matrices and operators."""

from __future__ import annotations

import numpy as np

from . import _arrays, _core, _devices
from ._hmatrix import HMatrix
from ._matrix import Matrix
from ._progress import told
from ._result import Result


def methods() -> list[dict]:
    """The methods: a list of dicts with name, title, source, what A must be, and options."""
    return _core.methods()


def preconditioners() -> list[dict]:
    """The preconditioners of sparse matrices: a list of dicts as of `methods`."""
    return _core.preconditioners()


def _product(operator, name):
    """A function (x, y) of columns that writes operator(x) into y: of a matrix, a LinearOperator, a function."""
    if operator is None:
        return None
    if hasattr(operator, "matvec"):
        def apply(x, y):
            y[:] = operator.matvec(x[:, 0]).reshape(-1, 1) if x.shape[1] == 1 else operator.matmat(x)
    elif hasattr(operator, "__matmul__") and not callable(operator):
        def apply(x, y):
            y[:] = operator @ x
    elif callable(operator):
        def apply(x, y):
            for j in range(x.shape[1]):
                y[:, j] = operator(x[:, j])
    else:
        raise TypeError(f"{name} is {type(operator).__name__}: a matrix, a LinearOperator or a function of a vector is wanted")
    return apply


def _transposed(operator, name):
    """The same of its transpose; None where it has none."""
    if operator is None or (callable(operator) and not hasattr(operator, "T")):
        return None
    try:
        return _product(operator.T, name)
    except (AttributeError, NotImplementedError):
        return None


def _is_matrix(A):
    return isinstance(A, (Matrix, np.ndarray, list, tuple)) or hasattr(A, "tocsr") or hasattr(A, "__dlpack__")


def solve(A, b, x0=None, *, method="auto", precond="auto", M=None, rtol=None, atol=0.0, maxiter=None, callback=None, comm=None,
          prepare="", null_space="auto", threads=None, device=None, execution="threads", insist=False, progress=False,
          **options) -> Result:
    """Solves A x = b.

    Parameters
    ----------
    A : sparse matrix, array, LinearOperator, callable, Matrix or HMatrix, (n, n)
        With `comm` of several processes each has its rows of A, of b and of x.
    b : array, (n,) or (n, m)
        m right-hand sides are solved for together: the matrix is read once for all of them. x is an array of the same library: NumPy's,
        torch's, JAX's, CuPy's, numba's; where b lies on a GPU the solve runs there, b is read and x written there.
    x0 : array like b, optional
        Initial guess; zeros.
    method : str
        ``NAME[:key=value,…]``, see `methods`; ``"auto"``: what suits the structure of a matrix.
    precond : str
        ``NAME[:key=value,…]``, see `preconditioners`; ``"auto"``, ``"none"``; or what M takes.
    M : str, sparse matrix, LinearOperator or callable, optional
        Applies the inverse of the preconditioner, as in SciPy; a name is the same as `precond`.
    rtol, atol : float
        Converged is ‖b − A x‖ ≤ max(rtol ‖b‖, atol), recomputed, for each column. rtol None: 1e-8, of an `HMatrix` its own.
    maxiter : int, optional
    callback : callable, optional
        Called with the relative residual (a float) at iteration 0 and after each iteration; False ends the solve.
    comm : mpi4py.MPI.Comm, optional
    prepare, null_space, threads, device, execution, insist
        As of `Matrix`; threads None: as many as pay; device None: where b lies.
    progress : bool
        A progress bar: tqdm's, in a terminal or a notebook, where it is installed.
    **options
        ``history=True``, ``true_history=True``: keep residuals; ``timeline=True``: keep what ran when; ``verify=False``: believe the recurrence; ``last=True``: x is the
        last iterate, not the best; ``basic=True``: kernels one by one.

    Returns
    -------
    Result
        With x, converged, status, iterations, residual, columns, events, per_iteration, next. Ctrl-C ends a solve, too: its
        status is then ``interrupted``.

    Raises
    ------
    InputError
        A ValueError: what cannot be solved so, and what to do instead.
    """
    if isinstance(M, str):
        precond, M = M, None
    elif M is None and not isinstance(precond, str):
        precond, M = "auto", precond
    elif M is not None and precond not in ("auto", "none"):
        raise TypeError(f"M and precond={precond!r}: one preconditioner is wanted")
    lies_on = _devices.lies_on(b)
    if isinstance(A, HMatrix) and M is None:
        return A.solve(b, x0, method=method, rtol=rtol, atol=atol, maxiter=maxiter, callback=callback, progress=progress, **options)
    rtol = 1e-8 if rtol is None else rtol
    communicator = A._communicator if isinstance(A, (Matrix, HMatrix)) else _arrays.communicator(comm)
    if isinstance(A, HMatrix) and communicator.size > 1:
        raise TypeError("M of an HMatrix on several processes, whose vectors are whole on each: its own preconditioners are named with it")
    if _is_matrix(A) and M is None:
        if not isinstance(A, Matrix):
            A = Matrix(A, precond=precond, prepare=prepare, null_space=null_space, comm=communicator, device=device or lies_on or "cpu",
                       execution=execution, insist=insist, threads=0 if threads is None else threads, columns=1 if np.ndim(b) < 2 else np.shape(b)[1])
        return A.solve(b, x0, method=method, rtol=rtol, atol=atol, maxiter=maxiter, callback=callback, progress=progress, **options)
    if lies_on:
        raise TypeError("b lies on a device, where A is to be a matrix and M the name of a preconditioner: functions take vectors of the host, "
                        "b.get() or b.cpu()")
    if method == "auto":
        method = "gmres"
    if isinstance(A, Matrix):
        product, transpose, rows = (lambda x, y: np.copyto(y, A @ x)), None, A.shape[0]
    else:
        if isinstance(A, (list, tuple)):
            A = np.asarray(A)
        product, transpose = _product(A, "A"), _transposed(A, "A")
        rows = A.shape[0] if hasattr(A, "shape") else None
    if precond not in ("auto", "none"):
        raise TypeError(f"precond={precond!r} is made from a matrix, and A is an operator: give M, which applies it")
    rhs = _arrays.columns(b, "b", rows)
    x, guessed = _arrays.guess(x0, rhs)
    given = {"method": method, "rtol": rtol, "atol": atol, "zero_guess": not guessed, **options}
    if maxiter is not None:
        given["maxiter"] = maxiter
    with told(progress, communicator, method, rtol, callback) as monitor:
        outcome = _core.solve_operator(communicator, product, transpose, _product(M, "M"), _transposed(M, "M"), rhs, x, given, monitor)
    return Result(outcome, _devices.in_kind(x.reshape(np.shape(b)), b))
