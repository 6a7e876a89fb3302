# SPDX-License-Identifier: BSD-3-Clause
"""What do vectors and preconditioners in single precision gain, under the same contract? Iterations beside PETSc's, applications
of preconditioners, and whole solves, in turn; make bench-peers builds the drivers."""

import statistics

from . import machine, run
from .text import points, table

BUILD = "build/peers"
RTOL, MAX_IT, CYCLE = 1e-8, 3000, 30
GOALS = {"iteration": 0.45, "application": 0.65, "solve": 0.75}
MEASURED = ("jump3d:128", "aniso3d:128")  # and a Kronecker product of --matrices
PRECONDITIONERS = ("jacobi", "block_jacobi:ilu0", "block_jacobi:ic0", "chebyshev", "additive_schwarz", "amg")
# What is solved with in double, and what is tried beside it.
DOUBLE = ("cg / jacobi", "cg / block_jacobi:ilu0", "cg / chebyshev", "cg / amg", "gmres / block_jacobi:ilu0")


def options(parser):
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--problems", nargs="+", help="default: jump3d:128, aniso3d:128 and a kron of --matrices")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for an answer")


def problems(a):
    if a.quick:
        a.problems, a.ranks, a.rounds = ["jump3d:16"], 1, 1
    return a.problems or [*MEASURED, *([f"kron:{a.matrices}/bcsstk16.mtx.gz,100"] if a.matrices else [])]


def shown(problem):
    return problem.rpartition("/")[2].replace(".mtx.gz", "") if "/" in problem else problem


def joined(spec, option):
    return f"{spec}{',' if ':' in spec else ':'}{option}"


def in_single(method, precond):
    """The same in single precision, in two steps: the preconditioner, and all vectors too."""
    rounded = "none" if precond == "none" else joined(precond, "precision=single")
    name, _, rest = method.partition(":")
    refined = f"refine:inner={name}" + (f",{rest}" if rest else "")
    return ([] if precond == "none" else [(method, rounded)]) + [(refined, rounded)]


def iterations(study):
    """A cycle of GMRES of each, a value a round."""
    a = study.options
    records = []
    for problem in problems(a):
        found = {"petsc gmres": [], "stretto gmres": [], "stretto gmres:basis=single": []}
        drivers = {name: run.Driver([study.stretto.mpiexec, "-n", a.ranks, study.driver(f"{name}_bench"), problem], a.timeout)
                   for name in ("petsc", "stretto")}
        try:
            for _ in range(a.rounds):
                for case, ms in found.items():
                    program, method = case.split(" ")
                    line = drivers[program].do(do="time", method=method, precond="none", first=CYCLE, more=CYCLE)
                    if "ms" not in line:
                        raise run.Failed(f"{case} on {problem}: {line.get('error', 'no time')}")
                    ms.append(line["ms"])
            version = drivers["petsc"].about.get("program", "")
        finally:
            for driver in drivers.values():
                driver.end()
        records.append({"problem": shown(problem), "ranks": a.ranks, "ms": found, "version": version})
        study.say(f"iterations, {problem}")
    return {"records": records}


def applications(study):
    """Seconds of an application, in double and in single, a value a round."""
    a = study.options
    records = []
    for problem in problems(a):
        for precond in PRECONDITIONERS:
            kinds = {"double": ("cg", precond), "rounded": ("cg", joined(precond, "precision=single")),
                     "all": ("refine:inner=cg", joined(precond, "precision=single"))}
            if precond == "additive_schwarz":
                kinds = {kind: (method.replace("cg", "gmres"), spec) for kind, (method, spec) in kinds.items()}
            seconds = {kind: [] for kind in kinds}
            for _ in range(a.rounds):
                for kind, (method, spec) in kinds.items():
                    [result] = study.stretto.solve(problem, [method], a.ranks, precond=spec, rhs="A*ones", rtol=1e-30, max_it=31,
                                                   timeout=a.timeout, insist=True)
                    total = result["total"]
                    seconds[kind].append(result["seconds"]["by_kernel"]["precondition"] / total["preconditionings"])
            records.append({"problem": shown(problem), "ranks": a.ranks, "precond": precond, "seconds": seconds})
            study.say(f"applications, {problem}, {precond}")
    return {"records": records}


def solves(study):
    """Whole solves to b − A x, in double and in single, a value a round."""
    a = study.options
    records = []
    for problem in problems(a):
        for case in DOUBLE:
            method, precond = case.split(" / ")
            ways = [(method, precond), *in_single(method, precond)]
            found = [{"method": m, "precond": p, "seconds": [], "iterations": 0} for m, p in ways]
            for way in a.rounds * found:
                if found[0].get("status", "converged") != "converged":
                    break
                [result] = study.stretto.solve(problem, [way["method"]], a.ranks, precond=way["precond"], rhs="A*ones",
                                               rtol=RTOL, max_it=MAX_IT, timeout=a.timeout)
                way["seconds"].append(result["seconds"]["solve"])
                way |= {"iterations": result["iterations"], "status": result["status"],
                        "left": any("going on in double" in event["text"] for event in result["events"])}
            records.append({"problem": shown(problem), "ranks": a.ranks, "ways": found})
            study.save()
            study.say(f"solves, {problem}, {case}")
    return {"records": records}


PARTS = {"iterations": iterations, "applications": applications, "solves": solves}


# What follows reads the data alone.

def ratio(some, others):
    """The median of the rounds."""
    return statistics.median(one / other for one, other in zip(some, others))


def report(data):
    missed, rows = {goal: [] for goal in GOALS}, {goal: [] for goal in GOALS}
    for record in data["iterations"]["records"]:
        ms = record["ms"]
        base = ms["petsc gmres"]
        ours = {kind: ratio(ms[f"stretto {name}"], base)
                for kind, name in (("double", "gmres"), ("single", "gmres:basis=single"))}
        rows["iteration"].append({"problem": record["problem"], "petsc": statistics.median(base), **ours})
        if ours["single"] > GOALS["iteration"]:
            missed["iteration"].append(f"{record['problem']}: {ours['single']:.2f}")
    for record in data["applications"]["records"]:
        seconds = record["seconds"]
        rounded, everything = (ratio(seconds[kind], seconds["double"]) for kind in ("rounded", "all"))
        rows["application"].append({"problem": record["problem"], "precond": record["precond"],
                                    "ms": 1e3 * statistics.median(seconds["double"]), "rounded": rounded, "all": everything})
        if record["precond"] in ("block_jacobi:ilu0", "chebyshev") and min(rounded, everything) > GOALS["application"]:
            missed["application"].append(f"{record['problem']}, `{record['precond']}`: {min(rounded, everything):.2f}")
    best = {}
    for record in data["solves"]["records"]:
        plain, *others = record["ways"]
        if plain["status"] != "converged":
            continue
        for way in others:
            if way["status"] != "converged":
                continue
            gain = ratio(way["seconds"], plain["seconds"])
            rows["solve"].append({"problem": record["problem"], "double": f"`{plain['method']}`, `{plain['precond']}`",
                                  "seconds": statistics.median(plain["seconds"]), "iterations": plain["iterations"],
                                  "single": f"`{way['method']}`, `{way['precond']}`", "theirs": way["iterations"],
                                  "ratio": f"{gain:.2f}{' (went on in double)' if way['left'] else ''}"})
        times = best.setdefault(record["problem"], {"double": [], "single": []})
        times["double"].append(statistics.median(plain["seconds"]))
        times["single"] += [statistics.median(way["seconds"]) for way in others if way["status"] == "converged"]
    for problem, times in best.items():
        found = min(times["single"]) / min(times["double"])
        if found > GOALS["solve"]:
            missed["solve"].append(f"{problem}: {found:.2f}")
    return {"facts": machine.line(data["solves"]["facts"]), "ranks": f"{data['solves']['records'][0]['ranks']}",
            "petsc": data["iterations"]["records"][0]["version"],
            "iterations": table(rows["iteration"], {
                "problem": "{problem}", "PETSc `gmres`, ms": "{petsc:.3g}", "`gmres` ÷ its": "{double:.2f}",
                "`gmres:basis=single` ÷ its": "{single:.2f}"}),
            "applications": table(rows["application"], {
                "problem": "{problem}", "preconditioner": "`{precond}`", "in double, ms": "{ms:.3g}",
                "`precision=single`": "{rounded:.2f}", "in `refine` with it": "{all:.2f}"}),
            "solves": table(rows["solve"], {
                "problem": "{problem}", "in double": "{double}", "s": "{seconds:.3g}", "iterations": "{iterations}",
                "beside": "{single}", "its iterations": "{theirs}", "its time": "{ratio}"}),
            "best": table([{"problem": problem, "d": min(times["double"]), "s": min(times["single"]),
                            "r": min(times["single"]) / min(times["double"])} for problem, times in best.items()],
                          {"problem": "{problem}", "fastest in double, s": "{d:.3g}", "fastest with single, s": "{s:.3g}",
                           "ratio": "{r:.2f}"}),
            "rounds": f"{max(len(way['seconds']) for record in data['solves']['records'] for way in record['ways'])}",
            **{f"missed_{goal}": f"Missed:\n\n{points(said)}" if said else "Met everywhere." for goal, said in missed.items()},
            **{f"goal_{goal}": f"{value:g}" for goal, value in GOALS.items()}}, {}
