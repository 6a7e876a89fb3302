#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""petsc4py_poisson.py PLUGIN [OPTIONS OF PETSC]: a PETSc program in Python whose solver is Stretto's. PLUGIN is
build/release/libstretto_petsc.so; with -ksp_stretto_method pipelined_cg reductions are hidden. Runs under mpirun, too."""

import sys

import petsc4py

petsc4py.init(["petsc4py_poisson.py", "-dll_append", sys.argv[1], *sys.argv[2:]])
from petsc4py import PETSc  # noqa: E402  (options come first)

n = 100
grid = PETSc.DMDA().create([n, n], stencil_width=1)
A = grid.createMatrix()
for row in range(*A.getOwnershipRange()):
    A.setValue(row, row, 0)
A.assemble()
(x0, x1), (y0, y1) = grid.getRanges()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for j in range(y0, y1):
    for i in range(x0, x1):
        row.index = (i, j)
        for di, dj, value in ((0, 0, 4.0), (-1, 0, -1.0), (1, 0, -1.0), (0, -1, -1.0), (0, 1, -1.0)):
            if 0 <= i + di < n and 0 <= j + dj < n:
                column.index = (i + di, j + dj)
                A.setValueStencil(row, column, value)
A.assemble()
A.setOption(PETSc.Mat.Option.SPD, True)

b, x = A.createVecs()
b.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(A)
solver.setType("stretto")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-8)
solver.setFromOptions()
solver.solve(b, x)

r = b.duplicate()
A.mult(x, r)
r.aypx(-1, b)
PETSc.Sys.Print(f"{solver.getIterationNumber()} iterations, reason {solver.getConvergedReason()}, "
                f"relative residual {r.norm() / b.norm():.2e}")
sys.exit(solver.getConvergedReason() < 0 or r.norm() > 1e-8 * b.norm())
