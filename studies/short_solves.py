# SPDX-License-Identifier: BSD-3-Clause
"""What does a solve of one iteration cost beside PETSc's? Inner solves, smoothers and time steps feel what a solver does
besides iterating. make bench-peers builds the drivers and calls it."""

import statistics

from . import machine, run
from .text import points, table

BUILD = "build/peers"
PROGRAMS = ("stretto", "petsc")
GOALS = {"last": 1.2, "verified": 2.0}


def options(parser):
    parser.add_argument("--problems", nargs="+", default=["poisson3d:46", "poisson3d:100", "jump3d:46", "jump3d:100"])
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=int, default=300, help="seconds for an answer")


def one(study, problem, ranks):
    """Milliseconds by program and kind of result, a value a round, in turn."""
    found = {(program, kind): [] for program in PROGRAMS for kind in GOALS}
    drivers = {program: run.Driver([study.stretto.mpiexec, "-n", ranks, study.driver(f"{program}_bench"), problem],
                                   study.options.timeout) for program in PROGRAMS}
    try:
        for _ in range(study.options.rounds):
            for (program, kind), ms in found.items():
                line = drivers[program].do(do="short", method="cg", precond="jacobi", verified=kind == "verified")
                if "ms" not in line:
                    raise run.Failed(f"{program}_bench on {problem}: {line.get('error', 'no time')}")
                ms.append(line["ms"])
        versions = {program: driver.about.get("program", "") for program, driver in drivers.items()}
        rows = drivers["stretto"].about["rows"]
    finally:
        for driver in drivers.values():
            driver.end()
    return [{"problem": problem, "rows": rows, "ranks": ranks, "program": program, "result": kind, "ms": ms,
             "version": versions[program]} for (program, kind), ms in found.items()]


def measure(study):
    a = study.options
    if a.quick:
        a.problems, a.ranks, a.rounds = ["poisson3d:20"], [1], 1
    study.data |= {"facts": study.facts(), "records": []}
    for problem in a.problems:
        for ranks in a.ranks:
            study.data["records"] += one(study, problem, ranks)
            study.save()
            study.say(f"{problem}, {ranks} ranks")


# What follows reads the data alone.

def report(data):
    cases, rows = {}, []
    for record in data["records"]:
        cases.setdefault((record["problem"], record["rows"], record["ranks"]), {})[record["program"], record["result"]] = record
    missed = []
    for (problem, count, ranks), case in cases.items():
        theirs = case["petsc", "last"]["ms"]
        ratio = {kind: statistics.median(mine / its for mine, its in zip(case["stretto", kind]["ms"], theirs)) for kind in GOALS}
        missed += [f"{problem}, {ranks} ranks, {kind}: {ratio[kind]:.2f}" for kind, goal in GOALS.items() if ratio[kind] > goal]
        rows.append({"problem": problem, "unknowns": count, "ranks": ranks,
                     **{f"{program} {kind}": statistics.median(record["ms"]) for (program, kind), record in case.items()},
                     **{f"ratio {kind}": value for kind, value in ratio.items()}})
    columns = {"problem": "{problem}", "unknowns": "{unknowns}", "ranks": "{ranks}", "PETSc, ms": "{petsc last:.3g}",
               "Stretto, last iterate, ms": "{stretto last:.3g}", "ours ÷ its": "{ratio last:.2f}",
               "Stretto, verified, ms": "{stretto verified:.3g}", "ours verified ÷ its": "{ratio verified:.2f}"}
    goals = f"at most {GOALS['last']:g} with the last iterate, {GOALS['verified']:g} when verified"
    return {"facts": machine.line(data["facts"]), "table": table(rows, columns), "goals": goals,
            "petsc": next(record["version"] for record in data["records"] if record["program"] == "petsc"),
            "rounds": f"{max(len(record['ms']) for record in data['records'])}",
            "missed": f"Missed:\n\n{points(missed)}" if missed else "Met everywhere."}, {}
