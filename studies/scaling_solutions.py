# SPDX-License-Identifier: BSD-3-Clause
"""How long does a whole solve take on 64 to 1024 nodes, and what were its iterations? Generated and real problems, easy and hard,
with all methods of the three families, to a residual of 1e-8, with and without noise, simulated; make simulate builds the
simulator. Takes six minutes of a core; what was simulated is kept in --keep until the simulator is another one."""

import hashlib
import math
import os
import pathlib
import re
from concurrent.futures import ThreadPoolExecutor

from . import machine, simulated
from .run import Failed
from .text import bold, listed, points, table

RUN = ("--machine", "cori", "--precond", "jacobi", "--to-solution")
NOISE = ("--imbalance", "0.1", "--detours", "10e-6,100")
NODES, MOST = (64, 256), 1024
# What stands in a table: problem. FOLDER is that of the real matrices; kron: extrudes one along an axis.
SYMMETRIC = ("poisson3d:40", "poisson2d:300", "jump2d:100", "jump3d:40", "aniso2d:200", "kron:nos3,50")
OTHERS = ("convdiff3d:40", "convdiff2d:150", "kron:teko_F_big,20", "kron:orsirr_1,40")
LARGE = {"cg": ("poisson3d:80", "jump3d:60"), "gmres": ("convdiff3d:60",), "bicgstab": ("convdiff3d:60",)}
FAMILIES = {"cg": SYMMETRIC, "gmres": OTHERS, "bicgstab": OTHERS}
OTHER_METHODS = ("flexible_cg",)  # of other use
REFUGES = ("cg", "predict_and_recompute_cg", "s_step_cg")
# Options of a method besides the default ones, each where it has them.
VARIANTS = {"s_step_cg": [{"s": s} for s in (2, 4, 6)], "pipelined_s_step_cg": [{"s": s} for s in (2, 4, 6)],
            "deep_pipelined_cg": [{"l": l, "refuge": refuge} for l in (1, 2, 3) for refuge in REFUGES],
            "pipelined_gmres": [{"l": 1}, {"l": 4}], "s_step_gmres": [{"s": 10}]}
KINDS = ("own", "warm-up", "refuge")
BEFORE = ("pipelined_cg", "predict_and_recompute_cg")  # what others have, too


def options(parser):
    simulated.options(parser)
    parser.add_argument("--jobs", type=int, default=2, help="simulations at a time (%(default)s)")


def family_of(method):
    found = re.fullmatch(r"(?:\w+_)?(cg|gmres|bicgstab)\d?", method)
    return found[1] if found and method not in OTHER_METHODS else None


def methods_of(study):
    """By family: every method with its default options and in its variants."""
    found = {family: [family] for family in FAMILIES}
    for row in study.stretto.listed()["methods"]:
        name, has = row["name"], {option["name"] for option in row["options"]}
        if family_of(name) and name not in FAMILIES:
            found[family_of(name)] += [name, *(f"{name}:" + ",".join(f"{key}={value}" for key, value in variant.items())
                                               for variant in VARIANTS.get(name, ()) if has.issuperset(variant))]
    return found


def simulator_of(study):
    """Its contents: a run is kept for as long as the methods are the same."""
    path = pathlib.Path(os.environ.get("STRETTO_SIMULATOR", study.stretto.path.resolve().parent.parent / "simulate" /
                                       "stretto-simulator.so"))
    if not path.exists():
        raise Failed(f"{path}: no simulator; make simulate builds it")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def measure(study):
    runs, methods, simulator = simulated.Simulations(study), methods_of(study), simulator_of(study)
    few = 1 if study.options.quick else None
    cases = [(family, problem, nodes, noise) for nodes in NODES for family, problems in FAMILIES.items()
             for problem in problems[:few] for noise in ((), NOISE)]
    cases += [(family, problem, MOST, ()) for family, problems in LARGE.items() for problem in problems if not few]

    def simulate(case):
        family, problem, nodes, noise = case
        nodes = min(nodes, runs.a.most) if study.options.quick else nodes
        words = ["simulate", "--problem", study.specification(problem), "--nodes", str(nodes), *RUN, *noise, "--methods",
                 *methods[family]]
        return runs.run(words, nodes, simulator)

    with ThreadPoolExecutor(study.options.jobs) as pool:
        found = list(pool.map(simulate, cases))
    data = study.data
    data["facts"] = {"date": machine.describe()["date"], "Stretto": study.stretto.about()}
    data.pop("tables", None)
    data["solves"] = [record(problem, nodes, noise, point) for (_, problem, nodes, noise), answer in zip(cases, found) if answer
                      for point in answer["points"]]
    study.save()


def record(problem, nodes, noise, point):
    """What the page needs of a solve; blocking reductions and products are those of the whole."""
    own, total = point["method"].partition(":")[0], point["total"]
    parts = dict.fromkeys(KINDS, 0)
    for part in point["parts"]:
        if part["loop"]:
            parts["refuge" if part["loop"] != own else "warm-up" if part["warm_up"] else "own"] += part["iterations"]
    return {"problem": problem, "nodes": nodes, "noise": bool(noise), "method": point["method"],
            "seconds": point["seconds_to_solution"], "us": rounded(point["seconds_per_iteration"], 1e6, 2),
            "iterations": point["iterations"], "products": total["applies"], "blocking": total["blocking_reductions"], **parts,
            "rows": point["rows"], "status": point["status"]}


def rounded(value, factor, digits):
    return None if value is None else round(factor * value, digits)


# What follows reads the data alone.

class Solves:
    """What was simulated of a family on so many nodes."""

    def __init__(self, data, family, nodes, noise=False):
        self.family, self.nodes = family, nodes
        self.rows = {(row["problem"], row["method"]): row for row in data["solves"] if row["nodes"] == nodes and
                     row["noise"] == noise and family_of(row["method"].partition(":")[0]) == family}
        self.problems = list(dict.fromkeys(problem for problem, _ in self.rows))
        self.methods = list(dict.fromkeys(method for _, method in self.rows))

    def over(self, problem, method, base=None):
        """The time of the classic method over that of this one; nan where either has no solution."""
        ours, theirs = (self.rows.get((problem, each), {}).get("seconds") or math.nan for each in (method, base or self.family))
        return theirs / ours

    def ratios(self, method):
        return [self.over(problem, method) for problem in self.problems]

    def best(self, problem, among=None):
        return max(among or self.methods, key=lambda m: number(self.over(problem, m)))


def number(value):
    return -math.inf if math.isnan(value) else value


def mean(values):
    values = [value for value in values if not math.isnan(value)]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def shown(value, digits=2):
    return "–" if math.isnan(value) or math.isinf(value) else f"{value:.{digits}f}"


def ratios(solves):
    """How many times as fast as the classic method each is, the fastest of each problem in bold."""
    best = {problem: solves.best(problem) for problem in solves.problems}
    rows = [{"method": m} for m in solves.methods if m != solves.family]
    columns = {"method": "`{method}`"}
    for problem in solves.problems:
        columns[problem] = lambda row, p=problem: bold(shown(solves.over(p, row["method"])), row["method"] == best[p])
    columns["least"] = lambda row: shown(min(map(number, solves.ratios(row["method"]))))
    columns["mean"] = lambda row: shown(mean(solves.ratios(row["method"])))
    return table(rows, columns, "Not simulated.")


def iterations_of(solves):
    """What the iterations of the methods were and took, over the problems."""
    rows = []
    for method in solves.methods:
        of = [(solves.rows[p, method], solves.rows[p, solves.family]) for p in solves.problems if (p, method) in solves.rows]
        blocks = [row["blocking"] / max(1, row["iterations"]) for row, _ in of]
        rows.append({"method": method, "blocks": sum(blocks) / len(blocks), "most blocks": max(blocks),
                     **{part: sum(row[part] / max(1, row["iterations"]) for row, _ in of) / len(of) for part in KINDS},
                     "least own": min(row["own"] / max(1, row["iterations"]) for row, _ in of)})
        for what in ("iterations", "products"):
            over = [row[what] / classic[what] for row, classic in of]
            rows[-1] |= {what: mean(over), f"most {what}": max(over)}
    return table(rows, {"method": "`{method}`", "own": "{own:%}", "at least": "{least own:%}", "warm-up": "{warm-up:%}",
                        "refuge": "{refuge:%}", "iterations": "{iterations:.2f}", "at most": "{most iterations:.2f}",
                        "products": "{products:.2f}", "at most ": "{most products:.2f}", "blocking": "{blocks:.2f}",
                        "at most  ": "{most blocks:.2f}"}, "Not simulated.")


def iterations_by_problem(solves, *methods):
    """What stands between a method and the ratio of its iterations: those that are not its own, and products beside them."""
    rows = [row | {"method": method} for problem in solves.problems for method in methods if (row := solves.rows.get((problem, method)))]
    return table(rows, {"problem": "{problem}", "method": "`{method}`", "iterations": "{iterations}", "own": "{own}",
                        "warm-up": "{warm-up}", "refuge": "{refuge}", "products": "{products}", "blocking": "{blocking}"}, "Not simulated.")


def said_of_problems(solves):
    return points(f"{problem}: `{solves.best(problem)}` is {shown(solves.over(problem, solves.best(problem)))} times as fast as "
                  f"{solves.family}" for problem in solves.problems)


def said_of_defaults(solves):
    """The method with default options whose least ratio is the largest; whether any is slower than the classic one."""
    defaults = [m for m in solves.methods if ":" not in m and m != solves.family]
    if not defaults:
        return "Not simulated."
    sure = max(defaults, key=lambda m: min(map(number, solves.ratios(m))))
    text = (f"With default options `{sure}` is at least {shown(min(map(number, solves.ratios(sure))))} times as fast as "
            f"{solves.family} on each problem, {shown(mean(solves.ratios(sure)))} times in the geometric mean.")
    slower = [f"`{m}` on {listed(where)}" for m in solves.methods
              if (where := [p for p in solves.problems if solves.over(p, m) < 0.995])]
    failed = [f"`{m}` on {listed(where)}" for m in solves.methods
              if (where := [p for p in solves.problems if (p, m) in solves.rows and not solves.rows[p, m]["seconds"]])]
    text += f" Slower than {solves.family}: {listed(slower)}." if slower else f" None is slower than {solves.family}."
    return text + (f" Without a solution: {listed(failed)}." if failed else " All come to a solution.")


def said_of_before(solves):
    """The best of all over the best of those that others have, too."""
    gains = [solves.over(p, solves.best(p)) / solves.over(p, solves.best(p, BEFORE)) for p in solves.problems]
    return (f"The best method of each problem is {shown(mean(gains))} times as fast as the best of {listed(f'`{m}`' for m in BEFORE)}"
            f" in the geometric mean, {shown(min(gains))} to {shown(max(gains))}.") if gains else "Not simulated."


def said_of_noise(quiet, noisy):
    """What noise makes of the times, and of the ratios."""
    slow = {m: mean([(noisy.rows[p, m]["seconds"] or math.nan) / (quiet.rows[p, m]["seconds"] or math.nan)
                     for p in quiet.problems if (p, m) in noisy.rows]) for m in quiet.methods}
    if not slow:
        return "Not simulated."
    best = [m for m in slow if not math.isnan(slow[m])]
    least, most = min(best, key=slow.get), max(best, key=slow.get)
    return (f"Noise makes {quiet.family} {shown(slow[quiet.family])} times as slow in the geometric mean, `{least}` "
            f"{shown(slow[least])} times, the least, and `{most}` {shown(slow[most])} times, the most.")


def problems_of(data):
    rows = [solves.rows[problem, family] for family in FAMILIES for nodes in (NODES[0], MOST)
            for solves in [Solves(data, family, nodes)] for problem in solves.problems if (problem, family) in solves.rows]
    return table(rows, {"problem": "{problem}", "rows": "{rows}", "ranks": lambda row: f"{16 * row['nodes']}",
                        "classic method": "{method}", "iterations": "{iterations}",
                        "ms": lambda row: shown(1e3 * (row["seconds"] or math.nan), 2)}, "Not simulated.")


def report(data):
    values = {"facts": machine.line(data["facts"]), "problems": problems_of(data)}
    for family in FAMILIES:
        for nodes in NODES:
            quiet, noisy = Solves(data, family, nodes), Solves(data, family, nodes, True)
            values |= {f"{family} {nodes}": ratios(quiet), f"{family} {nodes} noise": ratios(noisy),
                       f"said {family} {nodes}": said_of_defaults(quiet), f"said {family} {nodes} noise": said_of_noise(quiet, noisy)}
        small, large = Solves(data, family, NODES[0]), Solves(data, family, MOST)
        values |= {f"said {family} problems": said_of_problems(small), f"{family} iterations": iterations_of(small),
                   f"{family} {MOST}": ratios(large), f"said {family} {MOST}": said_of_problems(large)}
    for nodes in (NODES[0], MOST):
        values[f"cg {nodes} by problem"] = iterations_by_problem(Solves(data, "cg", nodes), "deep_pipelined_cg", "pipelined_s_step_cg:s=6")
    values["said before"] = said_of_before(Solves(data, "cg", NODES[0]))
    return values, {}
