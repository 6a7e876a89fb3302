# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of CuPy, torch, JAX and numba on a GPU of NVIDIA's, and matrices of CuPy and torch; skipped without one."""

import importlib
import importlib.util

import numpy as np
import pytest
from conftest import residual, spd, unsymmetric

import stretto


@pytest.fixture(scope="module", autouse=True)
def gpu():
    try:
        stretto.DeviceArray(np.ones(1), "cuda")
    except stretto.InputError as error:
        pytest.skip(str(error))


def cupy_array(values):
    cupy = pytest.importorskip("cupy")
    return cupy.asarray(values), cupy.asnumpy, lambda array: array.data.ptr


def torch_array(values):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(values).cuda(), lambda array: array.cpu().numpy(), lambda array: array.data_ptr()


def jax_array(values):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.device_put(values, jax.devices("gpu")[0]), np.asarray, lambda array: array.unsafe_buffer_pointer()


def numba_array(values):
    pytest.importorskip("numba")
    cuda = importlib.import_module("numba.cuda")
    return cuda.to_device(values), lambda array: array.copy_to_host(), lambda array: array.__cuda_array_interface__["data"][0]


@pytest.mark.parametrize("shape", [(289,), (289, 3)])
@pytest.mark.parametrize("kind", [cupy_array, torch_array, jax_array, numba_array])
def test_b_and_x_stay_on_the_gpu(kind, shape, rng):
    A, b = unsymmetric(), rng.standard_normal(shape)
    there, on_host, address = kind(b)
    before = address(there)
    r = stretto.solve(A, there, method="bicgstab", precond="jacobi", rtol=1e-9)
    assert r.converged and r.details["device"] == "cuda" and isinstance(r.x, type(there)) and tuple(r.x.shape) == shape
    assert residual(A, on_host(r.x), b) <= 1e-9
    assert address(there) == before and np.array_equal(on_host(there), b)
    # To the bit what the same device makes of vectors of the host, and x is a guess that is as good.
    assert np.array_equal(stretto.solve(A, b, method="bicgstab", precond="jacobi", rtol=1e-9, device="cuda").x, on_host(r.x))
    assert stretto.solve(A, there, r.x, method="bicgstab", precond="jacobi", rtol=1e-9).iterations == 0
    x, info = stretto.bicgstab(A, there, M="jacobi", rtol=1e-9)
    assert info == 0 and np.array_equal(on_host(x), on_host(r.x))


def test_x_is_taken_over_without_a_copy(rng):
    cupy = pytest.importorskip("cupy")
    made = stretto.DeviceArray(rng.standard_normal(289), "cuda")
    taken = cupy.from_dlpack(made)
    assert taken.data.ptr == made._vectors.address
    expected = made.get()
    del made
    assert np.array_equal(taken.get(), expected)


def test_what_was_launched_before_is_waited_for(rng):
    """b is still being made, in a stream of its own, when the solve begins."""
    cupy = pytest.importorskip("cupy")
    A = spd()
    for stream in (cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream.ptds):
        with stream:
            b = cupy.zeros(289)
            much = cupy.ones((4000, 4000))
            for _ in range(20):
                much = much @ much * 1e-4
            b += much[0, 0] * 0 + cupy.arange(289.0)
            r = stretto.solve(A, b, method="pipelined_cg", precond="jacobi", rtol=1e-9)
        assert r.converged and residual(A, r.x.get(), np.arange(289.0)) <= 1e-9


def test_matrices_of_cupy_and_torch(rng):
    A, b = unsymmetric(), rng.standard_normal(289)
    expected = stretto.solve(A, b, method="gmres", precond="jacobi", rtol=1e-9, device="cuda").x
    given = []
    if importlib.util.find_spec("cupy"):
        given.append(importlib.import_module("cupyx.scipy.sparse").csr_matrix(A))
    if importlib.util.find_spec("torch"):
        torch = importlib.import_module("torch")
        given.append(torch.sparse_csr_tensor(A.indptr, A.indices, A.data, A.shape, device="cuda"))
    for matrix in given:
        assert np.array_equal(stretto.solve(matrix, b, method="gmres", precond="jacobi", rtol=1e-9, device="cuda").x, expected)


def test_parts_of_arrays_that_do_not_lie_in_one_piece(rng):
    cupy = pytest.importorskip("cupy")
    A, b = spd(), rng.standard_normal((289, 4))
    there = cupy.asarray(b)
    with pytest.raises(TypeError, match="in pieces"):
        stretto.solve(A, there[:, 1], method="cg", precond="jacobi")
    with pytest.raises(TypeError, match="double precision"):
        stretto.solve(A, there.astype("f4"), method="cg", precond="jacobi")
    r = stretto.solve(A, cupy.ascontiguousarray(there[:, 1]), method="cg", precond="jacobi", rtol=1e-9)
    assert r.converged and residual(A, r.x.get(), b[:, 1]) <= 1e-9
