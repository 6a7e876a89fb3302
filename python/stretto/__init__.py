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
scipy.sparse.linalg. `Matrix` and `Solver` are for many solves, `Preconditioner` for methods of others. `HMatrix` is a dense matrix of
points and a kernel, `stretto.bem` are charges of conductors. `advise` tries what may solve a matrix; `Machine`, `predict`, `simulate` and
`overlap` tell what takes how long where. `methods()`, `preconditioners()` and `kernels()` list what there is.
"""

from . import _mpi

_mpi.load()

from . import _functions, bem  # noqa: E402 - MPI comes first
from ._advice import Advice, advise
from ._command import Machine, Prediction, Simulation, command, overlap, predict, predict_map, simulate
from ._core import InputError
from ._devices import DeviceArray
from ._hmatrix import HMatrix, kernels
from ._matrix import Matrix, Preconditioner, Solver, problem
from ._functions import *  # noqa: F403 - a function for each method of the library
from ._result import Result
from ._solve import methods, preconditioners, solve
from ._core import version as _version

InputError.__doc__ = "Bad usage or bad input: the message says what is wrong, where, and what to do instead. The same on every process."
__version__ = _version()
__all__ = ["Advice", "DeviceArray", "HMatrix", "InputError", "Machine", "Matrix", "Preconditioner", "Prediction", "Result", "Simulation", "Solver",
           "advise", "bem", "command", "kernels", "methods", "overlap", "preconditioners", "predict", "predict_map", "problem",
           "simulate", "solve", *_functions.__all__]
