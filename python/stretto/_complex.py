# SPDX-License-Identifier: BSD-3-Clause
"""Systems of complex numbers."""

import numpy as np

from . import _arrays, _core, _devices
from ._progress import told
from ._result import Result


def _canonical(A):
    """Columns that increase in each row, each once."""
    if hasattr(A, "tocsr"):
        A = A.tocsr()
        if not A.has_canonical_format:
            A = A.copy()
            A.sum_duplicates()
    return A


def _taken(communicator, A, b, x0, M):
    if not (isinstance(A, (np.ndarray, list, tuple)) or hasattr(A, "tocsr") or hasattr(A, "__dlpack__")):
        what = f"has numbers of type {A.dtype}" if _arrays.has_complex(A) else f"is {type(A).__name__}, and others are complex"
        raise TypeError(f"A {what}: of a complex system it is a sparse matrix or an array")
    if M is not None:
        raise TypeError(f"M is {type(M).__name__}: of a complex system it is the name of a preconditioner")
    shape = getattr(A, "shape", None) or np.shape(A)
    start, places, values = _arrays.rows_of(_canonical(A), _arrays.number)
    rows = len(start) - 1
    if communicator.size == 1 and rows != shape[1]:
        raise ValueError(f"A is {rows} × {shape[1]}: a square matrix is wanted")
    rhs = _arrays.columns(b, "b", rows, taken=_arrays.number)
    return start.astype(np.int64), places.astype(np.int64), values, rhs, _arrays.guess(x0, rhs)[0], shape[1]


def solve(A, b, x0, M, given, *, precond, threads, insist, communicator, progress, callback):
    """As `stretto.solve`, of a matrix."""
    if not hasattr(_core, "solve_complex"):
        raise _core.InputError("this library was built without complex numbers (STRETTO_SCALARS)")
    start, places, values, rhs, x, columns = _arrays.together(
        communicator, lambda: _taken(communicator, A, b, x0, M),
        **given | {"precond": precond, "insist": insist, "x0 given": x0 is not None, "columns": np.shape(b)[1:]})
    if communicator.size > 1:
        rows = communicator.total(len(start) - 1)
        if communicator.total(rows != columns):
            raise ValueError(f"A is {rows} × {columns}: a square matrix is wanted, of which each of the {communicator.size} processes has "
                             f"its rows alone, as A[first:last]")
    given["zero_guess"] = x0 is None
    with told(progress, communicator, given["method"], given["rtol"], callback) as monitor:
        outcome = _core.solve_complex(communicator, start, places, values, rhs, x, precond, threads or 0, insist, given, monitor)
    return Result(outcome, _devices.in_kind(x.reshape(np.shape(b)), b))
