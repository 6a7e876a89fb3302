# SPDX-License-Identifier: BSD-3-Clause
"""What do the conclusions of scaling hang on? Noise, parameters half and twice as large, and a model of a million ranks, on up to
1024 nodes of 16 ranks, simulated; make simulate builds the simulator."""

import json

from . import simulated
from .run import ROOT
from .simulated import label, shown, tables
from .text import points, spread, table

options = simulated.options
RUN = ("--machine", "cori", "--dry", "--exchanges", "memory", "--iterations")
METHODS = ("cg", "single_reduction_cg", "pipelined_cg", "deep_pipelined_cg:l=2", "deep_pipelined_cg:l=3")
FEW = (METHODS[0], *METHODS[2:])
GMRES = tuple(f"{m}{',' if ':' in m else ':'}m=30" for m in (
    "gmres", "pipelined_gmres:l=2", "pipelined_gmres:l=10", "s_step_gmres:s=10", "pipelined_s_step_gmres:l=2,t=5"))
BICGSTAB = ("bicgstab", "improved_bicgstab", "reordered_bicgstab", "pipelined_bicgstab")
BLOCK = ("--deal", "boxes", "--precond", "matrix")
NOISES = {"none": (), "imbalance 0.1": ("--imbalance", "0.1"), "imbalance 0.5": ("--imbalance", "0.5"),
          "detours of 10 µs, 100/s": ("--detours", "10e-6,100"), "detours of 100 µs, 10/s": ("--detours", "100e-6,10")}
COUNTS = (64, 1024)
# Name: problem, options, nodes of the table of noise.
NOISY = {"laplacian": ("poisson2d:2000", (), 1024), "diagonal": ("diagonal:poisson2d,2000", (), 1024),
         "sheet": ("poisson3d27:100x100x50", BLOCK, 64)}


def changed(*parameters):
    """Each parameter half and twice as large."""
    changes = {"as documented": ()}
    for p in parameters:
        for f in (0.5, 2):
            links = ("--set", f"link_bandwidth=x{f}") if p == "network_bandwidth" else ()
            changes[f"{p} × {f}"] = ("--set", f"{p}=x{f}", *links)
    return changes


EVERY = changed("link_latency", "message", "network_bandwidth", "memory_bandwidth", "cache_bandwidth", "kernel")
LAWS = {  # of all-reduces and of exchanges, half and twice as long
    **changed("memory_bandwidth", "cache_bandwidth", "kernel"),
    **{f"all_reduce × {f}": ("--set", f"all_reduce={3.5e-6 * f:g},{1.7e-6 * f:g},0.21,0.54") for f in (0.5, 2)},
    **{f"exchange × {f}": ("--set", f"exchange=2048,{2.4e-6 * f:g},{6.9e-8 * f:g},0.56,{3.2e-6 * f:g},{2e-9 * f:g},1")
       for f in (0.5, 2)}}
# Name: where, methods, nodes, problem, options, iterations (of changes, of noise), changes.
SENSITIVITY = {
    "gmres": (("--machine", "tsubame2", *RUN[2:]), GMRES, 50, "poisson2d:1024", (), (90, 150), EVERY),
    "bicgstab": (("--machine", "lomonosov", *RUN[2:]), BICGSTAB, 64, "poisson2d:1000", ("--precond", "cost:20"), (24, 100), LAWS),
    "communication": (RUN, FEW, 64, "poisson2d:500", (), (40, 160), EVERY),
    "memory": (RUN, FEW, 32, "poisson3d27:200x200x150", BLOCK, (40, 160), EVERY),
    "16384": (RUN, FEW, 1024, "poisson2d:2000", (), (20, None),
              changed("link_latency", "message", "network_bandwidth", "cache_bandwidth"))}


def winner(found, nodes, methods):
    """The fastest method, of those within 0.5 % the one listed first, and how many times as fast as the first it is."""
    times = {m: found.us(nodes, m) for m in methods if (nodes, m) in found}
    if methods[0] not in times:
        return {"best": None, "times": None}
    best = next(m for m in times if times[m] <= 1.005 * min(times.values()))
    return {"best": label(best), "times": times[methods[0]] / times[best]}


def compared(what, found, nodes, methods):
    """µs of an iteration under several conditions, and the fastest method of each."""
    return [{what: condition, **{label(m): each.us(nodes, m) for m in methods}, **winner(each, nodes, methods)}
            for condition, each in found.items() if nodes in each.nodes()]


def model(found, methods):
    """A million ranks, not simulated: local work as on 16,384 ranks, all-reduces as recursive doubling makes them."""
    parameters = json.loads((ROOT / "share" / "machines" / "cori.json").read_text())["parameters"]

    def us(name):
        return 1e6 * parameters[name]["value"]

    links = 5  # of a long way in a dragonfly
    near, far = (2 * us("message") + latency for latency in (us("node_latency"), links * us("link_latency")))
    for log in (14, 16, 18, 20):
        reduction, row = 4 * near + (log - 4) * far, {}
        for m in methods:
            local = found.us(1024, m) - 1e6 * found[1024, m]["kernels"]["reductions"]
            depth = int(m[-1]) if "=" in m else int(m != "cg")
            row[label(m)] = 2 * reduction + local if depth == 0 else max(local, reduction / depth)
        yield {"ranks": f"{2 ** log:,}", "an all-reduce": reduction, **row, "best over CG": row["CG"] / min(row.values())}


def measure(study):
    runs = simulated.Simulations(study)
    for name, (where, methods, nodes, problem, more, (short, long), changes) in SENSITIVITY.items():
        noises = {noise: flags for noise, flags in NOISES.items() if flags} if long else {}
        found = {name: runs.points(problem, methods, str(nodes), *where, iterations, *more, *flags)
                 for some, iterations in ((changes, short), (noises, long)) for name, flags in some.items()}
        runs.put(f"sensitivity {name}", compared("change", found, nodes, methods))
    for name, (problem, more, nodes) in NOISY.items():
        found = {noise: runs.points(problem, METHODS, ",".join(map(str, COUNTS)), *RUN, 20, *more, *flags)
                 for noise, flags in NOISES.items()}
        runs.put(f"noise {name}", compared("noise", found, nodes, METHODS))
        runs.put(f"winners {name}", [{"noise": noise, "nodes": n, **winner(each, n, METHODS)} for noise, each in found.items()
                                     for n in COUNTS])
        if name == "laplacian":
            runs.put("model", model(found["none"], FEW) if (1024, "cg") in found["none"] else [])


# What follows reads the data alone.

def won(row):
    return "–" if row["best"] is None else f"{row['best']}, {row['times']:.2f} ×"


def comparison(rows):
    titles = [title for title in rows[0] if title not in ("best", "times")] if rows else ["", ""]
    return table(rows, {**{title: shown(title, 1) for title in titles}, f"best, over {titles[1]}": won}, "Not simulated.")


def winners(rows):
    found = {}
    for row in rows:
        found.setdefault(row["noise"], {"noise": row["noise"]})[f"{row['nodes']} nodes"] = won(row)
    columns = {"noise": "{noise}", **{f"{n} nodes": f"{{{n} nodes}}" for n in COUNTS}}
    return table(list(found.values()), columns, "Not simulated.")


def said(rows):
    """Which methods win, in how many of the rows and by how much."""
    found, first = {}, list(rows[0])[1] if rows else ""
    for row in rows:
        if row["best"]:
            found.setdefault(row["best"], []).append(row["times"])
    return "; ".join(f"{best} is best in {len(times)} of {len(rows)} rows"
                     + (f", {spread(times, 1)} times as fast as {first}" if best != first else "")
                     for best, times in sorted(found.items(), key=lambda each: -len(each[1]))) + "."


def report(data):
    found = data["tables"]
    values = tables(data, {}, {"(noise|sensitivity) .*": comparison, "winners .*": winners, "model": model_table})
    titles = {"laplacian": "Laplacian", "diagonal": "Diagonal matrix", "sheet": "27-point Laplacian"}
    values["said noise"] = points(f"{title}: {said(found[f'noise {name}'])}" for name, title in titles.items())
    values |= {f"said {name}": said(found[f"sensitivity {name}"]) for name in SENSITIVITY}
    return values, {}


def model_table(rows):
    titles = rows[0] if rows else ()
    return table(rows, {title: shown(title, 1 + (title == "best over CG")) for title in titles}, "Not simulated.")
