# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts share that compare the methods of a family and write a page of docs/ (SCRIPT_family.py)."""

import argparse
import json
import math
import os
import pathlib
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from matrix_file import Matrix

TOLERANCES = (1e-6, 1e-8, 1e-10, 1e-12)
PRECONDITIONERS = ("none", "jacobi")


def is_file(problem):
    return isinstance(problem, pathlib.Path)


def with_options(method, options):
    """NAME:key=value,… with further options."""
    for key, value in options.items():
        method += f"{',' if ':' in method else ':'}{key}={value}"
    return method


def solve_all(arguments, problem, specs, precond, rtol, rhs=None, solution=None):
    """One run of each method, on one rank."""
    command = [arguments.stretto, "solve", str(problem), "--rhs", rhs or ("A*ones" if is_file(problem) else "random")]
    for spec in specs:
        command += ["--method", spec]
    command += ["--precond", precond, "--rtol", str(rtol), "--max-it", str(arguments.max_it)]
    command += ["--threads", "1", "--json", "-"] + (["--solution", str(solution)] if solution else [])
    run = subprocess.run(command, capture_output=True, check=False)
    if run.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}\n{run.stderr.decode()}")
    results = json.loads(run.stdout)
    name = pathlib.Path(problem).name.removesuffix(".mtx.gz")
    return [{"problem": name, "method": spec, "precond": precond, "rtol": rtol, "rhs": rhs,
             "status": result["status"], "iterations": result["iterations"], "products": result["total"]["applies"],
             "residual": result["relative_residual"], "finished_by": result["finished_by"],
             "events": [(event["iteration"], event["text"]) for event in result["events"]]}
            for spec, result in zip(specs, results if isinstance(results, list) else [results])]


def solve(arguments, problem, method, options, precond, rtol, solution=None):
    """One run of a method that is given further options."""
    [run] = solve_all(arguments, problem, [with_options(method, options)], precond, rtol, solution=solution)
    return {**run, "method": method}


def measure_honesty(arguments, problems, methods, tolerances=TOLERANCES):
    """Every method at its defaults, every answer checked without the library where there is a file."""
    runs = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        for problem in problems:
            matrix = Matrix(problem) if is_file(problem) else None

            def one(case):
                method, precond, rtol = case
                if not matrix:
                    return solve(arguments, problem, method, {}, precond, rtol)
                path = pathlib.Path(folder) / f"{method}-{precond}-{rtol}.mtx"
                run = solve(arguments, problem, method, {}, precond, rtol, path)
                lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
                run["recomputed"] = matrix.residual([float(line) for line in lines[1:]])
                return run

            cases = [(m, p, t) for m in methods for p in PRECONDITIONERS for t in tolerances]
            runs += pool.map(one, cases)
            print(f"honesty: {problem}", flush=True)
    return runs


def measure_bench(arguments, family, *more):
    """The JSON of stretto bench."""
    command = [arguments.mpirun, "-n", str(arguments.ranks), arguments.stretto, "bench", family, "--threads", "1"]
    command += ["--rounds", str(arguments.rounds), "--json", "-", *more]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def of(runs, **wanted):
    return [run for run in runs if all(run[name] == value for name, value in wanted.items())]


def converged(runs):
    return sum(run["status"] == "converged" for run in runs)


def key(run):
    return run["problem"], run["precond"], run["rtol"], run.get("rhs")


def paired(runs, others, what):
    """How often as many `what` the runs take as others, of the same problem, where both converged."""
    there = {key(run): run for run in others if run["status"] == "converged"}
    return [run[what] / there[key(run)][what] for run in runs
            if run["status"] == "converged" and key(run) in there and there[key(run)][what]]


def ratio(runs, others, what="products"):
    """The geometric mean of that."""
    logs = [math.log(each) for each in paired(runs, others, what)]
    return math.exp(sum(logs) / len(logs))


def unsolved_list(runs, methods):
    """Problems that some run leaves unsolved, with what each method says of them."""
    lines = []
    for problem, precond in sorted({(run["problem"], run["precond"]) for run in runs if run["status"] != "converged"}):
        said = []
        for method in methods:
            bad = [run for run in of(runs, problem=problem, precond=precond, method=method)
                   if run["status"] != "converged"]
            if bad:
                worst = min(bad, key=lambda run: -run["rtol"])
                said.append(f"{method} from {worst['rtol']:.0e} ({worst['status']} at {worst['residual']:.1e})")
        lines.append(f"- {problem}, {precond}: " + "; ".join(said))
    return "\n".join(lines)


def verdict(runs):
    """What recomputing the residuals of the answers, without rounding in between, says of the word converged."""
    checked = [run for run in runs if "recomputed" in run]
    good = [run for run in checked if run["status"] == "converged"]
    over = [run for run in good if run["recomputed"] > run["rtol"]]
    text = (f"Of {len(checked)} answers to matrices from files, {len(good)} are called converged. Their residuals were "
            "recomputed in Python from the file and the solution, every row summed without intermediate rounding: ")
    if not over:
        return text + "**none exceeds its tolerance.**"
    worst = max(run["recomputed"] / run["rtol"] for run in over)
    names = sorted({f"{run['problem']} at {run['rtol']:.0e}" for run in over})
    return (text + f"**{len(good) - len(over)} keep their tolerance, {len(over)} exceed it, by at most "
            f"{100 * (worst - 1):.1f} %** ({', '.join(names)}). That is the rounding error of b − A x itself: in double "
            "precision, as the solver evaluates it, these residuals are within the tolerance too.")


def machine():
    names = [line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else f"{os.cpu_count()} cores"


def arguments_of(doc, name, parts, **defaults):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--stretto", default="build/release/stretto")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--ranks", type=int, default=2, help="of the timings")
    parser.add_argument("--rounds", type=int, default=2, help="of the timings")
    parser.add_argument("--max-it", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=2, help="solves at a time, where time does not matter")
    parser.add_argument("--raw", type=pathlib.Path, default=pathlib.Path("build") / name)
    parser.add_argument("--parts", default=",".join(parts), help="which to measure")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("docs") / f"{name}.md")
    parser.set_defaults(**defaults)
    return parser


def measured(arguments, parts):
    """What the parts, names and their functions, measured, now or before."""
    arguments.raw.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, measure in parts.items():
        path = arguments.raw / f"{name}.json"
        if not path.exists() and name in arguments.parts.split(","):
            path.write_text(json.dumps(measure(arguments)))
        if path.exists():
            found[name] = json.loads(path.read_text())
    return found
