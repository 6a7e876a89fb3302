# SPDX-License-Identifier: BSD-3-Clause
"""What callers give, as the library takes it: rows as compressed rows, vectors as columns of doubles, or of complex numbers."""

import threading

import numpy as np

from . import _core, _devices

REALS = "biuf"  # kinds of NumPy that doubles hold


def has_complex(array):
    """Whether an array or a matrix, or a list of numbers, is of complex ones."""
    kind = getattr(array, "dtype", None)
    if kind is None:
        return isinstance(array, (list, tuple)) and np.asarray(array).dtype.kind == "c"
    return "complex" in str(kind)  # NumPy's and torch's names


def number(array, name, kind=np.complex128):
    """An array of complex numbers, the same one where it is such."""
    return real(array, name, kind)


def real(array, name, kind=np.float64):
    """An array of doubles, the same one where it is such; complex numbers are refused."""
    given = array
    if type(array) is not np.ndarray:
        if _devices.lies_on(array):
            raise TypeError(f"{name} lies on a device: it is taken from the host's memory, by .get() or .cpu()")
        by_dlpack = hasattr(array, "__dlpack__") and not hasattr(array, "__array__")
        array = np.from_dlpack(array) if by_dlpack else np.asarray(array)
    if array.dtype.kind == "c" and kind is np.float64:
        raise TypeError(f"{name} has numbers of type {array.dtype}: complex numbers are for what is made of complex ones, as "
                        f"Matrix(A.astype(complex)); where A is a function, for a complex b")
    if array.dtype.kind not in REALS + ("" if kind is np.float64 else "c"):
        what = "a sparse matrix: .toarray() is wanted" if hasattr(given, "tocsr") else f"no array of {'real ' if kind is np.float64 else ''}numbers, but of type {array.dtype}"
        raise TypeError(f"{name} is {what}")
    return np.ascontiguousarray(array, dtype=kind)


def columns(b, name, rows=None, whose="the matrix has {} rows", taken=real):
    """b as rows × columns."""
    b = taken(b, name)
    if b.ndim not in (1, 2):
        raise ValueError(f"{name} has {b.ndim} dimensions: a vector of n numbers, or n × m for m right-hand sides")
    if rows is not None and b.shape[0] != rows:
        raise ValueError(f"{name} has {b.shape[0]} rows, {whose.format(rows)}")
    if b.ndim == 2 and b.shape[1] == 0:
        raise ValueError(f"{name} has no columns: its shape is {b.shape}")
    return b.reshape(b.shape[0], 1 if b.ndim == 1 else b.shape[1])


def guess(x0, b):
    """A new array for x, with the initial guess in it; whether there is one."""
    if x0 is None:
        return np.zeros(b.shape, b.dtype), False
    x = columns(x0, "x0", b.shape[0], "b has {}", number if b.dtype.kind == "c" else real)
    if x.shape != b.shape:
        raise ValueError(f"x0 has {x.shape[1]} columns, b has {b.shape[1]}")
    return np.array(x), True


def rows_of(A, taken=real):
    """(start, columns, values) of a SciPy matrix or an array; of CSR with doubles these are its own arrays. Of CuPy's matrices and torch's
    what the host has of them."""
    if not hasattr(A, "tocsr") and hasattr(A, "to_sparse_csr"):
        A = A.cpu()
        if not str(A.layout).endswith("strided"):
            from scipy.sparse import csr_matrix
            A = A.to_sparse_csr()
            A = csr_matrix(tuple(np.asarray(part) for part in (A.values(), A.col_indices(), A.crow_indices())), shape=tuple(A.shape))
    if hasattr(A, "tocsr"):
        A = A.tocsr()
        if _devices.lies_on(A.data):
            A = A.get()
        start, places, values = A.indptr, A.indices, taken(A.data, "A")
    elif hasattr(A, "matvec") or callable(A):
        raise TypeError(f"A is {type(A).__name__}, which has products and no entries: stretto.solve takes it, Matrix and Solver take a matrix")
    else:
        dense = taken(A, "A")
        if dense.ndim != 2:
            raise ValueError(f"A has {dense.ndim} dimensions: a matrix has 2")
        row, places = np.nonzero(dense)
        start, values = np.searchsorted(row, np.arange(dense.shape[0] + 1)), dense[row, places]
    kind = np.int32 if start.dtype == places.dtype == np.int32 else np.int64
    return np.ascontiguousarray(start, kind), np.ascontiguousarray(places, kind), values


_here = threading.local()  # threads of Python that solve at once must not share a communicator


def communicator(comm, reproducible=False):
    """Of the library, for one of mpi4py; None: this process alone."""
    if comm is None:
        name = "reproducible" if reproducible else "alone"
        if not hasattr(_here, name):
            setattr(_here, name, _core.Communicator(reproducible=reproducible))
        return getattr(_here, name)
    if isinstance(comm, _core.Communicator):
        return comm
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise TypeError(f"comm is {type(comm).__name__}, and mpi4py is not there: None is this process alone") from error
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm is {type(comm).__name__}: a communicator of mpi4py is wanted, or None for this process alone")
    if comm == MPI.COMM_NULL:
        raise ValueError("comm is MPI.COMM_NULL: this process is none of its processes, and has nothing to solve")
    ours, theirs = _core.mpi_library(), MPI.Get_library_version()
    if ours.split("\0")[0].strip() != theirs.split("\0")[0].strip():
        raise ImportError(f"mpi4py is built with another MPI ({theirs.splitlines()[0]}) than stretto ({ours.splitlines()[0]}): build "
                          f"mpi4py anew (pip install --no-binary mpi4py mpi4py), or stretto (pip install . in its sources)")
    return _core.Communicator(MPI._handleof(comm), reproducible)


def together(communicator, work, **said):
    """work(), on every process: what one raises, or what the processes say that is to be the same and is not, ends the call on all of
    them, for one that leaves alone lets the others wait for ever."""
    if communicator.size == 1:
        return work()
    done = own = None
    try:
        done = work()
    except Exception as error:
        own = error
    rank, failed, text, first = communicator.compare(own is not None, "\n".join(f"{name}={value}" for name, value in said.items())
                                                     if own is None else str(own))
    if own is not None:
        raise own
    if failed:
        raise _core.InputError(f"rank {rank}: {text}")
    if rank >= 0:
        of_first, of_rank = (dict(line.partition("=")[::2] for line in said.splitlines()) for said in (first, text))
        name = next(name for name in of_first | of_rank if of_first.get(name) != of_rank.get(name))
        raise _core.InputError(f"the ranks disagree: {name} is {of_first.get(name, 'not given')} on rank 0 and "
                               f"{of_rank.get(name, 'not given')} on rank {rank}")
    return done
