# SPDX-License-Identifier: BSD-3-Clause
"""Residuals of real matrices, computed without the library."""

import gzip
import math
import pathlib


def name_of(problem):
    """Of a file the name without folder and ending, of a generated problem all."""
    return pathlib.Path(problem).name.removesuffix(".mtx.gz") if is_file(problem) else str(problem)


def is_file(problem):
    return isinstance(problem, pathlib.Path)


def values_of(path):
    """The numbers of a Matrix Market array."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
    return [float(line) for line in lines[1:]]


class Matrix:
    """A Matrix Market file, read as it is written."""

    def __init__(self, path):
        self.name = name_of(path)
        with gzip.open(path, "rt") as file:
            kind, self.symmetry = file.readline().split()[3:5]
            lines = (line for line in file if line.strip() and not line.startswith("%"))
            self.n = int(next(lines).split()[0])
            self.columns = [[] for _ in range(self.n)]
            self.values = [[] for _ in range(self.n)]
            for line in lines:
                i, j, *value = line.split()
                self.put(int(i) - 1, int(j) - 1, 1.0 if kind == "pattern" else float(value[0]))
        # The right-hand side is A·ones. math.fsum adds without rounding in between.
        self.b = [math.fsum(row) for row in self.values]
        self.norm_b = math.hypot(*self.b)

    def put(self, i, j, value):
        self.columns[i].append(j)
        self.values[i].append(value)
        if i != j and self.symmetry in ("symmetric", "skew-symmetric"):
            self.columns[j].append(i)
            self.values[j].append(value if self.symmetry == "symmetric" else -value)

    def is_symmetric(self):
        if self.symmetry == "symmetric":
            return True
        entries = {(i, j): v for i, row in enumerate(zip(self.columns, self.values)) for j, v in zip(*row)}
        return all(entries.get((j, i)) == v for (i, j), v in entries.items())

    def residual(self, x):
        """‖b − Ax‖/‖b‖"""
        rows = zip(self.b, self.values, self.columns)
        return math.hypot(*(math.fsum([b, *(-v * x[j] for v, j in zip(vs, js))]) for b, vs, js in rows)) / self.norm_b
