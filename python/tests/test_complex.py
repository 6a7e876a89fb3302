# SPDX-License-Identifier: BSD-3-Clause
"""Complex systems, beside SciPy's and NumPy's."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator, spsolve

import stretto


def residual(A, x, b):
    return np.max(np.linalg.norm(b - A @ x, axis=0) / np.linalg.norm(b, axis=0))


def grid(n=12):
    one = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    return (sp.kron(one, sp.eye(n)) + sp.kron(sp.eye(n), one)).tocsr()


def helmholtz(n=12):
    """Complex symmetric."""
    return (grid(n) - (0.4 - 0.3j) * sp.eye(n * n)).tocsr()


def hermitian(n=12):
    A = sp.lil_matrix(grid(n).astype(complex))
    for i in range(n * n - 1):
        if A[i, i + 1]:
            A[i, i + 1] *= np.exp(0.7j)
            A[i + 1, i] = np.conj(A[i, i + 1])
    return sp.csr_matrix(A + 0.1 * sp.eye(n * n))


@pytest.fixture
def rhs():
    rng = np.random.default_rng(3)
    return rng.standard_normal((144, 3)) + 1j * rng.standard_normal((144, 3))


def suits(method):
    """A matrix that the method takes."""
    return helmholtz() if next(each for each in stretto.methods() if each["name"] == method)["needs"] == "any" else hermitian()


@pytest.mark.parametrize("method", [each["name"] for each in stretto.methods()])
def test_all_methods(method, rhs):
    A = suits(method)
    for b in (rhs, rhs[:, 0]):
        r = stretto.solve(A, b, method=method, precond="jacobi", rtol=1e-9)
        assert r.converged and r.x.shape == b.shape and r.x.dtype == np.complex128
        assert residual(A, r.x, b) <= 1.0001e-9
        assert np.allclose(r.x, spsolve(A.tocsc(), b), atol=1e-6)
    x, info = getattr(stretto, method)(A, rhs[:, 1], rtol=1e-8)
    assert info == 0 and residual(A, x, rhs[:, 1]) <= 1.0001e-8


def test_what_is_chosen(rhs):
    r = stretto.solve(hermitian(), rhs)
    assert r.converged and r.method == "cg" and any("hermitian" in remark for remark in r.remarks)
    r = stretto.solve(helmholtz(), rhs)
    assert r.converged and r.method == "gmres"
    r = stretto.solve(-hermitian(), rhs)
    assert r.converged and r.method == "minres"
    for precond in ("none", "jacobi", "block_jacobi:ilu0", "additive_schwarz", "chebyshev"):
        assert stretto.solve(hermitian(), rhs, precond=precond, method="gmres").converged


def test_kinds_of_matrices_and_vectors(rhs):
    A = helmholtz()
    truth = spsolve(A.tocsc(), rhs)
    shuffled = sp.coo_matrix(A)
    order = np.random.default_rng(1).permutation(shuffled.nnz)
    halves = sp.coo_matrix((np.concatenate([shuffled.data[order] / 2] * 2),
                            (np.concatenate([shuffled.row[order]] * 2), np.concatenate([shuffled.col[order]] * 2))), shape=A.shape)
    for of in (A, A.tocsc(), halves, A.toarray(), A.toarray().tolist(), A.astype(np.complex64)):
        r = stretto.solve(of, rhs, rtol=1e-10)
        assert r.converged and np.allclose(r.x, truth, atol=1e-4 if of is not A else 1e-7)
    # One of them real.
    r = stretto.solve(grid(), rhs[:, 0], rtol=1e-10)
    assert r.converged and np.allclose(r.x, spsolve(grid().tocsc(), rhs[:, 0]), atol=1e-7)
    r = stretto.solve(A, rhs.real, x0=truth.real, rtol=1e-10)
    assert r.converged and np.allclose(A @ r.x, rhs.real, atol=1e-7)
    r = stretto.solve(A, rhs[:, 0], x0=truth[:, 0])
    assert r.iterations == 0 and r.converged


def test_problems(tmp_path):
    from scipy.io import mmwrite
    A = stretto.problem("magnetic2d:9")
    assert A.dtype == np.complex128 and abs(A - A.conj().T).max() < 1e-15 and abs(A.imag).max() > 0
    b = np.ones(81)
    assert stretto.solve(A, b).method == "cg"
    mmwrite(tmp_path / "A.mtx", helmholtz())
    read = stretto.problem(str(tmp_path / "A.mtx"))
    assert abs(read - helmholtz()).max() < 1e-14
    with pytest.raises(stretto.InputError, match="nowhere"):
        stretto.problem("nowhere.mtx")


def test_a_history_and_a_callback(rhs):
    told = []
    r = stretto.solve(helmholtz(), rhs[:, 0], callback=lambda residual: told.append(residual), history=True)
    assert r.converged and len(told) == r.iterations + 1 and len(r.history) >= r.iterations
    assert r.details["scalar"] == "complex"


def test_a_matrix_that_stays(rhs):
    A = helmholtz()
    M = stretto.Matrix(A, precond="block_jacobi:ilu0")
    assert M.dtype == np.complex128 and M.shape == (144, 144) and M.rows == range(144)
    assert M.structure == ["complex values: complex symmetric, not hermitian"] and M.choice[0] == "--method gmres --precond block_jacobi:ilu0"
    for x in (rhs, rhs[:, 0], rhs.real):
        assert np.allclose(M @ x, A @ x)
    for b in (rhs, rhs[:, 1], rhs.real):
        r = M.solve(b, rtol=1e-9)
        assert r.converged and r.x.dtype == np.complex128 and residual(A, r.x, b) <= 1.0001e-9
        assert stretto.solve(M, b, r.x, rtol=1e-8).iterations == 0
    M.update_values(2j * A)
    assert np.allclose(M @ rhs, 2j * (A @ rhs)) and residual(2j * A, M.solve(rhs, rtol=1e-9).x, rhs) <= 1.0001e-9
    M.update_values(A.data)
    assert np.allclose(M @ rhs, A @ rhs)
    for call, error, words in ((lambda: M.update_values(hermitian() @ hermitian()), ValueError, "entries elsewhere"),
                               (lambda: M.update_values(A.data[1:]), ValueError, "values for"),
                               (lambda: M.solve(rhs[:-1]), ValueError, "b has 143 rows"),
                               (lambda: stretto.solve(M, rhs, M=np.eye(143)), ValueError, "M has the shape"),
                               (lambda: stretto.Matrix(A, prepare="rcm"), TypeError, "prepare is not for complex"),
                               (lambda: stretto.Matrix(A[:-1]), ValueError, "143 × 144")):
        with pytest.raises(error, match=words):
            call()


@pytest.mark.parametrize("method, of", [("cg", hermitian), ("gmres", helmholtz), ("pipelined_bicgstab", helmholtz)])
def test_a_solver_that_stays(method, of, rhs):
    A = of()
    solver = stretto.Solver(A, method, precond="jacobi", columns=3, rtol=1e-9)
    for b in (rhs, 1j * rhs[::-1]):
        r = solver.solve(b)
        assert r.converged and residual(A, r.x, b) <= 1.0001e-9 and r.details["scalar"] == "complex"
    r = solver.solve(rhs, transposed=True)
    assert r.converged and residual(A.conj().T, r.x, rhs) <= 1.0001e-9
    solver.update_values(3 * A)
    assert residual(3 * A, solver.solve(rhs).x, rhs) <= 1.0001e-9
    with pytest.raises(ValueError, match="b has 1 columns, the solver was made for 3"):
        solver.solve(rhs[:, 0])


def test_a_preconditioner_for_scipy(rhs):
    from scipy.sparse.linalg import gmres
    A = helmholtz()
    M = stretto.Preconditioner(A, "block_jacobi:lu")  # on one process the inverse
    assert M.dtype == np.complex128 and np.allclose(A @ (M @ rhs[:, 0]), rhs[:, 0])
    assert np.allclose(np.vdot(rhs[:, 1], M @ rhs[:, 0]), np.vdot(M.H @ rhs[:, 1], rhs[:, 0]))
    x, info = gmres(A, rhs[:, 0], M=M, atol=0)
    assert info == 0 and residual(A, x, rhs[:, 0]) < 1e-4


@pytest.mark.parametrize("method", [each["name"] for each in stretto.methods()])
def test_operators_in_python(method, rhs):
    A = suits(method)
    truth = np.linalg.solve(A.toarray(), rhs)
    jacobi = sp.diags(1 / A.diagonal())
    for b, x in ((rhs, truth), (rhs[:, 0], truth[:, 0])):
        r = stretto.solve(aslinearoperator(A), b, method=method, M=aslinearoperator(jacobi), rtol=1e-9)
        assert r.converged and r.x.shape == b.shape and r.x.dtype == np.complex128 and r.details["scalar"] == "complex"
        assert residual(A, r.x, b) <= 1.0001e-9 and np.allclose(r.x, x, atol=1e-6)
    r = stretto.solve(A, rhs, method=method, M=jacobi, rtol=1e-9)
    assert r.converged and np.allclose(r.x, truth, atol=1e-6)
    x, info = getattr(stretto, method)(aslinearoperator(A), rhs[:, 1], rtol=1e-8)
    assert info == 0 and residual(A, x, rhs[:, 1]) <= 1.0001e-8


def test_kinds_of_operators(rhs):
    A, G = helmholtz(), grid()

    def real_alone(v):
        assert v.dtype == np.float64
        return G @ v
    real = LinearOperator(G.shape, matvec=real_alone, rmatvec=real_alone, dtype=np.float64)
    ilu, of_real = stretto.Preconditioner(A, "block_jacobi:ilu0"), stretto.Preconditioner(G, "block_jacobi:ic0")
    for of, matrix, M in ((aslinearoperator(A), A, None), (lambda v: A @ v, A, None), (lambda v: A @ v, A, ilu),
                          (A, A, lambda v: v / A.diagonal()), (stretto.Matrix(A), A, lambda v: v / 4),
                          (A.toarray().tolist(), A, np.eye(144)), (A, A, of_real), (aslinearoperator(A), A, of_real),
                          (real, G, None), (real, G, of_real), (G, G, ilu)):
        for b in (rhs, rhs[:, 0]):
            r = stretto.solve(of, b, M=M, rtol=1e-9)
            assert r.converged and r.method == "gmres" and residual(matrix, r.x, b) <= 1.0001e-9
            assert np.allclose(r.x, np.linalg.solve(matrix.toarray(), b), atol=1e-6)
    # One of them complex is enough; of a function it is b.
    for of, M in ((aslinearoperator(A), None), (A, ilu)):
        r = stretto.solve(of, rhs.real, M=M, rtol=1e-9)
        assert r.converged and residual(A, r.x, rhs.real) <= 1.0001e-9
    r = stretto.solve(G, rhs.real, M=ilu, rtol=1e-9)
    assert r.converged and np.allclose(r.x, np.linalg.solve(G.toarray(), rhs.real), atol=1e-6)
    r = stretto.solve(aslinearoperator(A), rhs, r.x, rtol=1e-9)
    assert r.converged and residual(A, r.x, rhs) <= 1.0001e-9
    assert stretto.solve(aslinearoperator(A), rhs, r.x).iterations == 0
    points = np.random.default_rng(4).random((300, 2))
    K = stretto.HMatrix(points, lambda x, y: np.exp((1j - 9) * ((x[:, None] - y) ** 2).sum(axis=2)), nugget=1)
    b = np.ones(300) + 1j
    assert residual(K, stretto.solve(K, b, M=lambda v: v / 2, rtol=1e-7).x, b) <= 1.0001e-7


def test_the_adjoint_of_operators(rhs):
    A, b = helmholtz(), rhs[:, 0]
    asked = []

    def adjoint(v):
        asked.append(v)
        return A.conj().T @ v
    products = LinearOperator(A.shape, matvec=lambda v: A @ v, rmatvec=adjoint, dtype=complex)
    named = stretto.solve(A, b, method="improved_bicgstab", precond="none")
    for of in (products, A, sp.csr_array(A), A.toarray()):
        r = stretto.solve(of, b, method="improved_bicgstab", M=sp.eye(144))
        assert r.converged and abs(r.iterations - named.iterations) <= 3 and r.finished_by == named.finished_by
    assert asked


def test_errors_in_operators_come_out(rhs):
    def broken(v):
        raise KeyError("mine")
    for A, M in ((broken, None), (helmholtz(), broken), (stretto.Matrix(helmholtz()), broken)):
        for method in ("gmres", "cg"):
            with pytest.raises(KeyError, match="mine"):
                stretto.solve(A, rhs, method=method, M=M)


def test_the_same_bits(rhs):
    A = hermitian()
    r = [stretto.solve(aslinearoperator(A), rhs, method="cg", reproducible=True) for _ in range(2)]
    assert r[0].converged and (r[0].x == r[1].x).all()


def test_what_is_refused(rhs):
    A = helmholtz()
    bad = A.copy()
    bad.data[3] = complex(0, np.nan)
    for call, error, words in (
            (lambda: stretto.solve(A, rhs, method="cg"), stretto.InputError, "cg needs a hermitian matrix, and A is complex symmetric"),
            (lambda: stretto.solve(A, rhs, precond="inner"), stretto.InputError, "inner"),
            (lambda: stretto.solve(A, rhs, device="emulated"), TypeError, "device is not for complex"),
            (lambda: stretto.solve(A, rhs, prepare="rcm"), TypeError, "prepare is not for complex"),
            (lambda: stretto.solve(A[:-1], rhs[:-1]), ValueError, "143 × 144"),
            (lambda: stretto.solve(A, rhs[:-1]), ValueError, "b has 143 rows"),
            (lambda: stretto.solve(A, rhs, M=np.eye(143)), ValueError, r"M has the shape \(143, 143\)"),
            (lambda: stretto.solve(lambda v: v[:3], rhs), ValueError, r"A returned an array of shape \(3,\)"),
            (lambda: stretto.solve(lambda v: None, rhs), TypeError, "what A returned is no array of numbers"),
            (lambda: stretto.solve(3, rhs), TypeError, "A is int"),
            (lambda: stretto.solve(aslinearoperator(A), rhs[:-1]), ValueError, "b has 143 rows"),
            (lambda: stretto.solve(aslinearoperator(A), rhs, precond="jacobi"), TypeError, "A is an operator"),
            (lambda: stretto.solve(aslinearoperator(A), rhs, device="emulated"), TypeError, "device is not for complex"),
            (lambda: stretto.improved_bicgstab(lambda v: A @ v, rhs), stretto.InputError, "does not have"),
            (lambda: stretto.solve(aslinearoperator(A), rhs, reproducible=True), stretto.InputError, "gmres has complex coefficients"),
            (lambda: stretto.Matrix(aslinearoperator(A)), TypeError, "which has products and no entries"),
            (lambda: stretto.solve(A.astype(object), rhs), TypeError, "A is no array of"),
            (lambda: stretto.solve(bad, rhs), stretto.InputError, "the value is not finite"),
            (lambda: stretto.solve(A, rhs, nothing=1), TypeError, "there is no option 'nothing'")):
        with pytest.raises(error, match=words):
            call()


@pytest.mark.parametrize("method, precond, rtol", [
    ("gmres:m=100", "block_jacobi:ilu0", 1e-8), ("pipelined_gmres:m=100", "block_jacobi:ilu0", 1e-8), ("bicgstab", "block_jacobi:lu", 1e-8),
    ("pipelined_bicgstab", "block_jacobi:lu", 1e-8), ("refine:inner=gmres,m=100", "block_jacobi:lu", 1e-10)])
def test_a_wave_of_pyamg(method, precond, rtol):
    """The one complex matrix in packages of Debian and PyPI: discontinuous elements for a wave, 2880 unknowns."""
    example = pytest.importorskip("pyamg.gallery").load_example("helmholtz_2D")
    A = example["A"].tocsr()
    assert A.dtype == np.complex128
    b = A @ np.exp(0.01j * np.arange(A.shape[0]))
    r = stretto.solve(A, b, method=method, precond=precond, rtol=rtol)
    assert r.converged and residual(A, r.x, b) <= 1.0001 * rtol
