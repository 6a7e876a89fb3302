# SPDX-License-Identifier: BSD-3-Clause
"""Which BiCGStab method is best on how many nodes? The experiments of Krasnopolsky 2019, Tables 5 and 6, Fig. 4, 5, 10, 11 and
12, simulated on 1 to 128 nodes; make simulate builds the simulator."""

import math

from . import simulated
from .simulated import tables
from .text import NONE, points, spread, table

options = simulated.options
RUN = ("--machine", "lomonosov", "--dry", "--exchanges", "memory", "--iterations", "24")
PLAIN = ("bicgstab", "improved_bicgstab", "pipelined_bicgstab")
PRECONDITIONED = ("bicgstab", "reordered_bicgstab", "pipelined_bicgstab")
TITLES = (*PLAIN, *(f"{x}, M" for x in PRECONDITIONED))
# Tables 5 and 6: measured seconds on one node, 8 million unknowns; BiCGStab, Improved, Pipelined, then with M.
PRINTED = {("lomonosov", 1): (.107, .113, .127, .116, .117, .156), ("lomonosov", 4): (.29, .32, .38, .33, .34, .49),
           ("lomonosov2", 1): (.058, .061, .069, .064, .065, .085), ("lomonosov2", 4): (.16, .18, .21, .19, .19, .27),
           ("lomonosov2", 16): (.58, .64, .76, .69, .69, 1.01)}


def measure(study):
    runs = simulated.Simulations(study)
    rows = []
    for machine, m in PRINTED:
        one = ["--machine", machine, *RUN[2:], "--columns", str(m)]
        times = [1e-6 * runs.points("poisson3d:200", methods, "1", *one, *flags).us(1, x) for methods, flags in
                 ((PLAIN, ()), (PRECONDITIONED, ("--precond", "cost:2"))) for x in methods]
        rows.append({"machine": machine, "m": m, **dict(zip(TITLES, times))})
    runs.put("tables 5 and 6", rows)
    problem, nodes, basic = "poisson2d:1000", "1..128", PLAIN[::2]
    found = runs.points(problem, basic, "1,2,4,8,12,16,20", *RUN, "--blocking", "--formulation", "basic")
    runs.put("figures 4 and 5", [{"nodes": n, **{f"{m}, µs": found.us(n, m) for m in basic},
                                  **{f"{m}, speed-up": found.speed_up(n, m) for m in basic}} for n in found.nodes()])
    for m in (1, 4, 16):
        plain = runs.points(problem, PLAIN, nodes, *RUN, "--blocking", "--columns", m)
        with_m = runs.points(problem, PRECONDITIONED, nodes, *RUN, "--blocking", "--columns", m, "--precond", "cost:2")
        runs.put(f"figure 10 m={m}", [{"nodes": n, **{x: plain.speed_up(n, x, (1, "bicgstab")) for x in PLAIN},
                                       **{f"{x}, M": with_m.speed_up(n, x, (1, "bicgstab")) for x in PRECONDITIONED}}
                                      for n in plain.nodes()])
    for alpha in (20, 50):
        precond = ("--precond", f"cost:{alpha}")
        none = runs.points(problem, PRECONDITIONED, nodes, *RUN, *precond, "--blocking")
        hidden = {"manual": runs.points(problem, PRECONDITIONED[1:], "4..128", *RUN[:-1], "14", *precond, "--reductions", "rd",
                                        "--polls", "1"),
                  "full": runs.points(problem, PRECONDITIONED, nodes, *RUN, *precond)}
        runs.speed_ups(f"figure 11 {alpha}", none, PRECONDITIONED)
        runs.put(f"figure 12 {alpha}", [{"nodes": n, **{f"{x}, {mode}": none.us(n, x) / hidden[mode].us(n, x)
                                                        for x in PRECONDITIONED[1:] for mode in hidden}}
                                        for n in none.nodes() if n >= 4])


# What follows reads the data alone.

def one_node(rows):
    """Simulated / measured there."""
    return table(rows, {"seconds": "{machine}, m = {m}", **{title: lambda row, k=k, title=title: NONE if row[title] is None else (
        f"{row[title]:.3f} / {PRINTED[row['machine'], row['m']][k]:.3f}") for k, title in enumerate(TITLES)}})


def said_of_one_node(rows):
    less = [100 * (1 - row[title] / PRINTED[row["machine"], row["m"]][k]) for row in rows for k, title in enumerate(TITLES)
            if row[title]]
    return f"All methods take {spread(less, 0)} % less than measured." if less else ""


def said_of_best(rows, methods, suffix=""):
    """The best by number of nodes, in stretches of the same."""
    best = [(row["nodes"], max(methods, key=lambda m: row[m + suffix] or -math.inf)) for row in rows]
    starts = [k for k in range(len(best)) if k == 0 or best[k][1] != best[k - 1][1]]
    parts = [f"{best[a][1]} on {best[a][0]}" + (f" to {best[b - 1][0]}" if b - a > 1 else "") for a, b in
             zip(starts, [*starts[1:], len(best)])]
    return ", ".join(parts)


def said_of_progress(rows):
    parts = []
    for mode in ("manual", "full"):
        for method in PRECONDITIONED[1:]:
            row = max(rows, key=lambda row: row[f"{method}, {mode}"] or 0, default=None)
            if row:
                parts.append(f"{method}, {mode}: {100 * (row[f'{method}, {mode}'] - 1):.0f} % on {row['nodes']} nodes")
    return "; ".join(parts)


def report(data):
    found = data["tables"]
    values = tables(data, {"figure 12.*": 3}, {"tables 5 and 6": one_node})
    values |= {
        "said one node": said_of_one_node(found["tables 5 and 6"]),
        "said basic": points(f"{m}: {row[f'{m}, speed-up']:.0f}-fold on {row['nodes']} nodes"
                             for row in found["figures 4 and 5"][-1:] for m in PLAIN[::2]),
        "said 10": points(f"m = {m}: {said_of_best(found[f'figure 10 m={m}'], PLAIN)} nodes; preconditioned, "
                          f"{said_of_best(found[f'figure 10 m={m}'], PRECONDITIONED, ', M')} nodes" for m in (1, 4, 16)),
        "said 11": points(f"Complexity {alpha}: {said_of_best(found[f'figure 11 {alpha}'], PRECONDITIONED)} nodes"
                          for alpha in (20, 50)),
        "said 12": points(f"Complexity {alpha}: {said_of_progress(found[f'figure 12 {alpha}'])}." for alpha in (20, 50))}
    return values, {}
