# SPDX-License-Identifier: BSD-3-Clause
"""Dense matrices of points and kernels, as hierarchical ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np
from scipy.sparse.linalg import LinearOperator

from . import _arrays, _core, _devices
from ._progress import told
from ._result import Result


def kernels() -> list[dict]:
    """The kernels that have a name: a list of dicts with name, title, whether they are positive definite, and options."""
    return _core.kernels()


def _coordinates(points):
    points = _arrays.real(points, "points")
    points = points.reshape(-1, 1) if points.ndim < 2 else points
    if points.ndim != 2 or not 1 <= points.shape[1] <= 3 or not len(points):
        raise ValueError(f"points has the shape {points.shape}: n points of one to three coordinates are wanted, (n, 3)")
    return points


def _parts(columns):
    """Columns of complex numbers as those of their real and imaginary parts, in the same memory."""
    return columns.view(np.float64) if columns.dtype.kind == "c" else columns


class HMatrix(LinearOperator):
    """A dense matrix K, K[i, j] = kernel(points[i], points[j]), as a hierarchical matrix (Hackbusch 1999): blocks far from the
    diagonal are products U Vᵀ found by adaptive cross approximation, so that n points take n log n numbers, not n².

    A `scipy.sparse.linalg.LinearOperator` with `solve`. Vectors are whole on every process, in the order of the points.

    Parameters
    ----------
    points : array, (n, d)
        d coordinates of each, one to three.
    kernel : str or callable
        ``NAME[:key=value,…]`` of `kernels`; or a function of two groups of points, of shapes (r, d) and (c, d), that returns the
        (r, c) numbers, real or complex; or what numba.cfunc compiles of the signature ``void(double* x, int64 r, double* y, int64 c, int64 d,
        double* out)``, out row after row, which runs without Python, on several threads at once.
    symmetric, positive_definite : bool
        Of a function: what it is; of a name it is known. Complex numbers are symmetric without conjugation.
    nugget : float
        Added to the diagonal, with a function: noise. ``nugget=`` is an option of names.
    epsilon : float, optional
        ‖B − U Vᵀ‖ ≤ ε ‖B‖ of each block; where None, what solves to `rtol` take: rtol, a thousandth of it where K is positive
        definite.
    eta, leaf, bisection, pivoting, precision, memory : optional
        Of compression, see ``stretto list`` and docs/hmatrix.md; memory in GB of a process.
    precond : str
        ``auto``: what suits; ``none``, ``jacobi``, ``block_jacobi``, ``inner``.
    rtol : float
        Of the solves to come.
    threads : int, optional
        As many as pay.
    columns : int
        Right-hand sides of a solve, for the threads that pay.
    device : str
        ``cpu`` or ``cuda``: where products and methods run.
    progress : bool or callable
        A progress bar of compression, or a function that is called with the fraction that is done.
    comm : mpi4py.MPI.Comm, optional
        Of processes that share the rows of K.

    Raises
    ------
    InputError
        A ValueError: points or numbers that are not finite, options that are out of range, too little memory.

    Examples
    --------
    >>> import numpy as np, stretto
    >>> points = np.random.default_rng(1).random((1000, 2))
    >>> K = stretto.HMatrix(points, "gaussian:length=0.2,nugget=0.01")
    >>> r = K.solve(np.ones(1000))
    >>> r.converged
    True
    """

    _complex = False

    def __init__(self, points, kernel, *, symmetric=True, positive_definite=False, nugget=0.0, epsilon=None, eta=None, leaf=None,
                 bisection=None, pivoting=None, precision=None, memory=None, precond="auto", rtol=1e-6, threads=None, columns=1,
                 device="cpu", progress=False, comm=None):
        self._communicator = _arrays.communicator(comm)
        options = {"epsilon": epsilon, "eta": eta, "leaf": leaf, "bisection": bisection, "pivoting": pivoting, "precision": precision,
                   "memory": memory}
        given = {"precond": precond, "rtol": rtol, "threads": threads or 0, "columns": columns, "device": device,
                 "hmatrix": ",".join(f"{name}={value}" for name, value in options.items() if value is not None)}
        points = _arrays.together(self._communicator, lambda: _coordinates(points), kernel=kernel if isinstance(kernel, str) else "a function",
                                  symmetric=symmetric, positive_definite=positive_definite, nugget=nugget, **given | {"threads": "its own"})
        if self._communicator.size > 1:
            _arrays.together(self._communicator, lambda: None, **{"the shape of points": points.shape, "a checksum of points": crc32(points)})
        places = np.zeros((len(points), 3))
        places[:, :points.shape[1]] = points
        with told(progress, self._communicator, "compressing") as progressed:
            if isinstance(kernel, str):
                if nugget:
                    raise TypeError(f"nugget: {kernel!r} has it as an option, '{kernel}{',' if ':' in kernel else ':'}nugget={nugget}'")
                self._dense = _core.Dense.of_kernel(self._communicator, places, kernel, progressed, given)
            else:
                self._dense = self._of_function(places, points.shape[1], kernel, nugget, symmetric, positive_definite, progressed, given)
        self._symmetric = symmetric or isinstance(kernel, str)
        self._finish(rtol)

    def _of_function(self, places, dimensions, kernel, nugget, symmetric, positive_definite, progressed, given):
        address = getattr(kernel, "address", 0)
        if not address and not callable(kernel):
            raise TypeError(f"kernel is {type(kernel).__name__}: a name, a function of two groups of points or what numba.cfunc makes "
                            f"is wanted")
        self._compiled = kernel  # the code at this address must stay
        # As of kernels with a name: where noise is to be fitted, errors of K are 500 times as large in a residual.
        growth = 1000 if positive_definite else 1

        taken = _arrays.real

        def ask(x, y):
            block = taken(kernel(x, y), "what the kernel returned")
            if block.shape != (len(x), len(y)):
                raise ValueError(f"the kernel returned an array of shape {block.shape} for {len(x)} and {len(y)} points: "
                                 f"({len(x)}, {len(y)}) is wanted")
            return block

        symmetric = symmetric or positive_definite
        if not address:
            some = places[::max(1, len(places) // 16), :dimensions]
            self._complex = _arrays.together(self._communicator, lambda: _arrays.has_complex(np.asarray(kernel(some, some))))
            taken = _arrays.number if self._complex else _arrays.real
            block = _arrays.together(self._communicator, lambda: ask(some, some), complex_kernel=self._complex)
            if symmetric and np.isfinite(block).all() and np.abs(block - block.T).max() > 1e-6 * np.abs(block).max():
                raise ValueError("the kernel is not symmetric, kernel(x, y) is not kernel(y, x).T: symmetric=False")
            if self._complex and positive_definite:
                raise TypeError("positive_definite is for kernels of real numbers, and this one is complex")
        return _core.Dense.of_blocks(self._communicator, places, dimensions, None if address else ask, address, float(nugget), symmetric,
                                     positive_definite, self._complex, growth, progressed, given)

    def _finish(self, rtol):
        self._rtol = rtol
        super().__init__(np.complex128 if self._complex else np.float64, (self._dense.rows, self._dense.rows))

    def _taken(self, array, name):
        return _arrays.number(array, name) if self._complex else _arrays.real(array, name)

    def _multiply(self, x, transposed=False):
        shape = np.shape(x)
        x = _arrays.together(self._communicator, lambda: self._taken(x, "the vector"), shape=shape)
        y = np.empty_like(x)
        self._dense.multiply(_parts(x.reshape(len(x), -1)), _parts(y.reshape(len(x), -1)), transposed and (self._complex or not self._symmetric))
        return y

    _matvec = _matmat = _multiply

    def _rmatvec(self, x):
        return self._multiply(x, True)

    _rmatmat = _rmatvec

    @property
    def statistics(self) -> dict:
        """dense_blocks, low_rank_blocks, refilled (because ε was not kept), values, mean_rank, max_rank, bytes, single, in_16_bits
        and in_8_bits (the parts of the numbers that are in these), seconds (of compression). A complex number is two values."""
        return self._dense.statistics()

    @property
    def _percent(self):
        """Of the numbers of the whole matrix, those that are stored."""
        return 100 * self.statistics["values"] / (2 if self._complex else 1) / self.shape[0] ** 2

    @property
    def nbytes(self) -> float:
        """Of the blocks, on all processes."""
        return self.statistics["bytes"]

    @property
    def epsilon(self) -> float:
        """‖B − U Vᵀ‖ ≤ ε ‖B‖ of each block."""
        return self._dense.epsilon

    @property
    def order(self) -> np.ndarray:
        """The points in the order of the clusters, as `plot` has them."""
        return np.asarray(self._dense.order)

    def blocks(self) -> list[tuple]:
        """(row, rows, column, columns, rank) of each block of this process' rows, in the order of the clusters; rank −1: dense."""
        return self._dense.blocks()

    def solve(self, b: Any, x0: Any = None, *, method: str = "auto", rtol: float | None = None, atol: float = 0.0,
              maxiter: int | None = None, callback: Callable[[float], Any] | None = None, progress: Any = False, **options: Any) -> Result:
        """Solves K x = b; arguments and result as of `stretto.solve`. A column is `converged` where it is so with the kernel itself,
        too, on some rows: ``result.kernel_residuals``. rtol None: that of the matrix."""
        rtol = self._rtol if rtol is None else rtol
        given = {"method": method, "rtol": rtol, "atol": atol, **options}
        if maxiter is not None:
            given["maxiter"] = maxiter

        def taken():
            columns = _arrays.columns(b, "b", self.shape[0], taken=self._taken)
            return columns, _arrays.guess(x0, columns)[0]

        b_columns, x = _arrays.together(self._communicator, taken, **given | {"x0 given": x0 is not None, "columns": np.shape(b)[1:]})
        given["zero_guess"] = x0 is None
        with told(progress, self._communicator, method, rtol, callback) as monitor:
            outcome = self._dense.solve(_parts(b_columns), _parts(x), given, monitor)
        return self._result(outcome, _devices.in_kind(x.reshape(np.shape(b)), b))

    def _result(self, outcome, x):
        r = Result(outcome, x, "stretto.HMatrix(points, kernel{set_up}).solve(b{solve})")
        r.kernel_residuals = self._dense.kernel_residuals
        return r

    def plot(self, ax=None, ranks=True):
        """The blocks of this process' rows, dense ones dark, of low rank the lighter the lower; with their ranks where they fit."""
        from ._plots import blocks
        return blocks(self, ax, ranks)

    def __repr__(self):
        found = self.statistics
        return (f"<stretto.HMatrix {self.shape[0]} × {self.shape[1]}: {found['dense_blocks']} dense and {found['low_rank_blocks']} low-rank "
                f"blocks of mean rank {found['mean_rank']:.1f}, {1e-6 * found['bytes']:.4g} MB, "
                f"{self._percent:.3g} % of n²>")

    def _repr_html_(self):
        from ._result import html_table
        found = self.statistics
        return html_table([("shape", self.shape), ("dense blocks", found["dense_blocks"]), ("low-rank blocks", found["low_rank_blocks"]),
                           ("mean rank", f"{found['mean_rank']:.1f}"), ("largest rank", found["max_rank"]),
                           ("memory", f"{1e-6 * found['bytes']:.4g} MB, {self._percent:.3g} % of n²"),
                           ("ε", f"{self.epsilon:.1e}"), ("compressed in", f"{found['seconds']:.2f} s")])
