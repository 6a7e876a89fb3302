# SPDX-License-Identifier: BSD-3-Clause
"""Do pipelined conjugate gradients scale further? The experiments of Cornelis, Cools, Ghysels and Vanroose 2019, Fig. 2, 3 and
4, simulated on 8 to 1024 nodes; make simulate builds the simulator."""

import json

from . import picture, simulated
from .simulated import CG, SHORT, label, tables
from .text import points

options = simulated.options
RUN = ("--machine", "cori", "--dry", "--iterations", "24")
SHEET = ("--deal", "boxes", "--precond", "matrix", "--exchanges", "memory")
SIZES = ("100x100x50", "150x150x100", "200x200x150")
TWO = {"laplacian": "poisson2d:2000", "diagonal": "diagonal:poisson2d,2000"}
KERNELS = {"A": ("apply",), "M⁻¹": ("precondition",), "vectors": ("vectors", "dots"), "waiting for reductions": ("reductions",),
           "halo": ("halo",)}
SPAN, WHERE = 120, 128  # µs of a timeline; nodes of it and of the kernels
BLOCKS = {"apply": "A", "vectors": "vectors", "dots": "dot products", "halo": "halo", "reductions": "waiting for a reduction",
          "reduction": "reduction in flight"}


def kernels(runs, name, found):
    """µs of an iteration by kernel, each on its slowest rank."""
    runs.put(f"kernels {name}", [
        {"µs per iteration": label(m), **{title: 1e6 * sum(found[WHERE, m]["kernels"][k] for k in each)
                                          for title, each in KERNELS.items()}, "all": found.us(WHERE, m)}
        for m in CG if (WHERE, m) in found])


def slower(runs, name, problem, more):
    """Where every reduction takes longer than its messages do: what longer ones explain."""
    rows = []
    for added in (0, 5, 10, 20):
        # The steps inside a node take 4 × 0.9 µs by themselves.
        law = ["--set", f"all_reduce={(added + 3.6) * 1e-6:.2g},0,0,0"] if added else []
        if found := runs.points(problem, CG, f"{WHERE}", *RUN, *more, *law):
            rows.append({"µs longer": added, **{label(m): found.us(WHERE, m) for m in CG}})
    runs.put(f"slower {name}", rows)


def timeline(runs, name, problem):
    """Rank 0: what ran, and in further lanes what was in flight, from the traces of a run."""
    prefix, methods = runs.a.keep / f"timeline_{name}-", ("cg", *simulated.DEEP[:2])
    if not runs.points(problem, methods, f"{WHERE}", "--machine", "cori", "--dry", "--iterations", "30", "--exchanges", "memory",
                       "--trace", prefix):
        return
    tracks = {}
    for method in methods:
        file = prefix.with_name(prefix.name + "".join(c if c.isalnum() or c == "_" else "-" for c in method) + ".json")
        events = json.loads(file.read_text())["traceEvents"]
        names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == 0}
        spans = [e for e in events if e["ph"] == "X" and e["pid"] == 0]
        products = sorted(e["ts"] for e in spans if e["name"] == "apply")
        first = products[len(products) // 2]
        lanes = sorted(t for t in {e["tid"] for e in spans} if names[t].startswith("reduction"))
        tracks[SHORT[method]] = [lane for lane in (
            [(e["name"], max(e["ts"] - first, 0), min(e["ts"] + e["dur"] - first, SPAN)) for e in spans
             if e["tid"] == t and first - e["dur"] < e["ts"] < first + SPAN]
            for t in [next(t for t in names if names[t] == "kernels"), *lanes]) if lane]
    runs.study.data.setdefault("timelines", {})[name] = tracks
    runs.study.save()


def measure(study):
    runs = simulated.Simulations(study)
    for size in SIZES:
        found = runs.points(f"poisson3d27:{size}", CG, "8..1024", *RUN, *SHEET)
        runs.speed_ups(f"speed-up {size}", found, CG)
        kernels(runs, size, found)
    runs.speed_ups("without caches", runs.points(f"poisson3d27:{SIZES[2]}", CG, "8..256", *RUN, *SHEET, "--set", "cache=0"), CG)
    slower(runs, "sheet", f"poisson3d27:{SIZES[1]}", SHEET)
    for name, problem in TWO.items():
        found = runs.points(problem, CG, "8..1024", *RUN, "--exchanges", "memory")
        runs.speed_ups(f"speed-up {name}", found, CG)
        kernels(runs, name, found)
        slower(runs, name, problem, ("--exchanges", "memory"))
        timeline(runs, name, problem)


# What follows reads the data alone.

METHODS = [SHORT[m] for m in CG]


def best(row):
    """The fastest method of a row of speed-ups, of equals the first."""
    name = max(METHODS, key=lambda m: row[m] or 0)
    return f"{name} is {row[name] / row['CG']:.1f} times as fast as CG on {row['nodes']} nodes"


def said_of_speed_ups(rows):
    """Where CG is fastest, and what the best gains over it on most nodes."""
    if not rows:
        return ""
    peak, ideal = max(rows, key=lambda row: row["CG"]), rows[-1]["nodes"] / rows[0]["nodes"]
    first = next((row["nodes"] for row in rows if max(row[m] for m in METHODS[1:]) > row["CG"]), None)
    part = 100 * peak["CG"] * rows[0]["nodes"] / peak["nodes"]
    return (f"CG is fastest on {peak['nodes']} nodes, where it has {part:.0f} % of the ideal speed-up ({ideal:.0f} on "
            f"{rows[-1]['nodes']}); {best(rows[-1])}." + (f" Pipelined CG is faster from {first} nodes on." if first else ""))


def said_of_slower(rows):
    """What each added time makes of the lead of two reductions in flight over one."""
    return "; ".join(f"{row['µs longer']} µs: CG {row['CG'] / row['p(1)-CG']:.2f}, p(2)-CG {row['p(2)-CG'] / row['p(1)-CG']:.2f}"
                     for row in rows)


def drawn(name, rows):
    """Speed-up over CG on the fewest nodes, beside the ideal."""
    named = {"ideal": ([(row["nodes"], row["nodes"] / rows[0]["nodes"]) for row in rows], "#6b7280", picture.IDEAL),
             **{m: ([(row["nodes"], row[m]) for row in rows], colour, None) for m, colour in zip(METHODS, picture.COLOURS)}}
    titles = {"laplacian": "5-point Laplacian 2000²", "diagonal": "Diagonal matrix, 4 million unknowns",
              **{size: "27-point Laplacian " + size.replace("x", " × ") for size in SIZES}}
    return picture.curves(f"{titles[name]} on Cori, 16 ranks a node, simulated",
                          ("nodes", f"speed-up over CG on {rows[0]['nodes']} nodes"), named, (2, 2))


def report(data):
    found = data["tables"]
    values = tables(data, {})
    values |= {f"said {name}": said_of_speed_ups(found[f"speed-up {name}"]) for name in (*SIZES, *TWO)}
    values["said slower"] = points(f"{title}: {said_of_slower(found[f'slower {name}'])}." for name, title in (
        ("diagonal", "Diagonal matrix"), ("laplacian", "Laplacian"), ("sheet", "27-point Laplacian")) if found[f"slower {name}"])
    pictures = {f"scaling_cg_{name}.svg": drawn(name, found[f"speed-up {name}"]) for name in (*SIZES, *TWO)
                if len(found[f"speed-up {name}"]) > 1}
    for name, tracks in data.get("timelines", {}).items():
        pictures[f"timeline_{name}.svg"] = picture.timeline(
            f"{ {'laplacian': '5-point Laplacian', 'diagonal': 'Diagonal matrix'}[name]}: rank 0 of {16 * WHERE}, simulated",
            "µs", SPAN, tracks, BLOCKS)
    return values, pictures
