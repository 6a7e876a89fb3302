#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every merged group of statements of every method beside the triad, on one and two ranks; writes docs/groups.md. By hand,
where nothing else runs:

    set -a; . scripts/mpi.env; set +a; python3 scripts/groups.py --stretto build/release/stretto
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import textwrap

GOAL = 0.85

PAGE = """# Groups beside the triad

<!-- Written by scripts/groups.py; do not edit. -->

What every merged group of every method's iteration moves through memory in a second, beside STREAM's triad in the same
process, run in turn: `stretto bench groups`, {rounds} rounds, medians, {instruction_set}, {date}. About 8 million unknowns times
right-hand sides m in a vector (poisson3d), one thread a rank. Bytes are whole vectors read and written, no write-allocate,
for the triad too. Groups are numbered in the order in which an iteration runs them; where a method has panels, reads, writes
and dots are means over a cycle. Statements that a product hands its rows to, (p, A p) of `cg`, are no groups of their own and
not here. The fractions are of the triad's rate in the same turn, with as many ranks, and of its largest in the run, which was
{triads}.

A group may pass the triad: the triad writes a vector that it has not read, for which the processor first reads it, 32 bytes
moved where 24 are counted, so that what memory gives is {most}, a third more; an update in place, or a group that only reads,
moves what is counted. What is above that comes from cache, which holds part of the smaller groups' vectors from one iteration
to the next, and from ranks that are timed each by itself, when the other is not always in memory, too.

{tables}

## Below {goal:.0f} %

Of the triad in the same turn, listed below. Of its largest in the run: {below_best}.

What binds most of them is the core, not memory. A group of panels has many dot products for each vector that it reads: with
s = 10, 104 for 12 vectors, 208 operations for 96 bytes, so that {flops}. With several columns each coefficient is a vector in cache, not a number in a register,
and so is each sum of a panel, so that panels load more of them than of vectors.

What was tried for panels: tiles of sums and of coefficients in registers of several shapes, of which the fastest is in use;
strips of 256 to 2048 elements (1024 for one or two vectors on the right, a tenth faster than 512, which more vectors have);
fetching ahead, which helps from three vectors on the right and costs a tenth below; and dgemm of OpenBLAS for the same
products, which takes 2.3 to 4.4 times as long, as it packs its operands first. For several columns: panels of columns with
widths known at compile time would keep sums in registers, and need an instantiation of every statement for each width
([architecture](architecture.md)).

{below}
"""


def measure(a, number):
    command = [a.mpiexec, "-n", str(number), a.stretto, "bench", "groups", "--threads", "1", "--rounds", str(a.rounds),
               "--json", "-"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def wrapped(text):
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def ranks(result):
    return f"{result['ranks']} rank{'s' if result['ranks'] > 1 else ''}"


def rates(results):
    """Of the group with the most dot products."""
    for result in results:
        for m in (1, 16):
            rows = [row for row in result["measurements"] if row["columns"] == m]
            row = max(rows, key=lambda row: row["dots"])
            each = row["gigabytes_per_second"] / row["bytes_per_element"] * 2 * row["dots"] / result["ranks"]
            yield f"{each:.0f} (m = {m}, {ranks(result)})"


def key(row):
    return row["method"], row["preconditioned"], row["group"]


def of_best(result, row):
    return row["gigabytes_per_second"] / result["triad_gigabytes_per_second"]


def cell(result, row):
    if row is None:
        return "–"
    text = f"{row['gigabytes_per_second']:.0f} ({100 * row['of_triad']:.0f}, {100 * of_best(result, row):.0f} %)"
    return text if row["of_triad"] >= GOAL else f"**{text}**"


def table(result):
    rows = result["measurements"]
    widths = sorted({row["columns"] for row in rows})
    found = {(*key(row), row["columns"]): row for row in rows}
    lines = ["| method | precond | group | reads + writes | dots | B/element |"
             + "".join(f" m = {m}, GB/s (of triad, of its largest) |" for m in widths), "|---|---|--:|--:|--:|--:|" + "--:|" * len(widths)]
    for one in dict.fromkeys(key(row) for row in rows):
        row = next(row for row in rows if key(row) == one)
        lines.append(f"| `{one[0]}` | {'jacobi' if one[1] else 'none'} | {one[2]} | {row['reads']:.3g} + {row['writes']:.3g} |"
                     f" {row['dots']:.3g} | {row['bytes_per_element']:.0f} |"
                     + "".join(f" {cell(result, found.get((*one, m)))} |" for m in widths))
    return "\n".join(lines)


def below(result):
    rows = [row for row in result["measurements"] if row["of_triad"] < GOAL]
    return f"{ranks(result)}: {len(rows)} of {len(result['measurements'])}.\n" + "".join(
        f"\n- `{row['method']}`{', jacobi' if row['preconditioned'] else ''}, group {row['group']}, m = {row['columns']}: "
        f"{100 * row['of_triad']:.0f} %" for row in sorted(rows, key=lambda row: row["of_triad"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stretto", default="build/release/stretto")
    parser.add_argument("--mpiexec", default="mpirun")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("docs/groups.md"))
    a = parser.parse_args()
    results = [measure(a, number) for number in (1, 2)]

    def rates_of_triad(more):
        return " and ".join(f"{more * r['triad_gigabytes_per_second']:.0f} GB/s on {ranks(r)}" for r in results)

    below_best = " and ".join(
        f"{sum(of_best(r, row) < GOAL for row in r['measurements'])} of {len(r['measurements'])} "
        f"on {ranks(r)}" for r in results)
    text = PAGE.format(
        rounds=a.rounds, date=datetime.date.today(), goal=100 * GOAL, instruction_set=results[0]["instruction_set"],
        triads=rates_of_triad(1), most=rates_of_triad(4 / 3), below_best=below_best,
        flops="a core does, in Gflop/s, " + ", ".join(rates(results)),
        tables="\n\n".join(f"## {ranks(r)}\n\n{table(r)}" for r in results),
        below="\n\n".join(below(r) for r in results))
    a.output.write_text("\n\n".join(part if part[0] in "#|-<" else wrapped(part) for part in text.strip().split("\n\n"))
                        + "\n")


main()
