# SPDX-License-Identifier: BSD-3-Clause
"""The programs in examples/python run, and what they assert holds."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = sorted(p for p in (ROOT / "examples" / "python").glob("*.py") if p.stem != "petsc4py_poisson")  # that one is PETSc's test
NEEDS = {"first_solve": "matplotlib", "which_method": "matplotlib", "kernel_regression": "matplotlib", "numba_kernel": "numba",
         "pyamg_preconditioner": "pyamg", "jax_solve": "jax", "torch_solve": "torch"}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_example(program):
    if program.stem in NEEDS:
        pytest.importorskip(NEEDS[program.stem])
    run = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300,
                         env=dict(os.environ) | {"MPLBACKEND": "Agg"})
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("program", [p for p in PROGRAMS if "# %%" in p.read_text()], ids=lambda p: p.stem)
def test_a_notebook_can_be_made(program):
    jupytext = pytest.importorskip("jupytext")
    cells = jupytext.read(program).cells
    assert sum(cell.cell_type == "code" for cell in cells) >= 5 and sum(cell.cell_type == "markdown" for cell in cells) >= 5
