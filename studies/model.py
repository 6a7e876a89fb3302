# SPDX-License-Identifier: BSD-3-Clause
"""Which method takes the shortest iteration, where? What `stretto predict` says for the tables and figures of Krasnopolsky
2019, for all families on a cluster, and how far it is from simulated times."""

import math
import statistics

from . import picture, simulated
from .simulated import tables
from .text import NONE, points, spread, table

PLAIN = ("bicgstab", "improved_bicgstab", "pipelined_bicgstab")
PRECONDITIONED = ("bicgstab", "reordered_bicgstab", "pipelined_bicgstab")
TITLES = (*PLAIN, *(f"{x}, M" for x in PRECONDITIONED))
# Tables 5 and 6, the columns of the model: seconds on one node, 8 million unknowns; BiCGStab, Improved, Pipelined, then with M.
PRINTED = {("lomonosov", 1): (.106, .109, .12, .115, .119, .143), ("lomonosov", 4): (.3, .32, .36, .34, .35, .45),
           ("lomonosov2", 1): (.057, .059, .065, .062, .064, .077), ("lomonosov2", 4): (.16, .17, .19, .18, .19, .24),
           ("lomonosov2", 16): (.59, .62, .71, .66, .7, .9)}
# Bandwidth of a node, B/s: of Table A.7, and that with which the tables come out.
OF_TABLE_A7 = {"lomonosov": 32e9, "lomonosov2": 60e9}
FITTED = {"lomonosov": 33.85e9, "lomonosov2": 62.5e9}
BANDWIDTHS = {"memory": ("--set", "cache=0"), "cache": ("--set", "cache=1e18")}
PAPER = ("--machine", "lomonosov", "--published", "--nodes", "1..1024")
# Of each figure: methods, and by panel its name and options; rows of panels as printed.
GAMMAS = (1, 0.5, 0)
FIGURES = {
    "figure 6": [[(f"{name}, γ = {g}", methods, ("--gamma", g, *more, *BANDWIDTHS["cache"])) for g in GAMMAS]
                 for name, methods, more in (("no M", PLAIN, ()), ("α = 2", PRECONDITIONED, ("--precond", "cost:2")))],
    "figure 7": [[(f"α = {a}, γ = {g}", PRECONDITIONED, ("--gamma", g, "--precond", f"cost:{a}", *BANDWIDTHS["cache"]))
                  for g in GAMMAS] for a in (0, 2, 20, 50)],
    "figure 8": [[(f"{b}, m = {m}", PLAIN, ("--gamma", 1, "--columns", m, *BANDWIDTHS[b])) for m in (1, 4, 16)]
                 for b in BANDWIDTHS],
    "figure 9": [[(f"{b}, m = {m}", PRECONDITIONED, ("--gamma", 1, "--columns", m, "--precond", "cost:2", *BANDWIDTHS[b]))
                  for m in (1, 4, 16)] for b in BANDWIDTHS]}
FAMILIES = {"cg": ("cg", "single_reduction_cg", "pipelined_cg", "deep_pipelined_cg:l=2", "deep_pipelined_cg:l=4", "s_step_cg",
                   "pipelined_s_step_cg", "predict_and_recompute_cg"),
            "bicgstab": PLAIN, "gmres": ("gmres", "pipelined_gmres", "s_step_gmres", "pipelined_s_step_gmres")}
PARTS = {"vectors": "passes over vectors", "products": "products", "exchanges": "halos, not hidden", "preconditioner": "preconditioner",
         "sums": "sums, not hidden"}
PARTS_OF = (("cg", "pipelined_cg", "deep_pipelined_cg:l=3"), ("bicgstab", "pipelined_bicgstab", "s_step_gmres"))
GRIDS = (250, 500, 1000, 2000, 4000, 8000)
VALIDATED = (("poisson2d:1000", "lomonosov", ()), ("poisson3d:100", "lomonosov", ()), ("poisson2d:1000", "cori", ()),
             ("poisson2d:1000", "lomonosov", ("--precond", "cost:20")),
             ("poisson2d:1000", "lomonosov", ("--columns", "4")))
COMPARED = ("cg", "single_reduction_cg", "pipelined_cg", "deep_pipelined_cg:l=2", "bicgstab", "improved_bicgstab",
            "reordered_bicgstab", "pipelined_bicgstab", "gmres", "pipelined_gmres", "s_step_gmres")

options = simulated.options


def predict(study, problem, *words):
    """What stretto predict says."""
    return study.stretto.json("predict", problem, *words)


def by_nodes(result, value):
    """A record for each number of nodes, method to what it has of this name."""
    rows = {}
    for point in result["points"]:
        rows.setdefault(point["nodes"], {"nodes": point["nodes"]})[point["method"]] = point[value]
    return list(rows.values())


def measure(study):
    runs = simulated.Simulations(study)
    rows = []
    for machine, m in PRINTED:
        for name, b in (("A.7", OF_TABLE_A7), ("fitted", FITTED)):
            times = []
            for methods, more in ((PLAIN, ()), (PRECONDITIONED, ("--precond", "cost:2"))):
                found = predict(study, "poisson3d:200", "--machine", machine, "--set", "cache=0", "--set",
                                f"memory_bandwidth={b[machine]}", "--published", "--nodes", 1, "--columns", m, *more,
                                "--methods", *methods)
                times += [point["seconds_per_iteration"] for point in found["points"]]
            rows.append({"machine": machine, "m": m, "bandwidth": name, **dict(zip(TITLES, times))})
    runs.put("tables 5 and 6", rows)
    formulas = {}
    for title, methods, more in (("", PLAIN, ()), (", M", PRECONDITIONED, ("--precond", "cost:2"))):
        found = predict(study, "poisson2d:100", "--nodes", 1, "--published", *more, "--methods", *methods)
        formulas |= {f"{method}{title}": text for method, text in found["formulas"].items()}
    runs.put("formulas", [{"method": method, "T": text} for method, text in formulas.items()])
    for figure, panels in FIGURES.items():
        for panel, methods, more in (one for row in panels for one in row):
            found = predict(study, "poisson2d:1000", *PAPER, *more, "--methods", *methods)
            runs.put(f"{figure}: {panel}", by_nodes(found, "relative_performance"))
    found = predict(study, "poisson3d:200", "--machine", "cori", "--precond", "jacobi", "--nodes", "1..1024", "--methods",
                    *(method for row in PARTS_OF for method in row))
    runs.put("parts", [{"nodes": p["nodes"], "method": p["method"], **p["parts"]} for p in found["points"]])
    for family, methods in FAMILIES.items():
        cells = []
        for n in GRIDS:
            most = min(1024, n * n // 64)
            found = predict(study, f"poisson2d:{n}", "--machine", "cori", "--storage", "csr", "--nodes", f"1..{most}", "--methods",
                            *methods)
            cells += [{"unknowns": n * n, "nodes": p["nodes"], "method": p["method"]} for p in found["points"]
                      if p["relative_performance"] == 1]
        runs.put(f"best {family}", cells)
    validate(study, runs)


def validate(study, runs):
    """Predicted over simulated times: dry runs, in which sums advance by themselves."""
    nodes = "8" if study.options.quick else "8,32,128"
    rows = []
    for problem, machine, more in VALIDATED:
        methods = [x for x in COMPARED if "--precond" in more or x != "reordered_bicgstab"]
        points_ = runs.points(problem, methods, nodes, "--machine", machine, "--dry", "--exchanges", "memory", "--iterations", 90,
                              *more)
        found = predict(study, problem, "--machine", machine, "--storage", "csr", "--gamma", 0, "--nodes", nodes, *more,
                        "--methods", *methods)
        for point in found["points"]:
            if (simulated_ := points_.us(point["nodes"], point["method"])) == simulated_:
                parts = {f"{part}, µs": 1e6 * value for part, value in point["parts"].items()}
                rows.append({"problem": problem, "machine": machine, "more": " ".join(map(str, more)), "nodes": point["nodes"],
                             "method": point["method"], "simulated, µs": simulated_,
                             "predicted, µs": 1e6 * point["seconds_per_iteration"], **parts})
    runs.put("simulated", rows)


# What follows reads the data alone.

def one_node(rows):
    """Ours / the paper's model, and by how much they differ."""
    return table([row for row in rows if row["bandwidth"] == "fitted"],
                 {"seconds": "{machine}, m = {m}", **{title: lambda row, k=k, title=title: (
                     f"{row[title]:.4f} / {PRINTED[row['machine'], row['m']][k]:.3f}") for k, title in enumerate(TITLES)}})


def differences(rows, bandwidth):
    return [100 * (row[title] / PRINTED[row["machine"], row["m"]][k] - 1) for row in rows if row["bandwidth"] == bandwidth
            for k, title in enumerate(TITLES)]


def stretches(rows, methods):
    """The best by number of nodes: names and the nodes of each."""
    best = [(row["nodes"], max(methods, key=lambda x: row[x])) for row in rows]
    starts = [k for k in range(len(best)) if k == 0 or best[k][1] != best[k - 1][1]]
    return ", ".join(f"{best[a][1]} {best[a][0]}" + (f" to {best[b - 1][0]}" if b - a > 1 else "")
                     for a, b in zip(starts, [*starts[1:], len(best)]))


def said_of(found, figure):
    return table([{"panel": panel, "best": stretches(found[f"{figure}: {panel}"], methods)} for row in FIGURES[figure]
                  for panel, methods, _ in row], {"panel": "{panel}", "the shortest iteration, on nodes": "{best}"})


def pipelined(found, figure):
    """How much more time than the best pipelined BiCGStab takes in a figure."""
    more = [100 / row["pipelined_bicgstab"] - 100 for panels in FIGURES[figure] for panel, *_ in panels
            for row in found[f"{figure}: {panel}"]]
    return f"{min(more):.0f} to {max(more):.0f}"


def drawn(found, figure):
    methods = list(dict.fromkeys(x for row in FIGURES[figure] for _, some, _ in row for x in some))
    colours = dict(zip(("bicgstab", "improved_bicgstab", "pipelined_bicgstab", "reordered_bicgstab"), picture.COLOURS))
    rows = [[(panel, {x: [(row["nodes"], row[x]) for row in found[f"{figure}: {panel}"]] for x in some})
             for panel, some, _ in panels] for panels in FIGURES[figure]]
    return picture.panels(f"Relative performance R, as in {figure.capitalize()}", ("nodes", "R, formula (22)"), rows,
                          {x: colours[x] for x in methods})


def parts_of(found):
    rows = []
    for methods in PARTS_OF:
        rows.append([])
        for method in methods:
            curves, below = {}, {}
            for part, words in PARTS.items():
                for row in (row for row in found["parts"] if row["method"] == method):
                    below[row["nodes"]] = below.get(row["nodes"], 0) + 100 * row[part] / sum(row[each] for each in PARTS)
                curves[words] = list(below.items())
            rows[-1].append((method, curves))
    return picture.panels("What the parts take of an iteration, poisson3d:200 with Jacobi on Cori", ("nodes", "% of an iteration"), rows,
                          dict(zip(PARTS.values(), picture.COLOURS)), stacked=True)


def map_of(found, family):
    rows = found[f"best {family}"]
    names = [x for x in FAMILIES[family] if any(row["method"] == x for row in rows)]
    xs, ys = sorted({row["nodes"] for row in rows}), sorted({row["unknowns"] for row in rows})
    cells = {(row["nodes"], row["unknowns"]): row["method"] for row in rows}
    return picture.best_of(f"The shortest iteration of the {family} family, poisson2d on Cori, γ = 0",
                           ("nodes", "unknowns"), xs, ys, cells, dict(zip(names, picture.COLOURS)))


def ratio(row):
    return row["predicted, µs"] / row["simulated, µs"]


def against_simulation(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["problem"], row["machine"], row["more"]), []).append(row)
    records = []
    for (problem, machine, more), some in groups.items():
        off = [abs(ratio(row) - 1) for row in some]
        worst = max(some, key=lambda row: abs(math.log(ratio(row))))
        records.append({"what": f"{problem}, {machine}{', ' + more.replace('--', '') if more else ''}", "points": len(some),
                        "median": statistics.median(off), "within": sum(x <= .1 for x in off) / len(off),
                        "worst": f"{ratio(worst):.2f} ({worst['method']}, {worst['nodes']} nodes)"})
    return table(records, {"problem, machine": "{what}", "points": "{points}", "median difference": "{median:.1%}",
                           "within 10 %": "{within:.0%}", "the worst, predicted / simulated": "{worst}"}, "Not simulated.")


def said_of_simulation(rows):
    if not rows:
        return ""
    off = [abs(ratio(row) - 1) for row in rows]
    return (f"Of {len(rows)} points {100 * sum(x <= .1 for x in off) / len(off):.0f} % are within 10 %, the median differs by "
            f"{100 * statistics.median(off):.1f} %, the worst by {100 * max(off):.0f} %; {sum(ratio(row) < 1 for row in rows)} "
            "are predicted shorter than simulated.")


def by_method(rows):
    names = list(dict.fromkeys(row["method"] for row in rows))
    nodes = sorted({row["nodes"] for row in rows})
    records = [{"method": x, **{str(n): statistics.median(ratio(row) for row in rows if (row["method"], row["nodes"]) == (x, n))
                                for n in nodes}} for x in names]
    return table(records, {"method": "{method}", **{f"{n} nodes": lambda row, n=str(n): f"{row[n]:.2f}" for n in nodes}}, "Not simulated.")


def report(data):
    found = data["tables"]
    rows = found["tables 5 and 6"]
    values = {"facts": tables({"facts": data["facts"], "tables": {}}, {})["facts"],
              "formulas": table(found["formulas"], {"method": "{method}", "T(p)": "{T}"}),
              "tables 5 and 6": one_node(rows),
              "fitted": f"{max(map(abs, differences(rows, 'fitted'))):.1f}",
              "of table A.7": spread(differences(rows, "A.7"), 1),
              "simulated": against_simulation(found["simulated"]), "by method": by_method(found["simulated"]),
              "said simulated": said_of_simulation(found["simulated"])}
    values |= {figure: said_of(found, figure) for figure in FIGURES}
    values |= {f"pipelined {number}": pipelined(found, f"figure {number}") for number in (8, 9)}
    pictures = {f"model_{figure.replace(' ', '_')}.svg": drawn(found, figure) for figure in FIGURES}
    pictures["model_parts.svg"] = parts_of(found)
    pictures |= {f"model_best_{family}.svg": map_of(found, family) for family in FAMILIES}
    return values, pictures
