# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrices and solvers that stay: set up once, solve many times."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from . import _arrays, _complex, _core, _devices
from ._progress import told
from ._result import Result


class _Triplets:
    """Entries anywhere."""

    def __init__(self, i, j, v, n):
        self.given, self.rows = (i, j, v), n

    def entries(self):
        i, j, v = self.given
        i, j, v = _places(i, "i"), _places(j, "j"), _arrays.real(v, "v").reshape(-1)
        if not len(i) == len(j) == len(v):
            raise ValueError(f"i, j and v have {len(i)}, {len(j)} and {len(v)} entries")
        self.rows = operator.index(self.rows)
        return i, j, v


def _places(array, name):
    array = np.asarray(array)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} has numbers of type {array.dtype}: places of entries are wanted")
    return np.ascontiguousarray(array, np.int64).reshape(-1)


class Matrix:
    """A square sparse matrix as the library has it: looked at, ordered, dealt, with its preconditioner.

    Parameters
    ----------
    A : SciPy sparse matrix or array, (n, n)
        With `comm` of several processes: this process' rows, (n_local, n), which follow those of the process before. Of complex numbers
        (docs/scalars.md) with precond, threads, insist and comm alone.
    precond : str
        ``NAME[:key=value,…]``, see `preconditioners`; ``"auto"``: what suits the structure.
    prepare : str
        ``equilibrate``, ``rcm``, ``metis`` or ``nonzeros``, with commas between.
    null_space : str
        ``auto``, ``constant``, ``none``: of a singular A, kept out of b and x.
    threads : int
        Of this process; 0: as many as pay.
    columns : int
        Right-hand sides of a solve, for the threads that pay.
    device : str
        ``cpu``, ``cuda`` (a GPU, where the library is built for it) or ``emulated``: where methods run. b may lie there, and x does then.
    execution : str
        ``threads``, or ``tasks[:tiles=N]``: a solve as one graph of tasks (docs/tasks.md).
    insist : bool
        Run methods for SPD matrices also where the structure speaks against.
    reproducible : bool
        The same bits on any number of processes and threads (docs/howto/same_bits.md): precond is ``none``, ``jacobi`` or ``chebyshev``.
    copy : bool
        False: arrays of a CSR matrix that fit (one process, columns that increase in each row, 32-bit numbers, doubles) are not copied,
        and are not to change but before `update_values`.
    comm : mpi4py.MPI.Comm, optional
        None: this process alone.

    Raises
    ------
    InputError
        A ValueError, for what cannot be: the same on every process.
    """

    def __init__(self, A, *, precond="none", prepare="", null_space="auto", threads=1, columns=1, device="cpu", execution="threads",
                 insist=False, reproducible=False, copy=False, comm=None, _complex_numbers=False):
        self._communicator, self._device = _arrays.communicator(comm, reproducible), device
        given = {"precond": precond, "prepare": prepare, "null_space": null_space, "threads": threads, "columns": columns,
                 "device": device, "execution": execution, "insist": insist}
        said = given | {"threads": "its own", "reproducible": reproducible}
        self._taken, self._given = _arrays.real, given
        if self._any(_complex_numbers or _arrays.has_complex(A)):
            self._taken = _arrays.number
            _complex.refuse(given)
            *rows, columns = _arrays.together(self._communicator, lambda: (*_complex.rows_of(A), self._columns_of(A)), **said)
            self._square(len(rows[0]) - 1, columns)
            self._pattern = tuple(rows[:2])
            self._system = _complex.system(self._communicator, *rows, given)
            return
        if isinstance(A, _Triplets):
            self._pattern = _arrays.together(self._communicator, A.entries, n=A.rows, **said)
            self._system = _core.System.from_entries(self._communicator, A.rows, *self._pattern, given)
            return
        start, places, values, columns = _arrays.together(self._communicator, lambda: (*_arrays.rows_of(A), self._columns_of(A)), **said)
        self._square(len(start) - 1, columns)
        if copy:
            start, places, values = np.array(start), np.array(places), np.array(values)
        self._pattern = start, places  # the caller's own, where they fit: for update_values
        make = _core.System.over_rows if self._communicator.size == 1 and start.dtype == np.int32 else _core.System.from_rows
        self._system = make(self._communicator, start, places, values, given | {"keep_entries": False})

    @staticmethod
    def _columns_of(A):
        return (getattr(A, "shape", None) or np.shape(A))[1]

    def _any(self, said):
        """Whether any process says so."""
        return self._communicator.total(said) > 0 if self._communicator.size > 1 else said

    def _square(self, rows, columns):
        """Complains where the rows of all processes and the columns make no square."""
        processes = self._communicator.size
        if processes == 1:
            if rows != columns:
                raise ValueError(f"A is {rows} × {columns}: a square matrix is wanted")
            return
        rows = self._communicator.total(rows)
        if self._communicator.total(rows != columns):
            raise ValueError(f"A is {rows} × {columns}: a square matrix is wanted, of which each of the {processes} processes has its rows "
                             f"alone, as A[first:last]")

    @classmethod
    def from_triplets(cls, i, j, v, n, **options) -> Matrix:
        """The n × n matrix of the entries (i, j, v), counted from 0, in any order and of any rows: those of the same place are added,
        those of other processes' rows travel. Rows are dealt evenly, the first of n mod p processes have one more: `Matrix.rows`
        tells this process'. Options as of `Matrix`.

        >>> import stretto
        >>> stretto.Matrix.from_triplets([0, 1, 1], [0, 1, 1], [2.0, 1.0, 1.0], 2).solve([2.0, 4.0]).x
        array([1., 2.])
        """
        return cls(_Triplets(i, j, v, n), **options)

    @property
    def rows(self) -> range:
        """This process' rows."""
        first = self._system.first_row
        return range(first, first + self._system.local_rows)

    @property
    def shape(self):
        """(n_local, n): this process' rows, and all columns."""
        return self._system.local_rows, self._system.rows

    @property
    def dtype(self):
        """Of its numbers, in products and solves: float64 or complex128."""
        return np.dtype(np.float64 if self._taken is _arrays.real else np.complex128)

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
        columns = np.shape(x)[1:]
        given = _arrays.together(self._communicator, lambda: _arrays.columns(x, "x", self.shape[0], taken=self._taken), columns=columns)
        return self._times(given).reshape(np.shape(x))

    def _times(self, x):
        y = np.empty(x.shape, self.dtype)
        self._system.multiply(x, y)
        return -y if self._system.negated else y

    def __repr__(self):
        return f"<stretto.Matrix, {self.shape[0]} of {self.shape[1]} rows: {'; '.join(self.structure[:3])}>"

    def update_values(self, A) -> None:
        """Takes other values of the same entries: a matrix with the same pattern, or its values, in the order in which they were."""
        whole = np.ndim(A) == 2 and len(self._pattern) == 2
        if self.dtype.kind == "c":
            self._system = _complex.system(self._communicator, *self._pattern, self._new_values(A, whole), self._given)
            return
        new = _arrays.together(self._communicator, lambda: _arrays.rows_of(A) if whole else _arrays.real(A, "values").reshape(-1))
        if len(self._pattern) == 3:
            self._system.update_values(new)
        elif whole:
            self._system.update_rows(*new)
        else:
            self._system.update_rows(*self._pattern, new)

    def _new_values(self, A, whole):
        """Complex ones, in the order of the pattern."""
        def taken():
            if not whole:
                values = _arrays.number(A, "values").reshape(-1)
                if len(values) != len(self._pattern[1]):
                    raise ValueError(f"{len(values)} values for {len(self._pattern[1])} entries")
                return values
            *pattern, values = _complex.rows_of(A)
            if not all(map(np.array_equal, pattern, self._pattern)):
                raise ValueError("A has entries elsewhere: a new Matrix is wanted")
            return values
        return _arrays.together(self._communicator, taken)

    def solve(self, b: Any, x0: Any = None, *, method: str = "auto", rtol: float = 1e-8, atol: float = 0.0,
              maxiter: int | None = None, callback: Callable[[float], Any] | None = None, progress: Any = False, **options: Any) -> Result:
        """Solves A x = b; arguments and result as of `stretto.solve`."""
        given = {"method": method, "rtol": rtol, "atol": atol, **options}
        if maxiter is not None:
            given["maxiter"] = maxiter
        solve, x = _arrays.together(self._communicator, lambda: self._called(self._system, b, x0), **given | {"x0 given": x0 is not None})
        given["zero_guess"] = x0 is None
        if progress:
            with told(progress, self._communicator, method, rtol, callback) as monitor:
                outcome = solve(given, monitor)
        else:
            outcome = solve(given, callback)
        return Result(outcome, _devices.in_kind(x, b))

    def _called(self, solver, b, x0):
        """What solves with a System or a Persistent for b, wherever it lies; x, with the guess."""
        if not _devices.lies_on(b):
            rhs = _arrays.columns(b, "b", self.shape[0], taken=self._taken)
            x, _ = _arrays.guess(x0, rhs)
            return functools.partial(solver.solve, rhs, x), x.reshape(np.shape(b))
        if self._device == "cpu":
            raise TypeError("b lies on a device, and this matrix is solved with on the host: Matrix(A, device='cuda'), or b.get() or b.cpu()")
        rhs = _devices.View(b, "b")
        if rhs.shape[0] != self.shape[0]:
            raise ValueError(f"b has {rhs.shape[0]} rows, the matrix has {self.shape[0]}")
        x, _ = _devices.guess(x0, rhs, self._device)
        return functools.partial(solver.solve_there, rhs.address, x._vectors.address, rhs.shape[0], rhs.columns), x


class Preconditioner(LinearOperator):
    """A preconditioner of the library, M⁻¹ as a `scipy.sparse.linalg.LinearOperator`: for `M` of these methods, of SciPy's, or of
    anybody's.

    Parameters
    ----------
    A : Matrix, which has its own, or what `Matrix` takes
        On several processes M⁻¹ takes this process' rows, and all are to apply it together.
    name : str
        ``NAME[:key=value,…]``, see `preconditioners`; ``auto``: what suits the structure.
    **options
        As of `Matrix`.

    Examples
    --------
    >>> import numpy as np, stretto
    >>> from scipy.sparse.linalg import cg
    >>> A = stretto.problem("poisson2d:50")
    >>> x, info = cg(A, np.ones(2500), M=stretto.Preconditioner(A, "block_jacobi:ic0"), atol=0)
    >>> info
    0
    """

    def __init__(self, A, name="auto", **options):
        self.matrix = A if isinstance(A, Matrix) else Matrix(A, precond=name, **options)
        told = self.matrix._system.precond
        self.symmetric, self.varies, self.nbytes, self.seconds, self.remarks = (
            told["symmetric"], told["varies"], told["bytes"], told["seconds"], told["remarks"])
        rows = self.matrix.shape[0]
        super().__init__(self.matrix.dtype, (rows, rows))

    def _apply(self, r, transposed=False):
        r = self.matrix._taken(r, "the vector")
        z = np.empty(r.shape, self.dtype)
        self.matrix._system.precondition(r.reshape(len(r), -1), z.reshape(len(r), -1), transposed)
        return -z if self.matrix._system.negated else z

    _matvec = _matmat = _apply

    def _rmatvec(self, r):
        if not self.matrix._system.precond["transpose"]:
            raise NotImplementedError("this preconditioner has no transpose")
        return self._apply(r, True)

    _rmatmat = _rmatvec

    def update_values(self, A) -> None:
        """Follows A to other values of the same entries, as `Matrix.update_values`."""
        self.matrix.update_values(A)


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

    _OF_MATRIX = ("precond", "prepare", "null_space", "threads", "device", "execution", "insist", "copy", "comm")

    def __init__(self, A, method="cg", *, columns=1, **options):
        mine = {name: options.pop(name) for name in self._OF_MATRIX if name in options}
        if isinstance(A, Matrix):
            if mine:
                raise TypeError(f"{', '.join(mine)}: given to Matrix, which is there already")
            self.matrix = A
        else:
            self.matrix = Matrix(A, columns=columns, **mine)
        self.method, self._columns, self._options = method, columns, {"method": method, **options}
        _arrays.together(self.matrix._communicator, lambda: None, method=method, columns=columns, **options)
        self._make()

    def _make(self):
        kind = _core.Persistent if self.matrix.dtype.kind == "f" else _core.ComplexPersistent
        self._of, self._solver = self.matrix._system, kind(self.matrix._system, self._options, self._columns)

    def solve(self, b, x0=None, *, transposed=False) -> Result:
        """Solves A x = b, or Aᵀ x = b, of complex A Aᴴ x = b; b has as many columns as the solver. Returns a `Result`."""
        if self._of is not self.matrix._system:  # other values came
            self._make()
        solve, x = _arrays.together(self.matrix._communicator, lambda: self._called(b, x0), transposed=transposed)
        return Result(solve(transposed), _devices.in_kind(x, b))

    def _called(self, b, x0):
        columns = 1 if np.ndim(b) < 2 else np.shape(b)[1]
        if columns != self._columns:
            raise ValueError(f"b has {columns} columns, the solver was made for {self._columns}")
        return self.matrix._called(self._solver, b, x0)

    def update_values(self, A):
        """As `Matrix.update_values`."""
        self.matrix.update_values(A)


def problem(name, comm=None):
    """A generated problem or a file, real or complex, as the command line takes it, as a SciPy CSR array: this process' rows of it.

    >>> import stretto
    >>> stretto.problem("poisson3d:10").shape
    (1000, 1000)
    """
    from scipy.sparse import csr_matrix
    communicator = _arrays.communicator(comm)
    _arrays.together(communicator, lambda: None, name=name)
    start, places, values, rows = _core.problem_rows(communicator, name)
    return csr_matrix((values, places, start), shape=(len(start) - 1, rows))
