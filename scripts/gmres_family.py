#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the GMRES methods: time per iteration beside the figures of Yamazaki et al. 2017, the dense work beside
OpenBLAS, convergence by restarts, and what they solve. Writes docs/gmres_family.md and docs/gmres_restarts.png. Again,
from the repository root, with a folder of .mtx.gz files (half an hour; the timings want a quiet machine):

    set -a; . scripts/mpi.env; set +a; python3 scripts/gmres_family.py FOLDER

Each part is kept as JSON in --raw and measured only where it is missing there.
"""

import csv
import json
import pathlib
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

import family
from family import PRECONDITIONERS, converged, measure_bench, of, paired, ratio, verdict

METHODS = ("gmres", "gmres:orth=cgs", "gmres:orth=mgs", "pipelined_gmres:l=1", "pipelined_gmres:l=2",
           "pipelined_gmres:l=5", "pipelined_gmres:l=10", "s_step_gmres:s=5", "s_step_gmres:s=10",
           "pipelined_s_step_gmres:l=2,t=5", "pipelined_s_step_gmres:l=3,t=5")
GENERATED = ("poisson2d:100", "poisson3d:24", "aniso2d:60", "jump2d:60", "convdiff2d:100,peclet=5",
             "convdiff2d:100,peclet=50", "convdiff2d:100,peclet=500", "convdiff2d:100,peclet=5000",
             "convdiff3d:24,peclet=20", "convdiff3d:24,peclet=500")
# Far from solved by GMRES(30) with Jacobi or nothing.
HOPELESS = ("bayer10", "nsjac", "bcsstk13", "olm1000")
RTOL = 1e-8
# Convergence by restarts: problem, preconditioner (the paper's is sparse approximate inverses of blocks).
COURSES = (("poisson2d:100", "none"), ("poisson2d:100", "block_jacobi:sai"), ("convdiff2d:100,peclet=50", "none"),
           ("convdiff2d:100,peclet=50", "block_jacobi:sai"), ("jump2d:60", "jacobi"))
COURSE_CYCLES = 400
# Yamazaki et al. 2017: speed-up over GMRES. Fig. 11 on 120 processes, without blocking; Fig. 13 on 60; Fig. 15 on one
# node, MPI, 12 processes ("mpi 12 · 1"), the first two also on two.
PAPER = {
    "gmres": {"pipelined_gmres:l=2": "1.14", "pipelined_gmres:l=5": "1.18", "pipelined_gmres:l=10": "1.21",
              "s_step_gmres:s=10": "1.29 – 1.92"},
    "gmres20": {"pipelined_gmres:l=2": "0.89", "pipelined_gmres:l=5": "0.91", "pipelined_gmres:l=10": "0.95",
                "s_step_gmres:s=5": "1.14", "s_step_gmres:s=10": "1.20",
                "pipelined_s_step_gmres:l=2,t=5,tau=0": "1.03", "pipelined_s_step_gmres:l=2,t=5,tau=0.001": "1.07"},
    "gmres60": {"s_step_gmres:s=10": "1.56 – 2.08"},
}
BENCHES = {"gmres": "GMRES(30), 2D Laplace (Figs. 11 and 15)", "gmres20": "GMRES(20), 27-point Laplace (Fig. 13)",
           "gmres60": "GMRES(60), 2D Laplace (Fig. 15)"}
ITERATIONS = {"gmres": 120, "gmres20": 80, "gmres60": 600}  # cycles enough for a best one


def bench(name):
    def measure(arguments):
        return {**measure_bench(arguments, name, "--iterations", str(ITERATIONS[name])), "machine": family.machine()}
    return measure


def measure_panels(arguments):
    command = [pathlib.Path(arguments.stretto).parent / "bench/panels", "--benchmark_format=json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)


def measure_solved(arguments):
    files = [path for path in sorted(arguments.folder.glob("*.mtx.gz"))
             if path.name.removesuffix(".mtx.gz") not in HOPELESS]
    return family.measure_honesty(arguments, [*files, *GENERATED], METHODS, (RTOL,))


def measure_courses(arguments):
    """True residuals at the restarts, whose first is that of the start."""
    courses = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        def one(case):
            (problem, precond), method = case
            number = len(list(pathlib.Path(folder).iterdir()))
            path = pathlib.Path(folder) / f"{abs(hash(case))}-{number}.csv"
            # Blocks from the second cycle on, as the pipelined methods and the paper.
            spec = family.with_options(method, {"warmup": 30}) if "s_step" in method else method
            command = [arguments.stretto, "solve", problem, "--rhs", "random", "--method", spec, "--precond", precond,
                       "--rtol", str(RTOL), "--max-it", str(30 * COURSE_CYCLES), "--threads", "1", "--json", "-",
                       "--history", str(path), "--true-residuals"]
            run = subprocess.run(command, capture_output=True, check=False)
            if run.returncode not in (0, 1):
                raise SystemExit(f"{' '.join(command)}\n{run.stderr.decode()}")
            result = json.loads(run.stdout)
            with path.open() as file:
                residuals = [float(row["true_1"]) for row in csv.DictReader(file)]
            return {"problem": problem, "precond": precond, "method": method, "status": result["status"],
                    "iterations": result["iterations"], "restarts": residuals[29::30],
                    "events": [event["text"] for event in result["events"]]}

        courses += pool.map(one, [(course, method) for course in COURSES for method in METHODS])
    return courses


def bench_table(times):
    name = times["benchmark"]
    lines = [f"### {BENCHES[name]}\n\n`stretto bench {name}`: {times['problem']}, {times['rows']} rows, "
             f"{times['nonzeros']} nonzeros; {times['ranks']} ranks of one thread, {times['iterations']} iterations; triad "
             f"{times['triad_gigabytes_per_second']:.0f} GB/s.\n",
             "| method | basic, ms | merged, ms | speed-up | paper's | products, ms | vectors, ms | of triad "
             "| reads + writes, basic → merged |", "|---|--:|--:|--:|--:|--:|--:|--:|---|"]
    for row in times["measurements"]:
        basic, merged = row["basic"], row["merged"]
        kernels = merged["milliseconds_by_kernel"]
        lines.append(f"| {row['method']} | {basic['milliseconds']:.2f} | {merged['milliseconds']:.2f} "
                     f"| {row['speed_up']:.2f} | {PAPER[name].get(row['method'], '')} | {kernels['apply']:.2f} "
                     f"| {kernels['vectors']:.2f} | {100 * merged['of_triad']:.0f} % | {basic['vector_reads']:.1f} + "
                     f"{basic['vector_writes']:.1f} → {merged['vector_reads']:.1f} + {merged['vector_writes']:.1f} |")
    return "\n".join(lines)


def panels_tables(panels):
    def rows(kind):
        for run in panels["benchmarks"]:
            if run["name"].startswith(f"{kind}/") and run.get("run_type") == "iteration":
                yield {key: int(value) for key, value in re.findall(r"(\w+):(\d+)", run["name"])}, run

    def share(value):
        return f"{100 * value:.0f} %"

    block = ["| threads | basis | block | triad, GB/s | products | update | both in one pass | OpenBLAS: products "
             "| update | both | time of OpenBLAS / ours |", "|" + "--:|" * 11]
    for sizes, run in rows("block"):
        block.append(f"| {sizes['threads']} | {sizes['basis']} | {sizes['block']} | {run['triad_GB/s']:.0f} | " +
                     " | ".join(share(run[key]) for key in ("products", "update", "update+products", "blas_products",
                                                            "blas_update", "blas_both")) +
                     f" | {run['update+products'] / run['blas_both']:.1f} |")
    change = ["| threads | basis | triad, GB/s | one pass | pass for each statement | OpenBLAS, BLAS-2 | time of basic / "
              "merged | of BLAS-2 / merged | of merged / without the change of basis |", "|" + "--:|" * 9]
    for sizes, run in rows("pipelined"):
        k = sizes["basis"]
        of_orthogonalised = (2 * k + 3) / (k + 4) * run["without_change"] / run["merged"]
        change.append(f"| {sizes['threads']} | {k} | {run['triad_GB/s']:.0f} | " +
                      " | ".join(share(run[key]) for key in ("merged", "basic", "blas")) +
                      f" | {run['merged'] / run['basic']:.2f} | {run['merged'] / run['blas']:.2f} "
                      f"| {of_orthogonalised:.2f} |")
    return "\n".join(block), "\n".join(change)


def courses_table(courses):
    cases = list(dict.fromkeys((run["problem"], run["precond"]) for run in courses))
    lines = ["| method | " + " | ".join(f"{problem}, {precond}" for problem, precond in cases) + " |",
             "|---|" + "--:|" * len(cases)]
    for method in METHODS:
        cells = []
        for problem, precond in cases:
            [run] = of(courses, problem=problem, precond=precond, method=method)
            [classic] = of(courses, problem=problem, precond=precond, method="gmres")
            pairs = list(zip(run["restarts"], classic["restarts"]))
            off = max((abs(a / b - 1) for a, b in pairs), default=0)
            cells.append(f"{-(-run['iterations'] // 30)} ({run['iterations']})"
                         f"{'' if run['status'] == 'converged' else ' ' + run['status']}, "
                         f"{f'{off:.0e}' if off else '0'}")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def courses_plot(courses, path):
    import matplotlib
    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    cases = list(dict.fromkeys((run["problem"], run["precond"]) for run in courses))
    figure, axes = plt.subplots(1, len(cases), figsize=(3.2 * len(cases), 3.6), sharey=True)
    for axis, (problem, precond) in zip(axes, cases):
        for marker, method in zip(" 1234+xo^vs", METHODS):
            [run] = of(courses, problem=problem, precond=precond, method=method)
            points = list(enumerate(run["restarts"], 1))
            if method != "gmres":  # a curve of its own; the others lie upon it
                points = points[::max(1, len(points) // 10)]
            axis.semilogy(*zip(*points), marker=marker, markersize=5, fillstyle="none", markeredgewidth=0.8,
                          linestyle="-" if method == "gmres" else "none", linewidth=0.8, label=method)
        axis.set_title(f"{problem}, {precond}", fontsize=8)
        axis.set_xlabel("restarts", fontsize=8)
        axis.tick_params(labelsize=7)
    axes[0].set_ylabel("‖b − Ax‖ / ‖b‖", fontsize=8)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=7)
    figure.tight_layout(rect=(0, 0.2, 1, 1))
    figure.savefig(path, dpi=90)


EVENTS = {"blocks cut": "a block was dependent", "made more careful": "two cycles were not as good",
          "stood still": "two restarts gained nothing"}


def solved_table(runs):
    classic = of(runs, method="gmres")
    lines = ["| method | converged, none | jacobi | iterations of gmres's, mean | worst | " + " | ".join(EVENTS) + " |",
             "|---|" + "--:|" * (4 + len(EVENTS))]
    for method in METHODS:
        own = of(runs, method=method)
        cells = [f"{converged(of(own, precond=p))} of {len(of(own, precond=p))}" for p in PRECONDITIONERS]
        counts = [sum(any(text in said for _, said in run["events"]) for run in own) for text in EVENTS.values()]
        lines.append(f"| {method} | " + " | ".join(cells) + f" | {ratio(own, classic, 'iterations'):.3f} "
                     f"| {max(paired(own, classic, 'iterations')):.2f} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


def unsolved(runs):
    """Where some method does not converge: which, and what they say."""
    lines = []
    for problem, precond in dict.fromkeys((run["problem"], run["precond"]) for run in runs):
        own = of(runs, problem=problem, precond=precond)
        bad = [run for run in own if run["status"] != "converged"]
        if not bad:
            continue
        said = ", ".join(sorted({run["status"] for run in bad}))
        residuals = [run["residual"] for run in bad]
        who = "all" if len(bad) == len(own) else ", ".join(run["method"] for run in bad)
        lines.append(f"- {problem}, {precond}: {who} ({said} at {min(residuals):.1e} to {max(residuals):.1e})")
    return "\n".join(lines)


def worst_list(runs):
    classic = {family.key(run): run for run in of(runs, method="gmres", status="converged")}
    lines = []
    for method in METHODS[1:]:
        both = [run for run in of(runs, method=method, status="converged") if family.key(run) in classic]
        worst = max(both, key=lambda run: run["iterations"] / max(1, classic[family.key(run)]["iterations"]))
        own = classic[family.key(worst)]["iterations"]
        if worst["iterations"] > 1.2 * own:
            lines.append(f"- {method}: {worst['problem']}, {worst['precond']}: {worst['iterations']} iterations, gmres "
                         f"{own}")
    return "\n".join(lines)


PAGE = """# The GMRES family compared

<!-- Written by scripts/gmres_family.py; do not edit. -->

To write this page again, with a folder of `.mtx.gz` files, after `make bench`:

    set -a; . scripts/mpi.env; set +a; python3 scripts/gmres_family.py FOLDER

Against PETSc's gmres and pgmres: [benchmarks](benchmarks.md).

## Time of an iteration

Milliseconds of an iteration, the mean of the best cycle, {machine}. The speed-up is over `gmres:orth=cgs`, which is the
paper's GMRES: classical Gram–Schmidt, once, in two reductions. *Paper's*: Yamazaki, Hoemmen, Luszczek and Dongarra 2017,
on many processes of a cluster (Fig. 11: 120, Fig. 13: 60, Fig. 15: one node of twelve cores, 2 – 12 processes).

{benches}

{reading_benches}

## Dense work: statements against OpenBLAS

`build/release/bench/panels`: a million rows for each thread, in turn with triad on arrays that no cache holds. Shares of
triad's bandwidth, medians, from the bytes that must move at least: each vector read once, each written once. *Products*
are [Q W]ᵀW, *update* is (W − Q S) T⁻¹, Q the basis and W the block.

{blocks}

The vector work of an iteration of `pipelined_gmres:l=2`: q_c finished, v_{{i+1}} by the change of basis, its products with
all vectors before it. The last column compares with the same work without the change of basis, which the paper found to
take about half of the orthogonalisation; it reads a second basis, so 2 is what it costs at least where memory is all.

{change}

{reading_panels}

## Convergence by restarts

True residuals at the end of each cycle of 30, after {course_problems} (Fig. 10 of the paper). In each entry: cycles
(iterations) to {rtol:.0e}, and the largest deviation of a residual at a restart from gmres's, relative (0: all seven digits
of `--history` agree at all restarts). The first cycle is one of gmres in all methods.

![‖b − Ax‖/‖b‖ at the restarts of all methods](gmres_restarts.png)

{courses}

{reading_courses}

## What they solve

To {rtol:.0e} within {max_it} iterations, without and with Jacobi, one rank, defaults; b = A·ones for matrices from files,
random for generated problems. Iterations over those of gmres where both converge (geometric mean, worst), and in how many
of {cases} runs blocks were cut because they were dependent, a method was made more careful, and restarts stood still.

{solved}

{verdict}

More than a fifth more iterations than gmres, the worst of each:

{worst}

Not solved by some:

{unsolved}

{reading_solved}

Left out: {left_out}, which GMRES(30) does not solve with Jacobi or nothing.
"""


def page(found, arguments):
    blocks, change = panels_tables(found["panels"])
    benches = [found[name] for name in BENCHES if name in found]
    runs, courses = found["solved"], found["courses"]
    return PAGE.format(
        machine=benches[0]["machine"], benches="\n\n".join(map(bench_table, benches)), blocks=blocks, change=change,
        course_problems="; ".join(dict.fromkeys(f"{run['problem']} with {run['precond']}" for run in courses)),
        rtol=RTOL, courses=courses_table(courses), max_it=arguments.max_it, cases=len(of(runs, method="gmres")),
        solved=solved_table(runs), verdict=verdict(runs), worst=worst_list(runs) or "none.", unsolved=unsolved(runs),
        left_out=", ".join(HOPELESS), **{name: text.strip() for name, text in READING.items()})


# What the tables say, in words; to be read again when they change.
READING = {
    "reading_benches": """
- Measured before two changes: the last vector of a cycle takes one pass, so that `gmres` reads two vectors less in an
  iteration, and dot products and updates with one or two vectors have loops of their own, a tenth faster. Both are in the
  [benchmarks](benchmarks.md) beside PETSc.
""",
    "reading_panels": "",
    "reading_courses": """
- **On the Laplacian and the convection–diffusion problem all methods have the residuals of gmres at every restart, to all digits
  kept**, without a preconditioner and with sparse approximate inverses, the paper's, up to depth 10 and blocks of 10.
- Jumping coefficients (contrast 1e4) with Jacobi are different: long before the end rounding decides what a restarted method
  does, and gmres with another Gram–Schmidt goes another way, too. Cycles are 6 % fewer to 15 % more.
""",
    "reading_solved": """
- All methods solve what gmres solves, in its iterations on average, but for two runs without a preconditioner that the limit
  of iterations ends near the tolerance. Where they differ by much, it is on slowly converging runs of thousands of
  iterations, in which gmres with `orth=cgs` or `mgs` differs as much.
- Depth is given up where it must be: the pipelined methods are made more careful in one or two problems of 56, and blocks are cut
  in six or seven.
""",
}


def main():
    parts = {**{name: bench(name) for name in BENCHES}, "panels": measure_panels, "courses": measure_courses,
             "solved": measure_solved}
    parser = family.arguments_of(__doc__, "gmres_family", parts, rounds=1)
    arguments = parser.parse_args()
    if found := family.measured(arguments, parts):
        courses_plot(found["courses"], arguments.output.parent / "gmres_restarts.png")
        arguments.output.write_text(page(found, arguments))


if __name__ == "__main__":
    main()
