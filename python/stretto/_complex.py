# SPDX-License-Identifier: BSD-3-Clause
"""Systems of complex numbers."""

import numpy as np

from . import _arrays, _core

_USUAL = {"prepare": "", "null_space": "auto", "device": "cpu", "execution": "threads"}  # what there is for real systems alone


def refuse(given):
    """Complains of options that complex systems have not, or where the library has no complex numbers."""
    if not hasattr(_core, "ComplexMatrix"):
        raise _core.InputError("this library was built without complex numbers (STRETTO_SCALARS)")
    for name, usual in _USUAL.items():
        if given.get(name, usual) not in (usual, None):
            raise TypeError(f"{name} is not for complex systems: leave it out")


def _canonical(A):
    """Columns that increase in each row, each once."""
    if hasattr(A, "tocsr"):
        A = A.tocsr()
        if not A.has_canonical_format:
            A = A.copy()
            A.sum_duplicates()
    return A


def rows_of(A):
    """(start, columns, values) of complex numbers."""
    start, places, values = _arrays.rows_of(_canonical(A), _arrays.number)
    return start.astype(np.int64), places.astype(np.int64), values


def system(communicator, start, places, values, given):
    """As `_core.System`."""
    return _core.ComplexMatrix(communicator, start, places, values, given["precond"], given["threads"], given["insist"])
