# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of other libraries, on the host and on a device: that which the processor plays, by the interfaces that a GPU's arrays have."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import matrix_for, residual, spd, unsymmetric

import stretto
from stretto import _devices


class ByInterface:
    """As numba's arrays: __cuda_array_interface__ alone."""

    def __init__(self, values, **more):
        self.kept = stretto.DeviceArray(values, "emulated")
        self.shape, self.ndim = self.kept.shape, self.kept.ndim
        self.__cuda_array_interface__ = {"shape": self.shape, "typestr": "<f8", "data": (self.kept._vectors.address, False), "version": 3} | more


class ByDlpack:
    """As of libraries of arrays: DLPack alone."""

    def __init__(self, values):
        self.kept = stretto.DeviceArray(values, "emulated")
        self.shape, self.ndim = self.kept.shape, self.kept.ndim

    def __dlpack__(self, **more):
        return self.kept.__dlpack__(**more)

    def __dlpack_device__(self):
        return self.kept.__dlpack_device__()


@pytest.mark.parametrize("kind", [lambda v: stretto.DeviceArray(v, "emulated"), ByInterface, ByDlpack], ids=["ours", "interface", "dlpack"])
@pytest.mark.parametrize("shape", [(289,), (289, 3), (289, 2)])
def test_b_and_x_stay_on_the_device(kind, shape, rng):
    A, b = unsymmetric(), rng.standard_normal(shape)
    there = kind(b)
    r = stretto.solve(A, there, method="bicgstab", precond="jacobi", rtol=1e-9, device="emulated")
    assert r.converged and isinstance(r.x, stretto.DeviceArray) and r.x.shape == shape and r.details["device"] == "emulated"
    assert residual(A, r.x.get(), b) <= 1e-9
    kept = there if kind not in (ByInterface, ByDlpack) else there.kept
    assert np.array_equal(kept.get(), b)
    # To the bit what the same device makes of vectors of the host.
    assert np.array_equal(stretto.solve(A, b, method="bicgstab", precond="jacobi", rtol=1e-9, device="emulated").x, r.x.get())
    again = stretto.solve(A, there, r.x, method="bicgstab", precond="jacobi", rtol=1e-9, device="emulated")
    assert again.converged and again.iterations == 0 and np.array_equal(again.x.get(), r.x.get())
    assert stretto.solve(A, there, r.x.get(), method="bicgstab", precond="jacobi", rtol=1e-9, device="emulated").iterations == 0


@pytest.mark.parametrize("method", ["cg", "pipelined_cg", "gmres"])
def test_a_negative_matrix_and_a_solver_that_stays(method, rng):
    A = -spd()
    solver = stretto.Solver(A, method, precond="jacobi", device="emulated", rtol=1e-9)
    for _ in range(2):
        b = rng.standard_normal(289)
        r = solver.solve(stretto.DeviceArray(b, "emulated"))
        assert r.converged and residual(A, r.x.get(), b) <= 1e-9
    solver.update_values(2 * A)
    r = solver.solve(ByInterface(b))
    assert r.converged and residual(2 * A, r.x.get(), b) <= 1e-9
    assert solver.solve(b).converged and stretto.Solver(unsymmetric(), "bicgstab", device="emulated").solve(ByDlpack(b), transposed=True).converged


def test_a_part_of_an_array(rng):
    """That begins at an odd place, between two values that travel together."""
    A, whole = spd(), rng.standard_normal(291)
    there = stretto.DeviceArray(whole, "emulated")
    part = ByInterface(whole[1:290])
    part.__cuda_array_interface__["data"] = (there._vectors.address + 8, False)
    r = stretto.solve(A, part, method="cg", precond="none", rtol=1e-9, device="emulated")
    assert r.converged and residual(A, r.x.get(), whole[1:290]) <= 1e-9 and np.array_equal(there.get(), whole)


def test_what_is_refused_of_a_device():
    A, b = spd(), np.ones(289)
    there = stretto.DeviceArray(b, "emulated")
    for call, error, words in (
            (lambda: stretto.solve(A, ByInterface(b, typestr="<f4"), method="cg", precond="none", device="emulated"), TypeError, "double"),
            (lambda: stretto.solve(A, ByInterface(b, strides=(16,)), method="cg", precond="none", device="emulated"), TypeError, "in pieces"),
            (lambda: stretto.solve(A, ByInterface(b[:-1]), method="cg", precond="none", device="emulated"), ValueError, "288 rows"),
            (lambda: stretto.solve(A, there, np.ones(288), method="cg", precond="none", device="emulated"), ValueError, "x0"),
            (lambda: stretto.solve(A, ByInterface(b, data=(4096, False)), method="cg", precond="none", device="emulated"),
             stretto.InputError, "b is not in the memory"),
            (lambda: stretto.Matrix(A).solve(there, method="cg"), TypeError, "device='cuda'"),
            (lambda: stretto.solve(lambda v: v, there), TypeError, "functions take vectors of the host"),
            (lambda: stretto.DeviceArray(b, "cpu"), stretto.InputError, "emulated"),
            (lambda: stretto.solve(A, there), stretto.InputError, "method=")):
        with pytest.raises(error, match=words):
            call()


def test_a_gpu_that_this_build_does_not_have():
    """An array that says it is CUDA's goes to device='cuda', which says what is missing."""
    with pytest.raises(stretto.InputError, match="device='cuda'"):
        stretto.solve(spd(), ByInterface(np.ones(289)), method="cg", precond="none")


def test_arrays_of_the_host_by_dlpack(rng):
    class Minimal:  # no __array__
        def __init__(self, values):
            self.values, self.shape, self.ndim = values, values.shape, values.ndim

        def __dlpack__(self, **more):
            return self.values.__dlpack__(**more)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()
    b = rng.standard_normal(289)
    once, twice = (stretto.solve(spd(), given, method="cg", precond="none").x for given in (Minimal(b), b))
    assert np.array_equal(once, twice)
    from stretto._arrays import real
    assert real(Minimal(b), "b").ctypes.data == b.ctypes.data


def test_torch(rng):
    torch = pytest.importorskip("torch")
    A = unsymmetric()
    b = torch.from_numpy(rng.standard_normal((289, 2)))
    from stretto._arrays import real, rows_of
    assert real(b, "b").ctypes.data == b.data_ptr()
    x, info = stretto.bicgstab(A, b, rtol=1e-9)
    assert info == 0 and isinstance(x, torch.Tensor) and residual(A, x.numpy(), b.numpy()) <= 1e-9
    assert stretto.solve(A, b, x, method="bicgstab", precond="none", rtol=1e-9).iterations == 0
    by_rows = torch.sparse_csr_tensor(torch.from_numpy(A.indptr), torch.from_numpy(A.indices), torch.from_numpy(A.data), A.shape)
    start, places, values = rows_of(by_rows)
    assert values.ctypes.data == A.data.ctypes.data
    for kind in (by_rows, by_rows.to_dense(), by_rows.to_dense().to_sparse()):
        assert torch.equal(stretto.solve(kind, b, method="bicgstab", precond="none", rtol=1e-9).x, x)


def test_jax(rng):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    A, b = spd(), jax.numpy.asarray(rng.standard_normal(289))
    x, info = stretto.pipelined_cg(A, b, M="jacobi", rtol=1e-9)
    assert info == 0 and isinstance(x, jax.Array) and residual(A, np.asarray(x), np.asarray(b)) <= 1e-9


def test_arrays_of_a_matrix_are_shared_and_can_be_copied(rng):
    A, b = sp.csr_matrix(spd()), rng.standard_normal(289)
    shared, own = stretto.Matrix(A), stretto.Matrix(A, copy=True)
    assert np.array_equal(shared @ b, own @ b)
    truth = A @ b
    before = [array.copy() for array in (A.indptr, A.indices, A.data)]
    for M in (shared, own):
        assert M.solve(truth, method="cg", rtol=1e-10).converged
    assert all(np.array_equal(now, then) for now, then in zip((A.indptr, A.indices, A.data), before))
    A.data *= 2
    assert np.allclose(own @ b, truth)
    for M in (shared, own):
        M.update_values(A)
        assert np.allclose(M @ b, 2 * truth)
    A.data *= 0.5  # values that were taken up are the matrix' own
    assert np.allclose(shared @ b, 2 * truth)


def test_shared_arrays_outlive_their_matrix(rng):
    b = rng.standard_normal(289)
    solver = stretto.Solver(sp.csr_matrix(spd()), "cg", precond="block_jacobi:ic0", rtol=1e-10)
    assert residual(spd(), solver.solve(b).x, b) <= 1e-10


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres"])
def test_kinds_of_rows(method, rng):
    """What is shared, and what cannot be: columns out of order, 64-bit numbers, a negative diagonal, single precision."""
    A, b = sp.csr_matrix(matrix_for(method)), rng.standard_normal(289)
    mixed = sp.csr_matrix((A.data[::-1].copy(), A.indices[::-1].copy(), (A.nnz - A.indptr)[::-1].copy()), A.shape)[::-1]
    wide = A.copy()
    wide.indices, wide.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    for kind in (A, mixed, wide, -A, A.astype(np.float32), A[::1]):
        x, info = getattr(stretto, method)(kind, b, rtol=1e-9)
        assert info == 0 and residual(kind.astype(np.float64), x, b) <= 2e-9
