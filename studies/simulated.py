# SPDX-License-Identifier: BSD-3-Clause
"""What the studies of scaling share: runs of stretto simulate, each of which is kept, and tables of what they say. A sweep
that was stopped goes on where it was; with --most larger runs are left out, unless they are kept."""

import hashlib
import json
import math
import os
import pathlib
import re

from . import machine, run
from .text import table

DEEP = tuple(f"deep_pipelined_cg:l={depth}" for depth in (1, 2, 3))
CG = ("cg", "pipelined_cg", *DEEP)
SHORT = {"cg": "CG", "single_reduction_cg": "1-CG", "pipelined_cg": "p-CG", **{m: f"p({k})-CG" for k, m in enumerate(DEEP, 1)}}


def options(parser):
    parser.add_argument("--most", type=int, default=1024, help="nodes of a run; larger ones are left out (%(default)s)")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build/scaling"), help="folder of runs (%(default)s)")


def label(method):
    """What a method is called on a page: without the length of its cycles."""
    return SHORT.get(method, re.sub(r"[,:]m=\d+", "", method))


class Points(dict):
    """What was simulated, by (nodes, method)."""

    def nodes(self):
        return sorted({n for n, _ in self})

    def us(self, nodes, method):
        """µs of an iteration; nan where there is no result."""
        return 1e6 * self[nodes, method]["seconds_per_iteration"] if (nodes, method) in self else math.nan

    def speed_up(self, nodes, method, base=None):
        """Over the base, (nodes, method), or the same method on the fewest nodes."""
        return self.us(*(base or (self.nodes()[0], method))) / self.us(nodes, method) if self else math.nan


class Simulations:
    """Runs simulations, and keeps the tables of a study."""

    def __init__(self, study):
        self.study, self.a = study, study.options
        self.a.most = 8 if self.a.quick else self.a.most
        self.a.keep.mkdir(parents=True, exist_ok=True)
        study.data.clear()
        study.data |= {"facts": {"date": machine.describe()["date"], "Stretto": study.stretto.about()}, "tables": {}}

    def points(self, problem, methods, nodes, *more):
        """A run for each number of nodes: FIRST..LAST, doubled, or a list with commas."""
        first, _, last = nodes.partition("..")
        counts = [int(first) << k for k in range((int(last) // int(first)).bit_length())] if last else map(int, nodes.split(","))
        points = Points()
        for n in counts:
            words = ["simulate", "--problem", problem, "--nodes", str(n), *map(str, more), "--methods", *methods]
            if found := self.run(words, n):
                points |= {(n, point["method"]): point for point in found["points"]}
        return points

    def run(self, words, nodes, *depends):
        """What a simulation says, kept for as long as its words, its machine and what it depends on are the same; nothing where
        it has too many nodes."""
        parameters = run.ROOT / "share" / "machines" / f"{words[words.index('--machine') + 1]}.json"
        key = hashlib.sha256("\0".join([*words, parameters.read_text(), *depends]).encode()).hexdigest()[:20]
        kept = self.a.keep / f"{key}.json"
        if not kept.exists():
            if nodes > self.a.most:
                return None
            self.study.say(" ".join(words))
            part = kept.with_suffix(f".{os.getpid()}")
            code, _, err = run.call([self.study.stretto.path, *words, "--json", part])
            if code:
                raise run.Failed(f"stretto {' '.join(words)}: {err.strip()[-200:]}")
            part.rename(kept)
        return json.loads(kept.read_text())

    def put(self, name, rows):
        """A table: records of title to number or word; what is not a number is none."""
        self.study.data["tables"][name] = [{title: None if isinstance(value, float) and math.isnan(value) else value
                                            for title, value in row.items()} for row in rows]
        self.study.save()

    def speed_ups(self, name, points, methods):
        """Of all nodes and methods over the first method on the fewest nodes."""
        base = min(points.nodes(), default=0), methods[0]
        self.put(name, [{"nodes": n, **{label(m): points.speed_up(n, m, base) for m in methods}} for n in points.nodes()])


def tables(data, digits, functions=()):
    """What the data depends on, and every table of it as text: with as many digits as the first expression says that fits its
    name, or by the function for it."""
    found = {"facts": machine.line(data["facts"])}
    for name, rows in data["tables"].items():
        make = next((make for pattern, make in dict(functions).items() if re.fullmatch(pattern, name)), None)
        places = next((places for pattern, places in digits.items() if re.fullmatch(pattern, name)), 2)
        found[name] = make(rows) if make else table(rows, {title: shown(title, places) for title in rows[0]} if rows else {},
                                                    "Not simulated.")
    return found


def shown(title, places):
    def cell(row):
        value = row.get(title)
        if isinstance(value, float):
            return f"{value:.{1 if title.endswith('µs') else places}f}"
        return "–" if value is None else str(value)
    return cell
