#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time per iteration against the number of unknowns, of right-hand sides and of ranks; writes docs/growth.md and its
pictures. By hand, where nothing else runs:

    set -a; . scripts/mpi.env; set +a; python3 scripts/growth.py --stretto build/release/stretto

What was measured is kept in --raw, and only what is missing there is measured.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess

from curves import draw

METHODS = ["cg", "pipelined_cg", "bicgstab", "gmres"]
SIDES = [22, 46, 68, 100, 147, 200, 272]  # of a cube: 1e4 to 2e7 unknowns
COLUMNS = [1, 2, 3, 4, 8, 16, 32]
STORAGES = {"auto": "as it is stored", "csr": "compressed rows"}
MOST_BYTES = 10e9  # of gmres's vectors, which are left out beyond

PAGE = """# Growth

<!-- Written by scripts/growth.py; do not edit. -->

Nanoseconds of an iteration for an unknown and a right-hand side, of poisson3d, no preconditioner, one thread a rank,
{rounds} of up to 30 iterations (300 below 60³); {processor}; {date}. A flat column is linear growth; on a shared machine a single entry may be two or three times too long. –: left
out, as gmres's vectors take more than {most_bytes:.0f} GB.

## With the number of unknowns

One right-hand side. What fits into the caches is faster, and the smallest cube pays more for what an iteration costs
whatever its size. From 3 million unknowns on, where all vectors are in memory: {verdict}

![ns per unknown against n, as it is stored](growth.svg)

{unknowns}

## With the number of right-hand sides

100³ unknowns. Compressed rows are read once for all columns. With more than one: {verdict_columns}

![ns per unknown and right-hand side against m, as it is stored](growth_columns.svg)

{columns}
"""


def processor():
    text = subprocess.run(["lscpu"], stdout=subprocess.PIPE, check=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    facts = dict(re.findall(r"^ *([^:\n]+): +(.+)$", text, re.M))
    return f"{facts.get('Model name', '?')}, family {facts.get('CPU family', '?')} model {facts.get('Model', '?')}"


def measure(a, side, ranks, columns, storage):
    """Seconds of an iteration, by method."""
    methods = [method for method in METHODS if method != "gmres" or 35 * 8 * side**3 * columns <= MOST_BYTES]
    out = subprocess.run([a.mpiexec, "-n", str(ranks), a.stretto, "solve", f"poisson3d:{side}",
                          *(f"--method={method}" for method in methods), "--rtol", "0", "--max-it",
                          "310" if side < 60 else "31", "--threads", "1", "--columns", str(columns), "--storage", storage,
                          "--json", "-"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True).stdout
    return {one["method"].split(":")[0]: one["per_iteration"]["seconds"] for one in json.loads(out)}


def steps(middle, keys, case_of):
    """The smallest and the largest ratio of the times, for an unknown and a right-hand side, of neighbours."""
    ratios = []
    for method in METHODS:
        for storage in STORAGES:
            for ranks in (1, 2):
                cases = [case_of(key) for key in keys]
                each = [middle[side, method, ranks, columns, storage] / side**3 / columns for side, columns in cases
                        if (side, method, ranks, columns, storage) in middle]
                ratios += [b / a for a, b in zip(each, each[1:])]
    low, high = min(ratios), max(ratios)
    return (f"from one row to the next a time is {low:.2f} to {high:.2f} of the one before, in the middle "
            f"{statistics.median(ratios):.2f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stretto", default="build/release/stretto")
    parser.add_argument("--mpiexec", default="mpirun")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=272, help="side of the largest cube")
    parser.add_argument("--raw", type=pathlib.Path, default=pathlib.Path("build/growth.json"),
                        help="what was measured; what is missing there is measured")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("docs/growth.md"))
    a = parser.parse_args()
    rounds = [(case, seconds) for case, seconds in (json.loads(a.raw.read_text()) if a.raw.exists() else [])]
    sides = [side for side in SIDES if side <= a.largest]
    for number in range(a.rounds):
        for ranks in (1, 2):
            for storage in STORAGES:
                for side, columns in [(side, 1) for side in sides] + [(100, columns) for columns in COLUMNS[1:]]:
                    case = [side, ranks, columns, storage]
                    if sum(case == known for known, _ in rounds) <= number:
                        rounds.append((case, measure(a, *case)))
                        a.raw.write_text(json.dumps(rounds))
                print(f"round {number + 1}, {storage}, {ranks} rank{'s' if ranks > 1 else ''}", flush=True)
    values = {}
    for (side, ranks, columns, storage), seconds in rounds:
        for method, value in seconds.items():
            values.setdefault((side, method, ranks, columns, storage), []).append(value)
    middle = {key: statistics.median(times) for key, times in values.items()}

    def table(first, keys, case_of):
        head = [f"{method}, {ranks} rank{'s' if ranks > 1 else ''}" for method in METHODS for ranks in (1, 2)]
        text = []
        for storage, what in STORAGES.items():
            rows = []
            for key in keys:
                cells = []
                for method in METHODS:
                    for ranks in (1, 2):
                        side, columns = case_of(key)
                        seconds = middle.get((side, method, ranks, columns, storage))
                        cells.append(f"{1e9 * seconds / side**3 / columns:.2f}" if seconds else "–")
                rows.append(f"| {key if first == 'columns' else f'{key}³ = {key**3:.1e}'} | {' | '.join(cells)} |")
            text.append(f"{what[0].upper()}{what[1:]}:\n\n| {first} | {' | '.join(head)} |\n|--:|{'--:|' * len(head)}\n" +
                        "\n".join(rows))
        return "\n\n".join(text)

    often = [sum(case == known for known, _ in rounds) for case, _ in rounds]
    runs = f"{min(often)} to {max(often)} runs" if min(often) < max(often) else f"{max(often)} run{'s' * (max(often) > 1)}"
    runs = f"the median of {runs}" if max(often) > 1 else runs
    a.output.write_text(PAGE.format(most_bytes=1e-9 * MOST_BYTES, rounds=runs,
                                    date=datetime.date.today().isoformat(), processor=processor(),
                                    verdict=steps(middle, [side for side in sides if side > 140], lambda side: (side, 1)),
                                    verdict_columns=steps(middle, COLUMNS[1:], lambda columns: (100, columns)),
                                    unknowns=table("unknowns", sides, lambda side: (side, 1)),
                                    columns=table("columns", COLUMNS, lambda columns: (100, columns))))

    def picture(suffix, label, keys, case_of, number):
        curves = {}
        for method in METHODS:
            for ranks in (1, 2):
                points = []
                for key in keys:
                    side, columns = case_of(key)
                    seconds = middle.get((side, method, ranks, columns, "auto"))
                    points += [(number(key), 1e9 * seconds / side**3 / columns)] if seconds else []
                curves[f"{method}, {ranks} rank{'s' if ranks > 1 else ''}"] = tuple(zip(*points))
        draw(str(a.output.with_name(f"{a.output.stem}{suffix}.svg")), "poisson3d, as it is stored",
             (label, "ns per unknown and right-hand side"), curves, True)

    picture("", "unknowns", sides, lambda side: (side, 1), lambda side: side**3)
    picture("_columns", "right-hand sides", COLUMNS, lambda columns: (100, columns), lambda columns: columns)


if __name__ == "__main__":
    main()
