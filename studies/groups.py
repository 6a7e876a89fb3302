# SPDX-License-Identifier: BSD-3-Clause
"""Does every merged group of statements move memory as fast as the triad? All groups of all methods, on one and two ranks, by
stretto bench groups, where nothing else runs."""

from . import machine
from .text import bold, listed, plural, points, spread, table

GOAL = 0.85


def options(parser):
    parser.add_argument("--rounds", type=int, default=3, help="of which the median counts (%(default)s)")


def measure(study):
    study.data |= {"facts": study.facts(), "rounds": 1 if study.options.quick else study.options.rounds, "runs": {}}
    for ranks in (1, 2):
        study.say(plural(ranks, "rank"))
        found = study.stretto.bench("groups", ranks, rounds=study.data["rounds"])
        study.data["facts"]["instructions"] = found["instruction_set"]
        names = {"method": "method", "preconditioned": "preconditioned", "group": "group", "columns": "columns", "reads": "reads",
                 "writes": "writes", "dots": "dots", "bytes_per_element": "bytes", "gigabytes_per_second": "rate",
                 "of_triad": "of_triad"}
        triad = found["triad_gigabytes_per_second"]
        study.data["runs"][f"{ranks}"] = {"ranks": ranks, "triad": triad, "records": [
            {**{ours: row[theirs] for theirs, ours in names.items()}, "of_best": row["gigabytes_per_second"] / triad,
             "below": row["of_triad"] < GOAL} for row in found["measurements"]]}
        study.save()


# What follows reads the data alone.

def rate(row):
    return bold(f"{row['rate']:.0f} ({100 * row['of_triad']:.0f}, {100 * row['of_best']:.0f} %)", row["below"])


def key(row):
    return row["method"], row["preconditioned"], row["group"]


def groups_table(records):
    rows = {}
    for row in records:
        rows.setdefault(key(row), {**row, "rates": {}})["rates"][row["columns"]] = rate(row)
    widths = sorted({row["columns"] for row in records})
    return table(list(rows.values()), {
        "method": "`{method}`", "precond": lambda row: "jacobi" if row["preconditioned"] else "none", "group": "{group}",
        "reads + writes": "{reads:.3g} + {writes:.3g}", "dots": "{dots:.3g}", "B/element": "{bytes:.0f}",
        **{f"m = {m}, GB/s (of triad, of its largest)": lambda row, m=m: row["rates"].get(m, "–") for m in widths}})


def below(each):
    """Those below the goal, by group: how many, and by how much."""
    short, found = [row for row in each["records"] if row["below"]], {}
    for row in sorted(short, key=lambda row: row["of_triad"]):
        found.setdefault(key(row), []).append(f"{100 * row['of_triad']:.0f} % (m = {row['columns']})")
    lines = points(f"`{method}`{', jacobi' * preconditioned}, group {group}: {', '.join(rates)}"
                   for (method, preconditioned, group), rates in found.items())
    return f"{plural(each['ranks'], 'rank')}: {len(short)} of {len(each['records'])}.\n\n{lines}"


def flops(runs):
    """Gflop/s of a core in the group with the most dot products."""
    for each in runs:
        for m in sorted({row["columns"] for row in each["records"]})[::2]:
            row = max((row for row in each["records"] if row["columns"] == m), key=lambda row: row["dots"])
            yield f"{row['rate'] / row['bytes'] * 2 * row['dots'] / each['ranks']:.0f} (m = {m}, {plural(each['ranks'], 'rank')})"


def report(data):
    runs = data["runs"].values()

    def triads(times):
        return listed(f"{times * each['triad']:.0f} GB/s on {plural(each['ranks'], 'rank')}" for each in runs)

    fractions = [row["of_triad"] for each in runs for row in each["records"]]
    return {
        "rounds": f"{data['rounds']}", "facts": machine.line(data["facts"]), "triads": triads(1), "most": triads(4 / 3),
        "goal": f"{100 * GOAL:.0f}", "range": spread([100 * value for value in fractions], 0), "flops": listed(flops(runs)),
        "below best": listed(f"{sum(row['of_best'] < GOAL for row in each['records'])} of {len(each['records'])} on "
                             f"{plural(each['ranks'], 'rank')}" for each in runs),
        "tables": "\n\n".join(f"## {plural(each['ranks'], 'rank')}\n\n{groups_table(each['records'])}" for each in runs),
        "below": "\n\n".join(map(below, runs))}, {}
