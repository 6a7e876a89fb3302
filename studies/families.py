# SPDX-License-Identifier: BSD-3-Clause
"""What the studies share that compare the methods of a family: runs, what is true of their answers, and how often as many
iterations they take as the family's classic method. Such a study has PARTS, each of which is measured and kept by itself."""

import math
import pathlib
import tempfile
from concurrent.futures import ThreadPoolExecutor

from . import machine
from .matrix_file import Matrix, is_file, name_of, values_of
from .text import listed, points

TOLERANCES = (1e-6, 1e-8, 1e-10, 1e-12)
PRECONDITIONERS = ("none", "jacobi")


def options(parser, max_it=5000, rounds=2):
    parser.add_argument("--ranks", type=int, default=2, help="of the timings (%(default)s)")
    parser.add_argument("--rounds", type=int, default=rounds, help="of the timings (%(default)s)")
    parser.add_argument("--max-it", type=int, default=max_it, help="iterations (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="solves at a time, where time does not matter (%(default)s)")


def facts(data, part):
    return machine.line(data[part]["facts"]) if part in data else "not yet"


def few(study, some, number=2):
    """All of them, or some in a quick run."""
    return list(some)[:number] if study.options.quick else list(some)


def pooled(study, one, cases):
    with ThreadPoolExecutor(study.options.jobs) as pool:
        return list(pool.map(one, cases))


def solve_all(study, problem, specs, precond, rtol, rhs=None, solution=None):
    """One run of each method, on one rank."""
    results = study.stretto.solve(problem, specs, rhs=rhs or ("A*ones" if is_file(problem) else "random"), precond=precond,
                                  rtol=rtol, max_it=study.options.max_it, solution=solution)
    return [{"problem": name_of(problem), "method": spec, "precond": precond, "rtol": rtol, "rhs": rhs,
             "status": result["status"], "iterations": result["iterations"], "products": result["total"]["applies"],
             "residual": result["relative_residual"], "finished_by": result["finished_by"],
             "events": [(event["iteration"], event["text"]) for event in result["events"]]}
            for spec, result in zip(specs, results)]


def honest_runs(study, problems, methods, tolerances=TOLERANCES):
    """Every method at its defaults, every answer checked without the library where there is a file."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for problem in problems:
            matrix = Matrix(problem) if is_file(problem) else None

            def one(case, problem=problem, matrix=matrix):
                number, (method, precond, rtol) = case
                path = pathlib.Path(folder) / f"{number}.mtx" if matrix else None
                [found] = solve_all(study, problem, [method], precond, rtol, solution=path)
                if matrix:
                    found["recomputed"] = matrix.residual(values_of(path))
                return found

            runs += pooled(study, one, enumerate((m, p, t) for m in methods for p in PRECONDITIONERS for t in tolerances))
            study.say(name_of(problem))
    return runs


def of(runs, **wanted):
    return [each for each in runs if all(each[name] == value for name, value in wanted.items())]


def is_solved(each):
    return each["status"] == "converged"


def solved(runs):
    return sum(map(is_solved, runs))


def key(each):
    return each["problem"], each["precond"], each["rtol"], each["rhs"]


def pairs(runs, others):
    """Each run beside the other method's of the same problem, where both converged."""
    there = {key(other): other for other in others if is_solved(other)}
    return [(each, there[key(each)]) for each in runs if is_solved(each) and key(each) in there]


def ratios(runs, others, what="iterations"):
    return [a[what] / b[what] for a, b in pairs(runs, others) if b[what]]


def mean_ratio(runs, others, what="products"):
    """The geometric mean, nothing where there are none."""
    logs = [math.log(ratio) for ratio in ratios(runs, others, what)]
    return math.exp(sum(logs) / len(logs)) if logs else None


def worst(runs, others):
    """The run that takes most iterations beside the other's."""
    a, b = max(pairs(runs, others), key=lambda pair: pair[0]["iterations"] / max(1, pair[1]["iterations"]))
    return {"method": a["method"], "problem": a["problem"], "precond": a["precond"], "rtol": a["rtol"],
            "iterations": a["iterations"], "classic": b["iterations"]}


def checked(runs):
    """What recomputing the residuals of the answers, without rounding in between, says of the word converged."""
    answers = [each for each in runs if "recomputed" in each]
    over = [each for each in answers if is_solved(each) and each["recomputed"] > each["rtol"]]
    return {"answers": len(answers), "converged": solved(answers), "exceed": len(over),
            "most": max((each["recomputed"] / each["rtol"] for each in over), default=None),
            "where": sorted({f"{each['problem']} at {each['rtol']:.0e}" for each in over})}


def verdict(check):
    text = (f"Of {check['answers']} answers to matrices from files, {check['converged']} are called converged. Their residuals "
            "were recomputed in Python from the file and the solution, every row summed without intermediate rounding: ")
    if not check["exceed"]:
        return text + "**none exceeds its tolerance.**"
    return (text + f"**{check['converged'] - check['exceed']} keep their tolerance, {check['exceed']} exceed it, by at most "
            f"{100 * (check['most'] - 1):.1f} %** ({listed(check['where'])}). Double precision, as the solver evaluates b − A x, "
            "rounds about that much.")


def unsolved(runs):
    """For each method that leaves a problem unsolved: at the loosest such tolerance, with what it says of it."""
    found = []
    for problem, precond, method in dict.fromkeys((r["problem"], r["precond"], r["method"]) for r in runs if not is_solved(r)):
        last = max((r for r in of(runs, problem=problem, precond=precond, method=method) if not is_solved(r)),
                   key=lambda r: r["rtol"])
        found.append({"problem": problem, "precond": precond, "methods": [method], "rtol": last["rtol"],
                      "status": last["status"], "residuals": [last["residual"]]})
    return found


def unsolved_list(records):
    """A point for each problem and preconditioner."""
    lines = []
    for problem, precond in sorted({(r["problem"], r["precond"]) for r in records}):
        said = (f"{', '.join(r['methods'])} from {r['rtol']:.0e} ({r['status']} at "
                f"{' to '.join(f'{x:.1e}' for x in r['residuals'])})" for r in of(records, problem=problem, precond=precond))
        lines.append(f"{problem}, {precond}: {'; '.join(said)}")
    return points(lines) or "Nothing."


def benched(study, family, **options):
    """What stretto bench says: a record for each method, preconditioner and number of columns."""
    quick = {"problem": "poisson2d:100", "rounds": 1} if study.options.quick else {}
    said = study.stretto.bench(family, study.options.ranks, **{"rounds": study.options.rounds, **options, **quick})
    records = []
    for row in said["measurements"]:
        basic, merged = row["basic"], row["merged"]
        records.append({
            "method": row["method"], "precond": "copy" if row["preconditioned"] else "none", "columns": row["columns"],
            "basic": basic["milliseconds"], "merged": merged["milliseconds"], "gain": row.get("gain"),
            "speed_up": row.get("speed_up"), "of_single": row.get("of_single_solves"), "of_triad": merged["of_triad"],
            "reads": [basic["vector_reads"], merged["vector_reads"]],
            "writes": [basic["vector_writes"], merged["vector_writes"]], **merged["milliseconds_by_kernel"]})
    names = {"problem": "problem", "rows": "rows", "nonzeros": "nonzeros", "ranks": "ranks", "threads": "threads",
             "iterations": "iterations", "triad": "triad_gigabytes_per_second"}
    return {**{name: said[there] for name, there in names.items() if there in said}, "records": records}


def bench_words(bench):
    iterations = f", {bench['iterations']} iterations" if "iterations" in bench else ""
    return (f"{bench['problem']} ({bench['rows']} rows, {bench['nonzeros']} nonzeros), {bench['ranks']} ranks of one thread"
            f"{iterations}; triad {bench['triad']:.0f} GB/s")
