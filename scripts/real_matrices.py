#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solves every .mtx.gz of a folder with every method that fits, without and with Jacobi, on one to four ranks,
checks each answer without the library, and writes docs/real_matrices.md. Again, from the repository root:

    set -a; . scripts/mpi.env; set +a; python3 scripts/real_matrices.py FOLDER --stretto build/release/stretto
"""

import argparse
import functools
import gzip
import json
import math
import operator
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

RTOL, MAX_IT, TIMEOUT = 1e-8, 5000, 60
RANKS = (1, 2, 3, 4)
FOR_SYMMETRIC = ("cg", "single_reduction_cg", "pipelined_cg", "deep_pipelined_cg")
FOR_ANY = ("bicgstab", "improved_bicgstab", "reordered_bicgstab", "pipelined_bicgstab")
PRECONDITIONERS = ("none", "jacobi")

# Events in brief: what their text contains, and what the table calls them.
EVENTS = (
    ("residual replaced", "replaced"),
    ("the recursive residual passed", "passed too early"),
    ("has not halved", "stalled"),
    ("denominator vanished", "broke down"),
    ("pᵀAp ≤ 0", "(p, Ap) ≤ 0"),
    ("rᵀM⁻¹r ≤ 0", "(r, M⁻¹r) ≤ 0"),
    ("NaN or Inf", "not finite"),
    ("the basis has drifted", "drifted"),
    ("going on past", "went on leniently"),
    ("going on with", "fell back"),
)

# Why a matrix is hard, for those that some run leaves unsolved.
NOTES = {
    "bayer10": """13433 of its 13436 diagonal entries are zero, so Jacobi is nearly the identity, and the condition number is
  about 4e15. Incomplete LU with drop tolerance 1e-2 fails (an exactly zero pivot); with 1e-4 BiCGStab takes 499
  iterations.""",
    "bcsstk13": """a stiffness matrix with a condition number of about 5e10 and entries from 1e-23 to 1e12. Jacobi, which
  scales it, makes the difference.""",
    "nsjac": """the Jacobian of a Navier–Stokes problem. The largest entry of every row lies between 0.1 and 1 as it is, so
  Jacobi has little to scale. With incomplete LU, drop tolerance 1e-2, BiCGStab takes 13 iterations.""",
    "olm1000": """on the edge of what BiCGStab can do with Jacobi or nothing. With `breakdown=0` the last bits of the sums, which
  change with the number of ranks, decide which runs converge and which give up. With incomplete LU, drop tolerance 1e-2, BiCGStab takes 7
  iterations.""",
    "sherman1": """symmetric but negative definite. The CG methods say so, naming the preconditioner where Jacobi is negative
  definite with it. The BiCGStab methods need no definiteness; CG would solve −A x = −b.""",
    "sherman3": """entries from 1e-10 to 3e6. Jacobi, which scales it, makes the difference. With incomplete LU, drop tolerance
  1e-2, BiCGStab takes 21 iterations.""",
}


class Matrix:
    """A Matrix Market file, read as it is written."""

    def __init__(self, path):
        self.name = path.name.removesuffix(".mtx.gz")
        with gzip.open(path, "rt") as file:
            kind, self.symmetry = file.readline().split()[3:5]
            lines = (line for line in file if line.strip() and not line.startswith("%"))
            self.n = int(next(lines).split()[0])
            self.columns = [[] for _ in range(self.n)]
            self.values = [[] for _ in range(self.n)]
            for line in lines:
                i, j, *value = line.split()
                self.put(int(i) - 1, int(j) - 1, 1.0 if kind == "pattern" else float(value[0]))
        self.nonzeros = sum(map(len, self.values))
        diagonal = [sum(v for j, v in zip(*row) if j == i) for i, row in enumerate(zip(self.columns, self.values))]
        self.zero_diagonal = diagonal.count(0)
        # The right-hand side is A·ones. math.fsum adds without rounding in between.
        self.b = [math.fsum(row) for row in self.values]
        self.norm_b = math.hypot(*self.b)

    def put(self, i, j, value):
        self.columns[i].append(j)
        self.values[i].append(value)
        if i != j and self.symmetry in ("symmetric", "skew-symmetric"):
            self.columns[j].append(i)
            self.values[j].append(value if self.symmetry == "symmetric" else -value)

    def is_symmetric(self):
        if self.symmetry == "symmetric":
            return True
        entries = {(i, j): v for i, row in enumerate(zip(self.columns, self.values)) for j, v in zip(*row)}
        return all(entries.get((j, i)) == v for (i, j), v in entries.items())

    def residual(self, x):
        """‖b − Ax‖/‖b‖"""
        rows = zip(self.b, self.values, self.columns)
        return math.hypot(*(math.fsum([b, *(-v * x[j] for v, j in zip(vs, js))]) for b, vs, js in rows)) / self.norm_b


def solve(arguments, path, method, precond, ranks, folder):
    """The JSON of one run and its solution; None where it took too long."""
    solution = folder / f"x{ranks}.mtx"
    command = [arguments.mpirun, "-n", str(ranks), arguments.stretto, "solve", str(path), "--rhs", "A*ones"]
    command += ["--method", method, "--precond", precond, "--rtol", str(RTOL), "--max-it", str(MAX_IT)]
    command += ["--threads", "1", "--json", "-", "--solution", str(solution)]
    # Exit code 1, not converged, is no reason for Open MPI to raise an alarm.
    environment = {**os.environ, "OMPI_MCA_orte_abort_on_non_zero_status": "0"}
    try:
        run = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False, env=environment)
    except subprocess.TimeoutExpired:
        return None
    if run.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}\n{run.stderr.decode()}")
    result = json.loads(run.stdout)
    lines = [line for line in solution.read_text().splitlines() if not line.startswith("%")]
    result["x"] = [float(line) for line in lines[1:]]
    return result


def largest_difference(runs):
    """Of the solutions called converged from the first of them, over its largest value."""
    first, *others = [run["x"] for run in runs if run["converged"]]
    return max(max(map(abs, map(operator.sub, x, first))) for x in others) / max(map(abs, first))


def same_or_each(values):
    return str(values[0]) if len(set(values)) == 1 else " / ".join(map(str, values))


def brief_events(runs):
    brief = []
    for text, word in EVENTS:
        times = [sum(event["times"] for event in run["events"] if text in event["text"]) for run in runs]
        if any(times):
            brief.append(f"{word} {same_or_each(times)}")
    return ", ".join(brief) or "–"


def table_row(matrix, method, precond, runs):
    status = same_or_each([run["status"] for run in runs])
    solved = status == "converged"
    iterations = " / ".join(str(run["iterations"]) for run in runs)
    residuals = [run["recomputed"] for run in runs]
    residual = f"{max(residuals):.1e}" if solved else same_or_each([f"{r:.1e}" for r in residuals])
    several = sum(run["converged"] for run in runs) > 1
    difference = f"{largest_difference(runs):.0e}" if several else "–"
    return (f"| {matrix.name} | {method} | {precond} | {status if solved else f'**{status}**'} | {iterations} "
            f"| {residual} | {difference} | {brief_events(runs)} |")


PAGE = """# Real matrices

<!-- Written by scripts/real_matrices.py; do not edit. -->

Every method that fits, without a preconditioner and with Jacobi, on 1, 2, 3 and 4 ranks of one thread each.
b = A·ones, relative tolerance {rtol:.0e}, at most {max_it} iterations, all options at their defaults, Stretto {version}.
The CG methods get the symmetric matrices, definite or not; nobody tells them which. To write this page again, with a
folder of `.mtx.gz` files:

    set -a; . scripts/mpi.env; set +a; python3 scripts/real_matrices.py FOLDER --stretto build/release/stretto

## Summary

- **{converged} of {total} runs converged**:{counts}
- {verdict}
  The script recomputes ‖b − Ax‖/‖b‖ in Python from the file and the solution that the run wrote, every row summed without
  intermediate rounding. The largest value among the converged is {worst:.4e}. The residual reported agrees with the
  recomputed one to {agreement:.0e} or better, relatively, in all {total} runs.
- {mixed}
- Where all four converge, the CG methods differ in iterations by at most {cg_spread:.0f} % (most over fewest of the four
  rank counts), the BiCGStab methods by {median:.0f} % in the median and at most {spread:.0f} % ({spread_case}). Sums over
  other partitions round differently, and BiCGStab amplifies that.
- The solutions differ from one rank count to another by what a residual of {rtol:.0e} leaves open, which grows with the
  condition number: at most {difference:.0e} of the largest value of x ({difference_case}).

## What stays unsolved, and why

{notes}

The figures for incomplete LU are not Stretto's, which has no preconditioner stronger than Jacobi so far. They come from
SciPy 1.17 (`spilu`, SuperLU with partial pivoting, and `bicgstab`) with the same b and tolerance, and show what these
matrices need. Every unsolved run says its status, the residual it reached and, in its events, what was tried.

## Matrices

| matrix | rows | nonzeros | symmetric | zeros on the diagonal |
|---|--:|--:|---|--:|
{sizes}

They are from the SuiteSparse collection (CC BY 4.0), except wathenSmall, lsc_F_2, nsjac and teko_F_big (Trilinos, BSD)
and the two of PyAMG (MIT).

## Runs

Four values are those on 1 / 2 / 3 / 4 ranks; one value stands for four equal ones. *Residual*: ‖b − Ax‖/‖b‖ as the script
recomputes it, the largest of the four where all converged. *Difference*: the largest of the converged solutions from the
first of them, over ‖x‖∞. *Events*, with how often each happened: residual replaced; recursive residual passed too early;
not halved within `patience` (stalled); a denominator vanished or nearly so (broke
down); the basis of a deep pipeline drifted; another method took over (fell back).

| matrix | method | precond | status | iterations | residual | difference | events |
|---|---|---|---|---|---|---|---|
{rows}
"""


def spread(runs):
    iterations = [run["iterations"] for run in runs]
    return 100 * (max(iterations) / min(iterations) - 1)


def page(cases, sizes, rows):
    """The text of the page, from the runs of all cases, that is (matrix, method, preconditioner)."""
    runs = [run for case in cases.values() for run in case]
    converged = [run for run in runs if run["converged"]]
    lies = [run for run in converged if run["recomputed"] > RTOL]
    solved = {key: case for key, case in cases.items() if all(run["converged"] for run in case)}
    mixed = [key for key, case in cases.items() if len({run["converged"] for run in case}) > 1]
    other = {key: spread(case) for key, case in solved.items() if key[1] in FOR_ANY}
    worst_spread = max(other, key=other.get)
    differences = {key: largest_difference(case) for key, case in solved.items()}
    worst_difference = max(differences, key=differences.get)
    counts = {}
    for run in runs:
        done, all_of_it = counts.get((run["method"], run["precond"]), (0, 0))
        counts[run["method"], run["precond"]] = (done + run["converged"], all_of_it + 1)
    unsolved = sorted({key[0] for key, case in cases.items() if not all(run["converged"] for run in case)})
    return PAGE.format(
        rtol=RTOL,
        max_it=MAX_IT,
        version=runs[0]["stretto"],
        converged=len(converged),
        total=len(runs),
        counts="".join(f"\n  - {m}, {p}: {done} of {n}" for (m, p), (done, n) in sorted(counts.items())),
        verdict="**No run is called converged whose recomputed residual exceeds the tolerance.**" if not lies else
        f"**{len(lies)} runs are called converged although their recomputed residual exceeds the tolerance.**",
        worst=max(run["recomputed"] for run in converged),
        agreement=max(abs(run["recomputed"] / run["relative_residual"] - 1) for run in runs),
        mixed="The number of ranks decides whether it converges in: " + "; ".join(map(", ".join, mixed)) + "."
        if mixed else "In no case does the number of ranks decide whether it converges.",
        cg_spread=max(spread(case) for key, case in solved.items() if key[1] in FOR_SYMMETRIC),
        median=statistics.median(other.values()),
        spread=other[worst_spread],
        spread_case=", ".join(worst_spread),
        difference=differences[worst_difference],
        difference_case=", ".join(worst_difference),
        notes="\n".join(f"- **{name}**: {NOTES.get(name, 'no note yet.')}" for name in unsolved),
        sizes="\n".join(sizes),
        rows="\n".join(rows),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--stretto", default="build/release/stretto")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("docs/real_matrices.md"))
    parser.add_argument("--raw", type=pathlib.Path, help="also write all results to this file, as JSON")
    arguments = parser.parse_args()

    start = time.monotonic()
    cases, sizes, rows = {}, [], []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        for path in sorted(arguments.folder.glob("*.mtx.gz")):
            matrix = Matrix(path)
            symmetric = matrix.is_symmetric()
            sizes.append(f"| {matrix.name} | {matrix.n} | {matrix.nonzeros} | {'yes' if symmetric else 'no'} "
                         f"| {matrix.zero_diagonal} |")
            for method in (*FOR_SYMMETRIC, *FOR_ANY) if symmetric else FOR_ANY:
                for precond in PRECONDITIONERS:
                    one = functools.partial(solve, arguments, path, method, precond, folder=pathlib.Path(folder))
                    runs = list(pool.map(one, RANKS))
                    if None in runs:
                        rows.append(f"| {matrix.name} | {method} | {precond} | **over {TIMEOUT} s** | | | | |")
                        continue
                    for run in runs:
                        run["recomputed"] = matrix.residual(run["x"])
                    cases[matrix.name, method, precond] = runs
                    rows.append(table_row(matrix, method, precond, runs))
                    print(f"{time.monotonic() - start:6.1f} s {rows[-1]}", flush=True)
    arguments.output.write_text(page(cases, sizes, rows))
    if arguments.raw:
        runs = [{"matrix": key[0], **run} for key, case in cases.items() for run in case]
        arguments.raw.write_text(json.dumps([{**run, "x": None} for run in runs]))


if __name__ == "__main__":
    main()
