# SPDX-License-Identifier: BSD-3-Clause
"""Random systems, and what each is solved with."""

import math
import random
import re

from . import exact
from .systems import COMPLEX, GENERAL, HERMITIAN, SINGULAR, STRUCTURES

SMALL = {"l": (1, 6), "s": (1, 9), "t": (1, 8), "m": (1, 60), "h": (1, 3), "check": (0, 60), "warmup": (1, 30), "degree": (1, 8),
         "overlap": (0, 3), "blocks": (0, 4), "patience": (1, 500), "refresh": (0, 30), "fill": (0, 20), "pattern": (1, 2),
         "aggressive": (0, 2), "coarsest": (1, 200), "sweeps": (1, 3), "per_row": (0, 6), "functions": (0, 3), "again": (0, 20),
         "replacements": (0, 20)}
OF_SPECTRUM = ("lmin", "lmax")  # ends of an interval, which tell something near the values of A alone
REPRODUCIBLE = {"precond": ("none", "jacobi", "chebyshev"), "prepare": ("equilibrate", "nonzeros"),
                "storage": ("csr", "repeated", "in-step", "sliced"), "device": ()}  # of what is the same on any ranks
DIRECT_ROWS = 3000  # with more, fill may take all memory


def random_value(option, rng, scale):
    name, low, high = option["name"], option["minimum"], math.inf if option["maximum"] is None else option["maximum"]
    if option.get("choices"):
        return rng.choice(option["choices"])
    if option["integral"]:
        least, most = SMALL.get(name, (low, high))
        return rng.randint(math.ceil(max(least, low)), int(min(most, high)))
    if name in OF_SPECTRUM:
        return f"{scale * 10 ** rng.uniform(-3, 3):.3g}"
    if low <= 0 and rng.random() < 0.2:
        return "0"
    return f"{min(high, 10 ** rng.uniform(math.log10(max(low, 1e-16)), math.log10(min(high, 1e16))) * (1 + 1e-3)):.4g}"


def with_random_options(row, rng, scale, most=2):
    """NAME:key=value,… with some of the options that the program lists; real ones logarithmically."""
    chosen = rng.sample(row["options"], min(len(row["options"]), rng.randint(0, most)))
    words = [f"{option['name']}={random_value(option, rng, scale)}" for option in chosen]
    return row["name"] + (":" + ",".join(words) if words else "")


def suited(precond):
    """What is an option of one local solver alone goes with it."""
    for option, inner in (("pattern", "sai"), ("fill", "ilut"), ("drop", "ilut")):
        if f"{option}=" in precond:
            precond = re.sub(r"inner=\w+,|,inner=\w+", "", precond) + f",inner={inner}"
    return precond if precond.count("inner=") < 2 else precond.rpartition(",inner=")[0]


class Case:
    """A random system and what it is solved with: the same for the same seed and number."""

    def __init__(self, listing, seed, number, most_rows=100_000):
        self.number, rng = number, random.Random(f"{seed} {number}")
        self.structure = rng.choice(list(STRUCTURES))
        self.kind, most = STRUCTURES[self.structure]
        self.n = max(1, round(10 ** rng.uniform(0, math.log10(min(most, most_rows)))))
        self.scale = rng.choice((1.0, 1.0, 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-100, 100)))
        self.is_complex = self.kind in (HERMITIAN, COMPLEX)
        self.columns = rng.choice((1, 1, 1, 2, 3, 8, rng.randint(1, 64) if self.n < 1000 else 4))
        self.rhs_scale = rng.choice((self.scale, 1.0, 10 ** rng.uniform(-100, 100)))
        self.rhs = [rng.choice(("random", "random", "A x", "A x", "unit", "zero")) for _ in range(self.columns)]
        self.poisoned = rng.choice(("",) * 30 + ("A", "b"))
        self.ranks = rng.choice((1, 1, 2, 3, 4))
        self.words = dict(self.options(listing, rng))
        if "reproducible" in self.words:
            self.keep_what_is_reproducible(listing, rng)
        self.methods = self.some_methods(listing["methods"], rng)
        self.again = self.second_run(rng)
        self.ranks_again = rng.choice([ranks for ranks in (1, 2, 3, 4) if ranks != self.ranks])
        self.rtol = float(self.words["rtol"])
        self.atol = float(self.words.get("atol", 0))
        self.seed = rng.random()

    def some_methods(self, rows, rng):
        if self.words.get("precond") == "auto" and rng.random() < 0.5:
            return ["auto"]
        if "reproducible" in self.words:
            rows = [row for row in rows if row["name"] != "improved_bicgstab" and ("symmetric" in row["needs"] or not self.is_complex)]
        found = [with_random_options(row, rng, self.scale) for row in rng.sample(rows, 3)
                 if self.kind not in (GENERAL, COMPLEX) or "symmetric" not in row["needs"] or rng.random() < 0.1]
        single = self.words.get("scalar") == "single"
        if rng.random() < 0.15 and not self.is_complex and not single and "execution" not in self.words:
            found.append(f"refine:inner={rng.choice(rows)['name']}")
        return found[:1 if single else None] or [rows[0]["name"] if self.is_complex and "reproducible" in self.words else "gmres"]

    def keep_what_is_reproducible(self, listing, rng):
        """What else is the same on any number of ranks."""
        for name, values in REPRODUCIBLE.items():
            if name in self.words and self.words[name].partition(":")[0] not in values:
                del self.words[name]
        if "precond" not in self.words:
            rows = [row for row in listing["preconditioners"] if row["name"] in REPRODUCIBLE["precond"]]
            self.words["precond"] = with_random_options(rng.choice(rows), rng, self.scale)

    def second_run(self, rng):
        """What is solved again on another number of ranks: to the same bits, or from where the first run has kept a checkpoint."""
        if "reproducible" in self.words:
            return "reproduced"
        if rng.random() < 0.1 and "device" not in self.words:
            self.methods = self.methods[:1]
            self.every = rng.choice((1, 2, 5, 20))
            return "resumed"
        return ""

    def options(self, listing, rng):
        yield "rtol", f"{10 ** rng.uniform(-14, -1):.3g}"
        if rng.random() < 0.1:
            yield "atol", f"{abs(self.rhs_scale) * 10 ** rng.uniform(-12, 0):.3g}"
        yield "max-it", rng.choice((0, 1, 2, 10, 100, 100, 1000, 1000))
        yield "threads", rng.choice((1, 1, 2, 3))
        precond = suited(with_random_options(rng.choice(listing["preconditioners"]), rng, self.scale))
        direct = re.search(r"inner=(lu|cholesky)", precond)
        yield "precond", "jacobi" if direct and self.n > DIRECT_ROWS else rng.choice((precond, precond, precond, "none", "auto"))
        if rng.random() < 0.7:
            yield "insist", True
        if rng.random() < 0.08 and self.kind != COMPLEX:
            yield "reproducible", True
        for name, values, often in (
                ("formulation", ("basic",), 0.2), ("progress-mode", ("none", "poll", "thread"), 0.3),
                ("emulate-latency", ("20us", "20us,message=5us,jitter=10us"), 0.1), ("prepare", (
                    "equilibrate", "rcm", "metis", "nonzeros", "equilibrate,rcm", "equilibrate,metis"), 0.3 * (not self.is_complex)),
                ("storage", ("csr", "repeated", "in-step", "blocked", "sliced"), 0.3),
                ("null-space", ("none", "constant") if self.structure in SINGULAR else ("none",), 0.1),
                ("scalar", ("single",) if not self.is_complex else ("complex",), 0.1), ("device", ("emulated",), 0.06),
                ("execution", ("tasks", "tasks:tiles=3", "tasks:tiles=2,communication=main"), 0.1), ("guess", ("guess",), 0.15),
                ("verify", ("recurrence",), 0.05)):
            if rng.random() < often:
                yield name, rng.choice(values)

    def write(self, folder):
        """A.mtx, b.mtx and guess.mtx. What is exact is kept."""
        rng = random.Random(self.seed)
        entries = [(i, j, tuple(self.scale * part for part in v) if self.is_complex else self.scale * v)
                   for i, j, v in self.structure(self.n, rng)]
        self.system = exact.System(self.n, entries, self.is_complex)
        self.b = [self.right_hand_side(how, rng) for how in self.rhs]
        bad = rng.choice(("nan", "inf", "-inf", "1e400"))
        lines = [f"{i + 1} {j + 1} {self.shown(v)}" for i, j, v in entries]
        if self.poisoned == "A" and lines:
            at = rng.randrange(len(lines))
            lines[at] = re.sub(r"\S+$", bad, lines[at])
        field = "complex" if self.is_complex else "real"
        (folder / "A.mtx").write_text("\n".join([f"%%MatrixMarket matrix coordinate {field} general",
                                                 f"{self.n} {self.n} {len(entries)}", *lines]) + "\n")
        numbers = [self.shown(v) for column in self.b for v in column]
        if self.poisoned == "b":
            at = rng.randrange(len(numbers))
            numbers[at] = re.sub(r"\S+$", bad, numbers[at])
        self.refused = self.poisoned == "b" or self.poisoned == "A" and bool(lines)
        shape = f"{self.n} {self.columns}"
        (folder / "b.mtx").write_text("\n".join([f"%%MatrixMarket matrix array {field} general", shape, *numbers]) + "\n")
        guess = [self.shown(self.number_of(rng)) for _ in range(self.n * self.columns)] if "guess" in self.words else []
        (folder / "guess.mtx").write_text("\n".join([f"%%MatrixMarket matrix array {field} general", shape, *guess]) + "\n")

    def number_of(self, rng):
        return (rng.gauss(0, 1), rng.gauss(0, 1)) if self.is_complex else rng.gauss(0, 1)

    def shown(self, v):
        return f"{v[0]!r} {v[1]!r}" if self.is_complex else repr(v)

    def right_hand_side(self, how, rng):
        zero = (0.0, 0.0) if self.is_complex else 0.0
        b = [zero] * self.n
        if how == "unit":
            b[rng.randrange(self.n)] = (self.rhs_scale, 0.0) if self.is_complex else self.rhs_scale
        elif how == "random":
            b = [self.number_of(rng) for _ in b]
            b = [tuple(self.rhs_scale * part for part in v) if self.is_complex else self.rhs_scale * v for v in b]
        elif how == "A x" and self.is_complex:
            b = [(math.fsum(v[0] for v in values), math.fsum(v[1] for v in values)) for values in self.system.values]
        elif how == "A x":
            x = [rng.uniform(0.5, 1.5) for _ in b]
            b = [math.fsum(v * x[j] for v, j in zip(values, columns))
                 for values, columns in zip(self.system.values, self.system.columns)]
        return b

    def arguments(self, folder, again=False):
        of = dict(self.words)
        if self.again == "resumed":
            of |= {"resume": folder / "kept", "max-it": 1000} if again else {"checkpoint": f"{folder / 'kept'},every={self.every}"}
        elif again:
            of["threads"] = 1 + of["threads"] % 3
        words = [f"--{name}" if value is True else f"--{name}={folder / 'guess.mtx' if name == 'guess' else value}"
                 for name, value in of.items()]
        results = folder / "again" if again else folder
        return ["solve", folder / "A.mtx", f"--rhs={folder / 'b.mtx'}", *(f"--method={m}" for m in self.methods), *words,
                f"--json={results / 'run.json'}", f"--solution={results / '{}.mtx'}"]

    def command(self, study, folder, again=False):
        return study.stretto.command(self.ranks_again if again else self.ranks, *self.arguments(folder, again))

    def precision(self):
        name = "single" if self.words.get("scalar") == "single" else "complex double" if self.is_complex else "double"
        in_part = re.search("refine|basis=single|precision=single", " ".join((self.words["precond"], *self.methods)))
        return name + ", single in part" * (name != "single" and bool(in_part))
