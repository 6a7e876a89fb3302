# SPDX-License-Identifier: BSD-3-Clause
"""in_python.py FOLDER KIND SEED: a solve from Python in which something goes wrong on the last process. What each process saw of
it goes to FOLDER/RANK.json; the last line of a good end is `end`."""

import ctypes
import gc
import json
import os
import pathlib
import random
import sys

import numpy as np
from mpi4py import MPI

import stretto

WIDTH = 24
PRECONDITIONERS = ("jacobi", "chebyshev", "block_jacobi:ilu0", "block_jacobi:lu", "block_jacobi:cholesky", "additive_schwarz:ic0", "amg")


class Thrown(Exception):
    pass


def resident():
    """Bytes of this process in memory."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
                                                     "fordblks", "keepcost")]


def allocated():
    """Bytes that are not given back, by malloc's count (glibc): what it holds besides grows by steps that are no leak."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Mallinfo
    now = mallinfo()
    return now.uordblks + now.hblkhd


class Solve:
    def __init__(self, kind, seed):
        self.kind, self.random, self.comm = kind, random.Random(seed), MPI.COMM_WORLD
        self.faulty = self.comm.rank == self.comm.size - 1
        self.calls, self.last, self.thrown = 0, self.random.randint(1, 40), False
        self.method = self.random.choice([row["name"] for row in stretto.methods()])
        self.A = stretto.problem(f"poisson2d:{WIDTH}", self.comm)
        self.b = np.ones(self.A.shape[0])

    def throw(self):
        self.calls += 1
        if self.faulty and self.calls == self.last:
            self.thrown = True
            raise Thrown(f"call {self.calls}")

    def callback(self):
        return stretto.solve(self.A, self.b, method=self.method, precond="jacobi", callback=lambda _: self.throw(), comm=self.comm)

    def preconditioner(self):
        def M(r):
            self.throw()
            return r / 4
        return stretto.solve(self.A, self.b, method=self.method, M=M, comm=self.comm)

    def operator(self):
        def product(x):  # of each process' rows alone
            self.throw()
            return 4 * x - np.roll(x, 1)
        return stretto.solve(product, self.b, method=self.method, comm=self.comm)

    def not_a_number(self):
        bad, at = self.random.choice((np.nan, np.inf, -np.inf)), self.random.randrange(len(self.b))
        self.where = where = self.random.choice(("A", "b", "x0"))
        x0 = np.zeros_like(self.b)
        A = self.A.tocsr()
        if self.faulty:
            {"A": A.data, "b": self.b, "x0": x0}[where][at] = bad
        return stretto.solve(A, self.b, x0, method=self.method, comm=self.comm, insist=True)

    def mpi(self):
        return stretto.solve(self.A, self.b, method=self.method, precond="jacobi", comm=self.comm, maxiter=500)

    def leak(self):
        """What three hundred solves leave in memory that the hundred before them have not. Some are refused, as those of a
        method that needs a transpose with a preconditioner that has none."""
        counts = []
        there = {row["name"] for row in stretto.preconditioners()}
        preconds = [each for each in PRECONDITIONERS if each.partition(":")[0] in there]
        for number in range(400):
            columns = self.random.choice((1, 1, 3))
            b = self.b if columns == 1 else np.tile(self.b[:, None], columns)
            try:
                stretto.Solver(self.A, self.method, precond=self.random.choice(preconds), columns=columns, comm=self.comm).solve(b)
            except stretto.InputError:
                pass
            if number in (99, 399):
                gc.collect()
                counts.append((allocated(), resident()))
        self.grown = [now - then for then, now in zip(*counts)]
        return stretto.solve(self.A, self.b, method=self.method, comm=self.comm)


def main(folder, kind, seed):
    solve = Solve(kind, seed)  # an exception here ends all processes: python -m mpi4py
    seen = {"kind": kind, "method": solve.method}
    try:
        r = getattr(solve, kind)()
        seen |= {"status": r.status, "converged": bool(r.converged), "finite": bool(np.isfinite(r.x).all()), "x": r.x.tolist()}
    except Exception as error:
        seen["error"] = f"{type(error).__name__}: {error}"
    seen["where"] = getattr(solve, "where", "")
    seen["grown"] = getattr(solve, "grown", [0, 0])
    seen["thrown"] = solve.thrown
    (pathlib.Path(folder) / f"{solve.comm.rank}.json").write_text(json.dumps(seen))
    if kind == "mpi":  # there is no MPI any more that could be ended
        os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
