# SPDX-License-Identifier: BSD-3-Clause
"""Residuals of a Matrix Market system without rounding errors to speak of, by sums and products that lose nothing."""

import math
from fractions import Fraction

SPLITTER = 2.0**27 + 1


def product(a, b):
    """a·b as two numbers whose sum it is (Dekker 1971); exactly so far from the ends of the range."""
    p = a * b
    t = SPLITTER * a
    a1 = t - (t - a)
    a2 = a - a1
    t = SPLITTER * b
    b1 = t - (t - b)
    b2 = b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def row_residual(b, values, xs):
    """b − Σ values·xs, rounded once; b may be terms of a sum."""
    b = b if isinstance(b, tuple) else (b,)
    terms = list(b)
    for a, x in zip(values, xs):
        terms.extend(product(-a, x))
    try:
        total = math.fsum(terms)
    except (OverflowError, ValueError):
        total = math.nan
    if math.isfinite(total):
        return total
    try:
        return float(sum(map(Fraction, b)) - sum(Fraction(a) * Fraction(x) for a, x in zip(values, xs)))
    except (OverflowError, ValueError):  # of numbers that are not finite there is no sum
        return math.inf


def without_mean(b):
    """b − mean(b), each number as terms whose sum it is."""
    high = math.fsum(b) / len(b)
    low = math.fsum((*b, *[-high] * len(b))) / len(b)
    return [(v, -high, -low) for v in b]


class System:
    """Rows of a matrix, whose entries are numbers or, of a complex one, pairs."""

    def __init__(self, n, entries, is_complex=False):
        self.n, self.is_complex = n, is_complex
        self.columns, self.values = [[] for _ in range(n)], [[] for _ in range(n)]
        for i, j, v in entries:
            self.columns[i].append(j)
            self.values[i].append(v)

    def residual(self, b, x):
        """(‖b − A x‖, the largest that rounding errors of one in double precision may make of its norm)"""
        parts, sizes = [], []
        for b_i, columns, values in zip(b, self.columns, self.values):
            xs = [x[j] for j in columns]
            if self.is_complex:
                (re, im), xre, xim = zip(*values) if values else ((), ()), [z[0] for z in xs], [z[1] for z in xs]
                parts.append(row_residual(b_i[0], [*re, *(-v for v in im)], xre + xim))
                parts.append(row_residual(b_i[1], [*im, *re], xre + xim))
                sizes.append(sum(abs(u) + abs(v) for u, v in xs) * max(map(abs, re + im), default=0))
            else:
                parts.append(row_residual(b_i, values, xs))
                sizes.append(abs(sum(b_i) if isinstance(b_i, tuple) else b_i) + sum(abs(v * z) for v, z in zip(values, xs)))
        longest = max(map(len, self.values), default=0)
        return math.hypot(*parts), (longest + 4) * 2.0**-52 * math.hypot(*sizes)


def norm(b, is_complex):
    return math.hypot(*(part for z in b for part in z)) if is_complex else math.hypot(*b)


def columns_of(path, is_complex):
    """The columns of a Matrix Market array."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
    rows, count = map(int, lines[0].split())
    numbers = [tuple(map(float, line.split())) if is_complex else float(line) for line in lines[1:]]
    if len(numbers) != rows * count:
        raise ValueError(f"{path.name} has {len(numbers)} numbers, not {rows} × {count}")
    return [numbers[k * rows:(k + 1) * rows] for k in range(count)]
