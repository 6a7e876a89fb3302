# SPDX-License-Identifier: BSD-3-Clause
"""Run by several processes: each has its rows, and all have the answer of one."""

import numpy as np
from mpi4py import MPI
from scipy.sparse import eye
from scipy.sparse.linalg import aslinearoperator

import stretto

comm = MPI.COMM_WORLD
whole = stretto.problem("convdiff2d:20")
rows = stretto.problem("convdiff2d:20", comm)
ends = np.cumsum([0, *comm.allgather(rows.shape[0])])
mine = slice(ends[comm.rank], ends[comm.rank + 1])
assert ends[-1] == whole.shape[0] and (rows != whole[mine]).nnz == 0
B = np.random.default_rng(3).standard_normal((whole.shape[0], 2))
for method in ("bicgstab", "pipelined_gmres:l=2"):
    alone = stretto.solve(whole, B, method=method, precond="jacobi", rtol=1e-10)
    together = stretto.solve(whole[mine], B[mine], method=method, precond="jacobi", rtol=1e-10, comm=comm)
    assert together.converged and together.columns[1]["status"] == "converged"
    assert np.abs(together.x - alone.x[mine]).max() < 1e-7
# The same bits on any number of processes.
for method, precond in (("pipelined_bicgstab", "jacobi"), ("gmres", "chebyshev")):
    alone = stretto.solve(whole, B, method=method, precond=precond, reproducible=True)
    together = stretto.solve(whole[mine], B[mine], method=method, precond=precond, reproducible=True, threads=2, comm=comm)
    assert together.iterations == alone.iterations and together.residual == alone.residual and (together.x == alone.x[mine]).all()
# Complex numbers.
wave = (whole + 0.5j * eye(whole.shape[0])).tocsr()
for b in (B[:, 0] * (1 + 1j), B.astype(complex)):
    alone = stretto.solve(wave, b, rtol=1e-10)
    together = stretto.solve(wave[mine], b[mine], rtol=1e-10, comm=comm)
    assert together.converged and np.abs(together.x - alone.x[mine]).max() < 1e-7
solver = stretto.Solver(wave[mine], "gmres", precond="block_jacobi:ilu0", columns=2, rtol=1e-10, comm=comm)
rhs = B * (1 - 2j)
assert np.abs(solver.matrix @ rhs[mine] - (wave @ rhs)[mine]).max() < 1e-12
together = solver.solve(rhs[mine])
assert together.converged and np.abs(together.x - stretto.solve(wave, rhs, rtol=1e-10).x[mine]).max() < 1e-7
assert solver.solve(rhs[mine], transposed=True).converged
odd = np.arange(whole.shape[0]) >= ends[-2]  # on the last process alone
alone = stretto.solve(whole, B[:, 0] * np.where(odd, 1j, 1), rtol=1e-10)
together = stretto.solve(whole[mine], B[mine, 0] * (1j if comm.rank == comm.size - 1 else 1), rtol=1e-10, comm=comm)
assert together.converged and np.abs(together.x - alone.x[mine]).max() < 1e-7
# Entries of any rows, on any process.
coo = whole.tocoo()
dealt = slice(comm.rank, None, comm.size)
matrix = stretto.Matrix.from_triplets(coo.row[dealt], coo.col[dealt], coo.data[dealt], whole.shape[0], precond="jacobi", comm=comm)
there = matrix.solve(B[matrix.rows.start:matrix.rows.stop], method="bicgstab", rtol=1e-10)
assert there.converged and np.abs(there.x - stretto.solve(whole, B, method="bicgstab", rtol=1e-10).x[matrix.rows]).max() < 1e-7
# Vectors of a hierarchical matrix are whole on each.
points = np.random.default_rng(5).random((500, 2))
C = np.random.default_rng(6).standard_normal(500)
for kernel, more in (("gaussian:length=0.2,nugget=0.1", {}),
                     (lambda x, y: np.exp(-12.5 * ((x[:, None] - y) ** 2).sum(axis=2)), {"positive_definite": True, "nugget": 0.1})):
    K = stretto.HMatrix(points, kernel, comm=comm, **more)
    alone = stretto.HMatrix(points, "gaussian:length=0.2,nugget=0.1")
    assert np.allclose(K @ C, alone @ C, rtol=1e-6, atol=1e-6)
    solved = K.solve(C)
    assert solved.converged and np.allclose(solved.x, alone.solve(C).x, rtol=1e-3, atol=1e-3)
r = stretto.solve(lambda v: 2 * v, B[mine], method="cg", comm=comm)
assert r.converged and np.allclose(r.x, B[mine] / 2)


def broken(v):
    if comm.rank == comm.size - 1:
        raise KeyError("on one")
    return 2 * v


ilu = stretto.Preconditioner(whole[mine], "block_jacobi:ilu0", comm=comm)
for A, M in ((broken, None), (whole[mine], broken), (broken, ilu)):
    for b in (B[mine], B[mine] * 1j):
        try:
            r = stretto.solve(A, b, method="gmres", M=M, comm=comm)
            assert comm.rank != comm.size - 1 and not r.converged
        except KeyError:
            assert comm.rank == comm.size - 1
r = stretto.solve(whole[mine], B[mine], M=lambda v: v / 4, comm=comm)
assert r.converged
# Operators on complex numbers; a real one, too, and where one process alone has such.
for A, M in ((wave, lambda v: v / 4), (wave, ilu), (whole, ilu)):
    r = stretto.solve(A[mine], rhs[mine], M=M, rtol=1e-10, comm=comm)
    assert r.converged and np.abs(r.x - stretto.solve(A, rhs, rtol=1e-10).x[mine]).max() < 1e-7
r = stretto.solve(lambda v: 2 * v, B[mine] * (1j if comm.rank == comm.size - 1 else 1), comm=comm)
assert r.converged and r.x.dtype == complex and np.allclose(r.x, B[mine] * (0.5j if comm.rank == comm.size - 1 else 0.5))


def refused(call):
    """What each process is told."""
    try:
        call()
        return comm.allgather("")
    except (TypeError, ValueError) as error:
        return comm.allgather(str(error))


told = refused(lambda: stretto.solve(whole[mine], B[mine], method="cg", comm=comm))
assert len(set(told)) == 1 and "symmetric" in told[0]
# What is wrong on one process alone, or differs, is said on all: none waits for another.
last, b = comm.rank == comm.size - 1, B[mine, 0]
solver = stretto.Solver(whole[mine], "bicgstab", comm=comm)
points_here = points[:499] if last else points
for call, words in (
        (lambda: stretto.solve(whole[mine], b[1:] if last else b, comm=comm), "rows, the matrix has"),
        (lambda: stretto.solve(whole[mine], b, b[1:] if last else b, comm=comm), "x0 has"),
        (lambda: stretto.solve(lambda v: v, b, M=3 if last else (lambda v: v), comm=comm), "M is int"),
        (lambda: stretto.solve(lambda v: v, 1j * b, M=3 if last else (lambda v: v), comm=comm), "M is int"),
        (lambda: solver.solve(B[mine] if last else b), "made for 1"),
        (lambda: solver.matrix @ (b[1:] if last else b), "x has"),
        (lambda: solver.update_values(1j * whole[mine] if last else whole[mine]), "complex numbers are for"),
        (lambda: stretto.advise(whole[mine], b[1:] if last else b, comm=comm), "rows, the matrix has"),
        (lambda: K.solve(C[1:] if last else C), "rows, the matrix has"),
        (lambda: K @ (1j * C if last else C), "complex numbers are for"),
        (lambda: stretto.Matrix.from_triplets([0], [0], ["a" if last else 1.0], 1, comm=comm), "no array of real numbers")):
    assert all(words in each for each in refused(call)), words
for call, words in (
        (lambda: stretto.solve(whole[mine], b, rtol=1e-3 if last else 1e-8, comm=comm), "rtol is 1e-08 on rank 0 and 0.001"),
        (lambda: stretto.solve(whole[mine], b, b if last else None, comm=comm), "x0 given is False on rank 0 and True"),
        (lambda: stretto.solve(whole[mine], b, comm=comm, **({"history": True} if last else {})), "history is not given on rank 0"),
        (lambda: stretto.solve(lambda v: v, b, method="gmres" if last else "cg", comm=comm), "method is cg on rank 0"),
        (lambda: stretto.HMatrix(points_here, "gaussian", comm=comm), "the shape of points is (500, 2) on rank 0"),
        (lambda: stretto.problem("poisson2d:9" if last else "poisson2d:8", comm), "name is poisson2d:8 on rank 0"),
        (lambda: stretto.solve(aslinearoperator(eye(len(b))) if last else (lambda v: v), b, comm=comm), "A with rmatvec is False on rank 0"),
        (lambda: stretto.solve(whole, B, comm=comm), f"{comm.size * 400} × 400")):
    assert comm.size == 1 or all(words in each for each in refused(call)), words
x, info = stretto.cg(lambda v: 2 * v, b[:0] if last and comm.size > 1 else b, comm=comm)  # one has no rows
assert info == 0
if comm.rank == 0:
    print(f"{comm.size} processes agree")
