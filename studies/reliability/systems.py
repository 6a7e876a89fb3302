# SPDX-License-Identifier: BSD-3-Clause
"""Random systems of every structure that is known to be hard, or easy. A structure is a function (n, random) of which every
entry (i, j, value) comes once."""

import math

SYMMETRIC, GENERAL, HERMITIAN, COMPLEX = "symmetric", "general", "hermitian", "complex"


def diagonal(n, random):
    yield from ((i, i, random.choice((1, -1)) * 10 ** random.uniform(-3, 3)) for i in range(n))


def tridiagonal(n, random):
    for i in range(n):
        yield i, i, 2 + random.random() * 0.01
        if i + 1 < n:
            yield i, i + 1, -1.0
            yield i + 1, i, -1.0


def flows(n, random, contrast):
    """Pairs of neighbours on a grid, and what flows between them."""
    width = max(1, math.isqrt(n))
    for i in range(n):
        for j in (i + 1 if (i + 1) % width else n, i + width):
            if j < n:
                yield i, j, contrast ** random.random()


def of_flows(n, flows_between, on_diagonal):
    sums = [on_diagonal] * n
    for i, j, flow in flows_between:
        sums[i] += flow
        sums[j] += flow
        yield i, j, -flow
        yield j, i, -flow
    yield from ((i, i, v) for i, v in enumerate(sums))


def laplacian(n, random):
    yield from of_flows(n, flows(n, random, 1e4), 1e-3)


def without_ground(n, random):
    """Singular but for rounding errors: constants are taken to zero, or nearly."""
    yield from of_flows(n, flows(n, random, 10), 0.0)


def exactly_without_ground(n, random):
    """Singular, and b in the range by chance alone."""
    yield from of_flows(n, ((i, j, 1.0) for i, j, _ in flows(n, random, 1)), 0.0)


def graded(n, random):
    """A tridiagonal matrix between diagonal ones that span 12 orders of magnitude."""
    d = [10 ** (6 * random.uniform(-1, 1)) for _ in range(n)]
    yield from ((i, j, d[i] * v * d[j]) for i, j, v in tridiagonal(n, random))


def indefinite(n, random):
    for i in range(n):
        yield i, i, random.uniform(-2, 2)
        if i + 1 < n:
            v = random.uniform(-1, 1)
            yield i, i + 1, v
            yield i + 1, i, v


def saddle_point(n, random):
    """A grid's flows above zeros, which are on a third of the diagonal."""
    m = n - n // 3
    yield from laplacian(m, random)
    for i in range(m, n):
        for j in {(i - m) % m, (2 * (i - m) + 1) % m}:
            v = random.uniform(0.5, 1)
            yield i, j, v
            yield j, i, v


def arrow(n, random):
    yield 0, 0, float(n)
    for i in range(1, n):
        yield i, i, random.uniform(1, 2)
        yield 0, i, random.uniform(-1, 1)
        yield i, 0, random.uniform(-1, 1)


def scattered(n, random):
    """Three entries a row anywhere, and a diagonal that is larger, or smaller, than these."""
    weight = random.choice((0.0, 0.3, 1.0, 4.0))
    for i in range(n):
        columns = {random.randrange(n) for _ in range(3)} - {i}
        yield from ((i, j, random.gauss(0, 1)) for j in sorted(columns))
        if weight:
            yield i, i, weight * random.uniform(0.5, 1.5)


def convection(n, random):
    wind = random.uniform(0, 3)
    for i in range(n):
        yield i, i, 2 + wind
        if i + 1 < n:
            yield i, i + 1, -1.0
            yield i + 1, i, -1.0 - wind


def permutation(n, random):
    """On whose diagonal there is nothing, and whose powers lead Krylov methods round."""
    order = list(range(n))
    random.shuffle(order)
    yield from ((i, j, 1.0) for i, j in enumerate(order))


def skew(n, random):
    shift = random.choice((0.0, 0.1))
    for i in range(n):
        if shift:
            yield i, i, shift
        if i + 1 < n:
            v = random.gauss(0, 1)
            yield i, i + 1, v
            yield i + 1, i, -v


def triangle(n, random):
    for i in range(n):
        yield i, i, random.choice((1.0, 1.0, 1e-6))
        yield from ((i, j, random.uniform(-1, 1)) for j in sorted({random.randrange(i) for _ in range(2)} if i else ()))


def dense(n, random):
    yield from ((i, j, random.gauss(0, 1)) for i in range(n) for j in range(n))


def hilbert(n, random):
    """Condition numbers beyond double precision from a dozen rows on."""
    yield from ((i, j, 1 / (i + j + 1)) for i in range(n) for j in range(n))


def rank_one(n, random):
    u = [random.gauss(0, 1) for _ in range(n)]
    yield from ((i, j, u[i] * u[j]) for i in range(n) for j in range(n))


def empty_row(n, random):
    out = random.randrange(n)
    yield from ((i, j, v) for i, j, v in scattered(n, random) if i != out)


def twice_the_same_row(n, random):
    for i, j, v in tridiagonal(n, random):
        if i:
            yield i, j, v
        if i == 1:
            yield 0, j, v


def nothing(n, random):
    return iter(())


def identity(n, random):
    yield from ((i, i, 1.0) for i in range(n))


def in_a_field(n, random):
    """A hermitian Laplacian with random phases."""
    sums = [1e-2] * n
    for i, j, flow in flows(n, random, 10):
        sums[i] += flow
        sums[j] += flow
        angle = random.uniform(-3, 3)
        re, im = -flow * math.cos(angle), -flow * math.sin(angle)
        yield i, j, (re, im)
        yield j, i, (re, -im)
    yield from ((i, i, (v, 0.0)) for i, v in enumerate(sums))


def complex_scattered(n, random):
    yield from ((i, j, (v, random.gauss(0, 1))) for i, j, v in scattered(n, random))


def damped_waves(n, random):
    for i, j, v in laplacian(n, random):
        yield i, j, (v, 0.5) if i == j else (v, 0.0)


# name: (what it is, most rows)
STRUCTURES = {
    diagonal: (SYMMETRIC, 100_000), tridiagonal: (SYMMETRIC, 100_000), laplacian: (SYMMETRIC, 100_000),
    without_ground: (SYMMETRIC, 100_000), exactly_without_ground: (SYMMETRIC, 100_000), graded: (SYMMETRIC, 20_000),
    indefinite: (SYMMETRIC, 100_000), saddle_point: (SYMMETRIC, 50_000), hilbert: (SYMMETRIC, 60), rank_one: (SYMMETRIC, 60),
    nothing: (SYMMETRIC, 1000), identity: (SYMMETRIC, 100_000), arrow: (GENERAL, 20_000), scattered: (GENERAL, 50_000),
    convection: (GENERAL, 100_000), permutation: (GENERAL, 10_000), skew: (GENERAL, 100_000), triangle: (GENERAL, 20_000),
    dense: (GENERAL, 80), empty_row: (GENERAL, 5000), twice_the_same_row: (GENERAL, 20_000), in_a_field: (HERMITIAN, 50_000),
    complex_scattered: (COMPLEX, 10_000), damped_waves: (COMPLEX, 50_000)}

SINGULAR = (without_ground, exactly_without_ground)
