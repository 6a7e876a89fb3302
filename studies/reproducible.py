# SPDX-License-Identifier: BSD-3-Clause
"""What do the same bits on any number of ranks and threads cost? Whole solves with --reproducible beside those without, in turn."""

from statistics import geometric_mean, median

from . import machine
from .text import points, table

RTOL, MAX_IT = 1e-8, 20000
# (problem, method, preconditioner, columns)
CASES = (("poisson3d:40", "cg", "jacobi", 1), ("poisson3d:100", "cg", "jacobi", 1), ("poisson3d:100", "pipelined_cg", "jacobi", 1),
         ("poisson3d:100", "deep_pipelined_cg:l=3", "jacobi", 1), ("poisson3d:100", "cg", "chebyshev", 1), ("poisson3d:100", "cg", "jacobi", 8),
         ("jump3d:100", "cg", "jacobi", 1), ("jump3d:100", "s_step_cg", "jacobi", 1), ("convdiff3d:100", "bicgstab", "jacobi", 1),
         ("convdiff3d:100", "pipelined_bicgstab", "jacobi", 1), ("convdiff3d:100", "gmres", "jacobi", 1), ("jump2d:500", "minres", "jacobi", 1))
KINDS = {"usual": {}, "reproducible": {"reproducible": True}}


def options(parser):
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)


def measure(study):
    a = study.options
    study.data |= {"facts": study.facts(), "ranks": a.ranks, "rounds": a.rounds, "records": []}
    for problem, method, precond, columns in CASES[:1] if a.quick else CASES:
        found = {kind: [] for kind in KINDS}
        for _ in range(1 if a.quick else a.rounds):
            for kind, words in KINDS.items():
                found[kind] += study.stretto.solve(problem, [method], a.ranks, rhs="random", columns=columns, precond=precond, rtol=RTOL,
                                                   max_it=MAX_IT, **words)
        study.data["records"].append({
            "problem": problem, "method": method, "precond": precond, "columns": columns,
            **{kind: {"iterations": runs[0]["iterations"], "converged": runs[0]["converged"],
                      "same": len({(run["iterations"], run["relative_residual"]) for run in runs}) == 1,
                      "seconds": median(run["seconds"]["solve"] for run in runs)} for kind, runs in found.items()}})
        study.save()
        study.say(f"{problem}, {method}")


# What follows reads the data alone.

def price(row):
    """Of an iteration."""
    one, other = row["reproducible"], row["usual"]
    return one["seconds"] / one["iterations"] / (other["seconds"] / other["iterations"])


def report(data):
    records = data["records"]
    rows = [{**row, "iteration": price(row), "whole": row["reproducible"]["seconds"] / row["usual"]["seconds"]} for row in records]
    shown = table(rows, {"problem": "{problem}", "method": "`{method}`", "preconditioner": "`{precond}`", "columns": "{columns}",
                         "iterations": "{usual[iterations]}", "iterations, reproducible": "{reproducible[iterations]}",
                         "solve, s": "{usual[seconds]:.3f}", "reproducible, s": "{reproducible[seconds]:.3f}", "whole solve": "{whole:.2f}",
                         "an iteration": "{iteration:.2f}"})
    told = [f"In the geometric mean a solve takes {geometric_mean(row['whole'] for row in rows):.2f} of the time of one without, an iteration "
            f"{geometric_mean(row['iteration'] for row in rows):.2f} (at most {max(row['iteration'] for row in rows):.2f}).",
            f"{sum(row['reproducible']['same'] for row in records)} of {len(records)} rows had the same residual, to the last digit, in all "
            f"{data['rounds']} rounds."] if rows else []
    return {"facts": machine.line(data["facts"]), "ranks": f"{data['ranks']}", "rounds": f"{data['rounds']}", "rtol": f"{RTOL:.0e}",
            "table": shown, "told": points(told)}, {}
