# SPDX-License-Identifier: BSD-3-Clause
"""How far are the execution-time model's predictions from measured iterations of this machine, and from simulated ones of
many nodes? All methods, with and without preconditioners, one right-hand side and several, one rank and two, problems from
cache to memory."""

import statistics
import tempfile
import time

from . import machine, run, simulated
from .text import NONE, listed, points, table

PROBLEMS = {"poisson2d:60": "second-level cache", "bcsstk16": "a real matrix", "jump2d:200": "third-level cache",
            "poisson3d:50": "third-level cache", "jump3d:64": "third-level cache and memory"}
PRECONDITIONERS = ("none", "jacobi", "block_jacobi:ilu0")
COLUMNS, RANKS = (1, 4, 16), (1, 2)
TERMS = {"vectors": ("vectors", "dots", "small"), "products": ("apply", "halo"), "preconditioner": ("precondition",),
         "sums": ("reductions",)}
MEDIAN, WORST = 0.1, 0.25
NODES = (8, 64, 256, 512, 1024)  # with a rank on each
SIMULATED = ("cg", "single_reduction_cg", "pipelined_cg", "deep_pipelined_cg:l=2", "s_step_cg", "bicgstab", "improved_bicgstab",
             "reordered_bicgstab", "pipelined_bicgstab", "gmres", "pipelined_gmres")
BLOCKS = "s_step_cg"
LARGE = (("poisson2d:1000", "lomonosov", ()), ("poisson2d:1000", "lomonosov", ("--precond", "cost:20")),
         ("poisson2d:2000", "cori", ()))


def options(parser):
    simulated.options(parser)
    parser.add_argument("--seconds", type=float, default=0.05, help="for a method's measurement (%(default)s)")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds, after which what is missing waits for the next run")
    parser.add_argument("--again", action="store_true", help="measure all anew")
    parser.add_argument("--simulate", action="store_true", help="only the simulations, of which those in --keep are kept")


def combinations(study):
    files = {} if study.options.quick else {path.name.removesuffix(".mtx.gz"): path for path in study.files()}
    for m in COLUMNS[:1] if study.options.quick else COLUMNS:
        for ranks in RANKS:
            for precond in PRECONDITIONERS:
                for problem in list(PROBLEMS)[:1] if study.options.quick else PROBLEMS:
                    yield problem, files.get(problem, problem), precond, m, ranks



def measure(study):
    data, started = study.data, time.monotonic()
    if study.options.again or study.options.quick or "points" not in data:
        data.clear()
        data |= {"points": [], "machines": [], "simulated": [], "facts": []}
    data["facts"].append(study.facts())
    if study.options.simulate or study.options.quick:
        data["simulated"] = simulate(study)
        study.save()
        if study.options.simulate:
            return True
    done = {(x["problem"], x["precond"], x["m"], x["ranks"]) for x in data["points"]}
    left = [x for x in combinations(study) if (x[0], *x[2:]) not in done]
    with tempfile.TemporaryDirectory() as folder:
        machines = {}
        for problem, path, precond, m, ranks in left:
            if time.monotonic() - started > study.options.limit:
                return False
            if ranks not in machines:
                machines[ranks] = f"{folder}/{ranks}.json"
                data["machines"].append(machine_here(study, ranks, machines[ranks]))
            found = study.stretto.json("predict", path, "--machine", machines[ranks], "--nodes", 1, "--trial", "--measure",
                                       "--seconds", study.options.seconds, "--columns", m, "--precond", precond, ranks=ranks)
            data["points"] += [{"run": len(data["facts"]) - 1} | record(x, problem, precond, m, ranks) for x in found["points"]]
            study.save()
    return True


def machine_here(study, ranks, path):
    """stretto machine, and how long it took."""
    began = time.monotonic()
    code, _, err = run.call(study.stretto.command(ranks, "machine", path))
    if code:
        raise run.Failed(f"stretto machine: {err.strip()[-200:]}")
    return {"ranks": ranks, "seconds": round(time.monotonic() - began, 1)}


def record(point, problem, precond, m, ranks):
    us = {f"predicted {part}": 1e6 * point["parts"][part] for part in TERMS}
    if point["measured"]:
        us |= {f"measured {part}": 1e6 * sum(point["measured_parts"][x] for x in of) for part, of in TERMS.items()}
    return {"problem": problem, "precond": precond, "m": m, "ranks": ranks, "method": point["method"],
            "predicted": 1e6 * point["seconds_per_iteration"], "measured": point["measured"] and 1e6 * point["measured"],
            **{name: float(f"{value:.4g}") for name, value in us.items()}}


def simulate(study):
    """Predicted and simulated times on many nodes: dry runs, in which sums advance by themselves."""
    kept = dict(study.data)
    runs = simulated.Simulations(study)
    study.data.clear()
    study.data |= kept
    nodes = "8" if study.options.quick else ",".join(map(str, NODES))
    rows = []
    for problem, on, more in LARGE[:1] if study.options.quick else LARGE:
        methods = [x for x in SIMULATED if "--precond" in more or x != "reordered_bicgstab"]
        more = (*more, "--ranks-per-node", 1)
        found = study.stretto.json("predict", problem, "--machine", on, "--storage", "csr", "--gamma", 0, "--nodes", nodes, *more,
                                   "--methods", *methods)
        points = {}
        for some in ([x for x in methods if x != BLOCKS], [BLOCKS]):
            points |= runs.points(problem, some, nodes, "--machine", on, "--dry", "--exchanges", "memory", "--iterations", 90, *more)
        for point in found["points"]:
            if ran := points.get((point["nodes"], point["method"])):
                rows.append({"problem": problem, "machine": on, "more": " ".join(map(str, more)), "nodes": point["nodes"],
                             "method": point["method"], "measured": 1e6 * ran["seconds_per_iteration"],
                             "predicted": 1e6 * point["seconds_per_iteration"],
                             **{f"predicted {part}": 1e6 * value for part, value in point["parts"].items()}})
    return rows


# What follows reads the data alone.

def ratio(row):
    return row["predicted"] / row["measured"]


def off(row):
    """By how much predicted and measured differ, of the lesser."""
    return max(ratio(row), 1 / ratio(row)) - 1


def summary(rows, title, key):
    """How far the points of each kind are off."""
    records = []
    for kind in dict.fromkeys(map(key, rows)):
        some = [row for row in rows if key(row) == kind]
        worst = max(some, key=off)
        records.append({"kind": kind, "points": len(some), "median": statistics.median(map(off, some)),
                        "ratio": statistics.median(map(ratio, some)), "near": sum(off(x) <= MEDIAN for x in some) / len(some),
                        "far": sum(off(x) <= WORST for x in some) / len(some), "worst": f"{ratio(worst):.2f}", "of": named(worst)})
    return table(records, {title: "{kind}", "points": "{points}", "median difference": "{median:.1%}",
                           "median of predicted / measured": "{ratio:.2f}", "within 10 %": "{near:.0%}", "within 25 %": "{far:.0%}",
                           "the worst": "{worst}", "which": "{of}"})


def named(row):
    if "nodes" in row:
        return f"{row['method']}, {row['nodes']} nodes"
    return f"{row['method']}, {row['problem']}, {row['precond']}, m = {row['m']}, {row['ranks']} rank{'s' * (row['ranks'] > 1)}"


def said(rows):
    if not rows:
        return "Not measured."
    offs = [off(row) for row in rows]
    return (f"Of {len(rows)} points {100 * sum(x <= MEDIAN for x in offs) / len(offs):.0f} % are within 10 %, "
            f"{100 * sum(x <= WORST for x in offs) / len(offs):.0f} % within 25 %; the median differs by "
            f"{100 * statistics.median(offs):.1f} %, the worst by {100 * max(offs):.0f} %.")


def missing_part(row):
    """The part that is furthest from what was measured."""
    return max(TERMS, key=lambda part: abs(row[f"predicted {part}"] - row[f"measured {part}"]))


def terms(rows):
    """Where more than a quarter is missed: which part misses most, and how it is off."""
    records = []
    far = [row for row in rows if off(row) > WORST]
    for part in TERMS:
        some = [row for row in far if missing_part(row) == part]
        if some:
            ratios = [row[f"predicted {part}"] / row[f"measured {part}"] for row in some if row[f"measured {part}"] > 0]
            records.append({"part": part, "points": len(some), "ratio": statistics.median(ratios) if ratios else None,
                            "problems": listed(count(some, "problem")), "methods": listed(count(some, "method")[:4])})
    return table(records, {"the part": "{part}", "points": "{points}", "its predicted / measured, median": "{ratio:.2f}",
                           "on": "{problems}", "most often of": "{methods}"}, "No point is off by more than a quarter.")


def count(rows, key):
    """Names and how often, the most frequent first."""
    names = [row[key] for row in rows]
    return [f"{name} ({names.count(name)})" for name in sorted(dict.fromkeys(names), key=names.count, reverse=True)]


def all_of(rows, problem):
    """Predicted / measured of every point of a problem: on one rank, on two."""
    some = {(x["method"], x["precond"], x["m"], x["ranks"]): x for x in rows if x["problem"] == problem}
    methods = list(dict.fromkeys(key[0] for key in some))

    def cell(method, precond, m):
        found = [some.get((method, precond, m, ranks)) for ranks in RANKS]
        return ", ".join(f"{ratio(row):.2f}" if row else NONE for row in found)
    columns = {f"{precond.replace('block_jacobi:', '')}, m = {m}": lambda row, precond=precond, m=m: cell(row["method"], precond, m)
               for precond in PRECONDITIONERS for m in COLUMNS}
    return table([{"method": method} for method in methods], {"method": "{method}", **columns})


def here(data):
    """The part of the page that is of this machine."""
    rows = [row for row in data["points"] if row["measured"]]
    if not rows:
        return "Not measured yet."
    kinds = {"problem": lambda row: f"{row['problem']} ({PROBLEMS[row['problem']]})", "preconditioner": lambda row: row["precond"],
             "m": lambda row: str(row["m"]), "ranks": lambda row: str(row["ranks"]), "method": lambda row: row["method"]}
    seconds = max(x["seconds"] for x in data["machines"])
    measured = [problem for problem in PROBLEMS if any(row["problem"] == problem for row in rows)]
    return "\n\n".join([said(rows), f"`stretto machine` took at most {seconds:.0f} s.",
                        *(summary(rows, title, key) for title, key in kinds.items()),
                        "Of points that are off by more than a quarter, the part whose predicted time is furthest from its measured one:",
                        terms(rows), "Predicted / measured of all points, on one rank and on two:",
                        *(f"**{problem}**\n\n{all_of(rows, problem)}" for problem in measured)])


def runs(data):
    """What each run measured, and on which machine."""
    for number, facts in enumerate(data["facts"]):
        some = [row for row in data["points"] if row["run"] == number]
        if some:
            columns, ranks = (listed(str(x) for x in dict.fromkeys(row[key] for row in some)) for key in ("m", "ranks"))
            yield f"{len(some)} points, m = {columns}, ranks {ranks}: {machine.line(facts)}."


def report(data):
    large = data["simulated"]
    values = {"facts": points(runs(data)), "here": here(data), "said simulated": said(large),
              "simulated": summary(large, "nodes", lambda row: str(row["nodes"])) if large else "",
              "simulated methods": summary(large, "method", lambda row: row["method"]) if large else ""}
    return values, {}
