# SPDX-License-Identifier: BSD-3-Clause
"""How near to the best single choice does `auto` come? Real matrices and generated ones under several latencies of reductions: every
preconditioner is tried with classic methods first; then auto is timed beside all methods with those that may be the quickest."""

import math
import os
import pathlib
import re
import statistics
import tempfile
import time

from . import hints, machine, run, text
from .text import bold, points, table

LATENCIES = (0, 0.2, 1, 5)  # ms
RTOL, MAX_IT, LONG = 1e-8, 2000, 25
GENERATED = ("poisson2d:200", "poisson3d:30", "aniso2d:120", "jump2d:120,contrast=1e6", "jump3d:30", "convdiff2d:100,peclet=1",
             "convdiff2d:100,peclet=100", "convdiff2d:100,peclet=5000", "neumann2d:80", "helmholtz:60", "saddle:40",
             "circuit:4000", "plate:60", "elasticity:40")
FEW = ("poisson2d:30", "convdiff2d:30,peclet=100")
DEFINITE = ("cg", "single_reduction_cg", "pipelined_cg", "predict_and_recompute_cg", "deep_pipelined_cg:l=2", "deep_pipelined_cg:l=3",
            "deep_pipelined_cg:l=5", "s_step_cg", "pipelined_s_step_cg")
SYMMETRIC = ("minres",)
CLASSIC = ("cg", "minres", "bicgstab", "gmres")
GENERAL = ("bicgstab", "improved_bicgstab", "reordered_bicgstab", "pipelined_bicgstab", "gmres", "gmres:m=100", "pipelined_gmres",
           "s_step_gmres", "pipelined_s_step_gmres")
PRECONDS = ("none", "jacobi", "block_jacobi:ic0", "block_jacobi:ilu0", "block_jacobi:ilut", "block_jacobi:lu", "block_jacobi:cholesky",
            "additive_schwarz:ilut", "additive_schwarz:cholesky,restricted=0,overlap=2", "additive_schwarz:lu,overlap=2",
            "additive_schwarz:lu,overlap=100", "chebyshev", "amg")

TURNS = ("With those that are likely to be the quickest by that, all methods of the family are then run once under each latency. The "
         "quickest of these take turns with auto, each in a process of its own; the one with the least median is *best*, and a ratio is "
         "that of two medians.")
ONCE = ("With those that are likely to be the quickest by that, all methods of the family are then timed under each latency, beside auto; "
        "the quickest of them all is *best*. A case of few milliseconds varies by a third from run to run, whatever is chosen.")

AGAIN = "Auto, changed since, and the best choice of each case were timed once more, in turn: {}."


def options(parser):
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so many; run again to go on")
    parser.add_argument("--timed", type=int, default=3, help="preconditioners timed beside auto, the likeliest to be quick (%(default)s)")
    parser.add_argument("--last", type=int, default=3, help="of these the quickest, which are timed in turn with auto (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="turns, of which the median counts (%(default)s)")
    parser.add_argument("--step", choices=("count", "time", "both"), default="both",
                        help="count: what needs no idle machine; time: what does")
    parser.add_argument("--again", action="store_true",
                        help="time auto and the best choice that was found once more, in turn, without a new search for the best")
    parser.add_argument("--only", default="", help="only problems whose names match this expression")


def solves(study, file, ranks, precond, methods, **more):
    """A run of several methods; those that refuse are left out."""
    while methods:
        words = run.words_of({"rhs": "random:1", "precond": precond, "rtol": RTOL, "max_it": MAX_IT, "threads": 1, "json": "-", **more})
        command = study.stretto.command(ranks, "solve", file, *words, *(f"--method={method}" for method in methods))
        code, out, err = run.call(command, LONG)
        refused = re.search(r"^stretto: ([\w=]+) needs (.*)", err, re.MULTILINE)
        if not refused:
            found = run.json.loads(out) if out.lstrip().startswith(("{", "[")) else []
            return found if isinstance(found, list) else [found]
        kind = DEFINITE if refused[1] in [name_of(m) for m in DEFINITE] else [m for m in methods if name_of(m) == refused[1]]
        if not kind:
            return []
        methods = [method for method in methods if method not in kind]
    return []


def name_of(method):
    return method.partition(":")[0]


def text_of(found):
    return found["method"] + (":" + found["options"] if found["options"] else "")


def seconds_of(found):
    """From the matrix to the solution: preconditioner, solve, and what it took to choose."""
    return found["seconds"]["precond_setup"] + found["seconds"]["solve"] + ((found["choice"] or {}).get("seconds") or 0)


def count(study, file, ranks):
    """Preconditioners and classic methods that solve: their seconds without latency on a machine that may be busy, and reductions."""
    ways = []
    for precond in PRECONDS:
        if ranks == 1 and "schwarz" in precond:
            continue
        for found in solves(study, file, ranks, precond, list(CLASSIC)):
            if found["converged"]:
                ways.append({"method": text_of(found), "precond": precond, "iterations": found["iterations"],
                             "seconds": seconds_of(found), "reductions": found["total"]["reductions"]})
    return ways


def family(method):
    """All that have its iterates, or nearly."""
    return DEFINITE if method == "cg" else SYMMETRIC if method == "minres" else [each for each in GENERAL if method in each]


def estimate(way, latency):
    """What to expect under a latency, in ms, for the choice of what is timed: the best methods wait for about a third of a classic
    one's reductions."""
    return way["seconds"] + latency * 1e-3 * way["reductions"] / 3


def timed(study, file, ranks, latency, precond, methods):
    """What one run of each takes."""
    more = {"emulate_latency": f"{latency}ms"} if latency else {}
    return [{"method": text_of(found), "precond": found["precond"], "seconds": seconds_of(found) if found["converged"] else None}
            for found in solves(study, file, ranks, precond, list(methods), **more)]


def in_turn(study, file, ranks, latency, ways):
    """Each way in a process of its own, one after the other, as often as asked for: the median of each."""
    more = {"emulate_latency": f"{latency}ms"} if latency else {}
    runs = [[] for _ in ways]
    for _ in range(study.options.repeats):
        for way, found in zip(ways, runs):
            found += solves(study, file, ranks, way["precond"], [way["asked"]], **more)
    return [result(way, found) for way, found in zip(ways, runs)]


def result(way, found):
    solved = [each for each in found if each["converged"]]
    if not found:
        return {**way, "method": way["asked"], "seconds": None, "status": "no answer in time"}
    each = (sorted(solved, key=seconds_of)[len(solved) // 2] if len(solved) == len(found) else
            next(each for each in found if not each["converged"]))
    choice = each["choice"] or {}
    return {"method": text_of(each), "precond": each["precond"], "iterations": each["iterations"],
            "seconds": seconds_of(each) if each["converged"] else None, "status": each["status"],
            "expected": (choice.get("expected") or {}).get("seconds"), "choosing": choice.get("seconds"),
            "changes": len(choice.get("changes", []))}


def beside(study, file, ranks, latency, ways):
    likely = []
    for way in sorted(ways, key=lambda way: estimate(way, latency)):
        if way["precond"] not in [each["precond"] for each in likely]:
            likely.append(way)
    load = os.getloadavg()[0]
    tried = [{"asked": each["method"], **each} for way in likely[:study.options.timed]
             for each in timed(study, file, ranks, latency, way["precond"], family(way["method"])) if each["seconds"] is not None]
    last = sorted(tried, key=lambda each: each["seconds"])[:study.options.last]
    auto, *others = in_turn(study, file, ranks, latency, [{"asked": "auto", "precond": "auto"}, *last])
    solved = [each for each in others if each["seconds"] is not None]
    return {"latency": latency, "load": load, "auto": auto, "best": min(solved, key=lambda each: each["seconds"], default=None)}


def once_more(study, file, ranks, each, program):
    """Auto and the best choice of a case in turn, by the program that there is now."""
    load = os.getloadavg()[0]
    known = [{**each["best"], "asked": each["best"]["method"]}] if each["best"] else []
    auto, *best = in_turn(study, file, ranks, each["latency"], [{"asked": "auto", "precond": "auto"}, *known])
    return {"latency": each["latency"], "load": load, "auto": auto, "best": best[0] if best else None, "again": program}


def measure_again(study):
    a = study.options
    end, now = time.monotonic() + 60 * a.minutes, study.stretto.about()
    with tempfile.TemporaryDirectory() as folder:
        for record in study.data["records"]:
            if record["ranks"] not in a.ranks or not re.search(a.only, record["problem"]):
                continue
            real = [str(path) for path in study.files() if path.name.removesuffix(".mtx.gz") == record["problem"]]
            file = real[0] if real else hints.problem(record["problem"], folder)
            for k, each in enumerate(record["timed"]):
                if each.get("again") != now:
                    record["timed"][k] = once_more(study, file, record["ranks"], each, now)
                    study.save()
                if time.monotonic() > end:
                    return False
            study.say(f"{record['problem']}, {record['ranks']} ranks")
    study.data["again"] = study.facts()
    return True


def measure(study):
    a = study.options
    if a.again:
        return measure_again(study)
    end = time.monotonic() + 60 * a.minutes
    names = list(FEW) if a.quick else [*(str(path) for path in study.files()), *GENERATED]
    if a.quick:
        a.ranks, a.repeats, a.timed, a.last = [1], 1, 1, 1
    study.data.setdefault("records", [])
    study.data["facts"], study.data["turns"] = study.facts(), a.repeats
    latencies = LATENCIES[:1] if a.quick else LATENCIES
    with tempfile.TemporaryDirectory() as folder:
        for ranks in a.ranks:
            for name in (name for name in names if re.search(a.only, name)):
                file, short = hints.problem(name, folder), pathlib.Path(name).name.removesuffix(".mtx.gz")
                record = next((r for r in study.data["records"] if r["problem"] == short and r["ranks"] == ranks), None)
                if record is None:
                    record = {"problem": short, "ranks": ranks, "ways": [], "timed": [], "counted": False}
                    study.data["records"].append(record)
                if a.step != "time" and not record["counted"]:
                    record |= {"ways": count(study, file, ranks), "counted": True}
                    study.save()
                if a.step != "count" and record["counted"]:
                    for latency in latencies:
                        if not any(each["latency"] == latency for each in record["timed"]):
                            record["timed"].append(beside(study, file, ranks, latency, record["ways"]))
                            study.save()
                        if time.monotonic() > end:
                            return False
                study.say(f"{short}, {ranks} ranks")
                if time.monotonic() > end:
                    return False
    return True


# What follows reads the data alone.

def ratio(each):
    solved = each["auto"]["seconds"] is not None
    return each["auto"]["seconds"] / each["best"]["seconds"] if solved and each["best"] else None


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def cases(data):
    return [{"problem": record["problem"], "ranks": record["ranks"], "ratio": ratio(each), **each}
            for record in data["records"] for each in record["timed"]]


def way(found):
    return f"{found['method']}, {found['precond']}" if found else "none"


def by_length(found):
    """Of short solves and of others: how near, and how many above 2."""
    said = []
    for named, fits in (("10 ms or more", lambda best: best >= 0.01), ("less", lambda best: best < 0.01)):
        ratios = [each["ratio"] for each in found if each["ratio"] and fits(each["best"]["seconds"])]
        if ratios:
            said.append(f"Where the best choice takes {named}: geometric mean {mean(ratios):.2f}, worst {max(ratios):.2f}, in "
                        f"{len(ratios)} cases; above 2 in {sum(each > 2 for each in ratios)}.")
    return points(said) if said else ""


def report(data):
    found = cases(data)
    rows = []
    for latency in sorted({each["latency"] for each in found}):
        for ranks in sorted({each["ranks"] for each in found}):
            here = [each for each in found if each["latency"] == latency and each["ranks"] == ranks]
            ratios = [each["ratio"] for each in here if each["ratio"]]
            if here:
                rows.append({"latency": latency, "ranks": ranks, "cases": len(ratios), "mean": mean(ratios),
                             "median": statistics.median(ratios) if ratios else None, "worst": max(ratios, default=None),
                             "above": sum(r > 2 for r in ratios),
                             "unsolved": sum(each["auto"]["seconds"] is None and each["best"] is not None for each in here)})
    ratios = [each["ratio"] for each in found if each["ratio"]]
    missed = [f"{each['problem']}, {each['ranks']} ranks, {each['latency']} ms: {each['auto']['status']}; but {way(each['best'])}"
              for each in found if each["auto"]["seconds"] is None and each["best"]]
    columns = {"latency, ms": "{latency}", "ranks": "{ranks}", "cases": "{cases}", "mean": "{mean:.2f}", "median": "{median:.2f}",
               "worst": "{worst:.2f}", "above 2": "{above}", "not solved": "{unsolved}"}
    each = {"problem": "{problem}", "ranks": "{ranks}", "latency, ms": "{latency}",
            "auto": lambda row: way(row["auto"]) if row["auto"]["seconds"] is not None else row["auto"]["status"],
            "ms": lambda row: f"{1e3 * row['auto']['seconds']:.3g}" if row["auto"]["seconds"] is not None else "–",
            "best": lambda row: way(row["best"]), "its ms": lambda row: f"{1e3 * row['best']['seconds']:.3g}" if row["best"] else "–",
            "ratio": lambda row: bold(f"{row['ratio']:.2f}", row["ratio"] > 2) if row["ratio"] else "–"}
    changed = sum(bool(row["auto"].get("changes")) for row in found)
    loads = [each["load"] for each in found]
    programs = ", ".join(sorted({each["again"] for each in found if each.get("again")}))
    again = AGAIN.format(machine.line({**data["again"], "Stretto": programs})) if data.get("again") else ""
    return {"facts": machine.line(data["facts"]), "again": again, "load": text.spread(loads) if loads else "–",
            "cases": f"{len(ratios)}", "problems": f"{len({each['problem'] for each in found})}",
            "mean": f"{mean(ratios):.2f}" if ratios else "–", "worst": f"{max(ratios):.2f}" if ratios else "–",
            "above": f"{sum(each > 2 for each in ratios)}", "changed": f"{changed}",
            "rtol": f"{RTOL:.0e}", "preconds": f"{len(PRECONDS)}", "methods": f"{len(DEFINITE + SYMMETRIC + GENERAL)}",
            "how": TURNS if data.get("turns") else ONCE,
            "by length": by_length(found), "table": table(rows, columns), "each": table(found, each),
            "missed": points(missed) if missed else "none that another choice solved."}, {}
