# SPDX-License-Identifier: BSD-3-Clause
"""One call for all methods, matrices and operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _arrays, _complex, _core, _devices
from ._hmatrix import HMatrix
from ._matrix import Matrix, Preconditioner
from ._progress import told
from ._result import Result


def methods() -> list[dict]:
    """The methods: a list of dicts with name, title, source, what A must be, and options."""
    return _core.methods()


def preconditioners() -> list[dict]:
    """The preconditioners of sparse matrices: a list of dicts as of `methods`."""
    return _core.preconditioners()


def _product(operator, name, rows, is_complex):
    """A function (x, y) of columns that writes operator(x) into y: of a matrix, a LinearOperator, a function of `rows` numbers. Complex
    columns are two real ones each to an operator that says it is real: it may refuse them, or drop their imaginary parts."""
    shape, kind = getattr(operator, "shape", (rows, rows)), getattr(operator, "dtype", None)
    if tuple(shape) != (rows, rows):
        raise ValueError(f"{name} has the shape {tuple(shape)}: ({rows}, {rows}) is wanted, for b has {rows} rows")
    if is_complex and kind is not None and not _arrays.has_complex(operator):
        real = _product(operator, name, rows, False)
        return lambda x, y: real(x.view(np.float64), y.view(np.float64))
    if not is_complex and _arrays.has_complex(operator):
        raise TypeError(f"{name} has numbers of type {kind}, and A is real")
    numbers = _arrays.number if is_complex else _arrays.real

    def taken(y, of):
        of = numbers(of, f"what {name} returned")
        if of.shape != y.shape and of.shape != (*y.shape, 1):
            raise ValueError(f"{name} returned an array of shape {of.shape} for a vector of shape {y.shape}: the same shape is wanted")
        y[...] = of.reshape(y.shape)

    if hasattr(operator, "matvec"):
        def apply(x, y):
            if x.shape[1] == 1:
                taken(y[:, 0], operator.matvec(x[:, 0]))
            else:
                taken(y, operator.matmat(x))
    elif hasattr(operator, "__matmul__") and not callable(operator):
        def apply(x, y):
            taken(y, operator @ x)
    elif callable(operator):
        def apply(x, y):
            for j in range(x.shape[1]):
                taken(y[:, j], operator(x[:, j]))
    else:
        raise TypeError(f"{name} is {type(operator).__name__}: a matrix, a LinearOperator or a function of a vector is wanted")
    return apply


def _transposed(operator, name, rows, is_complex):
    """The same of its transpose, of complex numbers its adjoint; None where it has none."""
    if operator is None or (callable(operator) and not hasattr(operator, "T")):
        return None
    try:
        turned = operator.T if not is_complex else operator.T.conj() if hasattr(operator, "conj") else operator.H
        return _product(turned, name, rows, is_complex)
    except (AttributeError, NotImplementedError):
        return None


def _operators(A, b, x0, M, precond, lies_on, is_complex):
    """b and a new x as columns; A, its transpose, M and its transpose as functions."""
    if lies_on:
        raise TypeError("b lies on a device, where A is to be a matrix and M the name of a preconditioner: functions take vectors of the host, "
                        "b.get() or b.cpu()")
    if precond not in ("auto", "none"):
        raise TypeError(f"precond={precond!r} is made from a matrix, and A is an operator: give M, which applies it")
    taken = _arrays.number if is_complex else _arrays.real
    rhs = _arrays.columns(b, "b", A.shape[0] if hasattr(A, "shape") else None, taken=taken)
    x, _ = _arrays.guess(x0, rhs)
    rows = len(rhs)
    if isinstance(A, Matrix):
        product, transpose = (lambda x, y: np.copyto(y, A._times(x))), None
    else:
        A = np.asarray(A) if isinstance(A, (list, tuple)) else A
        product, transpose = _product(A, "A", rows, is_complex), _transposed(A, "A", rows, is_complex)
    by = _product(M, "M", rows, is_complex) if M is not None else None
    return rhs, x, product, transpose, by, _transposed(M, "M", rows, is_complex)


def is_matrix(A):
    """Whether its entries are there, rather than products alone."""
    return isinstance(A, (Matrix, np.ndarray, list, tuple)) or hasattr(A, "tocsr") or hasattr(A, "__dlpack__")


def solve(A: Any, b: Any, x0: Any = None, *, method: str = "auto", precond: Any = "auto", M: Any = None, rtol: float | None = None,
          atol: float = 0.0, maxiter: int | None = None, callback: Callable[[float], Any] | None = None, comm: Any = None,
          prepare: str = "", null_space: str = "auto", threads: int | None = None, device: str | None = None,
          execution: str = "threads", insist: bool = False, reproducible: bool = False, progress: Any = False,
          **options: Any) -> Result:
    """Solves A x = b.

    Parameters
    ----------
    A : sparse matrix, array, LinearOperator, callable, Matrix or HMatrix, (n, n)
        With `comm` of several processes each has its rows of A, of b and of x. A, b and M may be complex (docs/scalars.md).
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
        Applies the inverse of the preconditioner, as in SciPy; a name is the same as `precond`. A real operator, A or M, is given
        complex vectors as columns of their real and imaginary parts.
    rtol, atol : float
        Converged is ‖b − A x‖ ≤ max(rtol ‖b‖, atol), recomputed, for each column. rtol None: 1e-8, of an `HMatrix` its own.
    maxiter : int, optional
    callback : callable, optional
        Called with the relative residual (a float) at iteration 0 and after each iteration; False ends the solve.
    comm : mpi4py.MPI.Comm, optional
    prepare, null_space, threads, device, execution, insist, reproducible
        As of `Matrix`; threads None: as many as pay; device None: where b lies.
    progress : bool
        A progress bar: tqdm's, in a terminal or a notebook, where it is installed.
    **options
        ``history=True``, ``true_history=True``: keep residuals; ``timeline=True``: keep what ran when; ``verify=False``: believe the recurrence; ``last=True``: x is the
        last iterate, not the best; ``basic=True``: kernels one by one; ``checkpoint="FILE,every=10min"`` (30s, 1h; every=500: iterations): keep what the solve can
        go on from in this file; ``resume="FILE"``: go on from there, with its method and preconditioner where neither is named (docs/howto/long_solves.md).

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
    communicator = A._communicator if isinstance(A, (Matrix, HMatrix)) else _arrays.communicator(comm, reproducible)
    if reproducible and not communicator.reproducible:
        raise TypeError(f"reproducible is to be said where A is made: {type(A).__name__}(…, reproducible=True)" if isinstance(A, Matrix) else
                        "an HMatrix is not reproducible: its blocks are added up rank by rank")
    stays = isinstance(A, (Matrix, HMatrix))
    if options.get("resume") and method == precond == "auto" and M is None and is_matrix(A) and not stays:
        method, kept, prepared = _core.of_checkpoint(communicator, options["resume"])
        if kept != "function":  # the solve was of an operator, whose preconditioner no name tells
            precond, prepare = kept, prepare or prepared
    is_complex = any(_arrays.has_complex(each) for each in ((A,) if stays else (A, b, x0, M)))
    if communicator.size > 1:
        is_complex = communicator.total(is_complex) > 0  # on any process
    if is_complex and not stays:
        _complex.refuse({"prepare": prepare, "null_space": null_space, "device": device, "execution": execution})
        if is_matrix(A) and M is None:
            A = Matrix(A, precond=precond, insist=insist, threads=threads or 0, comm=communicator, _complex_numbers=True)
    lies_on = _devices.lies_on(b)
    if isinstance(A, HMatrix) and M is None:
        return A.solve(b, x0, method=method, rtol=rtol, atol=atol, maxiter=maxiter, callback=callback, progress=progress, **options)
    rtol = 1e-8 if rtol is None else rtol
    if isinstance(A, HMatrix) and communicator.size > 1:
        raise TypeError("M of an HMatrix on several processes, whose vectors are whole on each: its own preconditioners are named with it")
    if is_matrix(A) and M is None:
        if not isinstance(A, Matrix):
            A = Matrix(A, precond=precond, prepare=prepare, null_space=null_space, comm=communicator, device=device or lies_on or "cpu",
                       execution=execution, insist=insist, threads=0 if threads is None else threads, columns=1 if np.ndim(b) < 2 else max(1, np.shape(b)[1]))
        return A.solve(b, x0, method=method, rtol=rtol, atol=atol, maxiter=maxiter, callback=callback, progress=progress, **options)
    if method == "auto":
        method = "gmres"
    given = {"method": method, "rtol": rtol, "atol": atol, **options}
    if maxiter is not None:
        given["maxiter"] = maxiter
    if communicator.size > 1 and is_matrix(A) and not isinstance(A, Matrix):
        A = Matrix(A, comm=communicator, _complex_numbers=is_complex)
    rhs, x, *operators = _arrays.together(communicator, lambda: _operators(A, b, x0, M, precond, lies_on, is_complex),
                                          **given | {"x0 given": x0 is not None, "columns": np.shape(b)[1:]})
    _arrays.together(communicator, lambda: None, **{f"{name} with rmatvec": operators[k] is not None for k, name in ((1, "A"), (3, "M"))})
    given["zero_guess"] = x0 is None
    with told(progress, communicator, method, rtol, callback) as monitor:
        outcome = _core.solve_operator(communicator, *operators, rhs, x, given, monitor,
                                       isinstance(A, Matrix), isinstance(M, Preconditioner))
    return Result(outcome, _devices.in_kind(x.reshape(np.shape(b)), b))
