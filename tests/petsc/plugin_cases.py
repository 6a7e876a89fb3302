# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the plug-in, SCRIPT PLUGIN, share: matrices, solvers of type `stretto`, shells. They are skipped (77) where
petsc4py is not installed."""

import ctypes
import sys

try:
    import petsc4py
    petsc4py.init([sys.argv[0], "-dll_append", sys.argv[1]])
    from petsc4py import PETSc
    import numpy
except ImportError as missing:
    print(f"skipped: {missing} (python3-petsc4py)")
    sys.exit(77)


def matrix(n=30, wind=0.0, sign=1.0, block=1, kind="aij", ends=4.0):
    """Five points on n × n, with wind not symmetric; rows that sum up to zero for ends = 0."""
    A = PETSc.Mat().create()
    A.setSizes(n * n)
    A.setType(kind)
    A.setPreallocationNNZ((5, 5))
    A.setOption(PETSc.Mat.Option.NEW_NONZERO_ALLOCATION_ERR, False)
    if kind == "sbaij":
        A.setOption(PETSc.Mat.Option.IGNORE_LOWER_TRIANGULAR, True)
    for row in range(*A.getOwnershipRange()):
        i, j = divmod(row, n)
        others = [(i + di, j + dj, value) for di, dj, value in
                  ((-1, 0, 1 + wind), (1, 0, 1 - wind), (0, -1, 1 + wind), (0, 1, 1 - wind))
                  if 0 <= i + di < n and 0 <= j + dj < n]
        A.setValue(row, row, sign * (ends or float(len(others))))
        for k, m, value in others:
            A.setValue(row, k * n + m, -sign * value)
    A.assemble()
    return A


def solver(A, method=None, pc="jacobi", rtol=1e-8, **options):
    database = PETSc.Options()
    chosen = {**({"method": method} if method else {}), **options}
    for name, value in chosen.items():
        database[f"test_ksp_stretto_{name}"] = value
    ksp = PETSc.KSP().create()
    ksp.setOptionsPrefix("test_")
    ksp.setOperators(A)
    ksp.setType("stretto")
    ksp.getPC().setType(pc)
    ksp.setTolerances(rtol=rtol)
    ksp.setFromOptions()
    for name in chosen:
        database.delValue(f"test_ksp_stretto_{name}")
    return ksp


def vectors(A, seed=1):
    x, b = A.createVecs()
    first, last = b.getOwnershipRange()
    b.setArray(numpy.random.default_rng(seed).standard_normal(b.getSize())[first:last])
    return b, x


def residual(A, b, x, transposed=False):
    r = b.duplicate()
    (A.multTranspose if transposed else A.mult)(x, r)
    r.aypx(-1, b)
    return r.norm() / b.norm()


def mat_solve(ksp, B, X):
    """KSPMatSolve, which older petsc4py do not have."""
    if hasattr(ksp, "matSolve"):
        return ksp.matSolve(B, X)
    with open("/proc/self/maps") as maps:
        petsc = ctypes.CDLL(next(line.split()[-1] for line in maps if "libpetsc" in line))
    code = petsc.KSPMatSolve(*(ctypes.c_void_p(each.handle) for each in (ksp, B, X)))
    if code:
        raise PETSc.Error(code)


class Product:
    """A shell; with `fails_at`, its call of that number raises."""

    def __init__(self, A, fails_at=0):
        self.A, self.calls, self.fails_at = A, 0, fails_at

    def mult(self, mat, x, y):
        self.calls += 1
        if self.calls == self.fails_at:
            raise ValueError("of the product")
        self.A.mult(x, y)


class Jacobi:
    """A PC that at its call of a number raises on some ranks, or yields NaN, or does so from then on."""

    def __init__(self, fails_at=0, nan_at=0, ranks=None, nan_stays=False):
        self.calls, self.fails_at, self.nan_at, self.ranks, self.nan_stays = 0, fails_at, nan_at, ranks, nan_stays

    def apply(self, pc, x, y):
        self.calls += 1
        x.copy(y)
        y.scale(0.25)
        if self.calls == self.nan_at or (self.nan_stays and self.calls > self.nan_at):
            y.set(numpy.nan)
        if self.calls == self.fails_at and (self.ranks is None or pc.getComm().rank in self.ranks):
            raise ValueError("of the preconditioner")
