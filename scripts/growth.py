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
import pathlib
import subprocess

from curves import draw

METHODS = ["cg", "pipelined_cg", "bicgstab", "gmres"]
SIDES = [22, 46, 68, 100, 147, 200, 272]  # of a cube: 1e4 to 2e7 unknowns
COLUMNS = [1, 2, 3, 4, 8, 16, 32]
STORAGES = {"auto": "as it is stored", "csr": "compressed rows"}
MOST_BYTES = 6e9  # of gmres's vectors, which are left out beyond

PAGE = """# Growth

<!-- Written by scripts/growth.py; do not edit. -->

Nanoseconds of an iteration for an unknown and a right-hand side, of poisson3d, no preconditioner, one thread a rank, the
best of {rounds} of 30 iterations (300 on small cubes); {date}. A flat column is linear growth. On a shared
machine a single entry may be off by half. –: not measured, or {most_bytes:.0f} GB of gmres's vectors would not fit.

## With the number of unknowns

One right-hand side. What fits into the caches is faster; from there on the time is linear. The picture shows compressed
rows.

![ms per iteration against n, compressed rows](growth.svg)

{unknowns}

## With the number of right-hand sides

100³ unknowns. Compressed rows are read once for all columns.

![ms per iteration against m, compressed rows](growth_columns.svg)

{columns}
"""


def measure(a, side, ranks, columns, storage):
    """Seconds of an iteration, by method."""
    methods = [method for method in METHODS if method != "gmres" or 35 * 8 * side**3 * columns <= MOST_BYTES]
    out = subprocess.run([a.mpiexec, "-n", str(ranks), a.stretto, "solve", f"poisson3d:{side}",
                          *(f"--method={method}" for method in methods), "--rtol", "0", "--max-it",
                          "310" if side < 60 else "31", "--threads", "1", "--columns", str(columns), "--storage", storage,
                          "--json", "-"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True).stdout
    return {one["method"].split(":")[0]: one["per_iteration"]["seconds"] for one in json.loads(out)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stretto", default="build/release/stretto")
    parser.add_argument("--mpiexec", default="mpirun")
    parser.add_argument("--rounds", type=int, default=2)
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
    best = {}
    for (side, ranks, columns, storage), seconds in rounds:
        for method, value in seconds.items():
            key = side, method, ranks, columns, storage
            best[key] = min(value, best.get(key, value))

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
                        seconds = best.get((side, method, ranks, columns, storage))
                        cells.append(f"{1e9 * seconds / side**3 / columns:.2f}" if seconds else "–")
                rows.append(f"| {key if first == 'columns' else f'{key}³ = {key**3:.1e}'} | {' | '.join(cells)} |")
            text.append(f"{what[0].upper()}{what[1:]}:\n\n| {first} | {' | '.join(head)} |\n|--:|{'--:|' * len(head)}\n" +
                        "\n".join(rows))
        return "\n\n".join(text)

    often = [sum(case == known for known, _ in rounds) for case, _ in rounds]
    runs = f"{min(often)} to {max(often)} runs" if min(often) < max(often) else f"{max(often)} run{'s' * (max(often) > 1)}"
    a.output.write_text(PAGE.format(most_bytes=1e-9 * MOST_BYTES, rounds=runs,
                                    date=datetime.date.today().isoformat(),
                                    unknowns=table("unknowns", sides, lambda side: (side, 1)),
                                    columns=table("columns", COLUMNS, lambda columns: (100, columns))))

    def picture(suffix, label, keys, case_of, number):
        curves = {}
        for method in METHODS:
            for ranks in (1, 2):
                times = {number(key): best.get((case_of(key)[0], method, ranks, case_of(key)[1], "csr")) for key in keys}
                points = [(x, 1e3 * seconds) for x, seconds in times.items() if seconds]
                curves[f"{method}, {ranks} rank{'s' if ranks > 1 else ''}"] = tuple(zip(*points))
        draw(str(a.output.with_name(f"{a.output.stem}{suffix}.svg")), "poisson3d, compressed rows",
             (label, "ms per iteration"), curves, True)

    picture("", "unknowns", sides, lambda side: (side, 1), lambda side: side**3)
    picture("_columns", "right-hand sides", COLUMNS, lambda columns: (100, columns), lambda columns: columns)


if __name__ == "__main__":
    main()
