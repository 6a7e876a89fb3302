# SPDX-License-Identifier: BSD-3-Clause
"""A solve that JAX differentiates, forwards and backwards: x = A⁻¹ b by pipelined CG, derivatives by solves with A and Aᵀ. Takes jax."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.sparse import BCOO

import stretto

jax.config.update("jax_enable_x64", True)


def differentiable(A, method="pipelined_cg", precond="jacobi", rtol=1e-12):
    """A function b ↦ A⁻¹ b of a constant A. Its solvers stay, so that they are set up once."""
    def solved_by(solver):
        def solve(b):
            r = solver.solve(np.asarray(b))
            if not r.converged:
                raise RuntimeError(f"{r}; try {[step['call'] for step in r.next]}")
            return r.x
        return lambda _, b: jax.pure_callback(solve, jax.ShapeDtypeStruct(b.shape, b.dtype), b)

    product = BCOO.from_scipy_sparse(A)  # JAX transposes it
    forward = solved_by(stretto.Solver(A, method, precond=precond, rtol=rtol))
    backward = solved_by(stretto.Solver(A.T.tocsr(), method, precond=precond, rtol=rtol))
    return lambda b: jax.lax.custom_linear_solve(lambda x: product @ x, b, forward, transpose_solve=backward)


A = stretto.problem("poisson2d:40")
solve = differentiable(A)
wanted = jnp.sin(jnp.arange(1600) / 50.0)


@jax.jit
def loss(b):
    return jnp.sum((solve(b) - wanted) ** 2)


b, step = jnp.ones(1600), jnp.linspace(0, 1e-3, 1600)
backwards = float(jax.grad(loss)(b) @ step)
forwards = float(jax.jvp(loss, (b,), (step,))[1])
by_differences = float(loss(b + step) - loss(b - step)) / 2  # exact but for rounding: the loss is quadratic
print(f"derivative backwards {backwards:.8e}, forwards {forwards:.8e}, by differences {by_differences:.8e}")
assert abs(backwards - by_differences) < 1e-6 * abs(by_differences) and abs(forwards - backwards) < 1e-9 * abs(backwards)
