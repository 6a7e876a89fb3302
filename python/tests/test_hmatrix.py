# SPDX-License-Identifier: BSD-3-Clause
"""Hierarchical matrices and boundary elements."""

import ctypes

import numpy as np
import pytest
from scipy.sparse.linalg import cg

import stretto
from stretto import bem

N, LENGTH, NUGGET = 700, 0.2, 0.05


@pytest.fixture
def points(rng):
    return rng.random((N, 2))


def gaussian(x, y):
    return np.exp(-((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2) / (2 * LENGTH**2))


def lopsided(x, y):
    return 1 / (1 + 5 * np.abs(x[:, None, 0] - y[None, :, 0]) + 2 * np.maximum(0, x[:, None, 1] - y[None, :, 1]))


def dense(points, kernel=gaussian, nugget=NUGGET):
    return kernel(points, points) + nugget * np.eye(N)


def wave(x, y):
    r = np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2))
    return np.exp(8j * r) / (r + 0.05)


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_wave_as_numpy_has_it(symmetric, points, rng):
    kernel = wave if symmetric else lambda x, y: wave(x, y) * (1 + 1j * x[:, None, 0])
    K = stretto.HMatrix(points, kernel, symmetric=symmetric, nugget=300, rtol=1e-8, leaf=32)
    D = dense(points, kernel, 300)
    assert K.dtype == np.complex128 and K.shape == (N, N) and "% of n²" in repr(K)
    for b in (rng.standard_normal(N) + 1j * rng.standard_normal(N), rng.standard_normal((N, 2)) * (1 + 2j), rng.standard_normal(N)):
        assert np.abs(K @ b - D @ b).max() <= 1e-6 * np.abs(D @ b).max()
        assert np.abs(K.H @ b - D.conj().T @ b).max() <= 1e-6 * np.abs(D @ b).max()
        assert np.abs(K.T @ b - D.T @ b).max() <= 1e-6 * np.abs(D @ b).max()
        for method in ("auto", "bicgstab"):
            r = K.solve(b, method=method)
            assert r.converged and r.x.shape == b.shape and np.abs(D @ r.x - b).max() <= 1e-6 * np.abs(b).max()
            assert max(r.kernel_residuals) <= 2e-8 and r.details["scalar"] == "complex"
    with pytest.raises(stretto.InputError, match="hermitian|symmetric"):
        K.solve(b, method="cg")


@pytest.mark.parametrize("kernel", [f"gaussian:length={LENGTH},nugget={NUGGET}", gaussian], ids=["name", "function"])
@pytest.mark.parametrize("m", [None, 3])
def test_a_covariance_as_numpy_has_it(kernel, m, points, rng):
    more = {} if isinstance(kernel, str) else {"positive_definite": True, "nugget": NUGGET}
    K, D = stretto.HMatrix(points, kernel, rtol=1e-8, leaf=32, **more), dense(points)
    b = rng.standard_normal(N if m is None else (N, m))
    assert K.shape == (N, N) and np.abs(K @ b - D @ b).max() <= 1e-7 * np.abs(D @ b).max()
    assert np.abs(K.T @ b - D @ b).max() <= 1e-7 * np.abs(D @ b).max()
    r = K.solve(b)
    assert r.converged and r.method == "cg" and r.x.shape == b.shape
    assert np.abs(D @ r.x - b).max() <= 1e-6 * np.abs(b).max() and max(r.kernel_residuals) <= 2e-8
    first = b if m is None else b[:, 0]
    assert stretto.solve(K, b).converged
    scaled = stretto.solve(K, b, method="cg", M=lambda v: v / (1 + NUGGET), rtol=1e-6)
    assert scaled.converged and np.abs(D @ scaled.x - b).max() <= 1e-4 * np.abs(b).max()
    x, info = cg(K, first, atol=0)
    assert info == 0 and np.linalg.norm(D @ x - first) < 1e-4 * np.linalg.norm(first)


def test_not_symmetric(points, rng):
    D = dense(points, lopsided, 1.0)
    K = stretto.HMatrix(points, lopsided, symmetric=False, nugget=1.0, epsilon=1e-9, leaf=32)
    v = rng.standard_normal(N)
    assert np.allclose(K @ v, D @ v, rtol=1e-6) and np.allclose(K.T @ v, D.T @ v, rtol=1e-6)
    r = stretto.solve(K, v, rtol=1e-6)
    assert r.converged and r.method == "bicgstab" and np.linalg.norm(D @ r.x - v) <= 2e-6 * np.linalg.norm(v)
    with pytest.raises(stretto.InputError, match="symmetric"):
        K.solve(v, method="cg")


def test_compiled_kernels(points, rng):
    signature = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), ctypes.c_int64, ctypes.POINTER(ctypes.c_double), ctypes.c_int64,
                                 ctypes.c_int64, ctypes.POINTER(ctypes.c_double))

    @signature
    def into(x, rows, y, columns, dimensions, out):
        block = gaussian(*(np.ctypeslib.as_array(a, (k, dimensions)) for a, k in ((x, rows), (y, columns))))
        np.ctypeslib.as_array(out, (rows, columns))[:] = block

    class Compiled:  # as numba.cfunc's
        address = ctypes.cast(into, ctypes.c_void_p).value

    K = stretto.HMatrix(points, Compiled, positive_definite=True, nugget=NUGGET, rtol=1e-6)
    v = rng.standard_normal(N)
    assert np.allclose(K @ v, dense(points) @ v, rtol=1e-4, atol=1e-6)


def test_shapes_of_points(rng):
    for points in (rng.random(N), rng.random((N, 1)), rng.random((N, 3)).astype(np.float32)):
        assert stretto.HMatrix(points, "matern:length=0.3,nugget=0.1").solve(np.ones(N)).converged


def test_what_it_tells(points):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    K = stretto.HMatrix(points, f"gaussian:length={LENGTH},nugget={NUGGET}", leaf=16)
    covered = np.zeros((N, N), int)
    for row, rows, column, columns, rank in K.blocks():
        assert -1 <= rank <= min(rows, columns)
        covered[row:row + rows, column:column + columns] += 1
    assert (covered == 1).all()
    assert K.statistics["low_rank_blocks"] > 0 and K.nbytes < 8 * N * N and sorted(K.order) == list(range(N))
    ax = K.plot()
    assert len(ax.collections[0].get_paths()) == len(K.blocks()) and "700" in repr(K) and "mean rank" in K._repr_html_()


def test_progress_is_told(points, capsys):
    told = []
    stretto.HMatrix(points, gaussian, progress=told.append)
    assert told == sorted(told) and told[-1] <= 1
    stretto.HMatrix(points, gaussian, positive_definite=True, nugget=NUGGET, progress=True).solve(np.ones(N), progress=True)


def test_a_coarse_matrix_is_found_out():
    points = np.random.default_rng(1).random((301, 2))
    K = stretto.HMatrix(points, "matern:length=0.3,nu=3/2,nugget=1e-4", epsilon=1e-3, leaf=16, precond="none")
    r = K.solve(np.random.default_rng(2).random(301), rtol=1e-3, method="cg")
    assert not r.converged and r.next[0]["call"].startswith("stretto.HMatrix(points, kernel, epsilon=")


def test_what_is_refused(points):
    def mine(x, y):
        raise KeyError("mine")
    for call, error, words in (
            (lambda: stretto.HMatrix(points, "gauss"), stretto.InputError, "gaussian"),
            (lambda: stretto.HMatrix(points, 3), TypeError, "kernel is int"),
            (lambda: stretto.HMatrix(np.ones((5, 4)), gaussian), ValueError, "one to three coordinates"),
            (lambda: stretto.HMatrix(points, mine), KeyError, "mine"),
            (lambda: stretto.HMatrix(points, lambda x, y: np.ones((1, 2))), ValueError, r"returned an array of shape \(1, 2\)"),
            (lambda: stretto.HMatrix(points, lambda x, y: None), TypeError, "what the kernel returned is no array"),
            (lambda: stretto.HMatrix(points, lambda x, y: 1j * gaussian(x, y), positive_definite=True), TypeError, "for kernels of real numbers"),
            (lambda: stretto.HMatrix(points, lambda x, y: 1j * gaussian(x, y)).solve(np.ones(3)), ValueError, "b has 3 rows"),
            (lambda: stretto.HMatrix(points, gaussian).solve(1j * np.ones(N)), TypeError, "complex numbers are for"),
            (lambda: stretto.HMatrix(points, lambda x, y: x[:, :1] * gaussian(x, y)), ValueError, "not symmetric.*symmetric=False"),
            (lambda: stretto.HMatrix(points, lambda x, y: np.full((len(x), len(y)), np.nan)), stretto.InputError, "nan at points"),
            (lambda: stretto.HMatrix(points, gaussian, epsilon=3), stretto.InputError, "epsilon"),
            (lambda: stretto.HMatrix(points, "gaussian:length=1", nugget=1), TypeError, "nugget=1"),
            (lambda: stretto.HMatrix(points, gaussian, precond="ilu0"), stretto.InputError, "ilu0"),
            (lambda: stretto.HMatrix(points, gaussian).solve(np.ones(N - 1)), ValueError, "699 rows"),
            (lambda: bem.problem("ball"), stretto.InputError, "ball"),
            (lambda: bem.conductors(np.eye(3), np.array([[0, 1, 2]])), stretto.InputError, "the mesh"),
            (lambda: bem.conductors(np.eye(3)), TypeError, "triangles is missing"),
            (lambda: bem.solve("sphere:n=100", testing="points"), ValueError, "galerkin")):
        with pytest.raises(error, match=words):
            call()


@pytest.mark.parametrize("testing", ["collocation", "galerkin"])
def test_a_sphere(testing, tmp_path):
    r = bem.solve("sphere:n=1000", testing=testing)
    assert r.converged and abs(r.capacitance - 1) < 0.01 and abs(r.charges["total"] - 1) < 0.01 and len(r.x) == len(r.conductors.triangles)
    r.write(tmp_path / "sphere.vtu")
    r.write(tmp_path / "sphere.svg")
    assert "VTKFile" in (tmp_path / "sphere.vtu").read_text() and "<svg" in (tmp_path / "sphere.svg").read_text()
    assert "<svg" in r._repr_html_()
    with pytest.raises(ValueError, match=".vtu or .svg"):
        r.write("sphere.png")


def test_meshes(tmp_path):
    ball = bem.problem("sphere:n=320")
    away = np.concatenate([ball.vertices, ball.vertices + [5, 0, 0]])
    both = bem.conductors(away, np.concatenate([ball.triangles, ball.triangles + len(ball.vertices)]), potential=[1, -1])
    assert list(np.bincount(both.surface)) == [320, 320]
    r = bem.solve(both)
    first, second = r.charges["by_surface"]
    assert r.converged and abs(first + second) < 1e-4 and 1.1 < first < 1.4  # more than alone
    with pytest.raises(stretto.InputError, match="2 closed surfaces, and 3 potentials"):
        bem.conductors(both.vertices, both.triangles, potential=[1, 2, 3])
    file = tmp_path / "ball.off"
    file.write_text(f"OFF\n{len(ball.vertices)} {len(ball.triangles)} 0\n" + "".join(f"{x} {y} {z}\n" for x, y, z in ball.vertices)
                    + "".join(f"3 {a} {b} {c}\n" for a, b, c in ball.triangles))
    assert abs(bem.solve(bem.conductors(file, potential=2.0)).charges["total"] - 2) < 0.05
    meshio = pytest.importorskip("meshio")
    found = bem.conductors(meshio.Mesh(ball.vertices, [("triangle", ball.triangles)]))
    assert abs(bem.solve(found).capacitance - 1) < 0.02


def mie(k, cosines, radius=1.0):
    """u∞ of a sound-soft sphere."""
    from scipy.special import eval_legendre, spherical_jn, spherical_yn
    order = np.arange(int(k * radius) + 25)
    j, y = spherical_jn(order, k * radius), spherical_yn(order, k * radius)
    return 1j / k * ((2 * order + 1) * j / (j + 1j * y) * eval_legendre(order, np.asarray(cosines)[:, None])).sum(axis=1)


@pytest.mark.parametrize("layer", ["combined", "single"])
def test_a_scattered_wave(layer, tmp_path):
    r = bem.scatter("sphere:n=1280", 3.0, layer=layer, direction=(0, 3, 0))
    assert r.converged and r.x.dtype == np.complex128 and r.sphere_error < 0.02
    directions = np.array([[0, 1, 0], [0, -1, 0], [1, 0, 0], [0.6, 0.8, 0]])
    truth = mie(3.0, directions[:, 1])
    assert np.abs(r.far_field(directions) - truth).max() < 0.03 * np.abs(truth).max()
    assert abs(r.forward - truth[0]) < 0.03 * abs(truth[0]) and abs(r.extinction / r.cross_section - 1) < 0.02
    # On the surface the whole wave vanishes; far away it is what the far field says.
    near = r.field(1.02 * directions)
    assert np.abs(near).max() < 0.25
    there = r.field(1e4 * directions)
    wave = np.exp(3j * 1e4 * directions[:, 1])
    assert np.allclose(there - wave, np.exp(3e4j) / 1e4 * r.far_field(directions), rtol=1e-2, atol=1e-7)
    r.write(str(tmp_path / "wave.vtu"))
    assert "imaginary part" in (tmp_path / "wave.vtu").read_text()
    two = bem.scatter(bem.problem("two_spheres:n=640,distance=3"), 2, precond="none", method="bicgstab")
    assert two.converged and two.sphere_error is None
    two.write(str(tmp_path / "two.svg"))
    assert (tmp_path / "two.svg").read_text().startswith("<svg")
    for call, error, words in (
            (lambda: bem.scatter("sphere:n=80", -1), stretto.InputError, "wave number -1: a number above 0"),
            (lambda: bem.scatter("sphere:n=80", 100), stretto.InputError, "wave lengths; a quarter is needed"),
            (lambda: bem.scatter("sphere:n=80", 1, direction=(0, 0, 0)), stretto.InputError, "of the wave is none"),
            (lambda: bem.scatter("sphere:n=80", 1, layer="double"), ValueError, "combined"),
            (lambda: bem.scatter("sphere:n=80", 1, method="cg"), stretto.InputError, "cg needs")):
        with pytest.raises(error, match=words):
            call()
