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
# # Which method, and why
# Nobody knows beforehand how fast a Krylov method converges; what an iteration takes can be told. So: try the preconditioners, and
# predict the methods.

# %%
import matplotlib.pyplot as plt
import numpy as np

import stretto

A = stretto.problem("convdiff3d:24")  # convection and diffusion: not symmetric
b = np.ones(A.shape[0])

# %% [markdown]
# `advise` looks at the structure, sets up every preconditioner that suits, and tries each for twenty iterations.

# %%
advice = stretto.advise(A, b)
print(advice)

# %% [markdown]
# The first line is what to begin with. `solve` does the same by itself, changes its mind where it was wrong, and says so.

# %%
r = stretto.solve(A, b, method="auto", precond="auto")
print(r, "with", r.details["precond"])
for reason in r.details["choice"]["reasons"]:
    print(" ", reason)
assert r.converged

# %% [markdown]
# On one process hiding reductions gains little. On many nodes they are what costs: the execution-time model has the time of an
# iteration of every method, from what its text moves and which reductions it hides (docs/model.md).

# %%
p = stretto.predict("poisson3d:150", machine="cori", nodes="1..1024",
                    methods=["cg", "single_reduction_cg", "pipelined_cg", "deep_pipelined_cg:l=3", "s_step_cg:s=4"])
print("the quickest of the family of CG:")
for stretch in p["best"]["cg"]:
    print(f"  {stretch['first']:>5} to {stretch['last']:>5} nodes: {stretch['method']}")

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(14, 4.5))
p.plot(left)
stretto.predict_map("poisson3d", [50, 100, 200, 400], machine="cori").plot(right)
fig.tight_layout()
plt.show()

# %% [markdown]
# Another network: the same machine, whose links take ten times as long.

# %%
cori = stretto.Machine("cori")
slow = cori.with_(link_latency=10 * cori.parameters["link_latency"]["value"])
for machine in (cori, slow):
    best = stretto.predict("poisson3d:150", machine=machine, nodes="64")["best"]["cg"][0]["method"]
    print(f"64 nodes, links of {1e6 * machine.parameters['link_latency']['value']:.2f} µs: {best}")

# %% [markdown]
# And the pipelined method's answer is as good: its residuals beside those of CG, recursive and true.

# %%
S = stretto.problem("poisson2d:100")
fig, axes = plt.subplots(1, 3, figsize=(15, 4), sharey=True)
for ax, method in zip(axes, ("cg", "pipelined_cg", "deep_pipelined_cg:l=3")):
    r = stretto.solve(S, np.ones(S.shape[0]), method=method, precond="jacobi", history=True, true_history=True)
    assert r.converged
    r.plot(ax)
plt.show()
