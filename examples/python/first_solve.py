# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---
# SPDX-License-Identifier: BSD-3-Clause

# %% [markdown]
# # First solve
# A linear system A x = b: steady heat in a plate that conducts unevenly. `jupytext --to notebook first_solve.py` makes a notebook of
# this file; it runs as a program, too.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import stretto

# %% [markdown]
# The matrix is SciPy's: here the five-point stencil of −∇·(k ∇u) on 150 × 150 cells, with a disc that conducts a thousand times
# better than what is around it.

# %%
n = 150
side = (np.arange(n) + 0.5) / n
x, y = np.meshgrid(side, side)
k = np.where((x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.04, 1000.0, 1.0)


def between(a, b):
    return 2 * a * b / (a + b)


to_right, upwards = between(k[:, 1:], k[:, :-1]), between(k[1:, :], k[:-1, :])
cells = np.arange(n * n).reshape(n, n)
i = np.concatenate([cells[:, :-1].ravel(), cells[:-1, :].ravel()])
j = np.concatenate([cells[:, 1:].ravel(), cells[1:, :].ravel()])
v = np.concatenate([to_right.ravel(), upwards.ravel()])
edges = sp.coo_matrix((v, (i, j)), shape=(n * n, n * n))
A = edges + edges.T
walls = np.zeros((n, n))
walls[:, 0] += 2 * k[:, 0]  # the temperature is 0 on the left and right
walls[:, -1] += 2 * k[:, -1]
A = (sp.diags(np.asarray(A.sum(axis=1)).ravel() + walls.ravel()) - A).tocsr()
b = np.full(n * n, 1.0 / n**2)  # heat from everywhere

# %% [markdown]
# One call. It looks at the entries, chooses a method and a preconditioner, and says `converged` only when ‖b − A x‖ has been
# recomputed and is small enough.

# %%
r = stretto.solve(A, b)
print(r)
print("chosen:", r.method, "with", r.details["precond"])
assert r.converged and np.linalg.norm(b - A @ r.x) <= 1e-8 * np.linalg.norm(b)

# %%
fig, ax = plt.subplots()
fig.colorbar(ax.imshow(r.x.reshape(n, n), origin="lower", extent=(0, 1, 0, 1)), label="temperature")
ax.set_title("heat that leaves through the sides")
plt.show()

# %% [markdown]
# Every method is a function that is called as SciPy's are. A preconditioner is a name, or anything that applies M⁻¹.

# %%
x_cg, info = stretto.cg(A, b, rtol=1e-8, M="block_jacobi:ic0")
print("info:", info, " difference:", np.linalg.norm(x_cg - r.x) / np.linalg.norm(r.x))
assert info == 0

# %% [markdown]
# What happened on the way: `history` keeps residuals, `timeline` what ran when. A pipelined method reads the sums of an iteration
# only after the next product.

# %%
r = stretto.solve(A, b, method="pipelined_cg", precond="jacobi", history=True, true_history=True, timeline=True)
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
r.plot(left)
r.timeline(right)
plt.show()

# %% [markdown]
# Where it does not work, the result says so, and what to try next.

# %%
r = stretto.solve(A, b, method="cg", precond="none", maxiter=30)
print(r.status)
for step in r.next:
    print(step["call"], "  #", step["why"])
assert not r.converged and r.next
