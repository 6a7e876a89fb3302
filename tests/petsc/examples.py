# SPDX-License-Identifier: BSD-3-Clause
"""PETSc's own example programs: found, compiled, run with PETSc's types and with the plug-in's, and compared."""

import dataclasses
import math
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys

REASON = re.compile(r"^\s*Linear (?:(\S+) )?solve (converged|did not converge) due to (\w+)(?:[^\n]*?)iterations (\d+)",
                    re.MULTILINE)

# PETSc's types and the methods that are of their kind.
METHODS = {"cg": "cg", "gmres": "gmres", "fgmres": "gmres:flexible=1", "bcgs": "bicgstab", "fcg": "flexible_cg",
           "minres": "minres", "pipecg": "pipelined_cg", "groppcg": "pipelined_cg", "pipelcg": "deep_pipelined_cg",
           "pipebcgs": "pipelined_bicgstab", "pgmres": "pipelined_gmres", "ibcgs": "improved_bicgstab",
           "pipecr": "pipelined_cg", "cgne": "auto", "bcgsl": "bicgstab", "lgmres": "gmres", "dgmres": "gmres",
           "gcr": "gmres:flexible=1", "pipefgmres": "gmres:flexible=1", "tfqmr": "bicgstab", "cgs": "bicgstab"}


def sources():
    """The folder src of PETSc's examples, or None."""
    folders = sorted(pathlib.Path("/usr/share/petsc").glob("*/share/petsc/examples/src"))
    named = os.environ.get("PETSC_EXAMPLES")
    folder = pathlib.Path(named) if named else folders[-1] if folders else None
    return folder if folder and folder.is_dir() else None


class Missing(Exception):
    """Something that the run needs is not on this machine."""


@dataclasses.dataclass
class Outcome:
    code: int
    text: str
    reasons: list      # (prefix, converged, reason, iterations) of every solve
    solution: list     # the last vector written, or []

    def of(self, prefix):
        """With the solves of one solver alone: how often inner ones are called is up to the iterations of the outer."""
        return dataclasses.replace(self, reasons=[reason for reason in self.reasons if reason[0] == prefix])

    @property
    def converged(self):
        return [converged for _, converged, _, _ in self.reasons]

    @property
    def iterations(self):
        return [iterations for _, _, _, iterations in self.reasons]


def last_vector(path):
    """The last vector of a PETSc binary file of vectors; [] where there is none."""
    data = path.read_bytes() if path.exists() else b""
    at, values = 0, []
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(">ii", data, at)
        if kind != 1211214 or at + 8 + 8 * size > len(data):
            break
        values = struct.unpack_from(f">{size}d", data, at + 8)
        at += 8 + 8 * size
    return list(values)


def difference(one, other):
    """The distance of two vectors over the length of the second; infinite for different sizes."""
    if len(one) != len(other):
        return math.inf
    length = math.sqrt(sum(v * v for v in other))
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(one, other))) / length if length else 0.0


def flags():
    """What a compiler is to be told of Debian's PETSc."""
    def asked(*words):
        return subprocess.check_output(["pkg-config", *words, "PETSc"], text=True).strip()

    return [*shlex.split(asked("--cflags", "--libs")), "-Wl,-rpath," + asked("--variable=libdir")]


class Examples:
    """Compiles and runs examples; what is compiled stays in `folder`."""

    def __init__(self, folder, plugin, mpiexec, time_limit=120):
        self.folder = pathlib.Path(folder).absolute()
        self.plugin, self.mpiexec, self.time_limit = pathlib.Path(plugin).absolute(), mpiexec, time_limit
        self.sources = sources()
        if not self.sources:
            raise Missing("PETSc's examples are not installed (libpetsc3.18-dev-examples, or set PETSC_EXAMPLES)")

    def build(self, name):
        """The program of a source as ksp/ksp/tutorials/ex2.c; None where it does not compile."""
        source = self.sources / name
        program = self.folder / name.replace("/", "_").removesuffix(".c")
        if not program.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            made = subprocess.run(["mpicc", "-O2", "-w", str(source), "-o", str(program), *flags(), "-lm"],
                                  capture_output=True, text=True, cwd=source.parent)
            if made.returncode:
                return None
        return program

    def run(self, name, ranks, arguments):
        program = self.build(name)
        if not program:
            raise Missing(f"{name} does not compile")
        written = self.folder / "solution.bin"
        for file in (written, written.with_suffix(".bin.info")):
            file.unlink(missing_ok=True)
        command = [*shlex.split(self.mpiexec), "-n", str(ranks), str(program), *arguments]
        command = [word.replace("SOLUTION", str(written)) for word in command]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=self.time_limit,
                                  cwd=(self.sources / name).parent)
            code, text = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, text = -1, "time limit"
        reasons = [(prefix or "", verb == "converged", reason, int(iterations))
                   for prefix, verb, reason, iterations in REASON.findall(text)]
        return Outcome(code, text, reasons, last_vector(written))

    def with_plugin(self, arguments, method=None, prefix=""):
        """Arguments that load the plug-in and choose its type."""
        return [*arguments, "-dll_append", str(self.plugin), f"-{prefix}ksp_type", "stretto",
                *([f"-{prefix}ksp_stretto_method", method] if method else [])]


def type_of(arguments, prefix=""):
    """The -ksp_type among arguments, the last one."""
    chosen = "gmres"
    for word, following in zip(arguments, arguments[1:]):
        if word == f"-{prefix}ksp_type":
            chosen = following
    return chosen


def newton_converged(text):
    return [verb == "converged" for verb in re.findall(r"Nonlinear \S*\s?solve (converged|did not converge)", text)]


def complaints(stock, ours, tolerance=1e-3, nonlinear=False):
    """What is not as with PETSc's own type; [] if nothing."""
    found = []
    if ours.code != stock.code:
        found.append(f"exit code {ours.code}, PETSc's {stock.code}: {last_line(ours.text)}")
    elif nonlinear:
        if newton_converged(ours.text) != newton_converged(stock.text):
            found.append("Newton's method does not converge alike")
        elif not (distance := difference(ours.solution, stock.solution)) <= tolerance or not stock.solution:
            found.append(f"the solutions differ by {distance:.1e}")
    elif len(ours.reasons) != len(stock.reasons):
        found.append(f"{len(ours.reasons)} solves, PETSc's {len(stock.reasons)}")
    elif ours.converged != stock.converged:
        at = next(i for i, (a, b) in enumerate(zip(ours.converged, stock.converged)) if a != b)
        found.append(f"solve {at + 1}: {ours.reasons[at][2]}, PETSc's {stock.reasons[at][2]}")
    elif stock.solution and all(stock.converged):
        distance = difference(ours.solution, stock.solution)
        if not distance <= tolerance:
            found.append(f"the solutions differ by {distance:.1e}")
    return found


def last_line(text):
    errors = [line for line in text.splitlines() if "PETSC ERROR" in line and "---" not in line]
    lines = errors[:2] or [line for line in text.splitlines() if line.strip()][-1:]
    return " ".join(lines)[:160]


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("examples.py FOLDER SOURCE...: compiles examples, as snes/tutorials/ex48.c, and prints their paths")
    for each in sys.argv[2:]:
        print(Examples(sys.argv[1], None, "").build(each) or f"{each} does not compile")
