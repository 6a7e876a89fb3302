# SPDX-License-Identifier: BSD-3-Clause
"""What may solve a matrix, and why."""

from __future__ import annotations

import html

import numpy as np

from . import _arrays, _core
from ._matrix import Matrix, problem


class Advice(list):
    """Preconditioners with their methods, the likeliest first: dicts with method, precond, setup (seconds), trial (iterations that
    were tried), residual (after them), iteration (seconds), iterations (at that rate, to the tolerance: a guess), seconds (in all),
    ended (how a trial ended that failed), why, and call, to type.

    Attributes
    ----------
    structure : list of str
        What a look at the entries told.
    """

    _COLUMNS = ("precond", "method", "setup", "iteration", "trial", "residual", "seconds")

    def __init__(self, rows, structure):
        super().__init__(rows)
        self.structure = structure

    def _rows(self):
        for row in self:
            yield [f"{row[name]:.3g}" if isinstance(row[name], float) else str(row[name]) for name in self._COLUMNS[:-1]] + \
                [row["ended"] or (f"{row['seconds']:.3g}" if np.isfinite(row["seconds"]) else "never")]

    def __repr__(self):
        rows = [list(self._COLUMNS), *self._rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(self._COLUMNS))]
        return "\n".join([*self.structure, *("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)])

    def _repr_html_(self):
        cells = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows())
        return "<p>" + "<br>".join(map(html.escape, self.structure)) + "</p><table><tr>" + "".join(
            f"<th>{name}</th>" for name in self._COLUMNS) + f"</tr>{cells}</table>"


def advise(A, b=None, *, iterations=20, rtol=1e-8, threads=None, comm=None) -> Advice:
    """Sets up every preconditioner that suits A and tries each for some iterations, as ``stretto advise`` does (docs/choosing.md).

    A: what `Matrix` takes, or the name of a problem; b: ones. Of convergence nothing is known beforehand: what goes on at the rate of
    a trial is a guess.

    >>> import stretto
    >>> advice = stretto.advise("poisson2d:50")
    >>> {"none", "amg"} <= {row["precond"] for row in advice}       # Jacobi's is a number here: the diagonal is constant
    True
    """
    communicator = _arrays.communicator(comm)
    if isinstance(A, str):
        A = problem(A, comm)
    matrix = Matrix(A, precond="auto", threads=threads or 0, comm=communicator)
    if matrix.dtype.kind == "c":
        raise TypeError("A is complex: advice is for real matrices; stretto.solve chooses, and Result.next says what to try")
    rhs = _arrays.together(communicator, lambda: _arrays.columns(np.ones(matrix.shape[0]) if b is None else b, "b", matrix.shape[0]),
                           iterations=iterations, rtol=rtol)
    rows = matrix._system.trials(rhs, iterations, rtol)
    for row in rows:
        row["call"] = f"stretto.solve(A, b, method={row['method']!r}, precond={row['precond']!r})"
    rows.sort(key=lambda row: (bool(row["ended"]), row["seconds"]))
    return Advice(rows, matrix.structure)
