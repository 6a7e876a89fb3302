# SPDX-License-Identifier: BSD-3-Clause
"""Does the time of an iteration grow as the problem does? Times against the number of unknowns, of right-hand sides and of
ranks, where nothing else runs."""

import itertools
import statistics

from . import machine, picture
from .text import plural, table

METHODS = ("cg", "pipelined_cg", "bicgstab", "gmres")
SIDES = (22, 46, 68, 100, 147, 200, 272)  # of a cube: 1e4 to 2e7 unknowns
COLUMNS = (1, 2, 3, 4, 8, 16, 32)
STORAGES = {"auto": "As it is stored", "csr": "Compressed rows"}
MOST_BYTES = 10e9  # of gmres's vectors, which are left out beyond
RANKS = (1, 2)
WIDE = 100  # side of the cube with several right-hand sides


def options(parser):
    parser.add_argument("--rounds", type=int, default=3, help="of which the median counts (%(default)s)")
    parser.add_argument("--largest", type=int, default=SIDES[-1], help="side of the largest cube (%(default)s)")


def measure(study):
    quick = study.options.quick
    sides = (22, 46) if quick else [side for side in SIDES if side <= study.options.largest]
    cases = [(side, 1) for side in sides] + [(46 if quick else WIDE, m) for m in COLUMNS[1:3 if quick else None]]
    rounds, found = 1 if quick else study.options.rounds, {}
    study.data |= {"facts": study.facts(), "rounds": rounds, "records": []}
    for number in range(rounds):
        for ranks in RANKS:
            for storage in STORAGES:
                for side, columns in cases:
                    methods = [m for m in METHODS if m != "gmres" or 35 * 8 * side**3 * columns <= MOST_BYTES]
                    results = study.stretto.solve(f"poisson3d:{side}", methods, ranks, rtol=0, columns=columns, storage=storage,
                                                  max_it=310 if side < 60 and not quick else 31)
                    for method, result in zip(methods, results):
                        found.setdefault((side, columns, storage, method, ranks), []).append(
                            1e9 * result["per_iteration"]["seconds"] / side**3 / columns)
                study.say(f"round {number + 1}, {storage}, {plural(ranks, 'rank')}")
        names = ("side", "columns", "storage", "method", "ranks")
        study.data["records"] = [{**dict(zip(names, case)), "ns": statistics.median(ns)} for case, ns in found.items()]
        study.save()


# What follows reads the data alone.

def cases_of(data):
    """(side, columns) of those with one right-hand side, and of those with several."""
    cases = list(dict.fromkeys((row["side"], row["columns"]) for row in data["records"]))
    wide = max((side for side, columns in cases if columns > 1), default=0)
    return [case for case in cases if case[1] == 1], sorted(case for case in cases if case[0] == wide)


def ns_of(data):
    return {(row["side"], row["columns"], row["storage"], row["method"], row["ranks"]): row["ns"] for row in data["records"]}


def tables(data, cases, title):
    """One for each storage; `title` says what stands first in a row, and how."""
    ns, parts = ns_of(data), []
    for storage, words in STORAGES.items():
        rows = [{"case": title[1](*case), **{f"{m}, {plural(k, 'rank')}": ns.get((*case, storage, m, k))
                                             for m in METHODS for k in RANKS}} for case in cases]
        columns = {title[0]: "{case}", **{name: f"{{{name}:.2f}}" for name in rows[0] if name != "case"}} if rows else {}
        parts.append(f"{words}:\n\n{table(rows, columns)}")
    return "\n\n".join(parts)


def steps(data, cases):
    """The smallest, the largest and the middle ratio of the times of neighbours."""
    ns = ns_of(data)
    ratios = [ns[*b, storage, m, k] / ns[*a, storage, m, k] for a, b in itertools.pairwise(cases) for storage in STORAGES
              for m in METHODS for k in RANKS if (*b, storage, m, k) in ns]
    if not ratios:
        return "nothing is there to compare."
    return (f"from one row to the next a time is {min(ratios):.2f} to {max(ratios):.2f} of the one before, in the middle "
            f"{statistics.median(ratios):.2f}.")


def drawn(data, cases, label, number):
    """As it is stored; a colour for each method, dashes for more ranks."""
    ns, named = ns_of(data), {}
    for colour, method in zip(picture.COLOURS, METHODS):
        for ranks in RANKS:
            points = [(number(*case), ns[*case, "auto", method, ranks]) for case in cases if (*case, "auto", method, ranks) in ns]
            if points:
                named[f"{method}, {plural(ranks, 'rank')}"] = points, colour, picture.SECOND if ranks > 1 else None
    return picture.curves("poisson3d, as it is stored: ns of an iteration", (label, "ns per unknown and right-hand side"), named,
                          (2 if number(1, 2) == 2 else 10, 0))


def report(data):
    unknowns, columns = cases_of(data)
    return {
        "rounds": "one run" if data["rounds"] == 1 else f"the median of {data['rounds']} runs",
        "most bytes": f"{1e-9 * MOST_BYTES:.0f}", "facts": machine.line(data["facts"]),
        "wide": f"{columns[-1][0]}³" if columns else "", "steps": steps(data, [case for case in unknowns if case[0] > 140]),
        "steps columns": steps(data, [case for case in columns if case[1] > 1]),
        "unknowns": tables(data, unknowns, ("unknowns", lambda side, m: f"{side}³ = {side**3:.1e}")),
        "columns": tables(data, columns, ("columns", lambda side, m: str(m)))}, {
        "growth.svg": drawn(data, unknowns, "unknowns", lambda side, m: side**3),
        "growth_columns.svg": drawn(data, columns, "right-hand sides", lambda side, m: m)}
