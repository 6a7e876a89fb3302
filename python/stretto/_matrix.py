# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrices and solvers that stay: set up once, solve many times."""

import numpy as np

from . import _arrays, _core
from ._result import Result


class Matrix:
    """A square sparse matrix as the library has it: looked at, ordered, dealt, with its preconditioner.

    Parameters
    ----------
    A : SciPy sparse matrix or array, (n, n)
        With `comm` of several processes: this process' rows, (n_local, n), which follow those of the process before.
    precond : str
        ``NAME[:key=value,…]``, see `preconditioners`; ``"auto"``: what suits the structure.
    prepare : str
        ``equilibrate``, ``rcm``, ``metis`` or ``nonzeros``, with commas between.
    null_space : str
        ``auto``, ``constant``, ``none``: of a singular A, kept out of b and x.
    threads : int
        Of this process; 0: as many as pay.
    comm : mpi4py.MPI.Comm, optional
        None: this process alone.

    Raises
    ------
    InputError
        A ValueError, for what cannot be: the same on every process.
    """

    def __init__(self, A, *, precond="none", prepare="", null_space="auto", threads=1, columns=1, comm=None):
        self._communicator = _arrays.communicator(comm)
        start, places, values = _arrays.rows_of(A)
        if getattr(A, "ndim", 2) == 2 and self._communicator.size == 1 and A.shape[0] != A.shape[1]:
            raise ValueError(f"A is {A.shape[0]} × {A.shape[1]}: a square matrix is wanted")
        self._system = _core.System.from_rows(self._communicator, start, places, values, precond, prepare, null_space, threads, columns)
        self._precond, self._threads = precond, threads

    @property
    def shape(self):
        """(n_local, n): this process' rows, and all columns."""
        return self._system.local_rows, self._system.rows

    @property
    def structure(self):
        """What a look at the entries told, in words."""
        return self._system.structure()

    @property
    def choice(self):
        """(options, why): what suits the structure, as options of the command line."""
        return self._system.choice

    def __matmul__(self, x):
        """A x, for x of shape (n_local,) or (n_local, m). Not where rows were moved (`prepare`)."""
        given = _arrays.columns(x, "x", self.shape[0])
        y = np.empty(given.shape)
        self._system.multiply(given, y)
        return (-y if self._system.negated else y).reshape(np.shape(x))

    def update_values(self, A):
        """Takes other values of the same entries: a matrix with the same pattern, or its values, in the order in which they were."""
        self._system.update_values(_arrays.rows_of(A)[2] if np.ndim(A) == 2 else _arrays.real(A, "values"))

    def solve(self, b, x0=None, *, method="auto", rtol=1e-8, atol=0.0, maxiter=None, callback=None, **options):
        """Solves A x = b; arguments and result as of `stretto.solve`."""
        rhs = _arrays.columns(b, "b", self.shape[0])
        x, guessed = _arrays.guess(x0, rhs)
        given = {"method": method, "rtol": rtol, "atol": atol, "zero_guess": not guessed, **options}
        if maxiter is not None:
            given["maxiter"] = maxiter
        outcome = self._system.solve(rhs, x, given, callback)
        return Result(outcome, x.reshape(np.shape(b)), method)


class Solver:
    """Solves with one matrix and one method, again and again: only the first solve allocates, and what is learnt of A stays.

    Parameters
    ----------
    A : Matrix or what `Matrix` takes
    method : str
        ``NAME[:key=value,…]``, see `methods`.
    columns : int
        Right-hand sides of a solve.
    **options
        rtol, atol, maxiter, verify, history, …: as of `stretto.solve`; of `Matrix` where A is none yet: precond, prepare, comm, ….

    Examples
    --------
    >>> import numpy as np, stretto
    >>> solver = stretto.Solver(stretto.problem("poisson2d:30"), "pipelined_cg", precond="jacobi")
    >>> [solver.solve(b).converged for b in (np.ones(900), np.arange(900.0))]
    [True, True]
    """

    _OF_MATRIX = ("precond", "prepare", "null_space", "threads", "comm")

    def __init__(self, A, method="cg", *, columns=1, **options):
        mine = {name: options.pop(name) for name in self._OF_MATRIX if name in options}
        if isinstance(A, Matrix):
            if mine:
                raise TypeError(f"{', '.join(mine)}: given to Matrix, which is there already")
            self.matrix = A
        else:
            self.matrix = Matrix(A, columns=columns, **mine)
        self.method, self._columns = method, columns
        self._solver = _core.Persistent(self.matrix._system, {"method": method, **options}, columns)

    def solve(self, b, x0=None, *, transposed=False):
        """Solves A x = b, or Aᵀ x = b; b has as many columns as the solver. Returns a `Result`."""
        rhs = _arrays.columns(b, "b", self.matrix.shape[0])
        if rhs.shape[1] != self._columns:
            raise ValueError(f"b has {rhs.shape[1]} columns, the solver was made for {self._columns}")
        x, _ = _arrays.guess(x0, rhs)
        return Result(self._solver.solve(rhs, x, transposed), x.reshape(np.shape(b)), self.method)

    def update_values(self, A):
        """As `Matrix.update_values`."""
        self.matrix.update_values(A)


def problem(name, comm=None):
    """A generated problem or a file, as the command line takes it, as a SciPy CSR array: this process' rows of it.

    >>> import stretto
    >>> stretto.problem("poisson3d:10").shape
    (1000, 1000)
    """
    from scipy.sparse import csr_matrix
    start, places, values, rows = _core.problem_rows(_arrays.communicator(comm), name)
    return csr_matrix((values, places, start), shape=(len(start) - 1, rows))
