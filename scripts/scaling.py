#!/usr/bin/env python3
"""The experiments of docs/scaling: simulates them and writes their tables into their pages.

    scripts/scaling.py EXPERIMENT… [--most NODES] [--stretto build/release/stretto] [--keep FOLDER]

Tables stand in the pages between <!-- NAME --> and <!-- /NAME -->; the text around them is written by hand. Results of
runs are kept in a folder, so that what has been simulated is not simulated again: a sweep that was stopped goes on where
it was. With --most the larger runs are left out, unless they are kept; a point without result is a stroke in its table,
and --most 0 only writes the tables."""
import argparse
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
pages = root / "docs" / "scaling"
CG = ["cg", "pipelined_cg", *(f"deep_pipelined_cg:l={l}" for l in (1, 2, 3))]
SHORT = {"pipelined_cg": "p-CG", "cg": "CG", "single_reduction_cg": "1-CG", **{f"deep_pipelined_cg:l={l}": f"p({l})-CG" for l in range(1, 11)}}


def simulate(problem, methods, nodes, *more):
    """The points of a run, by (nodes, method): a run for each number of nodes, FIRST..LAST or a list with commas.
    Without those that are left out."""
    if ".." in nodes:
        first, last = map(int, nodes.split(".."))
        counts = [first << k for k in range((last // first).bit_length())]
    else:
        counts = [int(n) for n in nodes.split(",")]
    points = Points()
    for n in counts:
        command = [arguments.stretto, "simulate", "--problem", problem, "--nodes", str(n), *more, "--methods", *methods]
        machine = root / "share" / "machines" / f"{more[more.index('--machine') + 1]}.json"
        key = "\0".join([*command[1:], machine.read_text()])
        kept = arguments.keep / (hashlib.sha256(key.encode()).hexdigest()[:20] + ".json")
        if not kept.exists():
            if n > arguments.most:
                continue
            print("$", " ".join(["stretto", *command[1:]]), flush=True)
            part = kept.with_suffix(f".{os.getpid()}")
            subprocess.run([*command, "--json", part], check=True, stdout=subprocess.DEVNULL)
            part.rename(kept)
        points |= {(n, point["method"]): point for point in json.loads(kept.read_text())["points"]}
    return points


class Points(dict):
    """By (nodes, method)."""

    def nodes(self):
        return sorted({n for n, _ in self})

    def us(self, nodes, method):
        """µs of an iteration; nan where there is no result."""
        return 1e6 * self[nodes, method]["seconds_per_iteration"] if (nodes, method) in self else math.nan

    def speed_up(self, nodes, method, base=None):
        """Over the base, (nodes, method), or the same method on the fewest nodes."""
        return self.us(*(base or (self.nodes()[0], method))) / self.us(nodes, method)

    def base(self, methods):
        """The first method on the fewest nodes."""
        return min(self.nodes(), default=0), methods[0]


def label(method):
    """What a method is called on a page: without the length of its cycles."""
    return SHORT.get(method, method.split(",m=")[0].split(":m=")[0])


def figure(value, digits):
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def plot(name, points, methods, title):
    """Speed-up over the first method on the fewest nodes, with the ideal line."""
    nodes = points.nodes()
    if len(nodes) < 2:
        return
    base = points.base(methods)
    curves = [("ideal", [(n, n / nodes[0]) for n in nodes]),
              *((SHORT.get(m, m), [(n, points.speed_up(n, m, base)) for n in nodes]) for m in methods)]
    script = (f"set terminal svg size 700,450 background 'white'\nset output '{pages / name}.svg'\nset title '{title}'\n"
              "set logscale xy 2\nset grid\nset key left top\nset xlabel 'nodes'\nset ylabel 'speed-up'\nplot "
              + ", ".join(f"'-' with linespoints {'dashtype 2 ' if k == 0 else ''}title '{label}'"
                          for k, (label, _) in enumerate(curves)) + "\n")
    for _, curve in curves:
        script += "".join(f"{x} {y}\n" for x, y in curve) + "e\n"
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def table(head, rows):
    if not rows:
        return "Not simulated."
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join([":--"] + ["--:"] * (len(head) - 1)) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def write(page, name, text):
    """Puts a table where the page has its place."""
    path = pages / page
    before, _, rest = path.read_text().partition(f"<!-- {name} -->\n")
    _, _, after = rest.partition(f"<!-- /{name} -->")
    if not rest:
        sys.exit(f"{path} has no place for {name}")
    path.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- /{name} -->{after}")


def speed_ups(points, methods):
    """Of all nodes and methods over the first method on the fewest nodes."""
    base = points.base(methods)
    return table(["nodes", *(SHORT.get(m, m) for m in methods)],
                 [[str(n), *(figure(points.speed_up(n, m, base), 2) for m in methods)] for n in points.nodes()])


def breakdown(points, nodes, methods):
    kernels = (["apply"], ["precondition"], ["vectors", "dots"], ["reductions"], ["halo"])
    return table(["µs per iteration", "A", "M⁻¹", "vectors", "waiting for reductions", "halo", "all"],
                 [[SHORT.get(m, m), *(f"{1e6 * sum(points[nodes, m]['kernels'][k] for k in each):.2f}" for each in kernels),
                   figure(points.us(nodes, m), 2)] for m in methods if (nodes, m) in points])


def cg():
    """Cornelis, Cools, Ghysels and Vanroose 2019, Fig. 2 and 3."""
    run = ["--machine", "cori", "--dry", "--iterations", "24"]
    for size in ("100x100x50", "150x150x100", "200x200x150"):
        points = simulate(f"poisson3d27:{size}", CG, "8..1024", *run, "--deal", "boxes", "--precond", "matrix",
                          "--exchanges", "memory")
        plot(f"cg_{size}", points, CG, f"simulated: 27-point Laplacian {size}, Cori, 16 ranks per node")
        write("cg.md", f"figure 2 {size}", speed_ups(points, CG))
        write("cg.md", f"figure 2 {size}, kernels", breakdown(points, 128, CG))
        if size == "150x150x100":
            slower("slower sheet", f"poisson3d27:{size}", run,
                   ["--deal", "boxes", "--precond", "matrix", "--exchanges", "memory"])
    points = simulate("poisson3d27:200x200x150", CG, "8..256", *run, "--deal", "boxes", "--precond", "matrix", "--exchanges",
                      "memory", "--set", "cache=0")
    write("cg.md", "figure 2 without caches", speed_ups(points, CG))
    for name, problem in (("laplacian", "poisson2d:2000"), ("diagonal", "diagonal:poisson2d,2000")):
        points = simulate(problem, CG, "8..1024", *run, "--exchanges", "memory")
        plot(f"cg_{name}", points, CG, f"simulated: {name}, 4 million unknowns, Cori, 16 ranks per node")
        write("cg.md", f"figure 3 {name}", breakdown(points, 128, CG))
        write("cg.md", f"goal {name}", speed_ups(points, CG))
        slower(f"slower {name}", problem, run, ["--exchanges", "memory"])
        timeline(f"timeline_{name}", problem, ["cg", "deep_pipelined_cg:l=1", "deep_pipelined_cg:l=2"], 120)


def slower(place, problem, run, more):
    """Where every reduction takes longer than its messages do, on 128 nodes: what longer ones explain."""
    rows = []
    for added in (0, 5, 10, 20):
        # The steps inside a node take 4 × 0.9 µs by themselves.
        law = ["--set", f"all_reduce={(added + 3.6) * 1e-6:.2g},0,0,0"] if added else []
        points = simulate(problem, CG, "128", *run, *more, *law)
        if points:
            rows.append([f"{added}", *(figure(points.us(128, m), 2) for m in CG)])
    write("cg.md", place, table(["µs longer", *(SHORT[m] for m in CG)], rows))


COLOURS = {"apply": "#4c78a8", "vectors": "#72b7b2", "reductions": "#e45756", "halo": "#f2cf5b", "reduction": "#f58518"}


def timeline(name, problem, methods, span):
    """Rank 0 of 128 nodes for so many µs: what ran, and below what was in flight, from the traces of a run."""
    prefix = arguments.keep / f"{name}-"
    if not simulate(problem, methods, "128", "--machine", "cori", "--dry", "--iterations", "30", "--exchanges", "memory",
                    "--trace", str(prefix)):
        return
    parts, y = [], 20
    for method in methods:
        file = prefix.with_name(prefix.name + "".join(c if c.isalnum() or c == "_" else "-" for c in method) + ".json")
        events = json.loads(file.read_text())["traceEvents"]
        tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == 0}
        spans = [e for e in events if e["ph"] == "X" and e["pid"] == 0]
        products = sorted(e["ts"] for e in spans if e["name"] == "apply")
        first = products[len(products) // 2]
        lanes = sorted(t for t in {e["tid"] for e in spans} if tracks[t].startswith("reduction"))
        parts.append(f'<text x="4" y="{y + 14}">{SHORT[method]}</text>')
        shown = 0
        for lane in [next(t for t in tracks if tracks[t] == "kernels"), *lanes]:
            inside = [e for e in spans if e["tid"] == lane and first - e["dur"] < e["ts"] < first + span]
            for e in inside:
                begin, end = max(e["ts"] - first, 0), min(e["ts"] + e["dur"] - first, span)
                parts.append(f'<rect x="{70 + 800 * begin / span:.1f}" y="{y + 22 * shown}" width="{800 * (end - begin) / span:.1f}" '
                             f'height="18" fill="{COLOURS.get(e["name"], "#bbb")}" stroke="white"/>')
            shown += bool(inside)
        y += 22 * shown + 14
    for k, (what, text) in enumerate({"apply": "A", "vectors": "vectors", "halo": "halo", "reductions": "waiting for a reduction",
                                      "reduction": "reduction in flight"}.items()):
        parts.append(f'<rect x="{70 + 150 * k}" y="{y}" width="14" height="14" fill="{COLOURS[what]}"/>'
                     f'<text x="{90 + 150 * k}" y="{y + 12}">{text}</text>')
    parts.append(f'<text x="70" y="{y + 34}">{span} µs of rank 0 on 128 nodes, simulated</text>')
    (pages / f"{name}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="880" height="{y + 44}" font-family="sans-serif" font-size="12">\n'
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


# Seconds, as printed by Yamazaki and others; Fig. 11 without and with overlap.
PRINTED = {
    "11": {"gmres": (.40, .40, .37, .37, .34, .34, .35, .35), "pipelined_gmres:l=2": (.42, .35, .31, .28, .27, .21, .26, .21),
           "pipelined_gmres:l=5": (.41, .34, .31, .25, .27, .21, .26, .20),
           "pipelined_gmres:l=10": (.40, .33, .31, .25, .27, .21, .26, .20)},
    "13": {"gmres": (2.10, 1.25, .88, .64), "pipelined_gmres:l=2": (2.36, 1.36, .88, .68),
           "pipelined_gmres:l=5": (2.32, 1.27, .84, .65), "pipelined_gmres:l=10": (2.20, 1.19, .83, .61),
           "s_step_gmres:s=5": (1.85, 1.06, .74, .49), "s_step_gmres:s=10": (1.75, 1.04, .70, .47),
           "pipelined_s_step_gmres:l=2,t=5": (2.03, 1.13, .78, .51)},
    "16": {"gmres": (1.19, .62, .50, .43, .41), "pipelined_gmres:l=2": (1.66, .66, .43, .34, .28),
           "pipelined_gmres:l=5": (1.59, .63, .43, .32, .27), "pipelined_gmres:l=10": (1.48, .59, .40, .31, .28),
           "s_step_gmres:s=5": (1.04, .50, .36, .29, .26), "s_step_gmres:s=10": (.86, .45, .33, .25, .23),
           "pipelined_s_step_gmres:l=2,t=5": (1.22, .52, .35, .27, .23)}}
BRACKETS = {"gmres": (1, 1, 1, 1), "pipelined_gmres:l=2": (.89, .92, 1, 1), "pipelined_gmres:l=5": (.91, .98, 1.05, 1.05),
            "pipelined_gmres:l=10": (.95, 1.05, 1.06, 1.11), "s_step_gmres:s=5": (1.14, 1.18, 1.19, 1.38),
            "s_step_gmres:s=10": (1.20, 1.20, 1.26, 1.45), "pipelined_s_step_gmres:l=2,t=5": (1.03, 1.11, 1.13, 1.33)}
GMRES = ["gmres", *(f"pipelined_gmres:l={l}" for l in (2, 5, 10)), *(f"s_step_gmres:s={s}" for s in (5, 10)),
         "pipelined_s_step_gmres:l=2,t=5"]


def gmres():
    """Yamazaki, Hoemmen, Luszczek and Dongarra 2017, Fig. 11, 12, 13 and 16: seconds of 20 cycles."""
    def seconds(points, nodes, method, m):
        return figure(1e-6 * 20 * m * points.us(nodes, method), 3)
    run = ["--machine", "tsubame2", "--dry", "--exchanges", "memory"]
    with_m = lambda methods, m: [f"{x}{',' if ':' in x else ':'}m={m}" for x in methods]

    pipelined = with_m(GMRES[:4], 30)
    both = {mode: simulate("poisson2d:1024", pipelined, "20,30,40,50", *run, "--iterations", "90", *flags)
            for mode, flags in (("block", ["--blocking"]), ("non", []))}
    nodes = (20, 30, 40, 50)
    write("gmres.md", "figure 11", table(
        ["seconds", *(f"{6 * n} ranks, {mode}" for n in nodes for mode in both)],
        [[label(x), *(f"{seconds(both[mode], n, x, 30)} / {p:.2f}" for (n, mode), p in
                      zip(((n, mode) for n in nodes for mode in both), PRINTED["11"][label(x)]))] for x in pipelined]))

    for name, problem, m, nodes, per_node in (("12", "poisson2d:1024", 30, "10,20,30,40,50", 6),
                                                ("13", "poisson3d27:128", 20, "10,20,30,40", 6),
                                                ("16", "poisson2d:1024", 20, "10,20,30,40,50", 2)):
        methods = with_m(GMRES, m)
        points = simulate(problem, methods, nodes, *run, "--iterations", str(3 * m), "--ranks-per-node", str(per_node))
        counts = [int(n) for n in nodes.split(",")]
        printed = PRINTED.get(name)
        def cell(k, n, x):
            text = f"{seconds(points, n, x, m)} ({figure(points.speed_up(n, x, (n, methods[0])), 2)})"
            if printed:
                speed_up = BRACKETS[label(x)][k] if name == "13" else printed["gmres"][k] / printed[label(x)][k]
                text += f" / {printed[label(x)][k]:.2f} ({speed_up:.2f})"
            return text
        write("gmres.md", f"figure {name}", table(
            ["seconds (speed-up)", *(f"{per_node * n} ranks" for n in counts)],
            [[label(x), *(cell(k, n, x) for k, n in enumerate(counts))] for x in methods]))
        if name == "13":
            continue
        # The largest ratios that the paper quotes.
        quoted = {"12": ("1.67", "1.22", "1.09"), "16": ("1.34", "1.12", "1.02")}[name]
        over = {"l-GMRES, l = 2": 1, "s-GMRES, s = 5": 4, "s-GMRES, s = 10": 5}
        rows = []
        for (what, k), most in zip(over.items(), quoted):
            row = [figure(points.speed_up(n, methods[-1], (n, methods[k])), 2) for n in counts]
            if printed:
                theirs = zip(printed[label(methods[k])], printed[label(methods[-1])])
                row = [f"{ours} / {a / b:.2f}" for ours, (a, b) in zip(row, theirs)]
            rows.append([what, most, *row])
        write("gmres.md", f"ratios {name}", table(
            ["(2,5)-GMRES over", "quoted, up to", *(f"{per_node * n} ranks" for n in counts)], rows))


PLAIN = ["bicgstab", "improved_bicgstab", "pipelined_bicgstab"]
PRECONDITIONED = ["bicgstab", "reordered_bicgstab", "pipelined_bicgstab"]


def bicgstab():
    """Krasnopolsky 2019, Fig. 4, 5, 10, 11 and 12."""
    run = ["--machine", "lomonosov", "--dry", "--exchanges", "memory", "--iterations", "24"]
    # Tables 5 and 6: measured seconds on one node, 8 million unknowns; BiCGStab, Improved, Pipelined, then with M.
    printed = {("lomonosov", 1): (.107, .113, .127, .116, .117, .156), ("lomonosov", 4): (.29, .32, .38, .33, .34, .49),
               ("lomonosov2", 1): (.058, .061, .069, .064, .065, .085), ("lomonosov2", 4): (.16, .18, .21, .19, .19, .27),
               ("lomonosov2", 16): (.58, .64, .76, .69, .69, 1.01)}
    rows = []
    for (machine, m), measured in printed.items():
        one = ["--machine", machine, *run[2:], "--columns", str(m)]
        times = [1e-6 * simulate("poisson3d:200", methods, "1", *one, *flags).us(1, x) for methods, flags in
                 ((PLAIN, []), (PRECONDITIONED, ["--precond", "cost:2"])) for x in methods]
        rows.append([f"{machine}, m = {m}", *(f"{figure(t, 3)} / {p:.3f}" for t, p in zip(times, measured))])
    write("bicgstab.md", "tables 5 and 6",
          table(["seconds", *PLAIN, *(f"{x}, M" for x in PRECONDITIONED)], rows))
    problem, nodes = "poisson2d:1000", "1..128"
    basic = ["bicgstab", "pipelined_bicgstab"]
    points = simulate(problem, basic, "1,2,4,8,12,16,20", *run, "--blocking", "--formulation", "basic")
    write("bicgstab.md", "figures 4 and 5", table(
        ["nodes", *(f"{m}, µs" for m in basic), *(f"{m}, speed-up" for m in basic)],
        [[str(n), *(figure(points.us(n, m), 1) for m in basic), *(figure(points.speed_up(n, m), 2) for m in basic)]
         for n in points.nodes()]))
    for m in (1, 4, 16):
        plain = simulate(problem, PLAIN, nodes, *run, "--blocking", "--columns", str(m))
        with_m = simulate(problem, PRECONDITIONED, nodes, *run, "--blocking", "--columns", str(m), "--precond", "cost:2")
        base = 1, "bicgstab"
        rows = [[str(n), *(figure(plain.speed_up(n, x, base), 2) for x in PLAIN),
                 *(figure(with_m.speed_up(n, x, base), 2) for x in PRECONDITIONED)] for n in plain.nodes()]
        write("bicgstab.md", f"figure 10 m={m}", table(["nodes", *PLAIN, *(f"{x}, M" for x in PRECONDITIONED)], rows))
    for alpha in (20, 50):
        precond = ["--precond", f"cost:{alpha}"]
        none = simulate(problem, PRECONDITIONED, nodes, *run, *precond, "--blocking")
        runs = {"manual": simulate(problem, PRECONDITIONED[1:], "4..128", *run[:-1], "14", *precond, "--reductions", "rd",
                                   "--polls", "1"),
                "full": simulate(problem, PRECONDITIONED, nodes, *run, *precond)}
        write("bicgstab.md", f"figure 11 {alpha}", speed_ups(none, PRECONDITIONED))
        hiding = PRECONDITIONED[1:]
        write("bicgstab.md", f"figure 12 {alpha}", table(
            ["nodes", *(f"{x}, {mode}" for x in hiding for mode in ("manual", "full"))],
            [[str(n), *(figure(none.us(n, x) / runs[mode].us(n, x), 3) for x in hiding for mode in runs)]
             for n in none.nodes() if n >= 4]))


def beyond():
    """Noise, and what the conclusions hang on, on 1024 nodes of 16 ranks; and a model beyond them."""
    run = ["--machine", "cori", "--dry", "--exchanges", "memory", "--iterations"]
    methods = ["cg", "single_reduction_cg", "pipelined_cg", "deep_pipelined_cg:l=2", "deep_pipelined_cg:l=3"]
    few = [methods[0], *methods[2:]]
    sensitivity(run, few)
    counts = (64, 1024)
    for name, problem, more, shown in (("laplacian", "poisson2d:2000", [], 1024),
                                       ("diagonal", "diagonal:poisson2d,2000", [], 1024),
                                       ("sheet", "poisson3d27:100x100x50", BLOCK, 64)):
        points = {noise: simulate(problem, methods, ",".join(map(str, counts)), *run, "20", *more, *flags)
                  for noise, flags in NOISES.items()}
        write("beyond.md", f"noise {name}", compared("noise", points, shown, methods))
        write("beyond.md", f"winners {name}", table(
            ["noise", *(f"{n} nodes" for n in counts)],
            [[noise, *(winner(each, n, methods) for n in counts)] for noise, each in points.items()]))
        if name == "laplacian" and (1024, "cg") in points["none"]:
            write("beyond.md", "model", model(points["none"], few))


BLOCK = ["--deal", "boxes", "--precond", "matrix"]
NOISES = {"none": [], "imbalance 0.1": ["--imbalance", "0.1"], "imbalance 0.5": ["--imbalance", "0.5"],
          "detours of 10 µs, 100/s": ["--detours", "10e-6,100"], "detours of 100 µs, 10/s": ["--detours", "100e-6,10"]}


def changed(*parameters):
    """Each parameter half and twice as large."""
    changes = {"as documented": []}
    for p in parameters:
        for f in (0.5, 2):
            links = ["--set", f"link_bandwidth=x{f}"] if p == "network_bandwidth" else []
            changes[f"{p} × {f}"] = ["--set", f"{p}=x{f}", *links]
    return changes


def sensitivity(run, cg_methods):
    """What the fastest method hangs on: the parameters one by one, then noise in longer runs."""
    gmres_methods = [f"{m}{',' if ':' in m else ':'}m=30" for m in
                     ("gmres", "pipelined_gmres:l=2", "pipelined_gmres:l=10", "s_step_gmres:s=10",
                      "pipelined_s_step_gmres:l=2,t=5")]
    bicgstab_methods = ["bicgstab", "improved_bicgstab", "reordered_bicgstab", "pipelined_bicgstab"]
    every = changed("link_latency", "message", "network_bandwidth", "memory_bandwidth", "cache_bandwidth", "kernel")
    laws = {  # of all-reduces and of exchanges, half and twice as long
        **changed("memory_bandwidth", "cache_bandwidth", "kernel"),
        **{f"all_reduce × {f}": ["--set", f"all_reduce={3.5e-6 * f:g},{1.7e-6 * f:g},0.21,0.54"] for f in (0.5, 2)},
        **{f"exchange × {f}": ["--set", f"exchange=2048,{2.4e-6 * f:g},{6.9e-8 * f:g},0.56,{3.2e-6 * f:g},{2e-9 * f:g},1"]
           for f in (0.5, 2)}}
    ranks_16384 = changed("link_latency", "message", "network_bandwidth", "cache_bandwidth")
    tsubame, lomonosov = (["--machine", m, *run[2:]] for m in ("tsubame2", "lomonosov"))
    for name, where, methods, nodes, problem, more, (short, long), changes in (
            ("gmres", tsubame, gmres_methods, 50, "poisson2d:1024", [], (90, 150), every),
            ("bicgstab", lomonosov, bicgstab_methods, 64, "poisson2d:1000", ["--precond", "cost:20"], (24, 100), laws),
            ("communication", run, cg_methods, 64, "poisson2d:500", [], (40, 160), every),
            ("memory", run, cg_methods, 32, "poisson3d27:200x200x150", BLOCK, (40, 160), every),
            ("16384", run, cg_methods, 1024, "poisson2d:2000", [], (20, None), ranks_16384)):
        points = {change: simulate(problem, methods, str(nodes), *where, str(short), *more, *flags)
                  for change, flags in changes.items()}
        if long:
            points |= {noise: simulate(problem, methods, str(nodes), *where, str(long), *more, *flags)
                       for noise, flags in NOISES.items() if flags}
        write("beyond.md", f"sensitivity {name}", compared("change", points, nodes, methods))


def winner(points, nodes, methods):
    """The fastest method, of those within 0.5 % the one listed first, and how many times as fast as the first it is."""
    times = {m: points.us(nodes, m) for m in methods if (nodes, m) in points}
    if not times:
        return "–"
    best = next(m for m in times if times[m] <= 1.005 * min(times.values()))
    return f"{label(best)}, {times[methods[0]] / times[best]:.2f} ×" if methods[0] in times else "–"


def compared(what, points, nodes, methods):
    """µs of an iteration under several conditions, and the fastest method of each."""
    return table([what, *(label(m) for m in methods), f"best, over {label(methods[0])}"],
                 [[condition, *(figure(each.us(nodes, m), 1) for m in methods), winner(each, nodes, methods)]
                  for condition, each in points.items() if any(n == nodes for n, _ in each)])


def model(points, methods):
    """A million ranks, not simulated: local work as on 16,384 ranks, all-reduces as recursive doubling makes them."""
    parameters = json.loads((root / "share" / "machines" / "cori.json").read_text())["parameters"]
    def us(name):
        return 1e6 * parameters[name]["value"]
    links = 5  # of a long way in a dragonfly
    near, far = (2 * us("message") + latency for latency in (us("node_latency"), links * us("link_latency")))
    rows = []
    for log in (14, 16, 18, 20):
        reduction = 4 * near + (log - 4) * far
        row = []
        for m in methods:
            local = points.us(1024, m) - 1e6 * points[1024, m]["kernels"]["reductions"]
            depth = int(m[-1]) if "=" in m else int(m != "cg")
            row.append(2 * reduction + local if depth == 0 else max(local, reduction / depth))
        rows.append([f"{2 ** log:,}", f"{reduction:.1f}", *(f"{t:.1f}" for t in row), f"{row[0] / min(row):.2f}"])
    return table(["ranks", "an all-reduce", *(SHORT[m] for m in methods), "best over CG"], rows)


experiments = {"cg": cg, "gmres": gmres, "bicgstab": bicgstab, "beyond": beyond}
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("experiment", nargs="+", choices=experiments)
parser.add_argument("--most", type=int, default=1024, help="nodes of a run")
parser.add_argument("--stretto", type=pathlib.Path, default=root / "build/release/stretto")
parser.add_argument("--keep", type=pathlib.Path, default=root / "build/scaling")
arguments = parser.parse_args()
arguments.keep.mkdir(parents=True, exist_ok=True)
for experiment in arguments.experiment:
    experiments[experiment]()
