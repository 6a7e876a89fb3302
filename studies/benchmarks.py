# SPDX-License-Identifier: BSD-3-Clause
"""How long does an iteration take beside the like of PETSc, hypre and Belos? Times products with a matrix, iterations and
solves, in turn, on the same matrices and ranks. make bench-peers builds what it needs and calls it. What was measured is
kept in --data (BUILD/benchmarks.json), and only what is missing there is measured; so it may be done in pieces (--minutes),
in which what failed is tried again."""

import datetime
import math
import pathlib
import re
import statistics
import sys
import time
from types import SimpleNamespace

from . import machine, run
from .matrix_file import Matrix
from .text import NONE, bold, listed, plural, points, spread, table

BUILD = "build/peers"
# Stretto's method, and what its peers call theirs (for PETSc with the options for it).
PAIRS = {
    "product": (("petsc", "MatMult"), ("hypre", "ParCSRMatrixMatvec"), ("belos", "CrsMatrix::apply")),
    "cg": (("petsc", "cg"), ("hypre", "pcg"), ("belos", "TPETRA CG")),
    "single_reduction_cg": (("petsc", "cg -ksp_cg_single_reduction"), ("belos", "TPETRA CG SINGLE REDUCE")),
    "pipelined_cg": (("petsc", "pipecg"), ("belos", "TPETRA CG PIPELINE")),
    **{f"deep_pipelined_cg:l={depth}": (("petsc", f"pipelcg -ksp_pipelcg_pipel {depth}"),) for depth in (1, 2, 3)},
    "bicgstab": (("petsc", "bcgs"), ("hypre", "bicgstab"), ("belos", "BICGSTAB")),
    "improved_bicgstab": (("petsc", "ibcgs"),),
    "pipelined_bicgstab": (("petsc", "pipebcgs"),),
    "gmres": (("petsc", "gmres"), ("belos", "TPETRA GMRES")),
    "pipelined_gmres:l=1": (("petsc", "pgmres"), ("belos", "TPETRA GMRES PIPELINE")),
    "s_step_gmres:s=5": (("petsc", "gmres"), ("belos", "TPETRA GMRES S-STEP")),
}
PRODUCTS = {"product", *(theirs for _, theirs in PAIRS["product"])}  # no methods: y = A b alone
SOLVED = {True: ("cg", "single_reduction_cg", "pipelined_cg"),  # by whether A is definite
          False: ("bicgstab", "improved_bicgstab", "pipelined_bicgstab", "gmres")}
STEADY = ",drift=1,growth=1e300"  # a deep pipeline that does not hand over, to be timed where it otherwise does at once
PARAMETERS = ("first", "more", "peers_more", "timeout")  # which times depend on
WARM_UP = 20  # iterations of CG that the deep pipelines begin with, and which are not to be in their time
LEAST_TIMED = 10  # iterations
CYCLE = 30  # columns of GMRES methods, of the peers' too; only whole cycles are alike
RTOL, MAX_ITERATIONS = 1e-8, 20000
# Two programs that take the same steps agree in ‖b − Ax‖/‖b‖ after the first few iterations to this. Most agree to ten
# digits; pipelcg has four left after five iterations with l = 2, three with l = 3.
SAME_STEPS = 1e-2
# ours ÷ PETSc's same method, two ranks, no preconditioner, geometric mean over the problems: what we want.
GOALS = {("cg", "cg"): 0.60, ("pipelined_cg", "pipecg"): 0.50, ("deep_pipelined_cg:l=1", "pipelcg"): 0.45,
         ("deep_pipelined_cg:l=2", "pipelcg"): 0.45, ("deep_pipelined_cg:l=3", "pipelcg"): 0.45,
         ("gmres", "gmres"): 0.70, ("pipelined_gmres:l=1", "pgmres"): 0.55, ("bicgstab", "bcgs"): 0.60,
         ("improved_bicgstab", "ibcgs"): 0.55, ("pipelined_bicgstab", "pipebcgs"): 0.50}
GOAL_DISTINCT, GOAL_SOLVE = 0.85, 0.5
GOALS_PRODUCT = {"poisson3d": 0.45, "jump3d": 0.8}
DISTINCT = "jump3d"  # whose values are all distinct
LIBRARIES = {"petsc": ("PETSc", "petsc"), "other_petsc": ("other PETSc", "petsc"), "hypre": ("hypre", "HYPRE"),
             "belos": ("Belos", "trilinos_belos")}


def options(parser):
    parser.add_argument("--other", type=pathlib.Path, help="another build, whose driver has another PETSc")
    parser.add_argument("--problems", nargs="+", help="default: seven, two of them of --matrices")
    parser.add_argument("--precond", nargs="+", default=["none", "jacobi"], choices=["none", "jacobi"])
    parser.add_argument("--ranks", nargs="+", type=int, help="default: 2 1")
    parser.add_argument("--methods", nargs="+", help="only these of Stretto's, and their peers")
    parser.add_argument("--rounds", type=int, help="default: 5")
    parser.add_argument("--first", type=int, default=5, help="iterations before those timed")
    parser.add_argument("--more", type=int, help="iterations of Stretto timed, a multiple of 50 for safeguards to count as "
                        "often as they come (default: 50)")
    parser.add_argument("--peers-more", type=int, default=15, help="iterations of a peer timed")
    parser.add_argument("--solves", type=int, help=f"how often to solve to ‖b − Ax‖ ≤ {RTOL:g} ‖b‖ as well (default: 3)")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for an answer")
    parser.add_argument("--minutes", type=float, help="start nothing after these; run again to go on")


def kept(a):
    """Where what was measured so far is."""
    return a.build / "benchmarks.json"


def complete(a):
    """Options that were not given, and those that cannot be."""
    usual = (["poisson3d:32"], [2], 1, 20, 1) if a.quick else (None, [2, 1], 5, 50, 3)
    for name, value in zip(("problems", "ranks", "rounds", "more", "solves"), usual):
        setattr(a, name, value if getattr(a, name) is None else getattr(a, name))
    if min(a.ranks) < 1 or min(a.rounds, a.solves) < 0 or not a.rounds + a.solves:
        raise run.Failed("--ranks is at least 1, and so is --rounds or --solves")
    if not a.problems:
        a.problems = ["poisson3d:128", "poisson2d:1024", "jump3d:128", "poisson3d27:128", "poisson3d:200",
                      *(f"kron:{a.matrices}/{name}.mtx.gz,100" for name in ("bcsstk16", "cage10") if a.matrices)]
        if not a.matrices:
            print("benchmarks: no folder of matrices (--matrices, STRETTO_MATRICES): five of the seven problems",
                  file=sys.stderr)


def shown(problem):
    """Without the folder of a file."""
    return re.sub(r"[^:,\s]*/(?=\w)", "", problem).replace(".mtx.gz", "")


def base(program):
    return program.removesuffix("+huge")


def programs(peer):
    """With and without huge pages; with PETSc, of two builds."""
    return [f"{name}{pages}" for name in ((peer, f"other_{peer}") if peer == "petsc" else (peer,)) for pages in ("", "+huge")]


class Bench:
    """Runs the drivers and keeps what they say: a case for each (problem, ranks, preconditioner, program, method), with the
    values of all rounds. A program is stretto, or a peer's name, and `+huge` after it where malloc is told to use huge pages."""

    def __init__(self, study):
        self.study, self.a, self.data = study, study.options, study.data
        complete(self.a)
        self.cases = {tuple(case["case"]): case for case in self.data.get("cases", [])}
        parameters = {name: getattr(self.a, name) for name in PARAMETERS}
        if (before := self.data.get("parameters", parameters)) != parameters:
            raise run.Failed(f"{self.a.data} was measured with " + " ".join(run.words_of(before)) +
                             ": ask for the same, or for another --data")
        self.data |= {"parameters": parameters, "facts": self.data.get("facts", {}), "seconds": self.data.get("seconds", 0),
                      "built": self.data.get("built", []), "abouts": self.data.get("abouts", {}),
                      "triad": self.data.get("triad", {})}
        for case in self.cases.values():  # what failed is to be tried again
            done = [(ms, at) for ms, at in zip(case["ms"], case["at"]) if ms is not None]
            case["ms"], case["at"] = [ms for ms, _ in done], [at for _, at in done]
            if "solves" in case:
                case["solves"] = [line for line in case["solves"] if "error" not in line]
        listed_ = study.stretto.listed()
        self.needs_definite = {method["name"] for method in listed_["methods"] if "positive" in method["needs"]}
        self.definite = {problem["name"] for problem in listed_["problems"] if problem["positive_definite"]}
        for problem in self.a.problems:
            if problem.startswith("kron:"):
                file = pathlib.Path(problem[5:].rpartition(",")[0])
                if not file.exists():
                    raise run.Failed(f"{problem}: no file {file}")
                if Matrix(file).is_symmetric():
                    self.definite.add(problem)  # the file's is taken to be
            elif problem.split(":")[0] not in (each["name"] for each in listed_["problems"]):
                raise run.Failed(f"there is no problem '{problem}'; stretto list shows them")
        if self.a.other and not self.path("other_petsc").exists():
            raise run.Failed(f"--other {self.a.other} has no {self.path('other_petsc').name}")
        chosen = {method: peers for method, peers in PAIRS.items()
                  if not self.a.methods or {method, method.split(":")[0]} & set(self.a.methods)}
        self.pairs = {method: [(program, theirs) for peer, theirs in peers for program in programs(peer)
                               if self.path(program).exists()] for method, peers in chosen.items()}
        if not any(self.pairs.values()):
            raise run.Failed(f"{self.a.build} has no driver of a peer, or Stretto no method asked for; cmake says what it found")

    def path(self, program):
        if base(program) == "other_petsc":
            return (self.a.other or pathlib.Path("none")) / "bench/peers/petsc_bench"
        return self.a.build / f"bench/peers/{base(program)}_bench"

    def is_definite(self, problem):
        return problem in self.definite or problem.split(":")[0] in self.definite

    def pairs_for(self, problem):
        return {method: peers for method, peers in self.pairs.items()
                if self.is_definite(problem) or method.split(":")[0] not in self.needs_definite}

    def case(self, problem, *key):
        key = (shown(problem), *key)
        return self.cases.setdefault(key, {"case": key, "ms": [], "at": []})

    def time(self, driver, key, at):
        """One more value of a case, in the round `at`."""
        case, (_, ranks, precond, program, method) = self.case(*key), key
        for name in ("error", "ended_at", "steady"):
            case.pop(name, None)
        line = (driver.do(do="product") if method in PRODUCTS else
                self.time_of_iteration(driver, case, program != "stretto", method, precond))
        case["ms"].append(line.pop("ms", None))
        case["at"].append(at)
        if "triad" in line:
            self.data["triad"].setdefault(str(ranks), []).append(line.pop("triad"))
        case.update(line)

    def time_of_iteration(self, driver, case, peer, method, precond):
        warm_up = WARM_UP if "pipelcg" in method or "deep" in method else 0
        first, more = self.a.first + (0 if peer else warm_up), self.a.peers_more if peer else self.a.more
        if "gmres" in method.lower():
            first, more = CYCLE, CYCLE
        if case.get("residual") is None:
            case["residual"] = driver.do(do="residual", method=method, precond=precond,
                                         iterations=first + (warm_up if peer else 0)).get("residual")
        line = driver.do(do="time", method=method, precond=precond, first=first, more=more)
        if not peer and "deep" in method and line.get("ended_at", math.inf) < least_end(self.data, method):
            line = {**driver.do(do="time", method=method + STEADY, precond=precond, first=first, more=more), "steady": True}
        return line

    def solve(self, driver, key, _):
        self.case(*key).setdefault("solves", []).append(
            driver.do(do="solve", method=key[-1], precond=key[2], rtol=RTOL, max_iterations=MAX_ITERATIONS))

    def missing(self, problem, ranks):
        """What is still to be measured on a problem: (what, key, round), in turn. Where a peer's time is missing, ours is
        taken again beside it."""
        pairs = self.pairs_for(problem)
        for k in range(self.a.rounds):
            now = datetime.datetime.now().isoformat(timespec="milliseconds")
            for precond in self.a.precond:
                for method, peers in pairs.items():
                    keys = [(problem, ranks, precond, *each) for each in (("stretto", method), *peers)]
                    if precond != "none" and method in PRODUCTS or all(len(self.case(*key)["ms"]) > k for key in keys):
                        continue
                    for key in keys:
                        case = self.case(*key)
                        if now not in case["at"] and (key[3] == "stretto" or len(case["ms"]) <= k):
                            yield self.time, key, now
        ours = [method for method in SOLVED[self.is_definite(problem)] if method in pairs]
        solvers = dict.fromkeys(each for method in ours for each in (("stretto", method), *pairs[method]))
        for k in range(self.a.solves):
            for precond in self.a.precond:
                for each in solvers:
                    key = (problem, ranks, precond, *each)
                    done = self.case(*key).get("solves", [])
                    if len(done) <= k and all(line.get("converged") for line in done):
                        yield self.solve, key, None

    def all(self):
        """False: the time was up before all was measured."""
        start, revision = time.monotonic(), machine.revision()
        for problem in self.a.problems:
            for ranks in self.a.ranks:
                drivers = {}
                try:
                    for act, key, at in self.missing(problem, ranks):
                        if self.a.minutes and time.monotonic() - start > 60 * self.a.minutes:
                            return False
                        begin, program = time.monotonic(), key[3]
                        if program not in drivers or drivers[program].has_ended():
                            command = [self.study.stretto.mpiexec, "-n", ranks, self.path(program), problem]
                            drivers[program] = run.Driver(command, self.a.timeout, program.endswith("+huge"))
                            about = program if program == "stretto" else base(program)
                            about += f" {shown(problem)}, {ranks}" * (program == "stretto")
                            self.data["abouts"][about] = {**drivers[program].about, "problem": shown(problem)}
                        act(drivers[program], key, at)
                        self.data["seconds"] = round(self.data["seconds"] + time.monotonic() - begin, 1)
                        self.data["built"] += [revision] * (revision not in self.data["built"])
                finally:
                    for driver in drivers.values():
                        driver.end()
                    if drivers:
                        self.data["facts"] |= {**machine.describe(), **self.versions()}
                        self.data["cases"] = [case for case in self.cases.values() if case["ms"] or "solves" in case]
                        self.study.save()
                self.study.say(f"{time.monotonic() - start:.0f} s: {problem}, {plural(ranks, 'rank')}")
        return True

    def versions(self):
        """Name, version and origin of every program that ran, one line each."""
        build = self.a.build
        native = " -march=native" if run.cache_variable(build, "STRETTO_NATIVE") == "ON" else ""
        found = {"Stretto": f"{self.study.stretto.listed()['stretto']} ({', '.join(filter(None, self.data['built']))}), "
                            f"{run.cache_variable(build, 'CMAKE_CXX_FLAGS_RELEASE')}{native}"}
        for program, (name, library) in LIBRARIES.items():
            about = self.data["abouts"].get(program, {})
            if "program" in about and self.path(program).exists():
                flags = f", {about['flags']}" if about.get("flags") else ""
                found[name] = about["program"].split()[1] + run.package_of(self.path(program), library) + flags
        found["compiler"] = machine.output_of(run.cache_variable(build, "CMAKE_CXX_COMPILER"), "--version").split("\n")[0]
        found["MPI"] = machine.output_of(self.study.stretto.mpiexec, "--version").split("\n")[0].strip("() ")
        return found


def measure(study):
    return Bench(study).all()


# What follows reads the data alone.

def least_end(data, method):
    """Iterations that must be done for a time to be compared: a whole cycle, or some after the first."""
    if "gmres" in method:
        return 2 * CYCLE
    return data["parameters"]["first"] + (WARM_UP if "deep" in method else 0) + LEAST_TIMED


def name_of(data, program):
    name = LIBRARIES[base(program)][0]
    about = data["abouts"].get(base(program), {}).get("program", "")
    name = f"PETSc {about.split()[1]}" if "petsc" in program and about else name
    return name + (", huge pages" if program.endswith("+huge") else "")


def median(case):
    good = [ms for ms in case["ms"] if ms]
    return statistics.median(good) if good else math.nan


def comparisons(data):
    """A method of ours beside a peer's, for each case that was measured."""
    cases = {tuple(case["case"]): case for case in data["cases"]}
    where = [[*dict.fromkeys(case[k] for case in cases)] for k in range(3)]
    for problem in where[0]:
        for ranks in where[1]:
            for precond in where[2]:
                for method, peers in PAIRS.items():
                    ours = cases.get((problem, ranks, precond, "stretto", method))
                    for program, theirs in ((program, theirs) for peer, theirs in peers for program in programs(peer)):
                        case = cases.get((problem, ranks, precond, program, theirs))
                        if ours and case and ours["ms"] and case["ms"]:
                            yield comparison(data, problem, ranks, precond, method, program, theirs, ours, case)


def comparison(data, problem, ranks, precond, method, program, peer, ours, theirs):
    short = ours.get("ended_at", math.inf) < least_end(data, method)
    ms = [None] * len(ours["ms"]) if short else ours["ms"]
    there = dict(zip(theirs["at"], theirs["ms"]))
    ratios = [value / there[at] for at, value in zip(ours["at"], ms) if value and there.get(at)]  # of a round that both ended
    triad = statistics.median(data["triad"].get(str(ranks), [math.nan]))
    residuals = ours.get("residual"), theirs.get("residual")
    ours = {**ours, "ms": ms}
    return SimpleNamespace(
        problem=problem, ranks=ranks, precond=precond, method=method, program=program, peer=peer, ours=ours, theirs=theirs,
        short=short, ratios=ratios, ratio=statistics.median(ratios) if ratios else math.nan, triad=triad,
        over_floor=median(ours) * triad / 1e3 / ours.get("bytes", math.nan),
        their_floor=math.nan if short else median(theirs) * triad / 1e3 / ours.get("csr_bytes", math.nan),
        same=None not in residuals and abs(residuals[0] - residuals[1]) <= SAME_STEPS * abs(residuals[0]),
        where=f"{problem}, {plural(ranks, 'rank')}, {in_words(precond)}")


def in_words(precond):
    return "no preconditioner" if precond == "none" else precond.capitalize()


def failures(data):
    """What failed, and which steps differ where they should not."""
    lines = []
    for c in comparisons(data):
        peer = f"{name_of(data, c.program)} {c.peer}"
        lines += [f"{c.where}: {name} failed: {case.get('error', 'no time')}" for name, case in
                  ((c.method, c.ours), (peer, c.theirs)) if None in case["ms"] and not c.short]
        if not c.same and "residual" in c.theirs and "pipelcg" not in c.peer:
            lines.append(f"{c.where}: {c.method} and {peer} take different steps: residuals {c.ours.get('residual')} and "
                         f"{c.theirs['residual']}")
    return list(dict.fromkeys(lines))


def grouped(some, *fields):
    """Comparisons that agree in these fields, in the order of the first."""
    found = {}
    for c in some:
        found.setdefault(tuple(getattr(c, field) for field in fields), []).append(c)
    return found.items()


def number(value, goal=math.inf):
    """Bold where it misses a goal."""
    return bold(f"{value:.2f}", value > goal) if math.isfinite(value) else NONE


def mean(some):
    ratios = [c.ratio for c in some if math.isfinite(c.ratio)]
    return (statistics.geometric_mean(ratios) if ratios else math.nan), len(ratios)


def mean_cell(some, goal=math.inf):
    value, count = mean(some)
    return bold(f"{value:.2f} ({count})", value > goal) if count else NONE


def with_range(values, none="failed"):
    """Median and, of several, the smallest and the largest."""
    good = [value for value in values if value is not None]
    if not good:
        return none
    middle = f"{statistics.median(good):.2f}"
    return middle if len(good) == 1 else f"{middle} ({min(good):.2f}–{max(good):.2f})"


def summary(data, every):
    """Geometric means of the ratios over the problems, and which goals they miss."""
    text, missed = [], []
    for (precond, ranks), mine in grouped([c for c in every if c.method != "product"], "precond", "ranks"):
        has_goals = (precond, ranks) == ("none", 2)
        petscs = [*dict.fromkeys(c.program for c in mine if "petsc" in c.program)]
        rows = []
        for (method, peer), same in grouped([c for c in mine if "petsc" in c.program], "method", "peer"):
            goal = GOALS.get((method, peer.split()[0]), math.inf) if has_goals else math.inf
            row = {"": f"`{method}` ÷ `{peer}`"}
            for program in petscs:
                own = [c for c in same if c.program == program]
                row[name_of(data, program)] = mean_cell(own, goal)
                if mean(own)[0] > goal:
                    missed.append(f"`{method}` beside {name_of(data, program)}: {mean(own)[0]:.3f} ({goal:.2f})")
            worst = max((c for c in same if c.problem.startswith(DISTINCT) and c.ratios), key=lambda c: c.ratio, default=None)
            if has_goals:
                row["goal"] = f"{goal:.2f}" if goal < math.inf else ""
                if worst and worst.ratio > GOAL_DISTINCT:
                    missed.append(f"`{method}` on {DISTINCT} beside {name_of(data, worst.program)}: {worst.ratio:.3f} "
                                  f"({GOAL_DISTINCT:.2f})")
            row["all distinct"] = number(worst.ratio, GOAL_DISTINCT if has_goals else math.inf) if worst else NONE
            rows.append(row)
        if rows:
            goal = f" (goal {GOAL_DISTINCT})" * has_goals
            text.append(f"Ours ÷ PETSc's, {in_words(precond)}, {plural(ranks, 'rank')}: geometric mean over the problems (how "
                        f"many), and the largest of the ratios where all values are distinct{goal}:")
            text.append(plain(rows))
        others = [f"{name_of(data, program)} `{peer}` {mean_cell(same)}" for (program, method, peer), same in
                  grouped([c for c in mine if "petsc" not in c.program], "program", "method", "peer")]
        if others:
            text.append(f"Ours ÷ others', likewise: {'; '.join(others)}.")
    text.append(f"Goals of means, and of values all distinct, that are missed: {'; '.join(missed) or 'none'}.")
    return "\n\n".join(text)


def plain(rows):
    """A table of rows that are title to text."""
    titles = dict.fromkeys(title for row in rows for title in row)
    return table(rows, {title: lambda row, title=title: row.get(title, NONE) for title in titles})


def huge_pages(data, every):
    """What the peers gain by huge pages: with ÷ without, in the same round."""
    cases, ratios = {}, {}
    for c in every:
        if c.method != "product":
            cases.setdefault((base(c.program), c.problem, c.ranks, c.precond, c.peer), {})[c.program] = c.theirs
    for (program, *_), both in cases.items():
        if len(both) == 2:
            without = dict(zip(both[program]["at"], both[program]["ms"]))
            found = [ms / without[at] for at, ms in zip(both[f"{program}+huge"]["at"], both[f"{program}+huge"]["ms"])
                     if ms and without.get(at)]
            ratios.setdefault(program, []).extend([statistics.median(found)] if found else [])
    return "; ".join(f"{name_of(data, program)} {statistics.median(values):.2f}, from {spread(values)}"
                     for program, values in ratios.items() if values)


def verdict(some):
    """How many of the comparisons Stretto wins, loses, or neither, in words."""
    done = [c for c in some if c.ratios]
    often = [c for c in done if len(c.ratios) > 2]
    lost = sorted((c for c in often if min(c.ratios) > 1), key=lambda c: -c.ratio)
    text = (f"{spread([c.ratio for c in done])} of its time in {plural(len(done), 'comparison')}, in the middle "
            f"{statistics.median(c.ratio for c in done):.2f}.")
    if often:
        text += (f" Of {len(often)} with three rounds and more, Stretto takes less time in every round in "
                 f"{sum(max(c.ratios) < 1 for c in often)}, more in every round in {len(lost)}.")
    if lost:
        text += " More, the largest: " + "; ".join(
            f"{c.method} against {c.peer.split()[0]} ({c.where}: {c.ratio:.2f})" for c in lost[:5]) + "."
    return text


def reading(data, every):
    """The points to read from the tables."""
    for (program,), mine in grouped(every, "program"):
        if any(c.ratios for c in mine):
            yield f"**{name_of(data, program)}**: Stretto takes {verdict(mine)}"
    over = [c.over_floor for c in every if math.isfinite(c.over_floor)]
    if over:
        yield f"Stretto takes {spread(over)} times its floor, in the middle {statistics.median(over):.2f}."
    if gains := huge_pages(data, every):
        yield ("Huge pages: the time of an iteration with them over that without, in the middle of all cases and their range: "
               f"{gains}.")


def products(data, every):
    """Products alone: ours and what it is of every program's."""
    mine, rows = [c for c in every if c.method == "product"], []
    for (problem, ranks), same in grouped(mine, "problem", "ranks"):
        about = data["abouts"].get(f"stretto {problem}, {ranks}", {})
        rows.append({"": f"{problem}, {plural(ranks, 'rank')}",
                     "stored, B/nonzero": f"{about.get('storage')}, {about.get('bytes_per_nonzero', math.nan):.2f}",
                     "ms": number(median(same[0].ours)), "× floor": number(same[0].over_floor),
                     **{name_of(data, c.program): with_range(c.ratios, NONE) for c in same},
                     "goal": str(GOALS_PRODUCT.get(problem.split(":")[0], ""))})
    titles = list(dict.fromkeys(title for row in rows for title in row if title != "goal")) + ["goal"]
    return plain([{title: row.get(title, NONE) for title in titles} for row in rows])


def best_solves(data):
    """By (problem, ranks, program): what the fastest method took whose solves, all with a recomputed residual that is small
    enough, take least time in the middle; None where none did."""
    best = {}
    for case in data["cases"]:
        problem, ranks, precond, program, method = case["case"]
        if lines := case.get("solves"):
            good = all(line.get("converged") and line["residual"] <= 1.01 * RTOL for line in lines)
            found = (statistics.median(line["seconds"] for line in lines), method, precond, len(lines)) if good else None
            key = problem, ranks, program
            best[key] = min(filter(None, (best.get(key), found)), default=None)
    return best


def solutions(data):
    """Time to solution: our best against the best of each program."""
    best, rows, ratios, often = best_solves(data), [], {}, set()

    def said(found):
        return f"{found[0]:.2f} `{found[1]}`{'' if found[2] == 'none' else f', {found[2].capitalize()}'}"

    others = [program for program in dict.fromkeys(key[2] for key in best) if program != "stretto"]
    for problem, ranks in dict.fromkeys(key[:2] for key in best):
        ours = best.get((problem, ranks, "stretto"))
        row = {"": f"{problem}, {plural(ranks, 'rank')}", "Stretto": said(ours) if ours else "none"}
        for program in others:
            theirs = best.get((problem, ranks, program))
            row[name_of(data, program)] = "none" if (problem, ranks, program) in best else NONE
            if ours and theirs:
                often |= {ours[3], theirs[3]}
                ratios.setdefault(program, []).append(ours[0] / theirs[0])
                row[name_of(data, program)] = f"{said(theirs)}: {number(ours[0] / theirs[0], GOAL_SOLVE)}"
        rows.append(row)
    means = {name_of(data, program): (statistics.geometric_mean(values), len(values)) for program, values in ratios.items()}
    rows.append({"": "geometric mean", "Stretto": "",
                 **{name: f"{bold(f'{value:.3f}', value > GOAL_SOLVE)} ({count})" for name, (value, count) in means.items()}})
    methods = sorted({case["case"][4] for case in data["cases"] if "solves" in case and case["case"][3] == "stretto"})
    return plain(rows), listed((f"`{method}`" for method in methods), "or"), spread(often or {1}, 0).replace(" to ", "–")


def tables(data, every):
    """One for each case: rows of methods and peers, a peer without and with huge pages side by side."""
    for (problem, ranks, _), mine in grouped(every, "problem", "ranks", "precond"):
        rows = []
        for c in mine:
            c.base = base(c.program)
        for (method, _, peer), both in grouped(mine, "method", "base", "peer"):
            c = both[0]
            marks = f" (to {c.ours.get('ended_at')})" * ("ended_at" in c.ours) + " (steady)" * bool(c.ours.get("steady"))
            row = {"Stretto": f"`{method}`{marks}", "ms": with_range(c.ours["ms"], "too short" if c.short else "failed"),
                   "× floor": number(c.over_floor),
                   "peer": f"{name_of(data, base(c.program))} `{peer}`{'' if all(c.same for c in both) else ' ‡'}"}
            for c in both:
                pages = ", huge pages" * c.program.endswith("+huge")
                row |= {f"peer's ms{pages}": with_range(c.theirs["ms"]), f"its × floor{pages}": number(c.their_floor),
                        f"ours ÷ its{pages}": bold(with_range(c.ratios, NONE))}
            rows.append(row)
        about = data["abouts"].get(f"stretto {problem}, {ranks}", {})
        yield (f"### {mine[0].where}\n\n{about.get('rows')} rows, {about.get('nonzeros')} nonzeros; Stretto stores them "
               f"{about.get('storage')}, {about.get('bytes_per_nonzero', math.nan):.2f} bytes a nonzero; triad "
               f"{1e-9 * mine[0].triad:.1f} GB/s.\n\n{plain(rows)}")


def rounds_in_words(some):
    """How often methods were timed beside PETSc and beside others, and on how many problems."""
    parts = []
    methods = [c for c in some if c.method != "product"]
    for name, mine in (("PETSc", [c for c in methods if "petsc" in c.program]),
                       ("others", [c for c in methods if "petsc" not in c.program])):
        if counts := {len(c.theirs["ms"]) for c in mine}:
            often = "–".join(dict.fromkeys(map(str, (min(counts), max(counts)))))
            parts.append(f"{name} {often} round{'s' * (max(counts) > 1)} of {plural(len({c.problem for c in mine}), 'problem')}")
    return ", ".join(parts)


def command(data):
    """What measures all that is there, and writes the page."""
    found = {case["case"][4] for case in data["cases"] if case["case"][3] == "stretto"}
    methods = dict.fromkeys(method.split(":")[0] for method in PAIRS if method in found)
    words = [*run.words_of(data["parameters"]), "--methods", *methods]
    return f"    STRETTO_MATRICES=… make bench-peers BENCH_ARGS='{' '.join(words)}'"


def report(data):
    every = list(comparisons(data))
    if not every:
        raise run.Failed("no iterations were timed, so there is no page")
    same = sum(c.same for c in every)
    solves, methods, often = solutions(data)
    return {
        "minutes": f"{data['seconds'] / 60:.0f}",
        "rounds": "; ".join(f"{in_words(precond)}, {plural(ranks, 'rank')}, {rounds_in_words(mine)}" for (precond, ranks), mine
                            in grouped([c for c in every if c.ratios], "precond", "ranks")),
        "pieces": "It was measured in pieces, with the revisions named below." if len(data["built"]) > 1 else "",
        "command": command(data), "facts": points(f"{name}: {text}" for name, text in data["facts"].items()),
        "summary": summary(data, every), "reading": points(reading(data, every)), "products": products(data, every),
        "solves": solves, "solve methods": methods, "solves often": often, "goal solve": f"{GOAL_SOLVE}",
        "timeout": f"{data['parameters']['timeout']}", "tables": "\n\n".join(tables(data, every)),
        "first": f"{data['parameters']['first']}", "more": f"{data['parameters']['more']}",
        "peers more": f"{data['parameters']['peers_more']}", "warm up": f"{WARM_UP}", "cycle": f"{CYCLE}",
        "agreement": f"all pairs agree to {100 * SAME_STEPS:g} % or better" if same == len(every) else
                     f"{same} of {len(every)} pairs agree to {100 * SAME_STEPS:g} %; the others failed or take other steps, "
                     "and are marked ‡",
    }, {}
