# SPDX-License-Identifier: BSD-3-Clause
"""What do ten right-hand sides take at once, with multigrid, and ten matrices in turn whose values change? The former beside ten
solves of ours, the latter beside PETSc; make bench-peers builds the drivers."""

from statistics import geometric_mean

from . import machine, run
from .large_problems import AS_OURS, BOOMER, METHODS, RTOL, MAX_IT, seconds
from .text import NONE, bold, points, table

BUILD = "build/peers"
TIMES = 10
SINGLE = ",precision=single"
OURS = ("amg", "amg:update=products", "amg:update=lagged", "block_jacobi:ilu0", "chebyshev:degree=4",
        *(f"{each}{SINGLE}" for each in ("amg:update=lagged", "block_jacobi:ilu0", "chebyshev:degree=4")))
THEIRS = {"hypre": BOOMER, "hypre, our options": AS_OURS, "gamg": "-pc_type gamg", "ilu0": "-pc_type bjacobi -sub_pc_type ilu"}
DEFAULTS = ("hypre", "gamg", "ilu0")
LARGE = "128"  # of this edge ten solves with hypre's defaults take five minutes and more: left out
PROBLEMS = ("poisson3d:64", "jump3d:64", "convdiff3d:64,peclet=50", "poisson3d:128", "jump3d:128", "convdiff3d:128,peclet=50")


def options(parser):
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, metavar="PROBLEM", help="convdiff3d by bicgstab, others by cg")


def method_of(problem):
    return "bicgstab" if problem.startswith("convdiff") else "cg"


def columns(study, place, method, count):
    [found] = study.stretto.solve(place, [method], study.options.ranks, rhs="random", columns=count, precond="amg", rtol=RTOL,
                                  max_it=MAX_IT)
    if not found["converged"]:
        raise run.Failed(f"{place}, {count} columns: {found['status']}")
    return {"iterations": found["iterations"], "setup": found["seconds"]["precond_setup"], "solve": found["seconds"]["solve"]}


def sequence(study, driver, *words):
    """What a driver says of its ten solves."""
    found = study.answer(study.options.ranks, driver, *words, TIMES)
    return found | {"solved": found["claims"] and found["residual"] <= 1.01 * RTOL}


def measure(study):
    study.data |= {"facts": study.facts(), "ranks": study.options.ranks, "records": []}
    for problem in ["jump3d:16", "convdiff3d:16"] if study.options.quick else study.options.problems:
        place, method = study.specification(problem), method_of(problem)
        record = {"problem": problem, "method": method, "one": columns(study, place, method, 1),
                  "ten": columns(study, place, method, TIMES)}
        record["stretto"] = {name: sequence(study, "stretto_values", place, RTOL, MAX_IT, method, name) for name in OURS}
        ksp = f"{METHODS[method]} -ksp_norm_type unpreconditioned"
        record["petsc"] = {name: sequence(study, "petsc_values", place, RTOL, MAX_IT, f"{ksp} {words}")
                           for name, words in THEIRS.items() if name != "hypre" or LARGE not in problem}
        study.data["records"].append(record)
        study.save()
        study.say(f"{problem}, {method}")


# What follows reads the data alone.

def quickest(runs, names):
    """The name of the run that is solved first."""
    return min((name for name in names if name in runs and runs[name]["solved"]), key=lambda name: seconds(runs[name]), default=None)


def together(records):
    def shares(record):
        one, ten = record["one"], record["ten"]
        return {"whole": seconds(ten) / (TIMES * seconds(one)), "solve": ten["solve"] / (TIMES * one["solve"])}

    rows = [{"problem": each["problem"], "method": each["method"], "iterations": each["ten"]["iterations"],
             "setup": each["ten"]["setup"], "one": each["one"]["solve"], "ten": each["ten"]["solve"], **shares(each)}
            for each in records]
    return table(rows, {"problem": "{problem}", "method": "{method}", "iterations": "{iterations}", "set-up, s": "{setup:.2f}",
                        "one column, s": "{one:.2f}", "ten, s": "{ten:.2f}", "of ten solves, set-ups included": "{whole:.2f}",
                        "of ten solves, one set-up": "{solve:.2f}"})


def in_turn(records):
    rows = []
    for record in records:
        for program, runs in (("Stretto", record["stretto"]), ("PETSc", record["petsc"])):
            rows += [{"problem": record["problem"], "program": program, "precond": name, **found,
                      "most": f"{min(found['iterations'])}–{max(found['iterations'])}" if found["solved"] else bold("not solved"),
                      "seconds": seconds(found)} for name, found in runs.items()]
    return table(rows, {"problem": "{problem}", "program": "{program}", "preconditioner": "`{precond}`", "iterations": "{most}",
                        "set-ups, s": "{setup:.2f}", "solves, s": "{solve:.2f}", "together, s": "{seconds:.2f}"})


def contests(records):
    for record in records:
        ours, theirs = quickest(record["stretto"], OURS), quickest(record["petsc"], THEIRS)
        usual = quickest(record["petsc"], DEFAULTS)
        if ours and theirs:
            mine = seconds(record["stretto"][ours])
            against = [f"{mine / seconds(record['petsc'][name]):.2f} of PETSc's best {what}, {name}"
                       for name, what in ((usual, "with defaults"), (theirs, "of all")) if name]
            yield f"**{record['problem']}**: `{ours}`, {' and '.join(against)}."
        else:
            yield f"**{record['problem']}**: {NONE}"


def means(records):
    """Of the edges that were measured, what the best of ours takes beside PETSc's."""
    for edge in dict.fromkeys(record["problem"].split(":")[1].split(",")[0] for record in records):
        shares = {"with defaults": [], "of all": []}
        for record in records:
            ours = quickest(record["stretto"], OURS)
            for what, names in (("with defaults", DEFAULTS), ("of all", THEIRS)):
                theirs = quickest(record["petsc"], names)
                if record["problem"].split(":")[1].split(",")[0] == edge and ours and theirs:
                    shares[what].append(seconds(record["stretto"][ours]) / seconds(record["petsc"][theirs]))
        said = [f"{geometric_mean(values):.2f} of PETSc's best {what}" for what, values in shares.items() if values]
        if said:
            yield f"Edge {edge}, in the geometric mean: {' and '.join(said)}; goal 0.50."


def report(data):
    records = data["records"]
    return {"facts": machine.line(data["facts"]), "ranks": f"{data['ranks']}", "rtol": f"{RTOL:.0e}",
            "together": together(records), "in_turn": in_turn(records), "contests": points([*contests(records), *means(records)])}, {}
