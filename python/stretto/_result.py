# SPDX-License-Identifier: BSD-3-Clause
"""What a solve returns."""

import functools
import html
import json

import numpy as np


class Result:
    """The solution and what there is to tell of it.

    Attributes
    ----------
    x : array
        As b was given.
    converged : bool
        Whether ‖b − A x‖ is within the tolerance for every column, recomputed.
    status : str
        ``converged``, or why not: ``max_iterations``, ``breakdown``, ``indefinite_matrix``, ``stagnated``, ``gave_up``, ….
    iterations : int
    residual : float
        ‖b − A x‖ / ‖b‖, the largest of the columns.
    info : int
        As of scipy.sparse.linalg: 0, > 0 iterations without convergence, < 0 breakdown.
    next : list of dict
        What to try where a matrix was not solved, the likeliest first: method, precond, prepare, why, and `call`, to type.
    columns, events, per_iteration, total, parts, seconds, remarks : list or dict
        As in the JSON of ``stretto solve`` (docs/results.md); ``columns`` is ``columns_detail`` there.
    history, true_history : array, (iterations, m)
        Recursive and true residuals, relative to ‖b‖, where they were asked for.
    """

    def __init__(self, outcome, x, method):
        self._outcome, self.x, self.method = outcome, x, method
        self.converged, self.status, self.iterations = outcome.converged, outcome.status, outcome.iterations

    @property
    def residual(self):
        return self._outcome.residual

    @property
    def info(self):
        return self._outcome.info

    @functools.cached_property
    def details(self):
        """All that the JSON of ``stretto solve`` has."""
        return json.loads(self._outcome.json())

    @property
    def columns(self):
        return self.details["columns_detail"]

    @functools.cached_property
    def next(self):
        steps = self._outcome.next
        for step in steps:
            named = {key: step[key] for key in ("method", "precond", "prepare") if step[key]}
            step["call"] = f"stretto.solve(A, b, {', '.join(f'{key}={value!r}' for key, value in named.items())})"
        return steps

    def __getattr__(self, name):
        if name in ("events", "per_iteration", "total", "parts", "seconds", "remarks", "choice", "finished_by"):
            return self.details[name]
        raise AttributeError(name)

    def _residuals(self, values):
        norms = np.asarray(self._outcome.norms_b)
        return np.asarray(values).reshape(-1, len(norms)) / np.where(norms > 0, norms, 1)

    @property
    def history(self):
        return self._residuals(self._outcome.history)

    @property
    def true_history(self):
        return self._residuals(self._outcome.true_history)

    def plot(self, ax=None):
        """Residuals over iterations, recursive and true, as far as they were kept (history=True, true_history=True)."""
        import matplotlib.pyplot as plt
        ax = ax or plt.gca()
        kept = [(values, style, what) for values, style, what in ((self.history, "-", "recursive"), (self.true_history, "--", "true"))
                if len(values)]
        if not kept:
            raise ValueError("no residuals were kept: solve with history=True, true_history=True")
        for values, style, what in kept:
            for j, column in enumerate(values.T):
                ax.semilogy(np.arange(1, len(column) + 1), column, style, label=what if j == 0 else None)
        ax.set(xlabel="iteration", ylabel="‖b − A x‖ / ‖b‖", title=self.method)
        ax.legend()
        return ax

    def __repr__(self):
        return f"<stretto.Result: {self.method} {self.status} after {self.iterations} iterations, residual {self.residual:.1e}>"

    def _repr_html_(self):
        rows = [("status", self.status), ("method", self.method), ("iterations", self.iterations), ("residual", f"{self.residual:.2e}"),
                ("shape of x", np.shape(self.x))]
        rows += [("next", f"{step['call']}: {step['why']}") for step in (self.next if not self.converged else [])]
        return "<table>" + "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>" for name, value in rows) \
            + "</table>"
