# SPDX-License-Identifier: BSD-3-Clause
"""Are tasks quicker than threads? The same texts both ways: alone, beside a busy process, under latency, and by a model of
many cores."""

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile

from . import machine, picture, run
from .text import bold, points, table

METHODS = ("cg", "pipelined_cg", "deep_pipelined_cg:l=2", "bicgstab", "pipelined_bicgstab", "gmres:m=30",
           "pipelined_gmres:m=30,l=2", "s_step_gmres:m=30,s=10", "pipelined_s_step_gmres:m=30,l=2,t=5")
WAYS = {"threads": "threads", "tasks": "tasks:tiles=4"}
# Name, problem, ranks, threads of each, iterations, latency, whether another process computes all the time.
CASES = (("in cache", "poisson2d:100", 1, 2, 1501, None, False), ("in the last cache", "poisson2d:320", 1, 2, 301, None, False),
         ("in memory", "poisson2d:1024", 1, 2, 61, None, False), ("two ranks of one thread", "poisson2d:1024", 2, 1, 61, None, False),
         ("rows of 3 and of 31 entries", "uneven", 1, 2, 121, None, False),
         ("a reduction takes 0.2 ms", "poisson2d:320", 1, 2, 301, "200us", False),
         ("a reduction takes 1 ms", "poisson2d:1024", 1, 2, 61, "1ms", False),
         ("a busy process beside", "poisson2d:1024", 1, 2, 61, None, True))
# Processes × threads, method, seconds with MPI and threads, and with QUARK: Fig. 15 of the paper.
PAPER = (("1 · 1", "GMRES(30)", 15.6, 16.3), ("1 · 12", "GMRES(30)", 6.7, 6.3), ("2 · 6", "GMRES(30)", 4.8, 4.8),
         ("1 · 1", "s-GMRES(30)", 11.5, 10.3), ("1 · 12", "s-GMRES(30)", 7.1, 3.6), ("2 · 6", "s-GMRES(30)", 3.8, 2.4),
         ("1 · 1", "GMRES(60)", 52.4, 53.9), ("1 · 12", "GMRES(60)", 29.3, 20.0), ("2 · 6", "GMRES(60)", 16.1, 16.3),
         ("1 · 1", "s-GMRES(60)", 31.7, 27.7), ("1 · 12", "s-GMRES(60)", 18.6, 7.8), ("2 · 6", "s-GMRES(60)", 10.6, 5.9))
CORES = (12, 64)
ROWS = (1e5, 1e6, 1e7)  # of a process, in the model
MADE = ("in cache", "in the last cache", "in memory")  # cases of which it is told what making tasks takes
LATE = ("a reduction takes 0.2 ms", "a reduction takes 1 ms")
SPAN = ("cg", "pipelined_cg", "pipelined_gmres:m=30,l=2")  # methods of the timelines


def options(parser):
    parser.add_argument("--rounds", type=int, default=5, help="of which the median counts (%(default)s)")


def uneven(path, n):
    """A symmetric tridiagonal matrix whose second half has 31 entries a row, diagonally dominant."""
    with open(path, "w") as file:
        wide = {i: 15 if i > n // 2 else 1 for i in range(1, n + 1)}
        entries = n + sum(min(wide[i], i - 1) for i in wide)
        file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {entries}\n")
        for i in range(1, n + 1):
            file.write(f"{i} {i} 32\n")
            file.writelines(f"{i} {j} -1\n" for j in range(max(1, i - wide[i]), i))
    return path


@contextlib.contextmanager
def company(wanted):
    """Another process that computes all the time."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if process:
            process.kill()
            process.wait()


def beside(study):
    a, found = study.options, {}
    cases = CASES[:1] if a.quick else CASES
    with tempfile.TemporaryDirectory() as folder:
        file = None if a.quick else uneven(f"{folder}/uneven.mtx", 300_000)
        for number in range(1 if a.quick else a.rounds):
            for name, problem, ranks, threads, iterations, latency, busy in cases:
                for way, execution in WAYS.items():
                    with company(busy):
                        results = study.stretto.json(
                            "solve", file if problem == "uneven" else problem,
                            *(f"--method={method}" for method in ("minres", *METHODS)),  # the first finds all asleep
                            *run.words_of({"threads": threads, "execution": execution, "rtol": 0, "max_it": iterations,
                                           "emulate_latency": latency, "precond": "jacobi"}), ranks=ranks)
                    for method, result in zip(METHODS, results[1:]):
                        found.setdefault((name, method, way), []).append(
                            (1e3 * result["per_iteration"]["seconds"], result["per_iteration"]["hidden_fraction"]))
            study.say(f"round {number + 1}")
    return {"rounds": a.rounds,
            "cases": [{"case": name, "problem": problem, "ranks": ranks, "threads": threads}
                      for name, problem, ranks, threads, *_ in cases],
            "records": [{"case": name, "method": method, "way": way,
                         **{what: statistics.median(of) for what, of in zip(("ms", "hidden"), zip(*rounds))}}
                        for (name, method, way), rounds in found.items()]}


def making(study):
    """What a text's thread takes to say the tasks of an iteration: its seconds in passes, where it waits for nothing, without the
    product that checks x in the end, which runs alone."""
    a, found = study.options, {}
    for number in range(1 if a.quick else a.rounds):
        for name, problem, ranks, threads, iterations, *_ in (case for case in CASES if case[0] in (MADE[:1] if a.quick else MADE)):
            results = study.stretto.json(
                "solve", problem, *(f"--method={method}" for method in ("minres", *METHODS)),  # the first finds all asleep
                *run.words_of({"threads": threads, "execution": WAYS["tasks"], "rtol": 0, "max_it": iterations, "precond": "jacobi",
                               "verify": "recurrence"}), ranks=ranks)
            for method, result in zip(METHODS, results[1:]):
                seconds = result["seconds"]["by_kernel"]
                found.setdefault((name, method), []).append(
                    (1e3 * result["per_iteration"]["seconds"], 1e3 * sum(seconds[kernel] for kernel in PASSES) / result["iterations"]))
        study.say(f"round {number + 1}")
    return {"rounds": a.rounds,
            "records": [{"case": name, "method": method,
                         **{what: statistics.median(of) for what, of in zip(("ms", "said_ms"), zip(*rounds))}}
                        for (name, method), rounds in found.items()]}


def costs(study):
    """Nanoseconds of a round of eight loops, by benchmark."""
    program = study.options.build / "bench" / "tasks"
    code, out, err = run.call([program, "--benchmark_format=json", "--benchmark_min_time=0.1", "--benchmark_report_aggregates_only=true",
                               f"--benchmark_repetitions={2 if study.options.quick else 9}"])
    if code:
        raise run.Failed(f"{program}: {err.strip()[-200:]}")
    records = []
    for row in json.loads(out)["benchmarks"]:
        if row["aggregate_name"] != "median":
            continue
        kind, *sizes = row["run_name"].removesuffix("/real_time").split("/")
        records.append({"kind": kind, **{name: int(size) for name, size in (word.split(":") for word in sizes)},
                        "round_ns": row["real_time"]})
    return {"records": records}


def passes(study):
    """Passes over vectors, products included, of an iteration of each method: what each is a barrier or a row of tasks for."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for method in METHODS:
            counts = []
            for iterations in (30, 60):
                trace = f"{folder}/trace.json"
                study.stretto.json("solve", "poisson2d:100", "--method", method, *run.words_of(
                    {"threads": 1, "rtol": 0, "max_it": iterations, "precond": "jacobi", "trace": trace}))
                counts.append(sum(e["ph"] == "X" and e["name"] in PASSES for e in json.loads(open(trace).read())["traceEvents"]))
            found[method] = (counts[1] - counts[0]) / 30
    return {"methods": found}


def timelines(study):
    """What threads did in an iteration: spans of both ways."""
    problem = "poisson2d:100" if study.options.quick else "poisson2d:500"
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for method in SPAN:
            for way, execution in WAYS.items():
                trace = f"{folder}/trace.json"
                study.stretto.json("solve", problem, "--method", method, *run.words_of(
                    {"threads": 2, "execution": execution, "rtol": 0, "max_it": 20, "emulate_latency": "300us",
                     "precond": "jacobi", "trace": trace}))
                found.setdefault(method, {})[way] = lanes(json.loads(open(trace).read()))
    return {"problem": problem, "methods": found}


def lanes(trace):
    """Of two iterations in the middle the lanes (kind, begin, end in µs): what the text did, each thread's tasks, and what was
    in flight."""
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    work = [e for e in spans if names[e["tid"]] == "kernels"]
    products = sorted(e["ts"] for e in work if e["name"] == "apply")
    first, last = products[len(products) // 2], products[len(products) // 2 + 2]
    shown = [tid for tid in sorted(names, key=lambda tid: (names[tid] != "kernels", "flight" in names[tid], tid))
             if names[tid] == "kernels" or names[tid].startswith(("tasks", "reduction"))]
    if any(names[tid].startswith("tasks") for tid in shown):  # what the text said is not what was done
        shown = [tid for tid in shown if names[tid] != "kernels"]
    return {"us": (last - first) / 2,
            "lanes": [[(AS_PASSES.get(e["name"], e["name"]), round(max(0, e["ts"] - first), 1), round(min(last, e["ts"] + e["dur"]) - first, 1))
                       for e in spans if e["tid"] == tid and first - e["dur"] < e["ts"] < last] for tid in shown]}


PASSES = ("apply", "vectors", "dots", "precondition")
AS_PASSES = {"product": "apply", "preconditioner": "precondition", "vectors, dots": "vectors"}  # names of tasks
PARTS = {"beside": beside, "making": making, "costs": costs, "passes": passes, "timelines": timelines}


# What follows reads the data alone.

def short(method):
    return method.replace("deep_pipelined_cg:l=2", "p(2)").split(":")[0]


def records_of(data):
    return {(row["case"], row["method"], row["way"]): row for row in data["beside"]["records"]}


def times_of(data):
    return {key: row["ms"] for key, row in records_of(data).items()}


def ratios(times, case):
    return {method: times[case, method, "tasks"] / times[case, method, "threads"]
            for at, method, way in times if at == case and way == "threads"}


def reading(data):
    """Which way is quicker, case by case."""
    times = times_of(data)
    for case in data["beside"]["cases"]:
        of = ratios(times, case["case"])
        mean, best, worst = statistics.geometric_mean(of.values()), min(of, key=of.get), max(of, key=of.get)
        verdict = "tasks are quicker" if mean < 0.97 else "threads are quicker" if mean > 1.03 else "neither is quicker"
        yield (f"{case['case']}: {verdict}, tasks ÷ threads {mean:.2f} in the mean ({short(best)} {of[best]:.2f}, "
               f"{short(worst)} {of[worst]:.2f})")


def overheads(data):
    """Nanoseconds of a task, by kind, and of a barrier of threads."""
    rounds = {(row["kind"], row["tiles"], row["ns"]): row["round_ns"] for row in data["costs"]["records"]}
    return {kind: rounds[kind, 8, 0] / 64 for kind in ("graph", "openmp", "flow", "replayed")} | {
        "barrier": rounds["threads", 2, 0] / 8}


def made_of(data):
    return {(row["case"], row["method"]): row for row in data["making"]["records"]}


def made(data):
    """µs of an iteration in which its tasks are made, and of all of it."""
    records = made_of(data)
    for method in METHODS:
        of = {case: records[case, method] for case in MADE if (case, method) in records}
        yield {"method": method, **{case: f"{1e3 * row['said_ms']:.0f} of {1e3 * row['ms']:.0f}" for case, row in of.items()}}


def hiding(data):
    """What fraction of a reduction threads and tasks hid where it takes long."""
    hidden = {key: row["hidden"] for key, row in records_of(data).items()}
    for method in METHODS:
        yield {"method": method, **{case: f"{hidden[case, method, 'threads']:.2f} → {hidden[case, method, 'tasks']:.2f}"
                                    for case in LATE if (case, method, "tasks") in hidden}}


def many_cores(data):
    """Tasks over threads by a model: work shared evenly, barriers that grow with log₂ of the cores; tasks made by one thread."""
    records, making_of = records_of(data), made_of(data)
    cost = overheads(data)
    for method in METHODS:
        if ("in memory", method, "threads") not in records:
            continue
        row_ns = 2 * 1e6 * records["in memory", method, "threads"]["ms"] / 1024**2
        passes = data["passes"]["methods"][method]
        made_ns = 1e6 * making_of["in the last cache", method]["said_ms"] / (passes * 8)
        record = {"method": method, "passes": passes, "made": made_ns / 1e3}
        for rows in ROWS:
            for cores in CORES:
                tiles = cores * max((each for each in (4, 2, 1) if rows >= 4096 * each * cores), default=1)
                work, tasks = row_ns * rows, passes * tiles
                threads = work / cores + passes * cost["barrier"] * (cores - 1).bit_length()
                record[rows, cores] = max(tasks * made_ns, (work + tasks * (made_ns + cost["graph"])) / cores) / threads
        yield record


def report(data):
    times, cases = times_of(data), data["beside"]["cases"]
    rows = [{"method": short(method), **{
        case["case"]: f"{times[case['case'], method, 'threads']:.3g} → {times[case['case'], method, 'tasks']:.3g} "
                      f"({bold(f'{ratio:.2f}', ratio < 0.97)})"
        for case in cases for ratio in [ratios(times, case["case"])[method]]}}
        for method in METHODS]
    cost, model = overheads(data), list(many_cores(data))
    pictures = {}
    for method, ways in data["timelines"]["methods"].items():
        span = max(way["us"] for way in ways.values()) * 2
        pictures[f"tasks_{short(method)}.svg"] = picture.timeline(
            f"{short(method)}, {data['timelines']['problem']}, two threads: two iterations", "µs", 6 * int(span // 6 + 1),
            {way: [lane for lane in of["lanes"] if lane] for way, of in ways.items()}, KINDS)
    return {
        "rounds": str(data["beside"]["rounds"]),
        "facts": machine.line(data["beside"]["facts"]),
        "table": table(rows, {"method": "{method}", **{case["case"]: lambda row, name=case["case"]: row[name] for case in cases}}),
        "reading": points(reading(data)),
        "task": f"{cost['graph'] / 1e3:.2f}", "openmp": f"{cost['openmp'] / 1e3:.2f}", "barrier": f"{cost['barrier'] / 1e3:.2f}",
        "quicker": "The graph of this library" if cost["graph"] < cost["openmp"] else "OpenMP's runtime",
        "flow": f"{cost['flow'] / 1e3:.2f}", "replayed": f"{cost['replayed'] / 1e3:.2f}",
        "replay": "no dearer than a replayed graph" if cost["graph"] <= 1.05 * cost["replayed"] else "dearer than a replayed graph",
        "made_facts": f"medians of {data['making']['rounds']}, {data['making']['facts']['processor']}",
        "making": table(list(made(data)), {"method": lambda row: short(row["method"]), **{
            f"{case}, µs": lambda row, case=case: row.get(case, "") for case in MADE}}),
        "hiding": table(list(hiding(data)), {"method": lambda row: short(row["method"]), **{
            case: lambda row, case=case: row.get(case, "") for case in LATE}}),
        "model": table(model, {"method": lambda row: short(row["method"]), "passes": "{passes:.1f}", "making a task, µs": "{made:.2f}",
                               **{f"{rows:,.0f} rows, {cores} cores": lambda row, at=(rows, cores): f"{row[at]:.2f}"
                                  for rows in ROWS for cores in CORES}}),
        "paper": table([{"where": where, "method": method, "mpi": mpi, "task": task, "ratio": task / mpi}
                        for where, method, mpi, task in PAPER],
                       {"processes · threads": "{where}", "method": "{method}", "threads, s": "{mpi}", "tasks, s": "{task}",
                        "tasks ÷ threads": "{ratio:.2f}"}),
    }, pictures


KINDS = {"apply": "product", "precondition": "preconditioner", "vectors": "vectors", "dots": "dot products",
         "reductions": "waiting for a sum", "reduction": "sum in flight"}
