# SPDX-License-Identifier: BSD-3-Clause
"""Krylov solvers that hide their reductions: large sparse systems A x = b, one or many right-hand sides, one process or many.

>>> import numpy as np, stretto
>>> A = stretto.problem("poisson2d:50")
>>> b = np.ones(A.shape[0])
>>> x, info = stretto.pipelined_cg(A, b)
>>> info
0
>>> r = stretto.solve(A, b)
>>> r.converged, bool(np.linalg.norm(b - A @ r.x) <= 1e-8 * np.linalg.norm(b))
(True, True)

`solve` chooses a method and a preconditioner where none are named; every method is also a function that is called like those of
scipy.sparse.linalg. `Matrix` and `Solver` are for many solves. `methods()` and `preconditioners()` list what there is.
"""

from . import _functions
from ._command import command, predict, simulate
from ._core import InputError
from ._matrix import Matrix, Solver, problem
from ._functions import *  # noqa: F403 - a function for each method of the library
from ._result import Result
from ._solve import methods, preconditioners, solve
from ._core import version as _version

InputError.__doc__ = "Bad usage or bad input: the message says what is wrong, where, and what to do instead. The same on every process."
__version__ = _version()
__all__ = ["InputError", "Matrix", "Result", "Solver", "command", "methods", "preconditioners", "predict", "problem",
           "simulate", "solve", *_functions.__all__]
