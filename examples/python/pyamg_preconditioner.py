# SPDX-License-Identifier: BSD-3-Clause
"""Multigrid of pyamg as the preconditioner of pipelined CG. Takes pyamg."""

import numpy as np
import pyamg

import stretto

A = pyamg.gallery.poisson((150, 150), format="csr")
b = np.random.default_rng(1).standard_normal(A.shape[0])
levels = pyamg.smoothed_aggregation_solver(A)
M = levels.aspreconditioner()

for method in ("cg", "pipelined_cg", "deep_pipelined_cg:l=2"):
    plain = stretto.solve(A, b, method=method, precond="none")
    helped = stretto.solve(A, b, method=method, M=M)
    print(f"{method}: {plain.iterations} iterations without, {helped.iterations} with multigrid; {helped.status}")
    assert helped.converged and 5 * helped.iterations < plain.iterations
