# SPDX-License-Identifier: BSD-3-Clause
"""Run by several processes: each has its rows, and all have the answer of one."""

import numpy as np
from mpi4py import MPI

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


try:
    r = stretto.solve(broken, B[mine], method="cg", comm=comm)
    assert comm.rank != comm.size - 1 and not r.converged
except KeyError:
    assert comm.rank == comm.size - 1
refused = comm.allgather(None)
try:
    stretto.solve(whole[mine], B[mine], method="cg", comm=comm)
    refused = ""
except stretto.InputError as error:
    refused = str(error)
assert len(set(comm.allgather(refused))) == 1 and "symmetric" in refused
if comm.rank == 0:
    print(f"{comm.size} processes agree")
