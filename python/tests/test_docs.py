# SPDX-License-Identifier: BSD-3-Clause
"""The examples of the documentation run."""

import ast
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import sys

import pytest

import stretto

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["stretto", *(f"stretto.{m.name}" for m in pkgutil.iter_modules(stretto.__path__)
                                                if m.name not in ("_core", "__main__"))])
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


PAGES = {str(page.relative_to(ROOT)): page.read_text().count("\n>>> ") for page in sorted((ROOT / "docs").rglob("*.md"))}


@pytest.mark.parametrize("page", [page for page, examples in PAGES.items() if examples])
def test_pages(page):
    found = doctest.testfile(str(ROOT / page), module_relative=False)
    assert found.failed == 0 and found.attempted == PAGES[page]


def test_stubs_have_the_signatures():
    tree = ast.parse(pathlib.Path(stretto.__file__).parent.joinpath("_functions.pyi").read_text())
    typed = {node.name: [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)] for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert typed == {row["name"]: list(inspect.signature(getattr(stretto, row["name"])).parameters) for row in stretto.methods()}


def test_a_type_checker_reads_them(tmp_path, monkeypatch):
    """What is right passes, what is wrong is found, in a user's program."""
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text("""import numpy as np
from numpy.typing import NDArray
import stretto

A = stretto.problem("poisson2d:5")
x, info = stretto.deep_pipelined_cg(A, np.ones(25), l=2, M="jacobi", callback=lambda residual: residual > 0.1)
vector: NDArray[np.float64] = x
r = stretto.solve(A, [1.0] * 25, method="cg", maxiter=3)
steps: list[dict] = r.next
K: stretto.HMatrix = stretto.HMatrix(np.ones((3, 2)), "gaussian")
stretto.cg(A, np.ones(25), l=2)
stretto.s_step_cg(A, np.ones(25), refuge=3)
stretto.solve(A)
stretto.nothing
stretto.solve(A, np.ones(25), rtol="1e-8")
right: tuple[bool, float, int] = r.converged, r.residual, r.iterations
r.nothing
""")
    package = str(pathlib.Path(stretto.__file__).parents[1])
    monkeypatch.setenv("MYPYPATH", package)
    found, trouble, _ = api.run(["--ignore-missing-imports", "--follow-imports=silent", f"--cache-dir={tmp_path}", "--python-executable",
                                 sys.executable, str(program)])
    wrong = sorted({int(line.split(":")[1]) for line in found.splitlines() if ": error:" in line})
    assert not trouble and wrong == [11, 12, 13, 14, 15, 17], found


def test_all_that_is_public_is_documented():
    for name in stretto.__all__:
        assert getattr(stretto, name).__doc__, name
