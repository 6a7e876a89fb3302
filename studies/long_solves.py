# SPDX-License-Identifier: BSD-3-Clause
"""Do solves of hundreds to tens of thousands of iterations end in convergence? Linear elements for convection and diffusion,
generated problems and real matrices, several right-hand sides each: with default options, and with other patience, thresholds
and limits, by which the defaults were chosen. A quarter of an hour."""

import math
import pathlib
import random
import tempfile

from . import families, machine, run
from .matrix_file import is_file, name_of
from .text import bold, points, table

FAMILIES = {
    "BiCGStab": ("bicgstab", "improved_bicgstab", "reordered_bicgstab", "pipelined_bicgstab"),
    "GMRES": ("gmres", "pipelined_gmres", "s_step_gmres", "pipelined_s_step_gmres"),
    "CG": ("cg", "single_reduction_cg", "pipelined_cg", "deep_pipelined_cg"),
    "MINRES": ("minres",),
}
# What options each family was tried with; "max_it" is the limit of iterations.
BEFORE = {"BiCGStab": {"patience": 500, "cosine": 0}, "GMRES": {"patience": 10000}, "CG": {"patience": 5000},
          "MINRES": {"patience": 1000}}
POLICIES = {
    "default": lambda family: {},
    "before": lambda family: BEFORE[family] | {"max_it": 10000},
    "patience": lambda family: {"cosine": 0} if family == "BiCGStab" else None,
    "no restarts": lambda family: {"breakdown": 0} if family == "BiCGStab" else None,
}
# Wind, Péclet number, vertices inside along a side of the unit square.
ELEMENTS = (("vortex", 200, 224), ("straight", 1000, 224), ("cells", 500, 160), ("vortex", 400, 120))
WINDS = {
    "straight": lambda x, y: (math.cos(0.6), math.sin(0.6)),
    "vortex": lambda x, y: (4 * (2 * y - 1) * x * (1 - x), -4 * (2 * x - 1) * y * (1 - y)),
    "cells": lambda x, y: (math.sin(4 * math.pi * x) * math.cos(4 * math.pi * y),
                           -math.cos(4 * math.pi * x) * math.sin(4 * math.pi * y)),
}
# Problem, preconditioner, families.
GENERATED = (
    ("jump2d:100,contrast=1e6", "none", ("BiCGStab", "CG", "MINRES")),
    ("jump2d:60,contrast=1e6", "jacobi", ("BiCGStab", "GMRES", "CG", "MINRES")),
    ("jump2d:150,contrast=1e8", "jacobi", ("CG", "MINRES")),
    ("jump3d:30,contrast=1e6", "none", ("CG", "MINRES")),
)
REAL = (
    ("bcsstk13", "none", ("MINRES",)),
    ("bcsstk13", "jacobi", ("BiCGStab", "CG", "MINRES")),
    ("memplus", "none", ("BiCGStab",)),
    ("olm1000", "none", ("BiCGStab",)),
    ("orsirr_1", "none", ("BiCGStab", "GMRES")),
    ("sherman3", "none", ("BiCGStab",)),
)


def options(parser):
    parser.add_argument("--columns", type=int, default=3, help="right-hand sides (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="solves at a time (%(default)s)")


def write_elements(path, wind, peclet, side):
    """−Δu + Péclet · wind · ∇u = f by linear elements without upwinding: vertices of a square grid moved by up to 0.3 of its
    width, squares cut along one diagonal or the other by chance."""
    draw, h = random.Random(1), 1 / (side + 1)

    def moved(k, inside):
        return k * h + (0.3 * h * draw.uniform(-1, 1) if inside else 0)

    def number(i, j):
        return (j - 1) * side + i - 1 if 0 < i <= side and 0 < j <= side else None

    places = {(i, j): (moved(i, number(i, j) is not None), moved(j, number(i, j) is not None))
              for j in range(side + 2) for i in range(side + 2)}
    rows = [{} for _ in range(side * side)]

    def add(corners):
        (x0, y0), (x1, y1), (x2, y2) = (places[corner] for corner in corners)
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)  # twice
        slopes = [((y1 - y2) / area, (x2 - x1) / area), ((y2 - y0) / area, (x0 - x2) / area), ((y0 - y1) / area, (x1 - x0) / area)]
        u, v = WINDS[wind]((x0 + x1 + x2) / 3, (y0 + y1 + y2) / 3)
        numbers = [number(*corner) for corner in corners]
        for a, row in enumerate(numbers):
            for c, column in enumerate(numbers):
                if row is not None and column is not None:
                    value = area * ((slopes[a][0] * slopes[c][0] + slopes[a][1] * slopes[c][1]) / 2
                                    + peclet * (u * slopes[c][0] + v * slopes[c][1]) / 6)
                    rows[row][column] = rows[row].get(column, 0.0) + value

    for j in range(side + 1):
        for i in range(side + 1):
            a, b, c, d = (i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)
            for corners in ((a, b, c), (a, c, d)) if draw.random() < 0.5 else ((a, b, d), (b, c, d)):
                add(corners)
    entries = (f"{i} {j + 1} {value!r}\n" for i, row in enumerate(rows, 1) for j, value in sorted(row.items()))
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{side * side} {side * side} {sum(map(len, rows))}\n"
                    + "".join(entries))


def problems(study, folder):
    """(name, problem, preconditioner, families)"""
    for wind, peclet, side in families.few(study, ELEMENTS[::-1], 1):
        path = pathlib.Path(folder) / f"{wind}-{peclet}-{side}.mtx"
        write_elements(path, wind, peclet, 30 if study.options.quick else side)
        yield f"{wind} wind, Péclet {peclet}, {side}²", path, "jacobi", ("BiCGStab",)
    if study.options.quick:
        yield "jump2d:20", "jump2d:20", "jacobi", tuple(FAMILIES)
        return
    for problem, precond, some in GENERATED:
        yield problem, problem, precond, some
    files = {name_of(path): path for path in study.files()}
    for name, precond, some in REAL:
        yield name, files[name], precond, some


def measure(study):
    study.data |= {"facts": study.facts(), "columns": study.options.columns, "records": []}
    with tempfile.TemporaryDirectory() as folder:
        for name, problem, precond, some in problems(study, folder):
            kind = "elements" if " wind" in name else "real" if is_file(problem) else "generated"
            # The largest with the defaults alone.
            cases = [{"name": name, "kind": kind, "problem": problem, "precond": precond, "family": family, "method": method,
                      "policy": policy, "options": given(family)}
                     for family in some for method in FAMILIES[family] for policy, given in POLICIES.items()
                     if given(family) is not None and (policy in ("default", "before") or "224" not in name)]
            study.data["records"] += families.pooled(study, lambda case: one(study, **case), cases)
            study.save()


def one(study, problem, options, **record):
    """A solve of several right-hand sides, by one method with the options of one policy."""
    given = {key: value for key, value in options.items() if key != "max_it"}
    [found] = study.stretto.solve(problem, [run.with_options(record["method"], given)], rhs="random", precond=record["precond"],
                                  columns=study.options.columns, max_it=options.get("max_it"))
    study.say(f"{record['name']}, {record['method']}, {record['policy']}")
    columns = found["columns_detail"]
    return {**record, "rows": found["rows"], "status": [each["status"] for each in columns],
            "iterations": [each["iterations"] for each in columns],
            "residual": [each["relative_residual"] for each in columns]}


# What follows reads the data alone.

WORDS = {
    "default": "default",
    "before": "before: `patience` 500 (`minres` 1000, CG 5000, GMRES 10000), no `cosine`, at most 10000 iterations",
    "patience": "default without `cosine`",
    "no restarts": "default with `breakdown=0`",
}


def converged(record):
    return [status == "converged" for status in record["status"]]


def best_of(records):
    """Iterations of the best policy for each problem, method and right-hand side."""
    best = {}
    for record in records:
        for k, (good, iterations) in enumerate(zip(converged(record), record["iterations"])):
            if good:
                key = record["name"], record["precond"], record["method"], k
                best[key] = min(iterations, best.get(key, iterations))
    return best


def summary(records, best):
    """How many columns converged, of those that some policy solves, and the iterations beside the best policy's."""
    logs, solved, count, most = [], 0, 0, 0
    for record in records:
        for k, (good, iterations) in enumerate(zip(converged(record), record["iterations"])):
            least = best.get((record["name"], record["precond"], record["method"], k))
            count += 1
            solved += good
            if good:
                logs.append(math.log(iterations / least))
                most = max(most, iterations)
    return {"solved": solved, "count": count, "most": most, "mean": math.exp(sum(logs) / len(logs)) if logs else None,
            "worst": math.exp(max(logs)) if logs else None}


SUMMARY = {"converged": "{solved} of {count}", "iterations, of the best": "{mean:.2f}", "at worst": "{worst:.1f}",
           "longest solve": "{most}"}


def elements_table(records):
    rows = {}
    for record in (r for r in records if r["kind"] == "elements" and r["family"] == "BiCGStab"):
        row = rows.setdefault((record["name"], record["method"]), {"name": record["name"], "method": record["method"]})
        good = converged(record)
        row[record["policy"]] = bold(f"{sum(good)} of {len(good)}", record["policy"] == "default")
        if record["policy"] == "default":
            row["iterations"] = ", ".join(str(n) if ok else "–" for n, ok in zip(record["iterations"], good))
    return table(list(rows.values()), {"problem": "{name}", "method": "{method}", "default": "{default}",
                                       "iterations": "{iterations}", "before": "{before}",
                                       "without `cosine`": "{patience}", "`breakdown=0`": "{no restarts}"})


def left_points(records):
    """What the defaults do not solve."""
    rows = {}
    for record in records:
        for good, status, iterations, residual in zip(converged(record), record["status"], record["iterations"],
                                                      record["residual"]):
            if not good and record["policy"] == "default":
                rows.setdefault((record["name"], record["precond"]), []).append(
                    f"{record['method']} {status} at {residual:.1e} after {iterations}")
    return points(f"{name}, {precond}: {'; '.join(some)}" for (name, precond), some in rows.items()) or "Nothing."


def report(data):
    records = data["records"]
    best = best_of(records)
    by_policy, by_method = [], []
    for family in FAMILIES:
        for policy, words in WORDS.items():
            own = families.of(records, family=family, policy=policy)
            if own:
                by_policy.append({"family": family, "policy": words, **summary(own, best)})
        for method in FAMILIES[family]:
            own = families.of(records, method=method, policy="default")
            before = families.of(records, method=method, policy="before")
            if own:
                by_method.append({"method": method, "problems": len(own), "before": "{solved} of {count}".format(**summary(before, best)),
                                  **summary(own, best)})
    elements = [r for r in records if r["kind"] == "elements" and r["family"] == "BiCGStab"]
    count = {policy: summary([r for r in elements if r["policy"] == policy], best) for policy in POLICIES}
    return {
        "columns": f"{data['columns']}", "elements": elements_table(records),
        "elements solved": "{solved} of {count}".format(**count["default"]),
        "elements before": "{solved} of {count}".format(**count["before"]),
        "policies": table(by_policy, {"family": "{family}", "policy": "{policy}", **SUMMARY}),
        "methods": table(by_method, {"method": "{method}", "problems": "{problems}", "converged": "{solved} of {count}",
                                     "before": "{before}", "longest solve": "{most}"}),
        "left": left_points(records), "facts": machine.line(data["facts"]),
    }, {}
