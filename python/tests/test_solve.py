# SPDX-License-Identifier: BSD-3-Clause
"""stretto.solve, Matrix, Solver, Result."""

import copy
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import indefinite, residual, spd, unsymmetric
from scipy.sparse.linalg import aslinearoperator

import stretto


@pytest.mark.parametrize("make", [spd, unsymmetric])
def test_auto(make, rng):
    A = make()
    b = rng.standard_normal(A.shape[0])
    r = stretto.solve(A, b)
    assert r.converged and r.status == "converged" and r.info == 0 and residual(A, r.x, b) <= 1e-8 and r.residual <= 1e-8


@pytest.mark.parametrize("method", ["refine:inner=cg", "gmres:basis=single"])
def test_single_precision_is_verified_in_double(method, rng):
    A = spd()
    b = rng.standard_normal(A.shape[0])
    for M in ("jacobi:precision=single", lambda r: r / 4):
        r = stretto.solve(A, b, method=method, M=M, rtol=1e-12)
        assert r.converged and residual(A, r.x, b) <= 1.0001e-12


def test_arrays_of_the_caller_are_not_copied():
    A = sp.csr_matrix(spd())
    from stretto._arrays import rows_of
    start, places, values = rows_of(A)
    assert start is A.indptr and places is A.indices and values is A.data


def test_a_result_tells():
    A = spd()
    r = stretto.solve(A, np.ones((289, 2)), method="pipelined_cg", precond="jacobi", history=True, true_history=True)
    assert len(r.columns) == 2 and r.columns[0]["status"] == "converged"
    assert r.per_iteration["reductions"] == 1 and r.total["applies"] > r.iterations and r.next == [] and r.events == []
    assert r.history.shape == r.true_history.shape == (r.iterations, 2)
    assert np.allclose(r.history, r.true_history, rtol=1e-3)
    assert r.history[-1].max() <= 1e-8 and "converged" in repr(r) and "converged" in r._repr_html_()
    assert json.dumps(r.details)
    with pytest.raises(AttributeError):
        r.nothing


def test_a_result_is_kept_and_copied():
    r = stretto.solve(spd(), np.ones(289), method="cg", precond="none", maxiter=3, history=True)
    for other in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r)):
        assert np.array_equal(other.x, r.x) and np.array_equal(other.history, r.history)
        assert (other.status, other.iterations, other.events, other.next) == (r.status, r.iterations, r.events, r.next)
    assert {"events", "per_iteration", "next", "x"} <= set(dir(r))


def test_what_to_do_next():
    r = stretto.solve(indefinite(), np.ones(289), method="cg", precond="none")
    assert not r.converged and r.status == "indefinite_matrix" and r.info < 0
    step = next(step for step in r.next if step["method"] == "minres")
    assert step["call"].startswith("stretto.solve(A, b, method='minres', precond='jacobi'") and step["why"]


def test_plot():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    A = spd()
    ax = stretto.solve(A, np.ones(289), method="cg", precond="none", history=True).plot()
    assert ax.get_yscale() == "log" and len(ax.lines[0].get_ydata()) > 1
    assert stretto.solve(A, np.ones(289), method="cg", history=True).plot() is not ax  # on axes of its own
    with pytest.raises(ValueError, match="history=True"):
        stretto.solve(A, np.ones(289), method="cg").plot()


def test_timeline():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    A = stretto.problem("poisson2d:40")
    for method in ("pipelined_cg", "bicgstab", "gmres"):
        r = stretto.solve(A, np.ones(1600), method=method, precond="jacobi", timeline=True)
        ax = plt.figure().gca()
        assert len(r.timeline(ax).patches) > 3 and "computing" in [label.get_text() for label in ax.get_yticklabels()]
    with pytest.raises(ValueError, match="timeline=True"):
        stretto.solve(A, np.ones(1600), method="cg").timeline()


def test_progress(capsys, monkeypatch):
    A, b = spd(), np.ones(289)
    assert stretto.solve(A, b, method="cg", progress=True).converged
    told = []
    assert stretto.solve(A, b, method="cg", precond="none", progress=True, callback=told.append).iterations + 1 == len(told)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # as where it is not installed
    assert stretto.solve(A, b, method="cg", progress=True).converged
    assert stretto.solve(lambda v: A @ v, b, method="cg", progress=True).converged


def test_advice():
    advice = stretto.advise(unsymmetric(), np.ones(289))
    assert {"none", "block_jacobi:ilu0"} <= {row["precond"] for row in advice} and "symmetric" in repr(advice) + advice._repr_html_()
    seconds = [row["seconds"] for row in advice if not row["ended"]]
    assert seconds == sorted(seconds) and advice[0]["call"].startswith("stretto.solve(A, b, method=")


@pytest.mark.parametrize("name", ["jacobi", "block_jacobi:ic0", "auto", "none"])
def test_preconditioners_for_others(name, rng):
    import scipy.sparse.linalg as theirs
    A = spd()
    b = rng.standard_normal(289)
    M = stretto.Preconditioner(A, name)
    x, info = theirs.cg(A, b, M=M, atol=0)
    assert info == 0 and residual(A, x, b) <= 2e-5
    assert np.allclose(M @ np.eye(289), (M.T @ np.eye(289)).T) and M.symmetric and not M.varies
    for method in ("cg", "pipelined_cg", "gmres"):
        assert stretto.solve(A, b, method=method, M=M).converged
    before, kept = M @ b, name == "none" or (name == "auto" and "--precond none" in M.matrix.choice[0])
    M.update_values(2 * A)
    assert np.allclose(M @ b, before if kept else before / 2)
    assert np.allclose(stretto.Preconditioner(-A, "jacobi") @ b, -b / A.diagonal())


def test_triplets(rng):
    A = unsymmetric().tocoo()
    order = rng.permutation(A.nnz)
    i, j, v = (np.concatenate([part, part])[np.r_[order, order + A.nnz]] for part in (A.row, A.col, A.data / 2))
    M = stretto.Matrix.from_triplets(i, j, v, 289, precond="jacobi")
    b = rng.standard_normal(289)
    assert M.rows == range(289) and np.allclose(M @ b, A @ b) and residual(A, M.solve(b, method="bicgstab").x, b) <= 1e-8
    for bad, error in ((lambda: stretto.Matrix.from_triplets([0], [3], [1.0], 2), stretto.InputError),
                       (lambda: stretto.Matrix.from_triplets([0.5], [0], [1.0], 2), TypeError),
                       (lambda: stretto.Matrix.from_triplets([0], [0, 1], [1.0], 2), ValueError)):
        with pytest.raises(error):
            bad()


def test_where_it_runs(rng):
    A, b = stretto.problem("poisson2d:30"), rng.standard_normal(900)
    for options, what in (({"device": "emulated"}, "emulated"), ({"execution": "tasks:communication=main"}, "tasks")):
        r = stretto.solve(A, b, method="pipelined_cg", precond="jacobi", **options)
        assert r.converged and residual(A, r.x, b) <= 1e-8 and r.details["device"] == what
    with pytest.raises(stretto.InputError, match="'abacus': device='cpu', device='cuda' or device='emulated'"):
        stretto.solve(A, b, device="abacus")
    with pytest.raises(stretto.InputError, match="name method and preconditioner, for example method='cg' precond='jacobi'"):
        stretto.solve(A, b, execution="tasks")


@pytest.mark.parametrize("values", ["rows that repeat", "values of their own"])
def test_memory_of_a_matrix(values):
    """SciPy's arrays, of 10⁷ nonzeros, are not copied: there is only what products read instead of them, which is less."""
    program = """if 1:
        import ctypes, sys, numpy as np, stretto
        stretto.solve(stretto.problem("poisson2d:9"), np.ones(81))
        def memory(what):
            with open("/proc/self/status") as file:
                return next(1024 * int(line.split()[1]) for line in file if line.startswith(what))
        A = stretto.problem("poisson3d:113")
        if sys.argv[1] == "values of their own":
            np.multiply(A.data, np.random.default_rng(1).random(A.nnz), out=A.data)
        assert A.nnz > 10**7
        size = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
        ctypes.CDLL(None).malloc_trim(0)  # what making A has left
        before = memory("VmRSS")
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        matrix = stretto.Matrix(A)
        print((memory("VmRSS") - before) / size, (memory("VmHWM") - before) / size)
        """
    run = subprocess.run([sys.executable, "-c", program, values], capture_output=True, text=True, timeout=120, env=dict(os.environ))
    if "PermissionError" in run.stderr:
        pytest.skip("this system does not reset what it counts")
    assert run.returncode == 0, run.stderr
    after, most = map(float, run.stdout.split())
    kept, made = (0.8, 1.2) if values == "values of their own" else (0.05, 0.2)
    assert after < kept and most < made


def test_a_solver_solves_again(rng):
    A = spd()
    solver = stretto.Solver(A, "deep_pipelined_cg:l=2", precond="jacobi", columns=2, rtol=1e-9)
    for _ in range(3):
        B = rng.standard_normal((289, 2))
        r = solver.solve(B)
        assert r.converged and residual(A, r.x, B) <= 1e-9
    solver.update_values(2 * A)
    r = solver.solve(B, r.x / 2)
    assert r.converged and r.iterations <= 1 and residual(2 * A, r.x, B) <= 1e-9
    with pytest.raises(ValueError, match="made for 2"):
        solver.solve(B[:, 0])


def test_transposed(rng):
    A = unsymmetric()
    b = rng.standard_normal(289)
    r = stretto.Solver(A, "bicgstab").solve(b, transposed=True)
    assert r.converged and residual(A.T, r.x, b) <= 1e-8


@pytest.mark.parametrize("sign", [1, -1])
def test_a_matrix_multiplies(sign, rng):
    A = sign * spd()
    M = stretto.Matrix(A)
    X = rng.standard_normal((289, 3))
    assert M.shape == (289, 289) and np.allclose(M @ X, A @ X) and np.allclose(M @ X[:, 0], A @ X[:, 0])
    assert any("symmetric" in line for line in M.structure) and "289 of 289 rows" in repr(M) and "--method" in M.choice[0]
    r = stretto.solve(M, X, method="cg", M=lambda v: v / A.diagonal())
    assert r.converged == (sign == 1)


def test_what_is_refused():
    A, b = spd(), np.ones(289)
    for call, error, words in (
            (lambda: stretto.solve(A, b[:-1]), ValueError, "b has 288 rows, the matrix has 289"),
            (lambda: stretto.solve(A, b, x0=np.ones((289, 2))), ValueError, "x0 has 2 columns, b has 1"),
            (lambda: stretto.solve(stretto.Matrix(A), 1j * b), TypeError, "complex numbers are for what is made of complex ones"),
            (lambda: stretto.Preconditioner(A, "jacobi") @ (1j * b), TypeError, r"complex numbers are for .* Matrix\(A.astype\(complex\)\)"),
            (lambda: stretto.Solver(aslinearoperator(A)), TypeError, "has products and no entries: stretto.solve takes it"),
            (lambda: stretto.solve(lambda v: A @ v, b, method="improved_bicgstab"), stretto.InputError, "in Python rmatvec"),
            (lambda: stretto.advise(A.astype(complex)), TypeError, "advice is for real matrices"),
            (lambda: stretto.solve(A[:-1], b), ValueError, "288 × 289"),
            (lambda: stretto.solve(A, b, method="gc"), stretto.InputError, "there is no method 'gc'"),
            (lambda: stretto.solve(A, b, precond="ilu"), stretto.InputError, "ilu"),
            (lambda: stretto.solve(A, b, nothing=1), TypeError, "there is no option 'nothing'"),
            (lambda: stretto.solve(A, b, M=A, precond="jacobi"), TypeError, "one preconditioner"),
            (lambda: stretto.solve(aslinearoperator(A), b, precond="jacobi"), TypeError, "A is an operator"),
            (lambda: stretto.solve(A, b, rtol="1e-8"), TypeError, "rtol='1e-8': a number is wanted"),
            (lambda: stretto.solve(A, b, maxiter=10.5), TypeError, "maxiter=10.5: a whole number"),
            (lambda: stretto.solve(A, b, history="yes"), TypeError, "history='yes': True or False"),
            (lambda: stretto.solve(A, b, method=3), TypeError, "method=3: a string"),
            (lambda: stretto.solve(A, b, threads=-1), TypeError, "threads=-1: a number of threads"),
            (lambda: stretto.solve(A, ["a"] * 289), TypeError, "b is no array of real numbers"),
            (lambda: stretto.solve(A, sp.csr_matrix(b)), TypeError, "b is a sparse matrix"),
            (lambda: stretto.solve(A, np.ones((289, 0))), ValueError, "b has no columns"),
            (lambda: stretto.solve(A, b, M=sp.eye(5)), ValueError, r"M has the shape \(5, 5\)"),
            (lambda: stretto.solve(lambda v: v[:3], b), ValueError, r"A returned an array of shape \(3,\)"),
            (lambda: stretto.solve(lambda v: None, b), TypeError, "what A returned is no array"),
            (lambda: stretto.solve(lambda v: 1j * v, b), TypeError, "what A returned has numbers of type complex"),
            (lambda: stretto.solve(stretto.Matrix(A), b, M=A.astype(complex)), TypeError, "numbers of type complex128, and A is real"),
            (lambda: stretto.solve(None, b), TypeError, "A is NoneType"),
            (lambda: stretto.gmres(A, b, restart=20), TypeError, "SciPy's restart is m here"),
            (lambda: stretto.solve(3, b), TypeError, "A is int"),
            (lambda: stretto.solve(A, b, comm=3), TypeError, "mpi4py"),
            (lambda: stretto.solve(unsymmetric(), b, method="cg"), stretto.InputError, "symmetric")):
        with pytest.raises(error, match=words):
            call()


def test_small_and_plain():
    """Lists, no rows at all, functions that return columns."""
    assert np.allclose(stretto.cg([[2.0, 0.0], [0.0, 4.0]], [2.0, 4.0])[0], 1)
    assert np.allclose(stretto.Matrix([[2.0, 0.0], [0.0, 4.0]]).solve([2.0, 4.0]).x, 1)
    assert stretto.solve(sp.csr_matrix((0, 0)), np.ones(0)).x.shape == (0,)
    assert np.allclose(stretto.cg(lambda v: 2 * v.reshape(-1, 1), np.ones(3))[0], 0.5)


def test_errors_in_callbacks_come_out():
    def broken(v):
        raise KeyError("mine")
    for call in (lambda: stretto.solve(broken, np.ones(5), method="cg"),
                 lambda: stretto.solve(spd(), np.ones(289), method="cg", M=broken),
                 lambda: stretto.solve(spd(), np.ones(289), method="cg", callback=broken)):
        with pytest.raises(KeyError, match="mine"):
            call()


def test_ctrl_c_returns_what_there_is():
    A = stretto.problem("poisson2d:60")

    def slowly(v):
        time.sleep(0.02)
        return A @ v
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    r = stretto.solve(slowly, np.ones(A.shape[0]), method="cg", rtol=1e-12)
    assert r.status == "interrupted" and np.isfinite(r.x).all()


def test_the_lock_is_released():
    A = stretto.problem("poisson3d:40")
    counted = 0
    solving = threading.Thread(target=stretto.solve, args=(A, np.ones(A.shape[0])),
                               kwargs={"method": "cg", "precond": "none", "rtol": 1e-13})
    solving.start()
    while solving.is_alive():
        counted += 1
        time.sleep(1e-4)
    assert counted > 10


def test_dead_on_arrival():
    r = stretto.solve(spd(), np.full(289, np.nan), method="cg", precond="none")
    assert r.status == "not_finite" and not r.converged


def test_processes():
    pytest.importorskip("mpi4py")
    mpiexec = os.environ.get("MPIEXEC", "mpiexec")
    for ranks in (1, 2, 4):
        run = subprocess.run([mpiexec, "-n", str(ranks), sys.executable, "-m", "mpi4py", str(pathlib.Path(__file__).with_name("processes.py"))],
                             capture_output=True, text=True, timeout=120, env=dict(os.environ))  # as it was before MPI began here
        assert run.returncode == 0 and f"{ranks} processes agree" in run.stdout, run.stdout + run.stderr


def test_command_line():
    run = subprocess.run([sys.executable, "-m", "stretto", "solve", "poisson2d:10"], capture_output=True, text=True, timeout=120,
                         env=dict(os.environ))
    assert run.returncode == 0 and "converged" in run.stdout, run.stderr


def test_the_command_line_complains_in_words_of_python():
    for options, words in (({"foo": 3}, r"^predict has no option foo \(python -m stretto predict --help"),
                           ({"node": 3}, "option node: did you mean nodes?"),
                           ({"columns": "a"}, "^columns: 'a' is not a number of columns"),
                           ({"methods": ["gc"]}, "there is no method 'gc': did you mean cg?")):
        with pytest.raises(stretto.InputError, match=words) as told:
            stretto.predict("poisson2d:20", machine="cori", **options)
        assert "\n" not in str(told.value)


def test_a_simulation():
    try:
        simulated = stretto.simulate("poisson3d:16", machine="cori", nodes="1,2", method=["cg", "pipelined_cg"], dry=True)
    except stretto.InputError as error:
        assert "make simulate" in str(error)
        pytest.skip("the simulator is not built")
    assert [(at["nodes"], at["method"]) for at in simulated["points"]] == [(n, m) for n in (1, 2) for m in ("cg", "pipelined_cg")]


def test_checkpoints(tmp_path, rng):
    A = spd()
    b = rng.standard_normal((A.shape[0], 2))
    file = str(tmp_path / "state.bin")
    whole = stretto.solve(A, b, method="pipelined_cg", precond="none")
    first = stretto.solve(A, b, method="pipelined_cg", precond="none", checkpoint=f"{file},every=10it", maxiter=whole.iterations - 3)
    assert not first.converged and os.path.exists(file)
    r = stretto.solve(A, b, precond="none", resume=file)
    assert r.converged and r.method == "pipelined_cg" and r.iterations == whole.iterations and residual(A, r.x, b) <= 1e-8
    assert r.details["resumed_after"] % 10 == 0
    r = stretto.solve(A, b, resume=file)
    assert r.details["precond"] == "none" and r.iterations == whole.iterations
    r = stretto.solve(aslinearoperator(A), b, method="pipelined_cg", resume=file)
    assert r.converged and r.iterations == whole.iterations
    with pytest.raises(stretto.InputError, match="every=often"):
        stretto.solve(A, b, checkpoint=f"{file},every=often")
    with pytest.raises(stretto.InputError, match="another system"):
        stretto.solve(sp.identity(3).tocsr(), np.ones(3), resume=file)
    with pytest.raises(stretto.InputError, match="single solves"):
        stretto.Solver(A, "cg", checkpoint=file)


KILLED = """
import os, signal, sys, numpy as np, stretto
method, file, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
told = iter(range(10**9))  # of iteration 0, too
A, b = stretto.problem("poisson2d:60"), np.random.default_rng(1).standard_normal(3600)
stretto.solve(A, b, method=method, precond="none", checkpoint=f"{file},every=10it",
              callback=lambda residual: os.kill(os.getpid(), signal.SIGKILL) if next(told) == last else None)
"""


@pytest.mark.parametrize("method", ["cg", "pipelined_cg", "minres", "bicgstab"])
def test_a_kill_loses_the_iterations_since_alone(tmp_path, method):
    A, b, file = stretto.problem("poisson2d:60"), np.random.default_rng(1).standard_normal(3600), str(tmp_path / "state.bin")
    whole = stretto.solve(A, b, method=method, precond="none")
    for last in np.random.default_rng().integers(20, whole.iterations - 1, 2):
        assert subprocess.run([sys.executable, "-c", KILLED, method, file, str(last)], check=False).returncode == -signal.SIGKILL
        r = stretto.solve(A, b, precond="none", resume=file)
        broke = method == "bicgstab" and whole.details["events"]  # it goes on by what was gained since it was resumed
        assert r.converged and (broke or r.iterations == whole.iterations), (method, last)
        assert last - 12 <= r.details["resumed_after"] <= last, (method, last)


def test_the_same_bits(rng):
    A = stretto.problem("jump3d:20")  # large enough for its vectors to be shared by threads
    b = rng.standard_normal((A.shape[0], 2))
    for method, precond in (("pipelined_cg", "jacobi"), ("cg", "chebyshev")):
        r = [stretto.solve(A, b, method=method, precond=precond, reproducible=True, threads=threads) for threads in (1, 2, 3)]
        assert all(each.converged and (each.x == r[0].x).all() and each.residual == r[0].residual for each in r)
        assert r[0].details["reproducible"]
    other = [stretto.solve(A, b, method="cg", precond="jacobi", threads=threads).x for threads in (1, 2)]
    assert (other[0] != other[1]).any()
    M = stretto.Matrix(A, precond="jacobi", reproducible=True)
    assert (M.solve(b, method="cg").x == stretto.solve(A, b, method="cg", precond="jacobi", reproducible=True, threads=2).x).all()
    P = aslinearoperator(A)
    assert stretto.solve(P, b, method="cg", reproducible=True).converged
    for wrong, words in (({}, "auto chooses by times"), ({"method": "cg", "precond": "amg"}, "not reproducible"),
                         ({"precond": "jacobi"}, "say which")):
        with pytest.raises(stretto.InputError, match=words):
            stretto.solve(A, b, reproducible=True, **wrong)
    with pytest.raises(TypeError, match="where A is made"):
        stretto.solve(stretto.Matrix(A), b, reproducible=True)
