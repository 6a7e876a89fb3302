# SPDX-License-Identifier: BSD-3-Clause
"""A function for each method of the library, called like those of scipy.sparse.linalg. They are made from the library's table, so
that a method that is new there is new here."""

import inspect

import numpy as np

from . import _arrays, _core
from ._solve import is_matrix, solve

_COMMON = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
           for name, default in (("A", inspect.Parameter.empty), ("b", inspect.Parameter.empty), ("x0", None))]
_KEYWORDS = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
             for name, default in (("rtol", 1e-5), ("atol", 0.0), ("maxiter", None), ("M", None), ("callback", None), ("comm", None))]

_TEXT = """{title}

{source}. A: {needs}.

Parameters
----------
A : sparse matrix, array, LinearOperator or callable, (n, n)
b : array, (n,) or (n, m)
x0 : array like b, optional
    Initial guess; zeros.
rtol, atol : float
    Converged is ‖b − A x‖ ≤ max(rtol ‖b‖, atol), recomputed, for each column.
maxiter : int, optional
    Ten times the number of unknowns.
M : str, sparse matrix, LinearOperator or callable, optional
    A name of `preconditioners`, or what applies the inverse of the preconditioner.
callback : callable, optional
    Called with the relative residual at iteration 0 and after each iteration; False ends the solve.
comm : mpi4py.MPI.Comm, optional
    Of the processes that have rows of A, b and x; None: this one alone.
{options}
Returns
-------
x : array like b
info : int
    0: converged; > 0: not, after so many iterations; < 0: breakdown.
"""


def _default(option):
    choices = option["choices"]
    if choices:
        return choices[int(option["default"])]
    return int(option["default"]) if option["integral"] else option["default"]


def _described(option):
    return f"{option['name']} : {'str' if option['choices'] else 'int' if option['integral'] else 'float'}\n    " \
           f"{option['help'][0].upper()}{option['help'][1:]}" + (f" ({', '.join(option['choices'])})." if option["choices"] else ".")


def _spec(name, options):
    """NAME:key=value,… as the library reads it."""
    return name + (":" + ",".join(f"{key}={value}" for key, value in options.items()) if options else "")


def _made(row):
    names = {option["name"] for option in row["options"]}

    def method(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, comm=None, **options):
        for name in options:
            if name not in names:
                known = {"tol": "rtol", "restart": "m"}.get(name)
                hint = f"; SciPy's {name} is {known} here" if known in ("rtol", *names) else ""
                raise TypeError(f"{row['name']}() got an unexpected keyword argument '{name}'{hint}; its options are "
                                f"{', '.join([*(each.name for each in _KEYWORDS), *sorted(names)])}")
        if maxiter is None:
            comm = _arrays.communicator(comm)
            maxiter = 10 * (A.shape[-1] if is_matrix(A) and hasattr(A, "shape") else comm.total((*np.shape(b), 0)[0]))
        r = solve(A, b, x0, method=_spec(row["name"], options), precond="none", M=M, rtol=rtol, atol=atol,
                  maxiter=maxiter, callback=callback, comm=comm, threads=1)
        return r.x, r.info

    method.__name__ = method.__qualname__ = row["name"]
    method.__module__ = "stretto"
    method.__doc__ = _TEXT.format(**row | {"options": "".join(_described(option) + "\n" for option in row["options"])})
    method.__signature__ = inspect.Signature(_COMMON + _KEYWORDS + [
        inspect.Parameter(option["name"], inspect.Parameter.KEYWORD_ONLY, default=_default(option)) for option in row["options"]])
    return method


__all__ = [row["name"] for row in _core.methods()]
globals().update((row["name"], _made(row)) for row in _core.methods())
