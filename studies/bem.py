# SPDX-License-Identifier: BSD-3-Clause
"""What do the paper's boundary elements take? Charges on spheres and figures by hierarchical matrices, and what hiding the
all-gather is worth."""

import math

from . import machine, run
from .text import points, table

PROBLEMS = ("100ts", "338ts", "1ms", "hum2", "hum4", "hum6")
# Yamazaki and others 2018: unknowns (Fig. 3), iterations of BiCG on Tsubame-3 (Figs. 16 and 17).
PAPER = {"100ts": (101250, "19"), "338ts": (338000, ""), "1ms": (1004400, "14, 15"), "hum2": (78656, ""), "hum4": (314624, "81 to 86"),
         "hum6": (707904, "102 to 106")}
METHODS = ("bicgstab", "pipelined_bicgstab")
DELAYS = (0, 0.5, 1, 2, 5)  # milliseconds of a message


def options(parser):
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--epsilon", type=float, default=1e-3, help="of the compression (%(default)s, as in the paper)")
    parser.add_argument("--rtol", type=float, default=1e-7, help="(%(default)s, as in the paper)")
    parser.add_argument("--hidden", default="two_spheres:n=20000", help="whose all-gather is hidden (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="of hiding, of which the fastest counts (%(default)s)")


def solved(study, problem, methods, timeout=None, **more):
    """The results of the methods, in their order."""
    a = study.options
    words = ["bem", problem, *(f"--method={method}" for method in methods), "--threads", 1, "--hmatrix", f"epsilon={a.epsilon}",
             "--precond", "none", *run.words_of({"rtol": a.rtol, **more})]
    found = study.stretto.json(*words, ranks=a.ranks, timeout=timeout)
    return found if isinstance(found, list) else [found]


def solutions(study):
    """Each problem by both methods."""
    records = []
    for problem in ("two_spheres:n=1280", "hum2:n=1000") if study.options.quick else PROBLEMS:
        for result in solved(study, problem, METHODS):
            of, seconds = result["per_iteration"], result["seconds"]
            records.append({"problem": problem, "method": result["method"], "rows": result["rows"], "status": result["status"],
                            "iterations": result["iterations"], "ms": 1e3 * of["seconds"], "solve": seconds["solve"],
                            "compression": result["hmatrix"]["compression_seconds"], "bytes": result["hmatrix"]["bytes"],
                            "values": result["nonzeros"], "product_ms": 1e3 * seconds["by_kernel"]["apply"] / result["total"]["applies"],
                            "residual": result["relative_residual"], "kernel_residual": result["hmatrix"]["kernel_residual"],
                            "charges": result["bem"]["charges"]})
        study.say(problem)
    return {"records": records}


def hiding(study):
    """Milliseconds of an iteration against the latency of messages, vectors whole on every rank."""
    a, best = study.options, {}
    problem = "two_spheres:n=1280" if a.quick else a.hidden
    for number in range(a.rounds):
        for delay in DELAYS:
            for result in solved(study, problem, METHODS, layout="replicated", emulate_latency=f"0,message={delay}ms"):
                key = delay, result["method"]
                best[key] = min(best.get(key, float("inf")), 1e3 * result["per_iteration"]["seconds"])
        study.say(f"hiding, round {number + 1}")
    return {"problem": problem, "records": [{"delay": delay, "method": method, "ms": ms} for (delay, method), ms in best.items()]}


PARTS = {"solutions": solutions, "hiding": hiding}


# What follows reads the data alone.

def beside(rows):
    """What the paper has, and how a problem was solved."""
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = {row["method"]: row for row in rows if row["problem"] == problem}
        first = own["bicgstab"]
        unknowns, iterations = PAPER.get(problem, (None, ""))
        yield {"problem": problem, "n": first["rows"], "of_paper": f"{unknowns or 0:,}", "paper": iterations or None,
               "share": first["values"] / (first["rows"] * math.log2(first["rows"])), "MB": first["bytes"] / 1e6, **first,
               "pipelined": own["pipelined_bicgstab"]["iterations"], "per_product": first["product_ms"]}


def reading(times):
    for delay in dict.fromkeys(delay for delay, _ in times):
        block, pipelined = (times[delay, method] for method in METHODS)
        yield f"{delay:g} ms: {block:.2f} and {pipelined:.2f} ms, {block / pipelined:.2f} times as fast"


def report(data):
    solutions, hidden = data["solutions"], data["hiding"]
    rows = list(beside(solutions["records"]))
    times = {(row["delay"], row["method"]): row["ms"] for row in hidden["records"]}
    columns = {"problem": "`{problem}`", "unknowns": "{rows}", "the paper's": "{of_paper}", "values / n log₂n": "{share:.1f}",
               "MB": "{MB:.0f}", "compression, s": "{compression:.1f}", "a product, ms": "{per_product:.1f}",
               "iterations of `bicgstab`": "{iterations}", "of `pipelined_bicgstab`": "{pipelined}", "the paper's BiCG": "{paper}",
               "solve, s": "{solve:.2f}",
               "charge of the first and the last surface": lambda row: f"{row['charges'][0]:.4g}, {row['charges'][-1]:.4g}"}
    worst = max(row["kernel_residual"] for row in solutions["records"])
    return {"facts": machine.line(solutions["facts"]), "facts_hiding": machine.line(hidden["facts"]), "table": table(rows, columns),
            "statuses": ", ".join(sorted({row["status"] for row in solutions["records"]})), "worst": f"{worst:.1e}",
            "problem": hidden["problem"], "reading": points(reading(times))}, {}
