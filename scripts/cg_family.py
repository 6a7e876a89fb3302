#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the CG methods: iterations beside those of cg at four tolerances, what an iteration moves and takes, how the
thresholds of the deep pipelines were chosen, and what PETSc says of the same systems. Writes docs/cg_family.md. Again,
from the repository root, with a folder of .mtx.gz files (the timings want a quiet machine):

    set -a; . scripts/mpi.env; set +a; python3 scripts/cg_family.py FOLDER

Each part is kept as JSON in --raw and measured only where it is missing there. The part `peers` needs make bench-peers to
have been built.
"""

import json
import math
import os
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor

import family
from family import PRECONDITIONERS, TOLERANCES, converged, measure_bench, of, paired, solve_all, with_options

DEPTHS = (1, 2, 3, 5)
DEEP = tuple(f"deep_pipelined_cg:l={depth}" for depth in DEPTHS)
METHODS = ("cg", "single_reduction_cg", "pipelined_cg", *DEEP)
GENERATED = ("poisson2d:64", "poisson2d:128", "poisson3d:20", "poisson3d27:16", "aniso2d:64,epsilon=1e-2",
             "aniso2d:64,epsilon=1e-3", "jump2d:64,contrast=100", "jump2d:64,contrast=1e4", "jump2d:48,contrast=1e6",
             "jump3d:16,contrast=1e4", "diagonal:poisson2d,64")
DEFINITE = ("bcsstk13", "bcsstk16", "lsc_F_2", "nos3", "pyamg_bar", "wathenSmall")
THRESHOLDS = ({}, *({"growth": g} for g in (10, 30, 300, 1000, 1e300)), *({"drift": d} for d in (1e-12, 1e-10, 1e-6)),
              {"check": 0}, {"check": 25}, {"gap": 0.01}, {"gap": 1}, *({"warmup": w} for w in (5, 10, 40)))
DEFAULTS = {"growth": 100, "drift": 1e-9, "check": 50, "gap": 0.1, "warmup": 20}
CHOOSING = (1e-8, 1e-12)  # tolerances at which the thresholds were chosen
SEEDS = (1, 2, 3)
BENCHED = ("poisson2d:2048", "diagonal:poisson2d,2048")
RELIED_RTOL, RELIED_MAX_IT, RELIED_TIMEOUT = 1e-12, 5000, 10


def laplacian_bounds(n, epsilon=1.0):
    """Of poisson2d:n, or aniso2d:n."""
    low = 4 * math.sin(math.pi / (2 * (n + 1))) ** 2
    high = 4 * math.cos(math.pi / (2 * (n + 1))) ** 2
    return low * (1 + epsilon), high * (1 + epsilon)


# Problem, preconditioner, and the ends of the spectrum where they are known.
RELIED = (("poisson2d:100", "none", laplacian_bounds(100)), ("poisson2d:200", "none", laplacian_bounds(200)),
          ("aniso2d:100,epsilon=1e-3", "none", laplacian_bounds(100, 1e-3)),
          ("jump2d:100,contrast=1e5", "none", None), ("jump2d:100,contrast=1e5", "jacobi", None),
          ("nos3", "none", None), ("bcsstk16", "jacobi", None), ("wathenSmall", "none", None),
          ("pyamg_bar", "none", None))
PETSC = ("cg", "groppcg", "pipecg", "pipecgrr", *(f"pipelcg {depth}{shifts}" for shifts in ("", " bounds")
                                                  for depth in (1, 2, 3)))


def problems(arguments):
    return [*GENERATED, *(arguments.folder / f"{name}.mtx.gz" for name in DEFINITE)]


def measure_iterations(arguments):
    return family.measure_honesty(arguments, problems(arguments), METHODS)


def measure_thresholds(arguments):
    """Where cg converges: what it takes, and the deep pipelines with all thresholds."""
    specs = [with_options(method, options) for options in THRESHOLDS for method in DEEP]

    def one(case):
        problem, precond, rtol, seed = case
        classic = solve_all(arguments, problem, ["cg"], precond, rtol, f"random:{seed}")
        if classic[0]["status"] != "converged":
            return []
        return classic + solve_all(arguments, problem, specs, precond, rtol, f"random:{seed}")

    cases = [(q, p, t, s) for q in problems(arguments) for p in PRECONDITIONERS for t in CHOOSING for s in SEEDS]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        return [run for runs in pool.map(one, cases) for run in runs]


def measure_times(arguments):
    times = {f"{problem}, {storage}": measure_bench(arguments, "cg", "--problem", problem, "--storage", storage)
             for problem, storage in ((BENCHED[0], "csr"), (BENCHED[0], "auto"), (BENCHED[1], "csr"))}
    return {"of": times, "machine": family.machine()}


def measure_peers(arguments):
    """What PETSc and Stretto say of the same systems, and ‖b − Ax‖/‖b‖; b = 1."""
    runs = []
    for name, precond, bounds in RELIED:
        problem = str(arguments.folder / f"{name}.mtx.gz") if name in DEFINITE else name
        for method in PETSC:
            kind, *more = method.split(" ")
            spec = kind
            if more:
                low, high = (0, 0) if more[1:] != ["bounds"] else bounds or (None, None)
                spec += f" -ksp_pipelcg_pipel {more[0]}"
                if high is not None:  # else the driver gives 0 and the largest row sum
                    spec += f" -ksp_pipelcg_lmin {low} -ksp_pipelcg_lmax {high}"
            command = {"do": "solve", "method": spec, "precond": precond, "rtol": RELIED_RTOL,
                       "max_iterations": RELIED_MAX_IT}
            run = {"problem": name, "precond": precond, "method": method}
            try:
                done = subprocess.run([arguments.mpirun, "-n", "1", arguments.petsc, problem], check=False,
                                      input=json.dumps(command).encode() + b"\n", capture_output=True,
                                      timeout=RELIED_TIMEOUT)
                lines = [json.loads(line) for line in done.stdout.decode().splitlines() if line.startswith("{")]
                run |= {"program": lines[0]["program"], **lines[1]} if len(lines) > 1 else {"says": "ended without a word"}
            except subprocess.TimeoutExpired:
                run["says"] = f"no end within {RELIED_TIMEOUT} s"
            runs.append(run)
        command = [arguments.stretto, "solve", problem, "--rhs", "ones"]
        command += ["--precond", precond, "--rtol", str(RELIED_RTOL), "--max-it", str(RELIED_MAX_IT), "--threads", "1"]
        for method in METHODS:
            command += ["--method", method]
        environment = {**os.environ, "OMPI_MCA_orte_abort_on_non_zero_status": "0"}
        done = subprocess.run([*command, "--json", "-"], capture_output=True, check=False, env=environment)
        for method, result in zip(METHODS, json.loads(done.stdout)):
            runs.append({"problem": name, "precond": precond, "method": f"Stretto {method}", "says": result["status"],
                         "converged": result["converged"], "residual": result["relative_residual"],
                         "iterations": result["iterations"]})
        print(f"peers: {name}", flush=True)
    return runs


def label(method):
    return method.removeprefix("Stretto ").replace("deep_pipelined_cg:l=", "p(") + (")" if ":l=" in method else "")


def itself(run):
    """The part of the iterations that the method did before another took over."""
    over = next((iteration for iteration, text in run["events"] if "going on with" in text), None)
    return 1 if over is None or not run["iterations"] else min(1, over / run["iterations"])


def solvable(runs):
    """Of runs of all methods, those of systems that cg solves."""
    good = {family.key(run) for run in of(runs, method="cg", status="converged")}
    return [run for run in runs if family.key(run) in good]


def iterations_table(runs):
    classic = of(runs, method="cg")
    lines = ["| method | precond | " + " | ".join(f"{t:.0e}" for t in TOLERANCES) + " | solved | over 1.1 | itself |",
             "|---|---|" + "--:|" * (len(TOLERANCES) + 3)]
    for method in METHODS[1:]:
        for precond in PRECONDITIONERS:
            own = of(runs, method=method, precond=precond)
            cells = []
            for rtol in TOLERANCES:
                ratios = paired(of(own, rtol=rtol), classic, "iterations")
                cells.append(f"{statistics.mean(ratios):.3f} ({max(ratios):.3f})")
            over = sum(each > 1.1 for each in paired(own, classic, "iterations"))
            lines.append(f"| {label(method)} | {precond} | " + " | ".join(cells) + f" | {converged(own)} of {len(own)} "
                         f"| {over} | {100 * statistics.mean(map(itself, own)):.0f} % |")
    return "\n".join(lines)


def worst_list(runs):
    classic = {family.key(run): run for run in of(runs, method="cg")}
    lines = []
    for method in METHODS[1:]:
        done = [run for run in of(runs, method=method) if run["status"] == "converged"]
        worst = max(done, key=lambda run: run["iterations"] / max(1, classic[family.key(run)]["iterations"]))
        cg = classic[family.key(worst)]["iterations"]
        lines.append(f"- {label(method)}: {worst['iterations'] / cg:.3f} ({worst['problem']}, {worst['precond']}, "
                     f"{worst['rtol']:.0e}: {worst['iterations']} iterations, cg {cg})")
    return "\n".join(lines)


def thresholds_table(runs):
    classic = of(runs, method="cg")
    lines = ["| " + " | ".join(DEFAULTS) + " | iterations of cg's, mean | worst, l = " + " / ".join(map(str, DEPTHS)) +
             " | over 1.1 | itself, l = " + " / ".join(map(str, DEPTHS)) + " |", "|" + "--:|" * (len(DEFAULTS) + 4)]
    for options in THRESHOLDS:
        own = [of(runs, method=with_options(method, options)) for method in DEEP]
        ratios = [paired(each, classic, "iterations") for each in own]
        every = [ratio for each in ratios for ratio in each]
        failed = sum(len(each) - converged(each) for each in own)
        lines.append("| " + " | ".join(f"{options[k]:g}" if k in options else f"({v:g})" for k, v in DEFAULTS.items()) +
                     f" | {statistics.mean(every):.4f} | " + " / ".join(f"{max(each):.3f}" for each in ratios) +
                     f" | {sum(each > 1.1 for each in every)} of {len(every)}" +
                     (f", {failed} failed" if failed else "") + " | " +
                     " / ".join(f"{100 * statistics.mean(map(itself, each)):.0f} %" for each in own) + " |")
    return "\n".join(lines)


def times_tables(times):
    text = []
    for name, bench in times.items():
        first = next(row for row in bench["measurements"])["merged"]["milliseconds"]
        lines = [f"### {name}\n\n{bench['rows']} rows, {bench['nonzeros']} nonzeros; triad "
                 f"{bench['triad_gigabytes_per_second']:.0f} GB/s.\n",
                 "| method | precond | basic, ms | merged, ms | of cg's | A | M⁻¹ | vectors and local dots | waiting | of triad |",
                 "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
        for row in bench["measurements"]:
            merged = row["merged"]
            lines.append(f"| {label(row['method'])} | {'copy' if row['preconditioned'] else 'none'} "
                         f"| {row['basic']['milliseconds']:.1f} | {merged['milliseconds']:.1f} "
                         f"| {merged['milliseconds'] / first:.2f} | "
                         + " | ".join(f"{each:.1f}" for each in merged["milliseconds_by_kernel"].values())
                         + f" | {100 * merged['of_triad']:.0f} % |")
        text.append("\n".join(lines))
    return "\n\n".join(text)


def moved_table(bench):
    lines = ["| l | flops per row, Table 1 | reads + writes, basic | merged | preconditioned, basic | merged |",
             "|--:|--:|--:|--:|--:|--:|"]
    rows = {(row["method"], row["preconditioned"]): row for row in bench["measurements"]}
    for depth, method in zip(DEPTHS, DEEP):
        cells = [f"{row[form]['vector_reads']:.0f} + {row[form]['vector_writes']:.0f}"
                 for row in (rows[method, False], rows[method, True]) for form in ("basic", "merged")]
        lines.append(f"| {depth} | {6 * depth + 10} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def peers_tables(runs):
    def cell(run):
        if "residual" not in run:
            return run["says"]
        text = f"{run['residual']:.1e} ({run['iterations']})"
        if not run["converged"]:
            return f"{text} {run['says'].removeprefix('DIVERGED_').lower()}"
        return f"**{text}**" if run["residual"] > RELIED_RTOL else text

    tables = []
    for names, short in ((PETSC[:4], PETSC[:4]),
                         (PETSC[4:], [name.replace("pipelcg", "l =") for name in PETSC[4:]]),
                         ([f"Stretto {m}" for m in METHODS], list(map(label, METHODS)))):
        lines = ["| problem | precond | " + " | ".join(short) + " |", "|---|---|" + "--:|" * len(names)]
        for problem, precond, _ in RELIED:
            own = of(runs, problem=problem, precond=precond)
            lines.append(f"| {problem} | {precond} | " + " | ".join(cell(of(own, method=m)[0]) for m in names) + " |")
        tables.append("\n".join(lines))
    return tables


def peers_verdict(runs):
    """How often the word converged is true, by program."""
    text = []
    for program, own in (("PETSc", [r for r in runs if not r["method"].startswith("Stretto")]),
                         ("Stretto", [r for r in runs if r["method"].startswith("Stretto")])):
        said = [run for run in own if run.get("converged")]
        false = [run for run in said if run["residual"] > RELIED_RTOL]
        words = f"{program} says converged in {len(said)} of {len(own)} runs; in {len(false)} of these ‖b − Ax‖ is larger"
        if false:
            words += f", up to {max(run['residual'] for run in false) / RELIED_RTOL:.2g} times"
        text.append(words)
    return "; ".join(text) + "."


# By the part that each section tells of.
SECTIONS = {"iterations": """# The CG family compared

<!-- Written by scripts/cg_family.py; do not edit. -->

To write this page again, with a folder that has {matrices} as `.mtx.gz` files, after `make bench-peers`:

    set -a; . scripts/mpi.env; set +a; python3 scripts/cg_family.py FOLDER

p(l) is `deep_pipelined_cg:l=…`.

## Iterations, beside those of cg

{count} symmetric positive definite problems, generated ones and matrices from files, without and with Jacobi, at four
tolerances; b = A·ones for the matrices, random for the others; at most {max_it} iterations, one rank, all options at their
defaults. Of the {solvable} systems that cg solves: iterations over those of cg, mean and in brackets the worst, by tolerance;
how many the method solves; how many take more than a tenth more; and the part of its iterations that a method did before
another one, after its hand-over or fall-back, went on.

{iterations}

The worst of each:

{worst}

{verdict}

Left unsolved at some tolerance (the loosest is named, with the status and the residual attained there):

{unsolved}

{reading_iterations}
""", "times": """
## What an iteration moves

Vectors read and written by the statements of an iteration, counted by running them, against the floating point
operations of Table 1 of Cools, Cornelis, Ghysels and Vanroose (2019), 6l + 10 a row. Each of its 3l + 5 AXPYs and dot
products, done one by one, would read two vectors: 6l + 10 reads, and 2l + 4 writes.

{moved}

Of this text the merged form is the least: every vector is read once and written once. It is 2l + max(3, l) + 2 reads (two of
each basis, of z the new one, those of its recurrence and those of the dot products, p and x) and l + 3 writes.

## Time of an iteration

`stretto bench cg --problem …`, {ranks} ranks of one thread; {machine}. The paper's two problems: the 5-point Laplacian, and the
diagonal matrix of the same spectrum, whose product costs next to nothing, so that communication is what is left. Merged
but for the first column; *of cg's* without a preconditioner. The preconditioner is a copy. By kernel: the fastest round,
mean of its iterations. Local dot products are within the passes over the vectors, so no clock can tell them apart.

{times}

{reading_times}
""", "thresholds": """
## How the thresholds of the deep pipelines were chosen

The same problems, without and with Jacobi, at {choosing}, three random right-hand sides each, where cg converges. A column of
deep_pipelined_cg goes over to cg when errors that no dot product sees may have grown by more than `growth`, or an error
that one sees exceeds `drift`; the largest Ritz value, which gives the interval of the shifts, comes from `warmup` iterations
of cg. In brackets: the default. *Itself*: part of the iterations in the pipeline, its warm-up included.

{thresholds}

{reading_thresholds}
""", "peers": """
## What is said, and what is: PETSc and Stretto

{relied_rtol:.0e} asked for, b = 1, x₀ = 0, at most {relied_max_it} iterations, one rank, PETSc {petsc} with its own convergence test; in
the norm of b − Ax, for `pipelcg`, which has no other, in the natural norm. In each entry ‖b − Ax‖/‖b‖, recomputed with the x
returned, and the iterations; **bold** where the program says *converged* and it is not so; where it says something
else, that. {peers_verdict}

PETSc's `cg` and its pipelined methods:

{peers_classic}

PETSc's `pipelcg`, with its default shifts of zero, and with shifts for the *bounds* of the spectrum (the exact ones for
Laplacians without a preconditioner, otherwise 0 and the largest sum of absolute values in a row of A or of D⁻¹A):

{peers_deep}

Stretto:

{peers_stretto}

{reading_peers}
"""}


def page(found, arguments):
    """What was measured."""
    values = {"ranks": arguments.ranks, **{name: text.strip() for name, text in READING.items()}}
    runs = found["iterations"]
    good = solvable(runs)
    values |= {
        "matrices": ", ".join(DEFINITE), "count": len(GENERATED) + len(DEFINITE), "max_it": arguments.max_it,
        "solvable": len(of(good, method="cg")), "iterations": iterations_table(good), "worst": worst_list(good),
        "verdict": family.verdict(runs), "unsolved": family.unsolved_list(runs, METHODS)}
    if "times" in found:
        benches = found["times"]["of"]
        values |= {"moved": moved_table(next(iter(benches.values()))), "machine": found["times"]["machine"],
                   "times": times_tables(benches)}
    if "thresholds" in found:
        values |= {"choosing": " and ".join(f"{t:.0e}" for t in CHOOSING),
                   "thresholds": thresholds_table(found["thresholds"])}
    if "peers" in found:
        tables = peers_tables(found["peers"])
        values |= {"relied_rtol": RELIED_RTOL, "relied_max_it": RELIED_MAX_IT,
                   "petsc": next(run["program"] for run in found["peers"] if "program" in run).split()[1],
                   "peers_verdict": peers_verdict(found["peers"]), "peers_classic": tables[0],
                   "peers_deep": tables[1], "peers_stretto": tables[2]}
    return "".join(text.format(**values) for part, text in SECTIONS.items() if part in found)


# What the tables say, in words; to be read again when they change.
READING = {
    "reading_iterations": """
- **The deep pipelines take at most 1.031 times the iterations of cg here, and solve all that cg solves.** What they do not do
  themselves, on average 22 to 69 % of the iterations, cg does after the hand-over, in the same Krylov space.
- A deep pipeline is for systems that are not too hard: the deeper, the sooner it is left.
- pipelined_cg needs up to three times as many iterations where much accuracy is asked of an ill-conditioned system. Its
  residual replacement keeps what it returns true, not its convergence fast.
""",
    "reading_times": "",
    "reading_thresholds": """
- **Without foreseeing growth (1e300) and without measuring the gap (`check` 0) a tenth is exceeded**, by up to 108 % and 47 %.
  They are different errors. Growth is of errors that all dot products are blind to, which cost conjugacy. The gap is what
  the recursive residual does not know of b − A x: cg begins with it after the hand-over, and has to remove it where
  it is above the tolerance. p(1), which is left late, meets the second; bcsstk16 without a preconditioner at 1e-12 showed it.
- `growth` = 100 is where the worst case stops falling while the pipelines still do most of what they can: from 1000 on the
  worst grows, below 100 the deep ones are left early. nos3 with Jacobi at 1e-12, l = 3, took 17 % more with 1000 on four
  ranks.
- `drift` matters least: growth is foreseen before it shows.
- A warm-up of 20 is enough for the largest Ritz value; with 5 the interval is too short, shifts are bad, and the worst
  case exceeds a tenth.
""",
    "reading_peers": "",
}


def main():
    parts = {"iterations": measure_iterations, "thresholds": measure_thresholds, "times": measure_times,
             "peers": measure_peers}
    parser = family.arguments_of(__doc__, "cg_family", parts, max_it=20000)
    parser.add_argument("--petsc", default="build/peers/bench/peers/petsc_bench", help="PETSc's driver")
    arguments = parser.parse_args()
    found = family.measured(arguments, parts)
    if "iterations" in found:
        arguments.output.write_text(page(found, arguments))


if __name__ == "__main__":
    main()
