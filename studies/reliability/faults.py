# SPDX-License-Identifier: BSD-3-Clause
"""Faults that are injected: memory that is refused, a rank that stands still, signals, errors of MPI, full disks, callbacks that
throw. None may end in a hang, a death by a signal, or a lie."""

import collections
import json
import math
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from .. import run
from . import cases, exact, solves, watch

HERE = pathlib.Path(__file__).parent
LIMIT = 100
ROWS = 2000
INPUTS = ("A.mtx", "b.mtx", "guess.mtx")
OUT_OF_MEMORY = "out of memory"
NO_PLOTS = "needs gnuplot"
LEAK = (256 << 10, 4 << 20)  # bytes in 300 solves: less than one vector a solve that are allocated, and that are in memory
NO_END = {"rtol": "1e-30", "atol": "0", "max-it": 1_000_000_000}
FULL = (
    ("solve", "poisson2d:20", "--method=cg", "--json=FULL"), ("solve", "poisson2d:20", "--method=cg", "--history=FULL"),
    ("solve", "poisson2d:20", "--method=cg", "--trace=FULL"), ("solve", "poisson2d:20", "--method=cg", "--solution=FULL"),
    ("solve", "poisson2d:20", "--method=cg", "--plot=FULL.svg"), ("solve", "magnetic2d:20", "--solution=FULL"),
    ("solve", "poisson2d:20", "--method=cg", "--json=FULL", "--solution=FULL", "--trace=FULL"),
    ("advise", "poisson2d:20", "--json=FULL"), ("bem", "sphere:n=80", "--json=FULL"), ("bem", "sphere:n=80", "--solution=FULL"),
    ("bem", "sphere:n=80", "--vtk=FULL.vtu"), ("bem", "sphere:n=80", "--picture=FULL.svg"),
    ("kernel", "scattered:n=200", "--kernel=matern", "--json=FULL"), ("kernel", "scattered:n=200", "--kernel=matern", "--solution=FULL"),
    ("bem", "sphere:n=80", "--history=FULL"), ("kernel", "scattered:n=200", "--kernel=matern", "--trace=FULL"), ("machine", "FULL"),
    ("predict", "poisson2d:100", "--json=FULL"), ("predict", "poisson2d:100", "--plot=FULL.svg"),
    ("predict", "poisson2d:100", "--plot-parts=FULL.svg"), ("list", "--json=FULL"),
    ("bench", "cg", "--problem=poisson2d:20", "--iterations=12", "--rounds=1", "--columns=1", "--json=FULL"),
    ("overlap", "--json=FULL"), ("solve", "poisson2d:20", "--method=cg"), ("solve", "poisson2d:20", "--json=-"), ("list",),
    ("list", "--json=-"), ("advise", "poisson2d:20"), ("predict", "poisson2d:100"))


def compiled(study):
    """The library that injects faults, made with the compiler of the MPI that starts ranks."""
    library = study.work() / "faults.so"
    compiler = pathlib.Path(study.stretto.mpiexec).with_name("mpicc")
    command = [compiler if compiler.is_absolute() and compiler.exists() else "mpicc", "-O1", "-shared", "-fPIC", HERE / "faults.c",
               "-o", library]
    code, _, err = run.call(command)
    if code:
        raise run.Failed(f"{command[0]} faults.c: {err.strip()[-300:]}")
    return library.resolve()


class Experiment:
    """One fault in one run: what it was, and what of the outcome must not be."""

    def __init__(self, faults, number):
        self.faults, self.study, self.number = faults, faults.study, number
        self.rng = random.Random(f"{self.study.options.seed} fault {number}")
        self.kind = list(KINDS)[number % len(KINDS)]

    def case(self, **words):
        case = cases.Case(self.faults.listing, self.study.options.seed, self.number, ROWS)
        case.poisoned = ""
        case.words |= words
        case.rtol, case.atol = float(case.words["rtol"]), float(case.words.get("atol", 0))
        return case

    def injected(self, case, folder, fault, count=None):
        """The command whose rank `self.rank` meets the fault."""
        program = [self.study.stretto.path.resolve(), *case.arguments(folder)]
        faulty = ["env", f"LD_PRELOAD={self.faults.library}", f"STRETTO_FAULT={fault}", f"STRETTO_FAULT_COUNT={count or ''}", *program]
        groups = [(self.rank, program), (1, faulty), (case.ranks - self.rank - 1, program)]
        if case.ranks == 1:
            return faulty
        words = []
        for ranks, command in groups:
            if ranks:
                words += [":"] * bool(words) + ["-n", ranks, *command]
        return [self.study.stretto.mpiexec, *words]

    def result(self, what, wrong, outcome, answered=True):
        return {"kind": self.kind, "fault": what, "code": outcome.code, "said": solves.general(watch.said(outcome)), "wrong": wrong,
                "answered": answered}

    def counted(self, kind, judge):
        """Runs a case without a fault, for reference, then with one at some places; a result each."""
        case = self.case()
        self.rank = self.rng.randrange(case.ranks)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            case.write(folder)
            count = folder / "count"
            self.reference = watch.watched(self.injected(case, folder, f"{kind}:0", count), LIMIT)
            if wrong := solves.Found(case, self.reference, folder).wrong:
                yield self.result(f"no fault on {case.ranks} ranks", wrong, self.reference)
            calls = int(count.read_text()) if count.exists() else 0
            for _ in range(4 if calls else 0):
                at = round(math.exp(self.rng.uniform(0, math.log(calls)))) if self.rng.random() < 0.5 else self.rng.randint(1, calls)
                for path in folder.iterdir():  # what a run before this one has written is not this one's
                    if path.name not in INPUTS:
                        path.unlink()
                outcome = watch.watched(self.injected(case, folder, f"{kind}:{at}", count), LIMIT)
                yield self.result(f"{kind} {at} of {calls} on rank {self.rank} of {case.ranks}", judge(case, outcome, folder), outcome)

    def memory_wrong(self, case, outcome, folder):
        """It is out of memory, and says so, or is refused for what it is refused for without a fault, or goes on and is right."""
        if OUT_OF_MEMORY in outcome.err and outcome.code == 2:
            return list(filter(None, [watch.wrong(outcome, (2,))]))
        found = solves.Found(case, outcome, folder)
        wrong = [each for each in found.wrong if not each.startswith("left behind")]
        if outcome.code == 2 and not wrong and (self.reference.code, watch.said(self.reference)) != (2, watch.said(outcome)):
            wrong = [f"the cause is not named: {watch.said(outcome)}"]
        return wrong

    def allocation(self):
        yield from self.counted("allocation", self.memory_wrong)

    def allocations(self):
        yield from self.counted("allocations", self.memory_wrong)

    def mpi(self):
        """Whoever runs the program has MPI end it: that is an exit code of MPI's, and its word."""
        yield from self.counted("mpi", self.mpi_wrong)

    @staticmethod
    def mpi_wrong(_, outcome, __):
        wrong = watch.wrong(outcome, range(1, 256))
        if not wrong and not ("MPI_ERR" in outcome.err or "abort" in outcome.err.lower() or "ORTE_ERROR" in outcome.err):
            wrong = f"the cause is not named: {watch.said(outcome)}"
        return [wrong] if wrong else []

    def started(self, case, folder):
        case.write(folder)
        return watch.Watched(case.command(self.study, folder))

    def stopped(self):
        """A rank stands still for a while, three times."""
        case = self.case(**{"max-it": 1000})
        with tempfile.TemporaryDirectory() as name:
            running, waits = self.started(case, pathlib.Path(name)), []
            for _ in range(3):
                time.sleep(self.rng.uniform(0, 0.5))
                pids = running.ranks(self.study.stretto.path)
                pid = self.rng.choice(pids) if pids else 0
                waits.append(round(self.rng.uniform(0.1, 0.8), 1))
                watch.signal_all([pid] if pid else [], signal.SIGSTOP)
                time.sleep(waits[-1])
                watch.signal_all([pid] if pid else [], signal.SIGCONT)
            outcome = running.finish(LIMIT)
            wrong = solves.Found(case, outcome, pathlib.Path(name)).wrong
            yield self.result(f"a rank of {case.ranks} stopped for {waits} s", wrong, outcome)

    def signalled(self):
        """SIGINT or SIGTERM at any moment: an answer, or, before there is a solve to end, an end by the signal."""
        case = self.case(**(NO_END if self.rng.random() < 0.7 else {}))
        what, moment = self.rng.choice((signal.SIGINT, signal.SIGTERM)), self.rng.uniform(0, 1.5)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            running = self.started(case, folder)
            time.sleep(moment)
            watch.signal_all([running.process.pid], what)
            outcome = running.finish(30)
            # mpiexec gives the ranks a second, kills them then, and says 1. Its own death is no matter of the program's.
            of_mpiexec = case.ranks > 1 and outcome.code < 0
            allowed = {0, 1, 2, -what, 128 + what} | ({128 + signal.SIGKILL} if case.ranks > 1 else set())
            expected = re.compile(rf"exited on signal ({int(what)}|{int(signal.SIGKILL)}) ")
            seen = outcome._replace(err=expected.sub("", outcome.err))
            wrong = [watch.wrong(seen, allowed | ({outcome.code} if of_mpiexec else set()))]
            if (folder / "run.json").exists() and outcome.code in (0, 1):
                wrong += solves.Found(case, seen, folder).wrong
            if case.ranks > 1:
                wrong = [w for w in wrong if not w.startswith("exit code 1 with converged")]
            yield self.result(f"{what.name} after {moment:.2f} s on {case.ranks} ranks", [w for w in wrong if w], outcome)

    def disk_full(self):
        command = FULL[self.number // len(KINDS) % len(FULL)]
        ranks = {"list": 1, "predict": 1, "overlap": 2}.get(command[0]) or self.rng.choice((1, 2))
        with tempfile.TemporaryDirectory() as name:
            for ending in (".svg", ".vtu"):
                (pathlib.Path(name) / f"FULL{ending}").symlink_to("/dev/full")
            words = [re.sub("FULL$", "/dev/full", word.replace("FULL.", f"{name}/FULL.")) for word in command]
            to_full = not any("FULL" in word for word in command)
            with open("/dev/full", "w") as full:
                outcome = watch.watched(self.study.stretto.command(ranks, *words), LIMIT, **({"stdout": full} if to_full else {}))
        wrong = watch.wrong(outcome, (2,)) if ranks == 1 or not to_full else watch.wrong(outcome, range(256))
        if NO_PLOTS in outcome.err:  # which is said before anything is written
            return
        if not wrong and (ranks == 1 or not to_full) and "No space left" not in outcome.err:
            wrong = f"the cause is not named: {watch.said(outcome)}"
        yield self.result(f"{' '.join(command)}{' > /dev/full' * to_full} on {ranks} ranks", [wrong] if wrong else [], outcome)

    def python(self):
        yield from self.in_python(PYTHON[self.number // len(KINDS) % len(PYTHON)])

    def mpi_in_python(self):
        yield from self.in_python("mpi")

    def leaks(self):
        yield from self.in_python("leak")

    def in_python(self, kind):
        """In a program with MPI_ERRORS_RETURN, as mpi4py's are."""
        ranks = self.rng.choice((1, 2, 3)) if kind != "mpi" else self.rng.choice((2, 3))
        with tempfile.TemporaryDirectory() as name:
            words = [self.faults.python, "-m", "mpi4py", HERE / "in_python.py", name, kind, f"{self.study.options.seed} {self.number}"]
            where, what = [f"PYTHONPATH={self.study.options.build.resolve() / 'python'}"], kind
            faulty = []
            if kind == "mpi":
                at = self.rng.choice((self.rng.randint(1, 40), self.rng.randint(1, 1000)))
                faulty, what = [f"LD_PRELOAD={self.faults.library}", f"STRETTO_FAULT=mpi:{at}"], f"errors of MPI from call {at} on"
            last = ["-n", 1, "env", *where, *faulty, *words]
            others = ["-n", ranks - 1, "env", *where, *words, ":"] if ranks > 1 else []
            outcome = watch.watched([self.study.stretto.mpiexec, *others, *last], LIMIT)
            seen = [json.loads(path.read_text()) for path in sorted(pathlib.Path(name).glob("*.json"))]
        wrong = watch.wrong(outcome, (0,)) if kind != "mpi" else watch.wrong(outcome._replace(code=0), (0,))
        found = [wrong] if wrong else list(self.wrong_in_python(kind, ranks, seen))
        yield self.result(f"{what} on {ranks} processes, {seen[0]['method'] if seen else ''}", found, outcome, len(seen) == ranks)

    @staticmethod
    def wrong_in_python(kind, ranks, seen):
        if len(seen) < ranks:
            if kind != "mpi":
                yield f"{len(seen)} of {ranks} processes came to their ends"
            return
        if kind in ("callback", "operator", "preconditioner"):
            # What a method needs and an operator has not is refused before.
            errors = [each.get("error") for each in seen]
            if any(not (error or "Thrown").startswith(("Thrown", "InputError")) for error in errors):
                yield f"another exception than was thrown: {errors}"
            if any(each["thrown"] and not each.get("error") for each in seen):
                yield f"an exception was thrown and swallowed: {errors}"
        # From a guess that is not finite a solve may find its way: it begins anew from zero.
        if any(each["where"] in ("A", "b") and each.get("converged") for each in seen):
            yield "converged with a system that is not finite"
        if any(not each.get("finite", True) for each in seen) and kind != "not_a_number":
            yield "x is not finite"
        if kind == "leak" and any("error" in each for each in seen):
            yield f"an exception that nobody threw: {[each.get('error') for each in seen]}"
        if kind == "leak" and any(grown > most for each in seen for grown, most in zip(each["grown"], LEAK)):
            yield f"300 solves took more memory, allocated and resident: {[[part >> 10 for part in each['grown']] for each in seen]} KiB"
        verdicts = {each["converged"] for each in seen if not each.get("error")}
        if len(verdicts) > 1:
            yield "processes disagree on whether it converged"
        # A process may have its answer before another one has an error: then there is no whole x to look at.
        if kind in ("mpi", "callback") and True in verdicts and all("x" in each for each in seen):
            x = [value for each in seen for value in each["x"]]
            true, _ = poisson().residual([1.0] * len(x), x)
            if not true <= 1.001e-8 * math.sqrt(len(x)):
                yield f"converged, and the residual is {true / math.sqrt(len(x)):.1e}"


def poisson(width=24):
    """As poisson2d:24."""
    entries = [(i, i, 4.0) for i in range(width**2)]
    for i in range(width**2):
        for j in (i + 1 if (i + 1) % width else width**2, i + width):
            if j < width**2:
                entries += [(i, j, -1.0), (j, i, -1.0)]
    return exact.System(width**2, entries)


KINDS = {"allocation": "the n-th allocation of one rank is refused", "allocations": "that, and all larger ones after it",
         "stopped": "a rank is stopped and goes on, three times", "signalled": "SIGINT or SIGTERM at any moment",
         "mpi": "MPI's calls fail from the n-th on", "disk_full": "an output that is on a full disk",
         "python": "in Python, on the last process: a callback, an operator, a preconditioner throws, or a number is not finite",
         "mpi_in_python": "the same errors of MPI in Python, where they are returned", "leaks": "four hundred solves in Python"}
PYTHON = ("callback", "operator", "preconditioner", "not_a_number")


class Faults:
    def __init__(self, study):
        self.study, self.listing = study, study.stretto.listed()
        self.library, self.python = compiled(study), python_of(study)


def python_of(study):
    """One that has NumPy and mpi4py."""
    for candidate in filter(None, (study.options.python, run.ROOT / "build/venv/bin/python", sys.executable, "/usr/bin/python3")):
        try:
            if not subprocess.run([candidate, "-c", "import numpy, scipy, mpi4py"], capture_output=True).returncode:
                return candidate
        except OSError:
            pass
    raise run.Failed("faults: no Python with numpy, scipy and mpi4py: --python names one")


def measure(study, minutes):
    faults, start, experiments = Faults(study), time.monotonic(), []
    numbers = [study.options.case] if study.options.case is not None else range(study.options.first, 10**9)
    for number in numbers:
        if time.monotonic() > start + 60 * minutes:
            break
        experiment = Experiment(faults, number)
        for found in getattr(experiment, experiment.kind)():
            found["repeat"] = f"python3 -m studies campaign --parts faults --seed {study.options.seed} --case {number}"
            experiments.append(found)
            if found["wrong"] or study.options.case is not None:
                study.say(f"{'WRONG' if found['wrong'] else 'good'}: {found['fault']}: {found['wrong']}, {found['code']}, {found['said']}\n"
                          f"  {found['repeat']}")
    rows = []
    for kind, what in KINDS.items():
        of = [each for each in experiments if each["kind"] == kind]
        rows.append({"kind": kind, "what": what, "runs": len(of), "wrong": sum(bool(each["wrong"]) for each in of),
                     "unanswered": sum(not each["answered"] for each in of),
                     "codes": dict(collections.Counter(str(each["code"]) for each in of).most_common())})
    failures = [{"what": f"{each['fault']}: {what}", "repeat": each["repeat"]} for each in experiments for what in each["wrong"]]
    return {"minutes": (time.monotonic() - start) / 60, "seed": study.options.seed, "kinds": rows, "failures": failures}
