# SPDX-License-Identifier: BSD-3-Clause
"""Which levels of multigrid pay, in two dimensions and in three, and what threads of a rank do for incomplete factors?"""

import re
from itertools import product

from . import machine
from .text import bold, points, table

RTOL, MAX_IT = 1e-8, 5000
COARSEN, STRONG, AGGRESSIVE, PER_ROW = ("pmis", "hmis"), (0.25, 0.5, 0.7), (0, 1, 2), (0, 4, 8)
# All of three options with four entries a row, and other numbers of these with what is used unasked.
GRID = [*product(COARSEN, STRONG, AGGRESSIVE, (4,)), *product(COARSEN, (0.5,), (1,), (0, 8))]
LEVELS = ("poisson2d:1000", "poisson3d:100", "jump3d:100", "elasticity3d:36")
BEST = 6  # rows of a problem that are shown, beside what is used unasked
FACTORS = ("jump3d:128", "poisson3d:128")
# (ranks, threads of each, blocks of each)
DEALT = ((1, 1, 1), (1, 2, 1), (1, 2, 2), (2, 1, 1))
OPTIONS = ("block_jacobi:ilu0", "block_jacobi:ilu0,precision=single")


def options(parser):
    parser.add_argument("--ranks", type=int, default=2, help="for multigrid")
    parser.add_argument("--rounds", type=int, default=3)


def median_run(study, problem, ranks, precond, **more):
    """The run of median time, set-up and solve together."""
    runs = [study.stretto.solve(problem, ["cg"], ranks, rhs="A*ones", precond=precond, rtol=RTOL, max_it=MAX_IT, **more)[0]
            for _ in range(study.options.rounds)]
    found = sorted(runs, key=lambda each: each["seconds"]["precond_setup"] + each["seconds"]["solve"])[len(runs) // 2]
    said = " ".join(found["remarks"])
    complexity = re.search(r"operator complexity ([\d.]+)", said)
    return {"iterations": found["iterations"], "solved": found["converged"], "setup": found["seconds"]["precond_setup"],
            "solve": found["seconds"]["solve"], "megabytes": found["precond_bytes"] / 1e6,
            "complexity": float(complexity[1]) if complexity else None}


def measure_levels(study):
    records = []
    for problem in ["poisson2d:60"] if study.options.quick else LEVELS:
        for coarsen, strong, aggressive, per_row in GRID[:2] if study.options.quick else GRID:
            precond = f"amg:coarsen={coarsen},strong={strong},aggressive={aggressive},per_row={per_row}"
            records.append({"problem": problem, "coarsen": coarsen, "strong": strong, "aggressive": aggressive, "per_row": per_row,
                            **median_run(study, problem, study.options.ranks, precond)})
        records.append({"problem": problem, "unasked": True, **median_run(study, problem, study.options.ranks, "amg")})
        study.say(problem)
    return {"ranks": study.options.ranks, "records": records}


def measure_factors(study):
    records = []
    for problem in ["jump3d:20"] if study.options.quick else FACTORS:
        for precond in OPTIONS:
            for ranks, threads, blocks in DEALT:
                records.append({"problem": problem, "precond": precond, "ranks": ranks, "threads": threads, "blocks": blocks,
                                **median_run(study, problem, ranks, f"{precond},blocks={blocks}", threads=threads)})
        study.say(problem)
    return {"records": records}


PARTS = {"levels": measure_levels, "factors": measure_factors}


# What follows reads the data alone.

def seconds(each):
    return each["setup"] + each["solve"]


RESULT = {"iterations": "{iterations}", "set-up, s": "{setup:.2f}", "solve, s": "{solve:.2f}",
          "together, s": lambda row: f"{seconds(row):.2f}" if row["solved"] else bold("not solved"), "MB": "{megabytes:.0f}"}


def levels_of(records, problem):
    """The best rows of a problem, and what is used unasked."""
    asked = sorted((row for row in records if row["problem"] == problem and "unasked" not in row and row["solved"]), key=seconds)
    unasked = [row for row in records if row["problem"] == problem and "unasked" in row]
    return asked[:BEST], unasked


def levels(records):
    rows = []
    for problem in dict.fromkeys(row["problem"] for row in records):
        best, unasked = levels_of(records, problem)
        rows += [{**row, "kind": "best" if not k else ""} for k, row in enumerate(best)]
        rows += [{**row, "kind": "unasked", "coarsen": "auto", "strong": 0.5, "aggressive": 1, "per_row": 4} for row in unasked]
    return table(rows, {"problem": "{problem}", "": "{kind}", "`coarsen`": "{coarsen}", "`strong`": "{strong}",
                        "`aggressive`": "{aggressive}", "`per_row`": "{per_row}", "operator complexity": "{complexity:.2f}", **RESULT})


def told(records):
    """What the levels used unasked take beside the best of the grid."""
    for problem in dict.fromkeys(row["problem"] for row in records):
        best, unasked = levels_of(records, problem)
        if best and unasked:
            asked = [row for row in records if row["problem"] == problem and "unasked" not in row]
            worst = max((seconds(row) for row in asked if row["solved"]), default=0)
            yield (f"**{problem}**: what is used unasked takes {seconds(unasked[0]) / seconds(best[0]):.2f} of the best of {len(asked)}, "
                   f"the slowest of them {worst / seconds(best[0]):.1f}.")


def factors(records):
    return table(records, {"problem": "{problem}", "preconditioner": "`{precond}`", "ranks": "{ranks}", "threads": "{threads}",
                           "`blocks`": "{blocks}", **RESULT})


def report(data):
    either = {name: data.get(name, {"records": []}) for name in PARTS}
    facts = {f"{name} facts": machine.line(part["facts"]) if "facts" in part else "not yet" for name, part in either.items()}
    return {**facts, "rtol": f"{RTOL:.0e}", "ranks": f"{either['levels'].get('ranks', 2)}", "best": f"{BEST}",
            "levels": levels(either["levels"]["records"]), "told": points(told(either["levels"]["records"])),
            "factors": factors(either["factors"]["records"])}, {}
