# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
import scipy.sparse as sp

import stretto

NEEDS = {row["name"]: row["needs"] for row in stretto.methods()}
TRANSPOSED = {row["name"] for row in stretto.methods() if row["transpose"]}  # that multiply with the transpose


def spd():
    return stretto.problem("poisson2d:17")


def indefinite():
    return (spd() - 1.7 * sp.eye(17 * 17)).tocsr()


def unsymmetric():
    return stretto.problem("convdiff2d:17")


def matrix_for(method):
    """One that the method can solve with."""
    return {"square": unsymmetric, "symmetric": indefinite}.get(NEEDS[method], spd)()


def residual(A, x, b):
    """‖b − A x‖ / ‖b‖, the largest of the columns."""
    r = np.atleast_2d((b - A @ x).T)
    return float((np.linalg.norm(r, axis=1) / np.linalg.norm(np.atleast_2d(b.T), axis=1)).max())


@pytest.fixture(params=sorted(NEEDS))
def method(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(7)
