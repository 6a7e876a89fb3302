# SPDX-License-Identifier: BSD-3-Clause
"""Random systems × methods × preconditioners × ranks × columns × precisions × executions: what is called converged is so by
exact residuals, and every run ends as the documentation says."""

import collections
import json
import math
import pathlib
import re
import shlex
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from . import exact, refusals, watch
from .cases import Case
from .systems import SYMMETRIC

LIMIT = 150  # seconds for a run of some methods: many times what the longest takes here
SLACK = 1 + 1e-12  # of norms, which are rounded
B_HAT = 1e-15  # of ‖b‖ are rounding errors of its part in the range
TOLD = 1e-3  # by so much of it, and rounding errors, a residual that is told may be another than the true one


class Found:
    """What a run says, beside what is true; `wrong` has what must not be."""

    def __init__(self, case, outcome, folder):
        self.case, self.statuses, self.wrong, self.worst, self.solves, self.unseen = case, [], [], 0.0, 0, 0
        self.results = 0
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
            self.results = len(results)
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
        if not len(x) == len(result["columns_detail"]) == len(case.b) or any(len(column) != len(case.b[0]) for column in x):
            self.wrong.append(f"{name}: {len(x)} columns of x, of {len(x[0]) if x else 0} numbers, are not those of b")
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
    if outcome.code in (0, 1) and not found.wrong and found.results != len(case.methods):
        found.wrong.append(f"{found.results} results of {len(case.methods)} methods")
    if case.again == "resumed" and outcome.code in (0, 1) and not (folder / "kept").exists():
        found.again = "not resumed, for it ended before a checkpoint was due"
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
