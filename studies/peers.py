# SPDX-License-Identifier: BSD-3-Clause
"""Measures Stretto beside its peers, for the page of benchmarks: runs the drivers of bench/peers in turn and keeps what they
say."""

import datetime
import math
import pathlib
import re
import sys
import time

from . import machine, run
from .matrix_file import Matrix
from .text import plural

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
            line = {**driver.do(do="time", method=method + run.STAYS_DEEP, precond=precond, first=first, more=more), "steady": True}
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


def least_end(data, method):
    """Iterations that must be done for a time to be compared: a whole cycle, or some after the first."""
    if "gmres" in method:
        return 2 * CYCLE
    return data["parameters"]["first"] + (WARM_UP if "deep" in method else 0) + LEAST_TIMED


def measure(study):
    return Bench(study).all()
