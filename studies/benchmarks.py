# SPDX-License-Identifier: BSD-3-Clause
"""How long does an iteration take beside the like of PETSc, hypre and Belos? Times products with a matrix, iterations and
solves, in turn, on the same matrices and ranks. make bench-peers builds what it needs and calls it. What was measured is
kept in --data (BUILD/benchmarks.json), and only what is missing there is measured; so it may be done in pieces (--minutes),
in which what failed is tried again."""

import math
import statistics
from types import SimpleNamespace

from . import run
from .peers import (  # noqa: F401: options, kept, measure and BUILD are for __main__
    BUILD, CYCLE, DISTINCT, GOALS, GOALS_PRODUCT, GOAL_DISTINCT, GOAL_SOLVE, LIBRARIES, PAIRS, RTOL, SAME_STEPS,
    WARM_UP, base, least_end, kept, measure, options, programs)
from .text import NONE, bold, listed, plural, points, spread, table


def name_of(data, program):
    name = LIBRARIES[base(program)][0]
    about = data["abouts"].get(base(program), {}).get("program", "")
    name = f"PETSc {about.split()[1]}" if "petsc" in program and about else name
    return name + (", huge pages" if program.endswith("+huge") else "")


def median(case):
    good = [ms for ms in case["ms"] if ms]
    return statistics.median(good) if good else math.nan


def comparisons(data):
    """A method of ours beside a peer's, for each case that was measured."""
    cases = {tuple(case["case"]): case for case in data["cases"]}
    where = [[*dict.fromkeys(case[k] for case in cases)] for k in range(3)]
    for problem in where[0]:
        for ranks in where[1]:
            for precond in where[2]:
                for method, peers in PAIRS.items():
                    ours = cases.get((problem, ranks, precond, "stretto", method))
                    for program, theirs in ((program, theirs) for peer, theirs in peers for program in programs(peer)):
                        case = cases.get((problem, ranks, precond, program, theirs))
                        if ours and case and ours["ms"] and case["ms"]:
                            yield comparison(data, problem, ranks, precond, method, program, theirs, ours, case)


def comparison(data, problem, ranks, precond, method, program, peer, ours, theirs):
    short = ours.get("ended_at", math.inf) < least_end(data, method)
    ms = [None] * len(ours["ms"]) if short else ours["ms"]
    there = dict(zip(theirs["at"], theirs["ms"]))
    ratios = [value / there[at] for at, value in zip(ours["at"], ms) if value and there.get(at)]  # of a round that both ended
    triad = statistics.median(data["triad"].get(str(ranks), [math.nan]))
    residuals = ours.get("residual"), theirs.get("residual")
    ours = {**ours, "ms": ms}
    return SimpleNamespace(
        problem=problem, ranks=ranks, precond=precond, method=method, program=program, peer=peer, ours=ours, theirs=theirs,
        short=short, ratios=ratios, ratio=statistics.median(ratios) if ratios else math.nan,
        over_floor=median(ours) * triad / 1e3 / ours.get("bytes", math.nan),
        same=None not in residuals and abs(residuals[0] - residuals[1]) <= SAME_STEPS * abs(residuals[0]),
        where=f"{problem}, {plural(ranks, 'rank')}, {in_words(precond)}")


def in_words(precond):
    return "no preconditioner" if precond == "none" else precond.capitalize()


def failures(data):
    """What failed, and which steps differ where they should not."""
    lines = []
    for c in comparisons(data):
        peer = f"{name_of(data, c.program)} {c.peer}"
        lines += [f"{c.where}: {name} failed: {case.get('error', 'no time')}" for name, case in
                  ((c.method, c.ours), (peer, c.theirs)) if None in case["ms"] and not c.short]
        if not c.same and "residual" in c.theirs and "pipelcg" not in c.peer:
            lines.append(f"{c.where}: {c.method} and {peer} take different steps: residuals {c.ours.get('residual')} and "
                         f"{c.theirs['residual']}")
    return list(dict.fromkeys(lines))


def grouped(some, *fields):
    """Comparisons that agree in these fields, in the order of the first."""
    found = {}
    for c in some:
        found.setdefault(tuple(getattr(c, field) for field in fields), []).append(c)
    return found.items()


def number(value, goal=math.inf):
    """Bold where it misses a goal."""
    return bold(f"{value:.2f}", value > goal) if math.isfinite(value) else NONE


def mean(some):
    ratios = [c.ratio for c in some if math.isfinite(c.ratio)]
    return (statistics.geometric_mean(ratios) if ratios else math.nan), len(ratios)


def mean_cell(some, goal=math.inf):
    value, count = mean(some)
    return number(value, goal) if count else NONE


def with_range(values):
    """Median and, of several, the smallest and the largest."""
    good = [value for value in values if value is not None]
    if not good:
        return NONE
    middle = f"{statistics.median(good):.2f}"
    return middle if len(good) == 1 else f"{middle} ({min(good):.2f}–{max(good):.2f})"


def as_it_comes(program):
    """Without huge pages."""
    return not program.endswith("+huge")


def plainly(some):
    """Comparisons with peers as they come."""
    return [c for c in some if as_it_comes(c.program)]


def missed_goals(data, every, ranks):
    """Goals of methods without preconditioner that are missed, beside peers with huge pages too."""
    mine = [c for c in every if c.method != "product" and "petsc" in c.program and (c.precond, c.ranks) == ("none", ranks)]
    for (method, peer, program), own in grouped(mine, "method", "peer", "program"):
        goal, where = GOALS.get((method, peer.split()[0]), math.inf), f"`{method}` beside {name_of(data, program)} `{peer}`"
        if mean(own)[0] > goal:
            yield f"{where}: {mean(own)[0]:.3f} ({goal:.2f})"
        worst = max((c.ratio for c in own if c.problem.startswith(DISTINCT) and c.ratios), default=0)
        if worst > GOAL_DISTINCT:
            yield f"{where} on {DISTINCT}: {worst:.3f} ({GOAL_DISTINCT:.2f})"


def summary(data, every):
    """Geometric means of the ratios over the problems on the most ranks, a row for a method, and the rest in sentences."""
    usual = [c for c in plainly(every) if c.method != "product"]
    most = max((c.ranks for c in usual), default=0)
    here = [c for c in usual if c.ranks == most and "petsc" in c.program]
    rows = []
    for (method, peer), same in grouped(here, "method", "peer"):
        goal, row = GOALS.get((method, peer.split()[0]), math.inf), {"": f"`{method}` ÷ `{peer}`"}
        for precond, program in dict.fromkeys((c.precond, c.program) for c in here):
            own = [c for c in same if (c.precond, c.program) == (precond, program)]
            title = name_of(data, program) + (f", {in_words(precond)}" if precond != "none" else "")
            row[title] = mean_cell(own, goal if precond == "none" else math.inf)
        worst = max((c.ratio for c in same if c.precond == "none" and c.problem.startswith(DISTINCT) and c.ratios), default=math.nan)
        rows.append({**row, "goal": f"{goal:.2f}" if goal < math.inf else "", "all distinct": number(worst, GOAL_DISTINCT)})
    text = []
    if rows:
        counts = spread([mean(same)[1] for _, same in grouped(here, "precond", "program", "method", "peer")], 0)
        text += [f"Ours ÷ PETSc's on {plural(most, 'rank')}: geometric means over {counts} problems, with a goal for those without "
                 f"preconditioner; *all distinct*: of these the largest ratio where all values are distinct (goal {GOAL_DISTINCT}).",
                 plain(rows)]
    fewer = [f"{spread([mean(same)[0] for _, same in grouped(mine, 'program', 'method', 'peer')])} on {plural(ranks, 'rank')} "
             f"({in_words(precond)})" for (precond, ranks), mine in
             grouped([c for c in usual if c.ranks != most and "petsc" in c.program], "precond", "ranks")]
    if fewer:
        text.append(f"The means of the same methods are {listed(fewer)}.")
    others = grouped([c for c in usual if "petsc" not in c.program], "program", "method", "peer")
    if others:
        counts = spread([mean(same)[1] for _, same in others], 0)
        each = "; ".join(f"{name_of(data, program)} `{peer}` {mean_cell(same)}" for (program, _, peer), same in others)
        text.append(f"Ours ÷ others', likewise, over {counts} problems: {each}.")
    text.append(f"Goals of means, and of values all distinct, that are missed: {'; '.join(missed_goals(data, every, most)) or 'none'}.")
    return "\n\n".join(text)


def plain(rows):
    """A table of rows that are title to text."""
    titles = dict.fromkeys(title for row in rows for title in row)
    return table(rows, {title: lambda row, title=title: row.get(title, NONE) for title in titles})


def huge_pages(data, every):
    """What the peers gain by huge pages: with ÷ without, in the same round."""
    cases, ratios = {}, {}
    for c in every:
        if c.method != "product":
            cases.setdefault((base(c.program), c.problem, c.ranks, c.precond, c.peer), {})[c.program] = c.theirs
    for (program, *_), both in cases.items():
        if len(both) == 2:
            without = dict(zip(both[program]["at"], both[program]["ms"]))
            found = [ms / without[at] for at, ms in zip(both[f"{program}+huge"]["at"], both[f"{program}+huge"]["ms"])
                     if ms and without.get(at)]
            ratios.setdefault(program, []).extend([statistics.median(found)] if found else [])
    return "; ".join(f"{name_of(data, program)} {statistics.median(values):.2f}, from {spread(values)}"
                     for program, values in ratios.items() if values)


def verdict(some):
    """How many of the comparisons Stretto wins, loses, or neither, in words."""
    done = [c for c in some if c.ratios]
    often = [c for c in done if len(c.ratios) > 2]
    lost = sorted((c for c in often if min(c.ratios) > 1), key=lambda c: -c.ratio)
    text = (f"{spread([c.ratio for c in done])} of its time in {plural(len(done), 'comparison')}, in the middle "
            f"{statistics.median(c.ratio for c in done):.2f}.")
    if often:
        text += (f" Of {len(often)} with three rounds and more, Stretto takes less time in every round in "
                 f"{sum(max(c.ratios) < 1 for c in often)}, more in every round in {len(lost)}.")
    if lost:
        text += " More, the largest: " + "; ".join(
            f"{c.method} against {c.peer.split()[0]} ({c.where}: {c.ratio:.2f})" for c in lost[:5]) + "."
    return text


def reading(data, every):
    """The points to read from the tables."""
    for (program,), mine in grouped(plainly(every), "program"):
        if any(c.ratios for c in mine):
            yield f"**{name_of(data, program)}**: Stretto takes {verdict(mine)}"
    over = [c.over_floor for c in every if math.isfinite(c.over_floor)]
    if over:
        above = [c for c in every if math.isfinite(c.over_floor) and c.over_floor > 1.5]
        worst = max(above, key=lambda c: c.over_floor, default=None)
        yield (f"Stretto takes {spread(over)} times its floor, in the middle {statistics.median(over):.2f} (goal: 1.15)"
               + (f"; {len(above)} of {len(over)} cases take more than the 1.5 that is the goal for the worst, most of all {worst.method} on "
                  f"{worst.problem} ({worst.over_floor:.2f})." if worst else "."))
    if gains := huge_pages(data, every):
        yield ("Huge pages: the time of an iteration with them over that without, in the middle of all cases and their range: "
               f"{gains}.")


def products(data, every):
    """Products alone: ours and what it is of every program's."""
    mine, rows = [c for c in plainly(every) if c.method == "product"], []
    for (problem, ranks), same in grouped(mine, "problem", "ranks"):
        about = data["abouts"].get(f"stretto {problem}, {ranks}", {})
        rows.append({"": f"{problem}, {plural(ranks, 'rank')}",
                     "stored, B/nonzero": f"{about.get('storage')}, {about.get('bytes_per_nonzero', math.nan):.2f}",
                     "ms": number(median(same[0].ours)), "× floor": number(same[0].over_floor),
                     **{name_of(data, c.program): with_range(c.ratios) for c in same},
                     "goal": str(GOALS_PRODUCT.get(problem.split(":")[0], ""))})
    titles = list(dict.fromkeys(title for row in rows for title in row if title != "goal")) + ["goal"]
    return plain([{title: row.get(title, NONE) for title in titles} for row in rows])


def best_solves(data):
    """By (problem, ranks, program): what the fastest method took whose solves, all with a recomputed residual that is small
    enough, take least time in the middle; None where none did."""
    best = {}
    for case in data["cases"]:
        problem, ranks, precond, program, method = case["case"]
        if lines := case.get("solves"):
            good = all(line.get("converged") and line["residual"] <= 1.01 * RTOL for line in lines)
            found = (statistics.median(line["seconds"] for line in lines), method, precond, len(lines)) if good else None
            key = problem, ranks, program
            best[key] = min(filter(None, (best.get(key), found)), default=None)
    return best


def solve_ratios(best):
    """Ours ÷ theirs, of the best solves, by program."""
    ratios = {}
    for (problem, ranks, program), theirs in best.items():
        ours = best.get((problem, ranks, "stretto"))
        if program != "stretto" and ours and theirs:
            ratios.setdefault(program, []).append(ours[0] / theirs[0])
    return ratios


def solutions(data):
    """Time to solution: our best against the best of each program."""
    best, rows, often = best_solves(data), [], set()

    def said(found):
        return f"{found[0]:.2f} `{found[1]}`{'' if found[2] == 'none' else f', {found[2].capitalize()}'}"

    others = [program for program in dict.fromkeys(key[2] for key in best) if program != "stretto" and as_it_comes(program)]
    for problem, ranks in dict.fromkeys(key[:2] for key in best):
        ours = best.get((problem, ranks, "stretto"))
        row = {"": f"{problem}, {plural(ranks, 'rank')}", "Stretto": said(ours) if ours else "none"}
        for program in others:
            theirs = best.get((problem, ranks, program))
            row[name_of(data, program)] = "none" if (problem, ranks, program) in best else NONE
            if ours and theirs:
                often |= {ours[3], theirs[3]}
                row[name_of(data, program)] = f"{said(theirs)}: {number(ours[0] / theirs[0], GOAL_SOLVE)}"
        rows.append(row)
    means = {name_of(data, program): (statistics.geometric_mean(values), len(values))
             for program, values in solve_ratios(best).items() if program in others}
    rows.append({"": "geometric mean", "Stretto": "",
                 **{name: f"{bold(f'{value:.3f}', value > GOAL_SOLVE)} ({count})" for name, (value, count) in means.items()}})
    methods = sorted({case["case"][4] for case in data["cases"] if "solves" in case and case["case"][3] == "stretto"})
    return plain(rows), listed((f"`{method}`" for method in methods), "or"), spread(often or {1}, 0).replace(" to ", "–")


def rounds_in_words(some):
    """How often methods were timed beside PETSc and beside others, and on how many problems."""
    parts = []
    methods = [c for c in some if c.method != "product"]
    for name, mine in (("PETSc", [c for c in methods if "petsc" in c.program]),
                       ("others", [c for c in methods if "petsc" not in c.program])):
        if counts := {len(c.theirs["ms"]) for c in mine}:
            often = "–".join(dict.fromkeys(map(str, (min(counts), max(counts)))))
            parts.append(f"{name} {often} round{'s' * (max(counts) > 1)} of {plural(len({c.problem for c in mine}), 'problem')}")
    return ", ".join(parts)


def command(data):
    """What measures all that is there, and writes the page."""
    found = {case["case"][4] for case in data["cases"] if case["case"][3] == "stretto"}
    methods = dict.fromkeys(method.split(":")[0] for method in PAIRS if method in found)
    words = [*run.words_of(data["parameters"]), "--methods", *methods]
    return f"    STRETTO_MATRICES=… make bench-peers BENCH_ARGS='{' '.join(words)}'"


def in_short(data, every):
    """What the page says, for a reader who stops there. Peers without huge pages, which change little."""
    usual = [c for c in plainly(every) if c.ratios]
    solves = solve_ratios(best_solves(data))
    for (program,), mine in grouped([c for c in usual if "petsc" in c.program], "program"):
        pairs = [c for c in mine if c.ranks == 2 and c.method != "product"]
        found = {precond: [mean(same) for _, same in grouped([c for c in pairs if c.precond == precond], "method", "peer")]
                 for precond in dict.fromkeys(c.precond for c in pairs)}
        if not found:
            continue
        parts = [f"{spread([value for value, _ in means])} ({in_words(precond)})" for precond, means in found.items()]
        counts = spread([count for means in found.values() for _, count in means] or [0], 0)
        text = (f"**Beside {name_of(data, program)}**, on two ranks, an iteration takes {listed(parts)} of the time of its like, "
                f"in geometric means over {counts} problems.")
        if values := solves.get(program):
            text += f" The quickest solve takes {statistics.geometric_mean(values):.2f} of the time, from {spread(values)}."
        yield text
    for (program,), mine in grouped([c for c in usual if "petsc" not in c.program], "program"):
        yield (f"**Beside {name_of(data, program)}**: {spread([c.ratio for c in mine])} of the time in "
               f"{plural(len(mine), 'comparison')} of iterations and products, in the middle "
               f"{statistics.median(c.ratio for c in mine):.2f}.")
    often = [c for c in usual if len(c.ratios) > 2]
    never = sorted({c.problem for c in often if max(c.ratios) > 1})
    yield (f"Of {len(often)} comparisons with three rounds and more, Stretto takes less time in every round in "
           f"{sum(max(c.ratios) < 1 for c in often)}, more in every round in {sum(min(c.ratios) > 1 for c in often)}; where it "
           f"does not always take less, it is on {listed(never)}.")
    over = [c.over_floor for c in every if math.isfinite(c.over_floor)]
    if over:
        yield (f"An iteration or a product takes {statistics.median(over):.2f} times what moving its bytes takes, in the middle; "
               f"where loads from cache bind it, and not memory, up to {max(over):.1f} times.")
    yield "All of it is on one node, where reductions cost little: what hiding them is worth is [another page](latency.md)."


def report(data):
    every = list(comparisons(data))
    if not every:
        raise run.Failed("no iterations were timed, so there is no page")
    same = sum(c.same for c in every)
    solves, methods, often = solutions(data)
    return {
        "minutes": f"{data['seconds'] / 60:.0f}",
        "rounds": "; ".join(f"{in_words(precond)}, {plural(ranks, 'rank')}, {rounds_in_words(mine)}" for (precond, ranks), mine
                            in grouped([c for c in every if c.ratios], "precond", "ranks")),
        "pieces": "It was measured in pieces, with the revisions named below." if len(data["built"]) > 1 else "",
        "command": command(data), "facts": points(f"{name}: {text}" for name, text in data["facts"].items()),
        "summary": summary(data, every), "reading": points(reading(data, every)), "products": products(data, every),
        "solves": solves, "solve methods": methods, "solves often": often, "goal solve": f"{GOAL_SOLVE}",
        "timeout": f"{data['parameters']['timeout']}", "short": points(in_short(data, every)), "cases": f"{len(data['cases'])}",
        "first": f"{data['parameters']['first']}", "more": f"{data['parameters']['more']}",
        "peers more": f"{data['parameters']['peers_more']}", "warm up": f"{WARM_UP}", "cycle": f"{CYCLE}",
        "agreement": f"all pairs agree to {100 * SAME_STEPS:g} % or better" if same == len(every) else
                     f"{same} of {len(every)} pairs agree to {100 * SAME_STEPS:g} %; the others failed or take other steps",
    }, {}
