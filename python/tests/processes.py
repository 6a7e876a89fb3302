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
