# SPDX-License-Identifier: BSD-3-Clause
"""The command line from Python: what it says as JSON."""

import json
import os
import pathlib
import shutil
import subprocess

from ._core import InputError


def program():
    """The path of the command line, or None."""
    beside = pathlib.Path(__file__).parent / "stretto"
    return str(beside) if beside.is_file() else os.environ.get("STRETTO") or shutil.which("stretto")


def _words(options):
    for name, value in options.items():
        if value is not None and value is not False:
            yield f"--{name.replace('_', '-')}"
            if value is not True:
                yield from map(str, value) if isinstance(value, (list, tuple)) else [str(value)]


def command(name, *arguments, **options):
    """Runs ``stretto NAME ARGUMENTS --option value … --json -`` and returns what it says.

    Raises InputError with its words where it ends with 2, RuntimeError where it is not there.

    >>> import stretto
    >>> points = stretto.command("predict", "poisson2d:100", machine="cori", nodes="1..4", methods=["cg", "pipelined_cg"])["points"]
    >>> sorted({point["nodes"] for point in points})
    [1, 2, 4]
    """
    found = program()
    if not found:
        raise RuntimeError("the command line was not installed with this package: pip install . in the sources has it, or STRETTO names it")
    run = subprocess.run([found, name, *map(str, arguments), *_words(options), "--json", "-"], capture_output=True, text=True)
    if run.returncode not in (0, 1) or not run.stdout:
        raise InputError(run.stderr.strip().removeprefix("stretto: "))
    return json.loads(run.stdout)


def predict(problem, **options):
    """Times of iterations on other machines, as ``stretto predict`` has them (docs/model.md): machine=, nodes=, methods=, …"""
    return command("predict", problem, **options)


def simulate(problem, **options):
    """Solves on a simulated machine, as ``stretto simulate`` has them (docs/simulation.md): machine=, nodes=, methods=, …"""
    return command("simulate", problem=problem, **options)
