# SPDX-License-Identifier: BSD-3-Clause
"""What a solve returns."""

from __future__ import annotations

import functools
import html
import json
from typing import Any

import numpy as np

_AS_ARGUMENTS = {"--rtol": "rtol", "--max-it": "maxiter", "--null-space": "null_space"}


def html_table(rows):
    """A table of names and values for a notebook."""
    return "<table>" + "".join(f"<tr><th style='text-align:left'>{html.escape(str(name))}</th><td style='text-align:left'>"
                               f"{html.escape(str(value))}</td></tr>" for name, value in rows) + "</table>"


def _call(step, template):
    """What to type for a step: its options of the command line as arguments, those of a hierarchical matrix apart."""
    words = step["more"].split()
    solve = {name: step[name] for name in ("method", "precond", "prepare") if step[name]}
    set_up = {}
    for name, value in zip(words[::2], words[1::2]):
        if name == "--hmatrix":
            set_up.update(pair.split("=") for pair in value.split(","))
        elif name in _AS_ARGUMENTS:
            solve[_AS_ARGUMENTS[name]] = float(value) if name == "--rtol" else int(value) if name == "--max-it" else value
    if "{set_up}" in template:
        set_up = {name: float(value) for name, value in set_up.items()} | {name: solve.pop(name) for name in ("precond",) if name in solve}
    arguments = {name: "".join(f", {key}={value!r}" for key, value in options.items()) for name, options in
                 (("set_up", set_up), ("solve", solve))}
    return template.format(**arguments)


def _of_details(name: str, what: str) -> Any:
    """A field of the JSON of ``stretto solve`` (docs/results.md)."""
    return property(lambda self: self.details[name], doc=what)


class _Told:
    """An outcome told in full, as copies and pickles of a result have it."""

    def __init__(self, outcome):
        for name in ("converged", "status", "iterations", "residual", "method", "info", "history", "true_history", "next", "norms_b", "timeline"):
            setattr(self, name, getattr(outcome, name))
        self._json = outcome.json()

    def json(self):
        return self._json


class Result:
    """The solution and what there is to tell of it.

    Attributes
    ----------
    x : array
        As b was given.
    converged : bool
        Whether ‖b − A x‖ is within the tolerance for every column, recomputed.
    method : str
        As it was given, or what was chosen where it was ``auto``.
    status : str
        ``converged``, or why not: ``max_iterations``, ``breakdown``, ``indefinite_matrix``, ``stagnated``, ``gave_up``, ….
    iterations : int
    kernel_residuals : list of float
        Of an `HMatrix`: ‖b − K x‖ / ‖b‖ of each column with the kernel itself, estimated from some rows.
    """

    x: Any
    converged: bool
    method: str
    status: str
    iterations: int
    kernel_residuals: list[float]
    events = _of_details("events", "What one should know of the solve, in order: dicts of iteration, text, times and last.")
    per_iteration = _of_details("per_iteration", "What an iteration of the method costs: applies, reductions, bytes, seconds and so on.")
    total = _of_details("total", "The same of the whole solve, with safeguards and methods that took over.")
    parts = _of_details("parts", "What the iterations were: a dict for each loop that ran, and one for what is outside of loops.")
    seconds = _of_details("seconds", "Of the set-up, of the solve, and of its kernels (by_kernel); the longest over the processes.")
    remarks = _of_details("remarks", "Sentences on the matrix, its storage, its preparation and the preconditioner.")
    choice = _of_details("choice", "How a method was chosen where it was ``auto``: expectations and reasons; else None.")
    finished_by = _of_details("finished_by", "The method that ran last: the one asked for, or the one that took over.")

    def __init__(self, outcome, x, template="stretto.solve(A, b{solve})"):
        self._outcome, self.x, self.method, self._template = outcome, x, outcome.method, template
        self.converged, self.status, self.iterations = outcome.converged, outcome.status, outcome.iterations

    @property
    def residual(self) -> float:
        """‖b − A x‖ / ‖b‖, recomputed, the largest of the columns."""
        return self._outcome.residual

    @property
    def info(self) -> int:
        """As of scipy.sparse.linalg: 0, > 0 iterations without convergence, < 0 breakdown."""
        return self._outcome.info

    @functools.cached_property
    def details(self) -> dict:
        """All that the JSON of ``stretto solve`` has (docs/results.md)."""
        return json.loads(self._outcome.json())

    @property
    def columns(self) -> list[dict]:
        """A dict of each right-hand side: status, iterations, relative_residual, …: ``columns_detail`` of the JSON (docs/results.md)."""
        return self.details["columns_detail"]

    @functools.cached_property
    def next(self) -> list[dict]:
        """What to try where a matrix was not solved, the likeliest first: method, precond, prepare, why, and `call`, to type."""
        steps = self._outcome.next
        for step in steps:
            step["call"] = _call(step, self._template)
        return steps

    def __getstate__(self):
        return self.__dict__ | {"_outcome": _Told(self._outcome)}

    def _residuals(self, values):
        norms = np.asarray(self._outcome.norms_b)
        return np.asarray(values).reshape(-1, len(norms)) / np.where(norms > 0, norms, 1)

    @property
    def history(self) -> np.ndarray:
        """Recursive residuals relative to ‖b‖, (iterations, m); of a solve with history=True."""
        return self._residuals(self._outcome.history)

    @property
    def true_history(self) -> np.ndarray:
        """Recomputed residuals relative to ‖b‖, (iterations, m); of a solve with true_history=True."""
        return self._residuals(self._outcome.true_history)

    def plot(self, ax=None):
        """Residuals over iterations, recursive and true, as far as they were kept (history=True, true_history=True)."""
        from ._plots import residuals
        return residuals(self, ax)

    def timeline(self, ax=None, iterations=2):
        """The stretto of some iterations in the middle of the solve, on this process: what its kernels did, and which reductions and
        exchanges were in flight meanwhile. Of a solve with timeline=True."""
        from ._plots import timeline
        return timeline(self, ax, iterations)

    def __repr__(self):
        return f"<stretto.Result: {self.method} {self.status} after {self.iterations} iterations, residual {self.residual:.1e}>"

    def _repr_html_(self):
        rows = [("status", self.status), ("method", self.method), ("iterations", self.iterations), ("residual", f"{self.residual:.2e}"),
                ("shape of x", np.shape(self.x))]
        rows += [("next", f"{step['call']}: {step['why']}") for step in (self.next if not self.converged else [])]
        return html_table(rows)
