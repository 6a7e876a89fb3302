# SPDX-License-Identifier: BSD-3-Clause
"""The examples of the documentation run."""

import doctest
import importlib
import pathlib
import pkgutil

import pytest

import stretto

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["stretto", *(f"stretto.{m.name}" for m in pkgutil.iter_modules(stretto.__path__)
                                                if m.name not in ("_core", "__main__"))])
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_page():
    found = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert found.failed == 0 and found.attempted > 10


def test_all_that_is_public_is_documented():
    for name in stretto.__all__:
        assert getattr(stretto, name).__doc__, name
