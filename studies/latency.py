# SPDX-License-Identifier: BSD-3-Clause
"""What does a late reduction cost? Time per iteration of the conjugate gradient methods against an emulated latency of
reductions."""

from . import machine, picture, run
from .text import points, table

METHODS = ("cg", "single_reduction_cg", "pipelined_cg", *(f"deep_pipelined_cg:l={depth}" for depth in (1, 2, 3, 5)))
# Iterations as the paper has them: nothing is checked, the shifts are given, and the basis may drift.
BARE = {"pipelined_cg": ":check=0", "deep_pipelined_cg": f",lmax=12{run.STAYS_DEEP},gap=1e300"}


def options(parser):
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--problem", default="poisson3d:60")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3, help="of which the fastest counts (%(default)s)")
    parser.add_argument("--delays", default="0,0.25,0.5,1,2,4", help="milliseconds (%(default)s)")


def one(study, method, delay):
    """Milliseconds of an iteration, those of them lost to reductions, and the fraction hidden."""
    a = study.options
    bare = method + BARE.get(method.split(":")[0], "")
    [found] = study.stretto.solve(a.problem, [bare], a.ranks, rtol=0, max_it=a.iterations, emulate_latency=f"{delay}ms")
    if found["finished_by"] != found["method"]:
        raise run.Failed(f"{bare} gave up: {found['events']}")
    of = found["per_iteration"]
    return 1e3 * of["seconds"], 1e3 * of["lost_seconds"], of["hidden_fraction"]


def measure(study):
    a = study.options
    if a.quick:
        a.problem, a.delays, a.rounds, a.iterations = "poisson3d:30", "0,1", 1, 30
    try:
        delays = [float(delay) for delay in a.delays.split(",")]
    except ValueError:
        raise run.Failed(f"--delays {a.delays}: milliseconds with commas are wanted, as 0,0.5,1") from None
    best = {}
    for number in range(a.rounds):
        for delay in delays:
            for method in METHODS:
                found = one(study, method, delay)
                best[delay, method] = min(found, best.get((delay, method), found))
        study.say(f"round {number + 1}")
    study.data |= {"facts": study.facts(), **{name: getattr(a, name) for name in ("problem", "ranks", "rounds", "iterations")},
                   "records": [{"delay": delay, "method": method, "ms": ms, "lost_ms": lost, "hidden": hidden}
                               for (delay, method), (ms, lost, hidden) in best.items()]}
    study.save()


# What follows reads the data alone.

def label(method):
    return method.replace("deep_pipelined_cg:l=", "p(") + (")" if ":l=" in method else "")


def reading(times):
    """The fastest at each latency, and how it is beside cg."""
    for delay in dict.fromkeys(delay for delay, _ in times):
        own = {method: ms for (at, method), ms in times.items() if at == delay}
        fastest = min(own, key=own.get)
        yield f"{delay:g} ms: {label(fastest)}, {own[fastest]:.2f} ms, {own['cg'] / own[fastest]:.1f} times as fast as cg"


def report(data):
    times = {(row["delay"], row["method"]): row["ms"] for row in data["records"]}
    rows = {}
    for row in data["records"]:
        rows.setdefault(row["delay"], {"delay": row["delay"]})[row["method"]] = f"{row['ms']:.2f} ({row['hidden']:.0%})"
    columns = {"latency, ms": "{delay:g}", **{label(m): lambda row, m=m: row.get(m, "–") for m in METHODS}}
    named = {label(m): ([(delay, ms) for (delay, at), ms in times.items() if at == m], colour, None)
             for m, colour in zip(METHODS, picture.COLOURS)}
    return {**{name: f"{data[name]}" for name in ("problem", "ranks", "rounds", "iterations")},
            "facts": machine.line(data["facts"]), "table": table(list(rows.values()), columns), "reading": points(reading(times))}, {
        "latency.svg": picture.curves(f"{data['problem']}, {data['ranks']} ranks: time of an iteration",
                                      ("emulated latency of a reduction, ms", "ms per iteration"), named)}
