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
# # Kernel regression with 20,000 points
# A function is measured at scattered points, with noise. Its regression solves with the covariance of all pairs of points: a dense
# matrix of 20,000 × 20,000 numbers, 3.2 GB. As a hierarchical matrix it is a tenth of that, and a product takes milliseconds.

# %%
import matplotlib.pyplot as plt
import numpy as np

import stretto


def truth(p):
    return np.sin(6 * p[:, 0]) * np.cos(5 * p[:, 1]) + 0.5 * np.exp(-30 * ((p - 0.6) ** 2).sum(axis=1))


n, noise, length = 20000, 0.1, 0.3
rng = np.random.default_rng(4)
points = rng.random((n, 2))
measured = truth(points) + noise * rng.standard_normal(n)

# %% [markdown]
# The covariance: a Matérn kernel with ν = 3/2, and the variance of the noise on the diagonal. The accuracy of the blocks follows from
# the tolerance of the solve.

# %%
K = stretto.HMatrix(points, f"matern:length={length},nu=3/2,nugget={noise**2}", rtol=1e-3, progress=True)
print(K)

# %%
weights = K.solve(measured, progress=True)
print(weights, "with the kernel itself:", weights.kernel_residuals)
assert weights.converged

# %% [markdown]
# The regression at other points takes kernel values between these and the measured ones; in strips, for memory.

# %%
side = np.linspace(0, 1, 60)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def matern(a, b):
    r = np.sqrt(3.0) / length * np.sqrt(np.maximum(((a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T), 0))
    return (1 + r) * np.exp(-r)


predicted = np.concatenate([matern(strip, points) @ weights.x for strip in np.array_split(grid, 12)])
error = np.sqrt(np.mean((predicted - truth(grid)) ** 2))
print(f"root mean square error {error:.4f}, of the measurements {noise}")
assert error < noise / 4

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(12, 5))
left.imshow(predicted.reshape(60, 60), origin="lower", extent=(0, 1, 0, 1))
left.set_title("regression of 20,000 noisy measurements")
K.plot(right)
plt.show()

# %% [markdown]
# A kernel of your own is a function of two groups of points. It may be compiled: what `numba.cfunc` makes is called without Python.

# %%
few = points[:2000]
own = stretto.HMatrix(few, matern, positive_definite=True, nugget=noise**2, rtol=1e-3)
named = stretto.HMatrix(few, f"matern:length={length},nu=3/2,nugget={noise**2}", rtol=1e-3)
v = rng.standard_normal(2000)
print("difference of the two:", np.linalg.norm(own @ v - named @ v) / np.linalg.norm(named @ v))
assert np.allclose(own @ v, named @ v, rtol=1e-4, atol=1e-4 * np.abs(named @ v).max())
