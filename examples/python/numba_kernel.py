# SPDX-License-Identifier: BSD-3-Clause
"""A kernel compiled by numba: HMatrix calls it from several threads, without Python. Takes numba."""

import math
import time

import numpy as np
from numba import cfunc, types

import stretto

signature = types.void(types.CPointer(types.double), types.int64, types.CPointer(types.double), types.int64, types.int64,
                       types.CPointer(types.double))


@cfunc(signature)
def inverse_multiquadric(x, rows, y, columns, dimensions, out):
    for i in range(rows):
        for j in range(columns):
            square = 0.0
            for k in range(dimensions):
                square += (x[i * dimensions + k] - y[j * dimensions + k]) ** 2
            out[i * columns + j] = 1 / math.sqrt(1 + 100 * square)


def in_python(X, Y):
    return 1 / np.sqrt(1 + 100 * ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2))


points = np.random.default_rng(1).random((4000, 3))
took = {}
for name, kernel in (("numba", inverse_multiquadric), ("NumPy", in_python)):
    began = time.perf_counter()
    K = stretto.HMatrix(points, kernel, positive_definite=True, nugget=0.1, rtol=1e-4)
    took[name] = time.perf_counter() - began
    r = K.solve(np.ones(4000))
    print(f"{name}: compressed in {took[name]:.2f} s; {r}")
    assert r.converged
