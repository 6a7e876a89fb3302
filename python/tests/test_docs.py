# SPDX-License-Identifier: BSD-3-Clause
"""The examples of the documentation run."""

import ast
import doctest
import importlib
import inspect
import pathlib
import pkgutil

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


def test_all_that_is_public_is_documented():
    for name in stretto.__all__:
        assert getattr(stretto, name).__doc__, name
