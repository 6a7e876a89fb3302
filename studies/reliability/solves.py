# SPDX-License-Identifier: BSD-3-Clause
"""Random systems × methods × preconditioners × ranks × columns × precisions × executions: what is called converged is so by
exact residuals, and every run ends as the documentation says."""

import collections
import json
import math
import pathlib
import random
import re
import shlex
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from . import exact, refusals, watch
from .systems import COMPLEX, GENERAL, HERMITIAN, SINGULAR, STRUCTURES, SYMMETRIC

LIMIT = 150  # seconds for a run of some methods: many times what the longest takes here
SLACK = 1 + 1e-12  # of norms, which are rounded
B_HAT = 1e-15  # of ‖b‖ are rounding errors of its part in the range
TOLD = 1e-3  # by so much of it, and rounding errors, a residual that is told may be another than the true one
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


class Found:
    """What a run says, beside what is true; `wrong` has what must not be."""

    def __init__(self, case, outcome, folder):
        self.case, self.statuses, self.wrong, self.worst, self.solves, self.unseen = case, [], [], 0.0, 0, 0
        if trouble := watch.wrong(outcome, (0, 1, 2)):
            self.wrong.append(trouble)
        if case.refused and outcome.code != 2 and not trouble:
            self.wrong.append(f"numbers that are not finite are taken: exit code {outcome.code}")
        self.complaint, self.refusal, self.again = watch.said(outcome) if outcome.code == 2 else "", "", ""
        if self.complaint and not trouble:
            self.refusal = refusals.kind_of(case, self.complaint)
            if not self.refusal:
                self.wrong.append(f"refused without need: {self.complaint}")
        json_file = folder / "run.json"
        if left := [path.name for pattern in ("part*", "*.part") for path in folder.glob(pattern)]:
            self.wrong.append(f"left behind: {', '.join(left)}")
        if outcome.code in (0, 1) and not trouble:
            if not json_file.exists():
                self.wrong.append(f"exit code {outcome.code} without a result")
                return
            results = json.loads(json_file.read_text())
            results = results if isinstance(results, list) else [results]
            for method, result in zip(case.methods, results):
                self.look_at(method.partition(":")[0], result, folder)
            least_squares = case.words.get("null-space") == "constant"
            good = all(r["status"] in ("converged", "passed_unverified") or least_squares and r["status"] == "least_squares"
                       for r in results)
            if good != (outcome.code == 0):
                self.wrong.append(f"exit code {outcome.code} with {', '.join(r['status'] for r in results)}")

    def look_at(self, name, result, folder):
        case, file = self.case, folder / f"{name}.mtx"
        self.solves += 1
        if not file.exists():  # of one in single precision
            file = folder / f"{result['method'].partition(':')[0]}.mtx"
        try:
            x = exact.columns_of(file, case.is_complex)
        except (OSError, ValueError) as error:
            self.wrong.append(f"{name}: no whole solution: {error}")
            return
        for number, (b, column, detail) in enumerate(zip(case.b, x, result["columns_detail"]), 1):
            self.statuses.append(detail["status"])
            true, rounding = case.system.residual(b, column)
            size = exact.norm(b, case.is_complex)
            where = f"{name}, column {number}, {detail['status']}"
            if not math.isfinite(exact.norm(column, case.is_complex)):
                self.wrong.append(f"{where}: x is not finite")
            allowed = max(case.rtol * size, case.atol)
            if detail["status"] == "converged":
                ratio = true / allowed if allowed else (math.inf if true else 0.0)
                self.worst = max(self.worst, ratio)
                if not true <= allowed * SLACK:
                    self.wrong.append(f"{where}: the residual is {true:.17g}, allowed is {allowed:.17g}, "
                                      f"{rounding:.1e} are rounding errors")
            if detail["status"] == "least_squares":
                self.look_at_part_in_range(where, result["null_space"] or {}, b, column)
            said = detail["relative_residual"]
            if said is not None and math.isfinite(true) and result["verified"]:
                said = said * (size or 1)
                if not abs(said - true) <= TOLD * true + 4 * rounding:
                    self.wrong.append(f"{where}: the residual is {true:.3g}, said to be {said:.3g}")
        if result["converged"] != all(detail["status"] == "converged" for detail in result["columns_detail"]):
            self.wrong.append(f"{name}: converged is {result['converged']} with these columns")


    def look_at_part_in_range(self, where, null_space, b, x):
        """‖b̂ − A x‖ is within its tolerance, where constants are what Aᵀ takes to zero: b̂ = b − mean(b)."""
        case = self.case
        if not left_constants(null_space, case) or not math.isfinite(exact.norm(x, False)):
            self.unseen += 1
            return
        part, size = exact.without_mean(b), exact.norm(b, False)
        size_of_part = math.hypot(*map(sum, part))
        true = case.system.residual(part, x)[0]
        # A b̂ of less than 1e-13 of b is taken for rounding errors, and x is zero then (docs/preparation.md); any b̂ is rounded.
        allowed = max(case.rtol * size_of_part, case.atol, size_of_part if size_of_part < 2e-13 * size else 0) * SLACK + B_HAT * size
        if not true <= allowed:
            self.wrong.append(f"{where}: of b's part in the range {true:.17g} is left, allowed is {allowed:.17g}")

    def look_at_again(self, other, folder):
        """What the same case came to on another number of ranks."""
        case = self.case
        self.again = case.again
        self.worst = max(self.worst, other.worst)
        what = f"{case.again} on {case.ranks_again} ranks"
        self.wrong += [f"{what}: {each}" for each in other.wrong]
        if other.complaint:
            self.wrong.append(f"{what}: refused: {other.complaint}")
        elif case.again == "reproduced" and not other.wrong:
            for file in folder.glob("*.mtx"):
                if file.name not in ("A.mtx", "b.mtx", "guess.mtx") and file.read_bytes() != (folder / "again" / file.name).read_bytes():
                    self.wrong.append(f"{what}: {file.stem} has other bits")


def left_constants(null_space, case):
    """Whether constants are what is removed from b: those of a symmetric A, or, where what A takes to zero was computed, of Aᵀ."""
    names = null_space.get("vectors")
    return null_space.get("range_known") and (names == ["constants"] and case.kind == SYMMETRIC or names == ["computed"])


def run_case(study, listing, number, folder):
    """The case, and again where it says so; the commands."""
    case = Case(listing, study.options.seed, number)
    case.write(folder)
    commands = [case.command(study, folder)]
    outcome = watch.watched(commands[0], LIMIT)
    found = Found(case, outcome, folder)
    if case.again and outcome.code in (0, 1) and not found.wrong and (case.again != "resumed" or (folder / "kept").exists()):
        (folder / "again").mkdir()
        commands.append(case.command(study, folder, again=True))
        found.look_at_again(Found(case, watch.watched(commands[1], LIMIT), folder / "again"), folder)
    return found, outcome, commands


def general(complaint):
    """What was complained of, without what differs from case to case."""
    text = re.sub(r"^.*?stretto: ", "", complaint)
    text = re.sub(r"/\S*/", "", text)
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "N", text)[:100]


class Tally:
    """What all cases come to; one that goes wrong is written down at once."""

    def __init__(self, study):
        self.study, self.lock = study, threading.Lock()
        self.counts = {name: collections.Counter() for name in
                       ("statuses", "structures", "methods", "preconditioners", "ranks", "columns", "executions", "precisions", "again",
                        "refusals", "codes")}
        self.cases = self.solves = self.unseen = 0
        self.largest_n, self.worst, self.failures = 0, 0.0, []

    def add(self, found, code):
        case = found.case
        with self.lock:
            self.cases += 1
            self.solves += found.solves
            self.unseen += found.unseen
            self.largest_n, self.worst = max(self.largest_n, case.n), max(self.worst, found.worst)
            self.counts["statuses"].update(found.statuses)
            self.counts["codes"][str(code)] += 1
            if found.complaint:
                self.counts["refusals"][found.refusal or general(found.complaint)] += 1
            else:
                execution = case.words.get("device") or case.words.get("execution", "threads").partition(":")[0]
                for name, value in (("structures", case.structure.__name__), ("ranks", str(case.ranks)), ("executions", execution),
                                    ("columns", str(case.columns)), ("precisions", case.precision()),
                                    ("preconditioners", case.words["precond"].partition(":")[0])):
                    self.counts[name][value] += 1
                if found.again:
                    self.counts["again"][found.again] += 1
                self.counts["methods"].update(m.partition(":")[0] for m in case.methods)
            for what in found.wrong:
                record = {"what": what, "structure": case.structure.__name__, "rows": case.n, "ranks": case.ranks,
                          "repeat": repeat(self.study, case.number)}
                self.failures.append(record)
                self.study.say(f"WRONG: {what}\n  {case.structure.__name__}, {case.n} rows, {case.ranks} ranks: {record['repeat']}")


def repeat(study, number):
    return f"python3 -m studies campaign --parts solves --seed {study.options.seed} --case {number}"


def show_case(study, listing, number):
    """One case again, in a folder that stays."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"case-{number}-"))
    found, outcome, commands = run_case(study, listing, number, folder)
    for command in commands:
        study.say(shlex.join(map(str, command)))
    for what in found.wrong or [found.complaint or ", ".join(found.statuses)]:
        study.say(what)
    return found, outcome


def measure(study, minutes):
    listing, tally = study.stretto.listed(), Tally(study)
    if study.options.case is not None:
        found, outcome = show_case(study, listing, study.options.case)
        tally.add(found, outcome.code)
        return data_of(study, tally, 0)
    start, number = time.monotonic(), iter(range(study.options.first, 10**9))

    def work():
        while time.monotonic() < start + 60 * minutes:
            with tally.lock:
                mine = next(number)
            with tempfile.TemporaryDirectory() as name:
                found, outcome, _ = run_case(study, listing, mine, pathlib.Path(name))
                tally.add(found, outcome.code)

    with ThreadPoolExecutor(study.options.jobs) as pool:
        for worker in [pool.submit(work) for _ in range(study.options.jobs)]:
            worker.result()
    return data_of(study, tally, (time.monotonic() - start) / 60)


def data_of(study, tally, minutes):
    return {"minutes": minutes, "seed": study.options.seed, "cases": tally.cases, "solves": tally.solves,
            "largest_rows": tally.largest_n, "worst": tally.worst, "least_squares_unseen": tally.unseen,
            **{name: dict(counter.most_common()) for name, counter in tally.counts.items()}, "failures": tally.failures}
