#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the BiCGStab methods: time per iteration beside the tables of Krasnopolsky 2019, what they solve at four
tolerances, and how their safeguards were chosen. Writes docs/bicgstab_family.md. Again, from the repository root, with a
folder of .mtx.gz files (half an hour; the timings want a quiet machine):

    set -a; . scripts/mpi.env; set +a; python3 scripts/bicgstab_family.py FOLDER

Each part is kept as JSON in --raw and measured only where it is missing there.
"""

import math
from concurrent.futures import ThreadPoolExecutor

import family
from family import PRECONDITIONERS, TOLERANCES, converged, measure_bench, of, ratio, solve, unsolved_list, verdict

METHODS = ("bicgstab", "improved_bicgstab", "reordered_bicgstab", "pipelined_bicgstab")
GENERATED = ("poisson2d:100", "poisson3d:24", "aniso2d:80", "jump2d:60", "convdiff2d:100,peclet=5",
             "convdiff2d:100,peclet=50", "convdiff2d:100,peclet=500", "convdiff2d:200,peclet=20",
             "convdiff3d:24,peclet=20", "convdiff3d:24,peclet=500")
# Hours of runs that end nowhere: no method of the family solves them with Jacobi or nothing (docs/zoo.md).
HOPELESS = ("bayer10", "nsjac")
DEFAULTS = {"breakdown": 1e-12, "check": 50, "gap": 1.5e-8}
CHECKS = ({"check": 0}, {"check": 10}, {"check": 25}, {}, {"check": 100}, {"check": 25, "gap": 0},
          {"check": 25, "gap": 1e-6})
BREAKDOWNS = ({"breakdown": 0}, {"breakdown": 1e-15}, {}, {"breakdown": 1e-10})
CHOOSING = (1e-8, 1e-12)  # tolerances at which the safeguards were chosen
# Krasnopolsky 2019, Table 4: seconds of an iteration on one node of Lomonosov-2, basic and merged; m = 1, 4, 16.
TABLE4 = {
    ("bicgstab", False): ((0.062, 0.058), (0.181, 0.164), (0.65, 0.59)),
    ("improved_bicgstab", False): ((0.074, 0.061), (0.236, 0.182), (0.87, 0.66)),
    ("pipelined_bicgstab", False): ((0.087, 0.069), (0.282, 0.212), (1.06, 0.78)),
    ("bicgstab", True): ((0.066, 0.064), (0.201, 0.189), (0.72, 0.68)),
    ("reordered_bicgstab", True): ((0.072, 0.065), (0.224, 0.196), (0.81, 0.7)),
    ("pipelined_bicgstab", True): ((0.107, 0.085), (0.368, 0.279), (1.39, 1.03)),
}
PAPER_COLUMNS = (1, 4, 16)


def problems(arguments):
    files = sorted(arguments.folder.glob("*.mtx.gz"))
    return [path for path in files if path.name.removesuffix(".mtx.gz") not in HOPELESS] + list(GENERATED)


def measure_honesty(arguments):
    return family.measure_honesty(arguments, problems(arguments), METHODS)


def measure_safeguards(arguments):
    """The pipelined method with other checks, all methods with other thresholds of breakdown."""
    results = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for methods, variants in ((("pipelined_bicgstab",), CHECKS), (METHODS, BREAKDOWNS)):
            for options in variants:
                cases = [(q, m, p, t) for q in problems(arguments) for m in methods for p in PRECONDITIONERS
                         for t in CHOOSING]
                runs = list(pool.map(lambda c: solve(arguments, c[0], c[1], options, c[2], c[3]), cases))
                results.append({"methods": methods, "options": options, "runs": runs})
                print(f"safeguards: {', '.join(methods)} {options}", flush=True)
    return results


def measure_times(arguments):
    """With compressed rows, as the paper has them, and with Stretto's own choice, which stores equal rows once."""
    times = {storage: measure_bench(arguments, "bicgstab", "--problem", arguments.problem, "--storage", storage)
             for storage in ("csr", "auto")}
    return {**times, "machine": family.machine()}


def times_tables(times):
    rows = {(m["method"], m["preconditioned"], m["columns"]): m for m in times["measurements"]}
    lines = ["| method | precond | m | basic, ms | merged, ms | gain | paper's gain | of triad | reads + writes, basic → merged |",
             "|---|---|--:|--:|--:|--:|--:|--:|---|"]
    columns = sorted({c for _, _, c in rows})
    for method, preconditioned in TABLE4:
        for c in columns:
            if (method, preconditioned, c) not in rows:
                continue
            row = rows[method, preconditioned, c]
            basic, merged = row["basic"], row["merged"]
            paper = ""
            if c in PAPER_COLUMNS:
                a, b = TABLE4[method, preconditioned][PAPER_COLUMNS.index(c)]
                paper = f"{100 * (1 - b / a):.0f} %"
            lines.append(f"| {method} | {'copy' if preconditioned else 'none'} | {c} | {basic['milliseconds']:.1f} "
                         f"| {merged['milliseconds']:.1f} | {100 * row['gain']:.0f} % | {paper} "
                         f"| {100 * merged['of_triad']:.0f} % | {basic['vector_reads']:.0f} + "
                         f"{basic['vector_writes']:.0f} → {merged['vector_reads']:.0f} + {merged['vector_writes']:.0f} |")
    first = columns[0]
    against = ["| method | precond | basic | merged | paper, basic | paper, merged |", "|---|---|--:|--:|--:|--:|"]
    for method, preconditioned in TABLE4:
        row, classic = rows[method, preconditioned, first], rows["bicgstab", False, first]
        a, b = TABLE4[method, preconditioned][0]
        a0, b0 = TABLE4["bicgstab", False][0]
        against.append(f"| {method} | {'copy' if preconditioned else 'none'} "
                       f"| {row['basic']['milliseconds'] / classic['basic']['milliseconds']:.2f} "
                       f"| {row['merged']['milliseconds'] / classic['merged']['milliseconds']:.2f} "
                       f"| {a / a0:.2f} | {b / b0:.2f} |")
    single = ["| method | precond | " + " | ".join(f"m = {c}" for c in columns if c > 1) + " | " +
              " | ".join(f"paper, m = {c}" for c in PAPER_COLUMNS[1:]) + " |",
              "|---|---|" + "--:|" * (len(columns) - 1 + 2)]
    for method, preconditioned in TABLE4:
        cells = [f"{rows[method, preconditioned, c]['of_single_solves']:.2f}"
                 if (method, preconditioned, c) in rows else "–" for c in columns if c > 1]
        paper = TABLE4[method, preconditioned]
        cells += [f"{paper[k][1] / (PAPER_COLUMNS[k] * paper[0][1]):.2f}" for k in (1, 2)]
        single.append(f"| {method} | {'copy' if preconditioned else 'none'} | " + " | ".join(cells) + " |")
    return "\n".join(lines), "\n".join(against), "\n".join(single)


def honesty_table(runs):
    classic = of(runs, method="bicgstab")
    lines = ["| method | precond | " + " | ".join(f"{t:.0e}" for t in TOLERANCES) + " | products, of bicgstab's |",
             "|---|---|" + "--:|" * (len(TOLERANCES) + 1)]
    for method in METHODS:
        for precond in PRECONDITIONERS:
            own = of(runs, method=method, precond=precond)
            cells = [f"{converged(of(own, rtol=t))} of {len(of(own, rtol=t))}" for t in TOLERANCES]
            lines.append(f"| {method} | {precond} | " + " | ".join(cells) +
                         f" | {ratio(own, of(classic, precond=precond)):.2f} |")
    return "\n".join(lines)


def safeguard_tables(results):
    tables = []
    for methods, names in ((("pipelined_bicgstab",), ("check", "gap")), (METHODS, ("breakdown",))):
        group = [result for result in results if tuple(result["methods"]) == methods]
        default = next(result for result in group if not result["options"])
        lines = ["| " + " | ".join(names) + " | converged | products, of the default's | fell back | iterations |",
                 "|" + "--:|" * (len(names) + 4)]
        for result in group:
            runs = result["runs"]
            values = [result["options"].get(name, DEFAULTS[name]) for name in names]
            fell_back = sum(run["finished_by"] != run["method"] for run in runs)
            per_method = [ratio(of(runs, method=m), of(default["runs"], method=m)) for m in methods]
            lines.append("| " + " | ".join(f"{v:g}" for v in values) + f" | {converged(runs)} of {len(runs)} | " +
                         " / ".join(f"{r:.2f}" for r in per_method) +
                         f" | {fell_back} | {sum(run['iterations'] for run in runs)} |")
        tables.append("\n".join(lines))
    return tables


PAGE = """# The BiCGStab family compared

<!-- Written by scripts/bicgstab_family.py; do not edit. -->

Stretto {version}. To write this page again, with a folder of `.mtx.gz` files:

    set -a; . scripts/mpi.env; set +a; python3 scripts/bicgstab_family.py FOLDER

## Time of an iteration, merged and basic

`stretto bench bicgstab` on {problem} ({rows} rows, {nonzeros} nonzeros), {ranks} ranks of {threads} thread, double
precision; the best iteration of each kind, the best triad. {machine}. The preconditioned methods have a copy for
preconditioner, as in the paper, and the safeguards that act now and then are off, so that all iterations are alike.

### With compressed rows, as the paper has the matrix

`--storage csr`; triad in the same process: {triad:.0f} GB/s.
*Of triad*: the bytes that an iteration must move (matrix and vectors once per product, vectors as the statements count
them) over its time, against STREAM's triad, counted alike. *Paper*: Krasnopolsky 2019, Table 4, one node of Lomonosov-2,
the same matrix.

{times}

Against unpreconditioned bicgstab of the same formulation, m = 1, beside the same quotients of the paper's Table 4
(its Table 3 has the same times in milliseconds):

{against}

Many right-hand sides: the time of an iteration with m columns over that of m iterations with one, merged. The matrix is
read once for all columns; what remains per column are its vectors.

{single}

### With equal rows stored once

What Stretto does of itself (`--storage auto`), as all rows of this matrix are one of 27: a product reads x, writes y and
hardly reads the matrix, so vectors are nearly all that moves, and merging saves more of it. Triad: {auto_triad:.0f} GB/s.

{auto_times}

{reading}

## What they solve

b = A·ones for the matrices, random for the generated problems; at most {max_it} iterations; one rank; all options at their
defaults. Converged, of all runs, by tolerance; and the geometric mean of the products with A, safeguards included, over
bicgstab's where both converge.

{honesty}

{verdict}

Left unsolved at some tolerance (the loosest is named, with the status and the residual attained there):

{unsolved}

Left out: {left_out}, which no method of the family solves without a stronger preconditioner
([the zoo](zoo.md)).

## How the safeguards were chosen

On the same problems, without and with Jacobi, at 1e-8 and 1e-12. Of `pipelined_bicgstab`, how often the gap between the
recursive and the true residual is measured (`check`, 0: never) and above which part of the residual all is recomputed
(`gap`, 0: at every check):

{checks}

The cosine below which r counts as orthogonal to r₀, and s to t (`breakdown`): the run then ends, and the next one starts
from the best x with a fresh shadow vector. Products for bicgstab / improved / reordered / pipelined:

{breakdowns}
"""


def page(both, runs, safeguards, max_it):
    times, auto = both["csr"], both["auto"]
    table, against, single = times_tables(times)
    checks, breakdowns = safeguard_tables(safeguards)
    return PAGE.format(
        version=times["stretto"], problem=times["problem"], rows=times["rows"], nonzeros=times["nonzeros"],
        ranks=times["ranks"], threads=times["threads"], triad=times["triad_gigabytes_per_second"],
        machine=both["machine"], times=table, against=against, single=single, auto_times=times_tables(auto)[0],
        auto_triad=auto["triad_gigabytes_per_second"], reading=READING.strip(), max_it=max_it,
        honesty=honesty_table(runs),
        verdict=verdict(runs),
        unsolved=unsolved_list(runs, METHODS), left_out=" and ".join(HOPELESS), checks=checks, breakdowns=breakdowns)


def main():
    parts = {"honesty": measure_honesty, "safeguards": measure_safeguards, "times": measure_times}
    parser = family.arguments_of(__doc__, "bicgstab_family", parts)
    parser.add_argument("--problem", default="poisson3d:200", help="of the timings")
    arguments = parser.parse_args()
    found = family.measured(arguments, parts)
    if len(found) == len(parts):
        arguments.output.write_text(page(found["times"], found["honesty"], found["safeguards"], arguments.max_it))


# What the tables say, in words; to be read again when they change.
READING = """
### Reading

- Merging gains most for the improved and the pipelined method without a preconditioner, 12 to 43 %, and more for 4 and 16
  right-hand sides than for one, as in the paper.
- **The preconditioned pipelined method gains nothing from merging here**, where the paper has a quarter. Its longest group
  passes over 14 vectors at once, and then memory delivers 51 to 69 % of triad's rate, where the basic form, three vectors
  at a time, has 75 to 105 %: the processor's prefetchers do not follow that many streams. What merging saves in bytes it
  loses in rate. That was measured before large groups got smaller blocks, with which it reaches triad's rate
  ([groups](groups.md)).
- m columns cost 0.37 to 0.72 of m solves, the preconditioned pipelined method with m = 4 excepted (0.90, for the same
  reason); the paper has 0.64 to 0.82.
- This is a shared virtual machine, whose bandwidth changes by tens of percent within seconds. The best of a few iterations
  evens that out in part: where the merged form of bicgstab seems slower than the basic one, or faster than triad, it is
  that.
"""

if __name__ == "__main__":
    main()
