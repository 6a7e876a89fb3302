# SPDX-License-Identifier: BSD-3-Clause
"""A solve inside of a torch program: x = A⁻¹ b, differentiated with respect to b and to the entries of A by one solve with Aᵀ.
Takes torch. b and x are tensors; where they lie on a GPU, device="cuda" of the Solver keeps them there."""

import numpy as np
import torch

import stretto


class SparseSolve(torch.autograd.Function):
    """x = A⁻¹ b for the matrix that a Solver has. `values` are the entries of A, in the order of its CSR arrays."""

    @staticmethod
    def forward(ctx, values, b, solver, A):
        solver.update_values(values.detach().numpy())
        x = converged(solver.solve(b.detach())).x
        ctx.save_for_backward(x)
        ctx.solver, ctx.A = solver, A
        return x

    @staticmethod
    def backward(ctx, of_x):
        x, = ctx.saved_tensors
        of_b = converged(ctx.solver.solve(of_x.contiguous(), transposed=True)).x  # λ = A⁻ᵀ ∂/∂x
        rows = torch.from_numpy(np.repeat(np.arange(ctx.A.shape[0]), np.diff(ctx.A.indptr)))
        return -of_b[rows] * x[torch.from_numpy(ctx.A.indices).long()], of_b, None, None


def converged(r):
    if not r.converged:
        raise RuntimeError(f"{r}; try {[step['call'] for step in r.next]}")
    return r


A = stretto.problem("convdiff2d:20")
n = A.shape[0]
solver = stretto.Solver(A, "bicgstab", precond="jacobi", rtol=1e-13, copy=True)
wanted = torch.sin(torch.arange(n) / 50.0)


def loss(values, b):
    return ((SparseSolve.apply(values, b, solver, A) - wanted) ** 2).sum()


values = torch.from_numpy(A.data.copy()).requires_grad_()
b = torch.ones(n, dtype=torch.float64, requires_grad=True)
loss(values, b).backward()

generator = torch.Generator().manual_seed(1)
for name, at, gradient in (("b", b, b.grad), ("the entries of A", values, values.grad)):
    step = 1e-6 * torch.rand(at.shape, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        ends = [loss(*((at + sign * step, b) if at is values else (values, at + sign * step))) for sign in (1, -1)]
    differences, predicted = float(ends[0] - ends[1]) / 2, float(gradient @ step)
    print(f"derivative by {name}: {predicted:.8e}, by differences {differences:.8e}")
    assert abs(predicted - differences) < 1e-5 * abs(differences)
