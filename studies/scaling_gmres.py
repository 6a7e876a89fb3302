# SPDX-License-Identifier: BSD-3-Clause
"""Do pipelined and s-step GMRES scale as their paper says? The experiments of Yamazaki, Hoemmen, Luszczek and Dongarra 2017,
Fig. 11, 12, 13 and 16: seconds of 20 cycles, simulated on 60 to 300 ranks; make simulate builds the simulator."""

from . import simulated
from .simulated import label, tables
from .text import points, spread, table

options = simulated.options
RUN = ("--machine", "tsubame2", "--dry", "--exchanges", "memory")
METHODS = ("gmres", *(f"pipelined_gmres:l={l}" for l in (2, 5, 10)), *(f"s_step_gmres:s={s}" for s in (5, 10)),
           "pipelined_s_step_gmres:l=2,t=5")
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
# (2,5)-GMRES over others: name, which, and the largest ratio that the paper quotes of Fig. 12 and 16.
OVER = {"l-GMRES, l = 2": (1, {"12": 1.67, "16": 1.34}), "s-GMRES, s = 5": (4, {"12": 1.22, "16": 1.12}),
        "s-GMRES, s = 10": (5, {"12": 1.09, "16": 1.02})}
# Figure: problem, m, nodes, ranks on each.
FIGURES = {"12": ("poisson2d:1024", 30, (10, 20, 30, 40, 50), 6), "13": ("poisson3d27:128", 20, (10, 20, 30, 40), 6),
           "16": ("poisson2d:1024", 20, (10, 20, 30, 40, 50), 2)}
NODES11, MODES = (20, 30, 40, 50), {"block": ("--blocking",), "non": ()}


def with_m(methods, m):
    return [f"{method}{',' if ':' in method else ':'}m={m}" for method in methods]


def seconds(found, nodes, method, m):
    return 1e-6 * 20 * m * found.us(nodes, method)


def measure(study):
    runs = simulated.Simulations(study)
    methods = with_m(METHODS[:4], 30)
    both = {mode: runs.points("poisson2d:1024", methods, ",".join(map(str, NODES11)), *RUN, "--iterations", "90", *flags)
            for mode, flags in MODES.items()}
    runs.put("figure 11", [{"seconds": label(x), **{f"{6 * n} ranks, {mode}": seconds(both[mode], n, x, 30) for n in NODES11
                                                    for mode in both}} for x in methods])
    for name, (problem, m, nodes, each) in FIGURES.items():
        methods = with_m(METHODS, m)
        found = runs.points(problem, methods, ",".join(map(str, nodes)), *RUN, "--iterations", 3 * m, "--ranks-per-node", each)
        runs.put(f"figure {name}", [{"method": label(x), "ranks": each * n, "seconds": seconds(found, n, x, m),
                                     "speed_up": found.speed_up(n, x, (n, methods[0]))} for x in methods for n in nodes])
        if name != "13":
            runs.put(f"ratios {name}", [{"over": over, "ranks": each * n,
                                         "ratio": found.speed_up(n, methods[-1], (n, methods[k]))} for over, (k, _) in OVER.items() for n in nodes])


# What follows reads the data alone.

def figure_11(rows):
    """Simulated / printed."""
    titles = list(rows[0])
    return table(rows, {"seconds": "{seconds}", **{title: lambda row, k=k, title=title: "–" if row[title] is None else (
        f"{row[title]:.3f} / {PRINTED['11'][row['seconds']][k]:.2f}") for k, title in enumerate(titles[1:])}})


def by_ranks(rows, name, cell):
    """Records of one method, or whatever `name` says, in a row for all ranks."""
    found = {}
    for row in rows:
        found.setdefault(row[name], []).append(row)
    titles = [f"{row['ranks']} ranks" for row in next(iter(found.values()))]
    rows = [{name: key, **{title: cell(k, own[k]) for k, title in enumerate(titles)}} for key, own in found.items()]
    return rows, titles


def figure(name):
    """Seconds (speed-up over gmres), simulated / printed."""
    def cell(k, row):
        if row["seconds"] is None:
            return "–"
        text = f"{row['seconds']:.3f} ({row['speed_up']:.2f})"
        if printed := PRINTED.get(name):
            theirs = printed[row["method"]][k]
            speed_up = BRACKETS[row["method"]][k] if name == "13" else printed["gmres"][k] / theirs
            text += f" / {theirs:.2f} ({speed_up:.2f})"
        return text

    def make(rows):
        records, titles = by_ranks(rows, "method", cell)
        return table(records, {"seconds (speed-up)": "{method}", **{title: f"{{{title}}}" for title in titles}})
    return make


def ratios(name):
    def cell(k, row):
        if row["ratio"] is None:
            return "–"
        text = f"{row['ratio']:.2f}"
        if printed := PRINTED.get(name):
            text += f" / {printed[METHODS[OVER[row['over']][0]]][k] / printed[METHODS[-1]][k]:.2f}"
        return text

    def make(rows):
        records, titles = by_ranks(rows, "over", cell)
        return table([{**row, "quoted": OVER[row["over"]][1][name]} for row in records],
                     {"(2,5)-GMRES over": "{over}", "quoted, up to": "{quoted}", **{t: f"{{{t}}}" for t in titles}})
    return make


def said_of_figure_11(rows):
    """What overlap gains, here and there."""
    gains = {"here": [], "there": []}
    for row in rows[1:]:
        for k, n in enumerate(NODES11):
            block, non = (row[f"{6 * n} ranks, {mode}"] for mode in MODES)
            printed = PRINTED["11"][row["seconds"]][2 * k:2 * k + 2]
            gains["here"] += [block / non] if block and non else []
            gains["there"].append(printed[0] / printed[1])
    if not gains["here"]:
        return ""
    return f"Overlap gains a factor of {spread(gains['here'], 1)} here, {spread(gains['there'], 1)} there."


def said_of_figure(rows, name):
    """The fastest by number of ranks, here and there."""
    lines = []
    for k, ranks in enumerate(dict.fromkeys(row["ranks"] for row in rows)):
        own = [row for row in rows if row["ranks"] == ranks and row["seconds"]]
        if own:
            best = min(own, key=lambda row: row["seconds"])
            line = f"{ranks} ranks: {best['method']}, {best['speed_up']:.2f} times as fast as gmres"
            if name in PRINTED:
                theirs = min(PRINTED[name], key=lambda m: PRINTED[name][m][k])
                slower = [PRINTED[name][row["method"]][k] / row["seconds"] for row in own]
                line += f"; printed: {theirs}; printed times are {spread(slower, 1)} times those simulated"
            lines.append(line)
    return "The fastest:\n\n" + points(lines)


def report(data):
    values = tables(data, {}, {"figure 11": figure_11, **{f"figure {name}": figure(name) for name in FIGURES},
                               **{f"ratios {name}": ratios(name) for name in FIGURES if name != "13"}})
    found = data["tables"]
    values |= {f"said {name}": said_of_figure(found[f"figure {name}"], name) for name in FIGURES}
    values["said 11"] = said_of_figure_11(found["figure 11"])
    return values, {}
