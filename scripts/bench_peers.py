#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times products with a matrix, and iterations of Stretto's methods and of their like in PETSc, hypre and Belos, in turn, on
the same matrices and ranks, and writes docs/benchmarks.md and docs/benchmarks.json. make bench-peers builds what it needs and
calls it; by hand:

    set -a; . scripts/mpi.env; set +a; python3 scripts/bench_peers.py --build build/peers --rounds 3 --ranks 1 2

What was measured is kept in --data, and only what is missing there is measured; so it may be done in pieces (--minutes), in
which what failed is tried again. The JSON beside the page has the same content: --data docs/benchmarks.json --report writes the
page of it again.
"""

import argparse
import contextlib
import datetime
import json
import math
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import threading
import time

import peers_page
from matrix_file import Matrix

# Stretto's method, and what its peers call theirs (for PETSc with the options for it).
PAIRS = {
    "product": (("petsc", "MatMult"), ("hypre", "ParCSRMatrixMatvec"), ("belos", "CrsMatrix::apply")),
    "cg": (("petsc", "cg"), ("hypre", "pcg"), ("belos", "TPETRA CG")),
    "single_reduction_cg": (("petsc", "cg -ksp_cg_single_reduction"), ("belos", "TPETRA CG SINGLE REDUCE")),
    "pipelined_cg": (("petsc", "pipecg"), ("belos", "TPETRA CG PIPELINE")),
    "deep_pipelined_cg:l=1": (("petsc", "pipelcg -ksp_pipelcg_pipel 1"),),
    "deep_pipelined_cg:l=2": (("petsc", "pipelcg -ksp_pipelcg_pipel 2"),),
    "deep_pipelined_cg:l=3": (("petsc", "pipelcg -ksp_pipelcg_pipel 3"),),
    "bicgstab": (("petsc", "bcgs"), ("hypre", "bicgstab"), ("belos", "BICGSTAB")),
    "improved_bicgstab": (("petsc", "ibcgs"),),
    "pipelined_bicgstab": (("petsc", "pipebcgs"),),
    "gmres": (("petsc", "gmres"), ("belos", "TPETRA GMRES")),
    "pipelined_gmres:l=1": (("petsc", "pgmres"), ("belos", "TPETRA GMRES PIPELINE")),
    "s_step_gmres:s=5": (("petsc", "gmres"), ("belos", "TPETRA GMRES S-STEP")),
}
PRODUCTS = {"product", *(theirs for _, theirs in PAIRS["product"])}  # no methods: y = A b alone
SOLVED = {"definite": ("cg", "single_reduction_cg", "pipelined_cg"),
          "any": ("bicgstab", "improved_bicgstab", "pipelined_bicgstab", "gmres")}
STEADY = ",drift=1,growth=1e300"  # a deep pipeline that does not hand over, to be timed where it otherwise does at once
PARAMETERS = ("first", "more", "peers_more", "timeout")  # which times depend on
WARM_UP = 20  # iterations of CG that the deep pipelines begin with, and which are not to be in their time
LEAST_TIMED = 10  # iterations
CYCLE = 30  # columns of GMRES methods, of the peers' too; only whole cycles are alike
HUGE_PAGES = "glibc.malloc.hugetlb=1"
RTOL = 1e-8
MAX_ITERATIONS = 20000


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine():
    """What the numbers depend on, one line each."""
    facts = dict(re.findall(r"^ *([^:\n]+): +(.+)$", output_of("env", "LC_ALL=C", "lscpu"), re.M))
    memory = re.search(r"MemTotal: +(\d+)", pathlib.Path("/proc/meminfo").read_text())
    pages = re.search(r"\[(\w+)\]", pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text())
    caches = ", ".join(f"{name} {facts[f'{name} cache']}" for name in ("L1d", "L2", "L3") if f"{name} cache" in facts)
    return {
        "processor": f"{facts.get('Model name', platform.machine())}, family {facts.get('CPU family', '?')} model "
                     f"{facts.get('Model', '?')}, {os.cpu_count()} cores"
                     f"{', virtual machine' if 'Hypervisor vendor' in facts else ''}",
        "caches": caches,
        "memory": f"{int(memory[1]) / 2**20:.0f} GiB",
        "system": f"{platform.freedesktop_os_release().get('PRETTY_NAME', platform.system())}, "
                  f"Linux {platform.release().split('-')[0]}, transparent huge pages: {pages[1]}",
    }


def cache_variable(build, name):
    found = re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)
    return found[1] if found else ""


def package_of(driver, library):
    """The Debian package that the driver's library is from, as words to append."""
    path = re.search(rf"lib{library}\S* => (\S+)", output_of("ldd", driver))
    package = path and output_of("dpkg-query", "-S", os.path.realpath(path[1])).split(":")[0]
    if not package:
        return ", built from source"
    return f", Debian's {package} {output_of('dpkg-query', '-W', '-f', '${Version}', package)}"


class Driver:
    """A program that holds a problem and waits for commands."""

    def __init__(self, command, huge, timeout):
        environment = {**os.environ, "GLIBC_TUNABLES": HUGE_PAGES} if huge else os.environ
        self.timeout = timeout
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment, start_new_session=True)
        self.about = self.answer()

    def answer(self):
        """The next line; what went wrong, where there is none."""
        limit = threading.Timer(self.timeout, os.killpg, (self.process.pid, signal.SIGKILL))
        limit.start()
        try:
            line = next((line for line in self.process.stdout if line.startswith("{")), None)
        finally:
            limit.cancel()
        return json.loads(line) if line else {
            "error": " ".join(self.process.stderr.read().split())[:200] or "ended without a word"}

    def has_ended(self):
        return self.process.poll() is not None

    def do(self, **command):
        if self.has_ended():
            return {"error": "its program has ended"}
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.process.wait()
        return self.answer()

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class Bench:
    """Runs the drivers and keeps what they say: one record for each case, that is (problem, ranks, preconditioner,
    program, method), with the values of all rounds. A program is stretto, or a peer's name, and `+huge` after it where
    malloc is told to use huge pages."""

    def __init__(self, arguments):
        self.arguments = arguments
        data = json.loads(arguments.data.read_text()) if arguments.data.exists() else {}
        self.cases = {tuple(case.pop("case")): case for case in data.get("cases", [])}
        self.abouts, self.triad = data.get("abouts", {}), {int(k): v for k, v in data.get("triad", {}).items()}
        self.seconds, self.built, self.facts = data.get("seconds", 0), data.get("built", []), data.get("facts", {})
        if arguments.report:
            self.take_arguments(data)
        else:
            self.begin(data.get("parameters"))
        self.pairs = {}
        for method, peers in PAIRS.items():
            if not arguments.methods or method in arguments.methods or method.split(":")[0] in arguments.methods:
                self.pairs[method] = [(program, theirs) for peer, theirs in peers for program in self.programs(peer)
                                      if arguments.report or self.path(program).exists()]
        if not any(self.pairs.values()):
            raise SystemExit(f"{arguments.build} has no driver of a peer, or Stretto no method asked for; cmake says "
                             "what it found")

    def begin(self, before):
        """Gets ready to measure: what failed is to be tried again."""
        a = self.arguments
        self.parameters = {name: getattr(a, name) for name in PARAMETERS}
        if before not in (None, self.parameters):
            raise SystemExit(f"{a.data} was measured with " + " ".join(f"--{k.replace('_', '-')} {v}" for k, v in
                             before.items()) + ": ask for the same, or for another --data")
        for case in self.cases.values():
            done = [(ms, at) for ms, at in zip(case["ms"], case["at"]) if ms is not None]
            case["ms"], case["at"] = [ms for ms, _ in done], [at for _, at in done]
            if "solves" in case:
                case["solves"] = [line for line in case["solves"] if "error" not in line]
        known = json.loads(output_of(a.build / "stretto", "list", "--json", "-") or "null")
        if known is None:
            raise SystemExit(f"{a.build} has no stretto that runs: make bench-peers builds it")
        if a.other and not self.path("other_petsc").exists():
            raise SystemExit(f"--other {a.other} has no {self.path('other_petsc').name}")
        self.mpiexec = cache_variable(a.build, "MPIEXEC_EXECUTABLE")
        self.version = known["stretto"]
        self.needs_definite = {method["name"] for method in known["methods"] if "positive" in method["needs"]}
        self.definite = {problem["name"] for problem in known["problems"] if problem["positive_definite"]}
        for problem in a.problems:
            if problem.startswith("kron:"):
                file = pathlib.Path(problem[5:].rpartition(",")[0])
                if not file.exists():
                    raise SystemExit(f"{problem}: no file {file}")
                if Matrix(file).is_symmetric():
                    self.definite.add(problem)  # the file's is taken to be
            elif problem.split(":")[0] not in (each["name"] for each in known["problems"]):
                raise SystemExit(f"there is no problem '{problem}'; stretto list shows them")

    def take_arguments(self, data):
        """Those that the data was measured with; of problems, ranks and preconditioners all that there are."""
        a, self.parameters = self.arguments, data.get("parameters", {})
        for name, value in self.parameters.items():
            setattr(a, name, value)
        a.problems, a.ranks, a.precond = ([*dict.fromkeys(case[i] for case in self.cases)] for i in range(3))

    @staticmethod
    def programs(peer):
        """With and without huge pages; with PETSc, of two builds."""
        return [f"{name}{pages}" for name in ((peer, f"other_{peer}") if peer == "petsc" else (peer,))
                for pages in ("", "+huge")]

    def path(self, program):
        name = program.removesuffix("+huge")
        if name == "other_petsc":
            return (self.arguments.other or pathlib.Path("none")) / "bench/peers/petsc_bench"
        return self.arguments.build / f"bench/peers/{name}_bench"

    def is_definite(self, problem):
        return problem in self.definite or problem.split(":")[0] in self.definite

    def pairs_for(self, problem):
        return {method: peers for method, peers in self.pairs.items()
                if self.is_definite(problem) or method.split(":")[0] not in self.needs_definite}

    def runs_for(self, problem):
        """(program, method), Stretto's followed by those it is compared with, each once."""
        return list(dict.fromkeys(run for method, peers in self.pairs_for(problem).items()
                                  for run in (("stretto", method), *peers)))

    def case(self, problem, *key):
        return self.cases.setdefault((peers_page.shown(problem), *key), {"ms": [], "at": []})

    def time(self, driver, key, at):
        """One more value of a case, in the round `at`."""
        case, (*_, precond, program, method) = self.case(*key), key
        for name in ("error", "ended_at", "steady"):
            case.pop(name, None)
        peer = program != "stretto"
        if method in PRODUCTS:
            line = driver.do(do="product")
        else:
            line = self.time_of_iteration(driver, case, peer, method, precond)
        case["ms"].append(line.pop("ms", None))
        case["at"].append(at)
        if "triad" in line:
            self.triad.setdefault(key[1], []).append(line.pop("triad"))
        case.update(line)

    def time_of_iteration(self, driver, case, peer, method, precond):
        a = self.arguments
        warm_up = WARM_UP if "pipelcg" in method or "deep" in method else 0
        first, more = a.first + (0 if peer else warm_up), a.peers_more if peer else a.more
        if "gmres" in method.lower():
            first, more = CYCLE, CYCLE
        if case.get("residual") is None:
            case["residual"] = driver.do(do="residual", method=method, precond=precond,
                                         iterations=first + (warm_up if peer else 0)).get("residual")
        line = driver.do(do="time", method=method, precond=precond, first=first, more=more)
        if not peer and "deep" in method and line.get("ended_at", math.inf) < self.least_end(method):
            line = {**driver.do(do="time", method=method + STEADY, precond=precond, first=first, more=more), "steady": True}
        return line

    def solve(self, driver, key, _):
        self.case(*key).setdefault("solves", []).append(
            driver.do(do="solve", method=key[-1], precond=key[2], rtol=RTOL, max_iterations=MAX_ITERATIONS))

    def missing(self, problem, ranks):
        """What is still to be measured on a problem: (what, key, round), in turn. Where a peer's time is missing, ours is
        taken again beside it."""
        a = self.arguments
        for k in range(a.rounds):
            now = datetime.datetime.now().isoformat(timespec="milliseconds")
            for precond in a.precond:
                for method, peers in self.pairs_for(problem).items():
                    if precond != "none" and method in PRODUCTS:
                        continue
                    runs = [(problem, ranks, precond, *run) for run in (("stretto", method), *peers)]
                    if all(len(self.case(*key)["ms"]) > k for key in runs):
                        continue
                    for key in runs:
                        case = self.case(*key)
                        if now not in case["at"] and (key[3] == "stretto" or len(case["ms"]) <= k):
                            yield self.time, key, now
        ours = SOLVED["definite" if self.is_definite(problem) else "any"]
        theirs = {run for method in ours for run in self.pairs.get(method, ())}
        for k in range(a.solves):
            for precond in a.precond:
                for program, method in self.runs_for(problem):
                    key = (problem, ranks, precond, program, method)
                    done = self.case(*key).get("solves", [])
                    if len(done) <= k and all(line.get("converged") for line in done) and (
                            method in ours if program == "stretto" else (program, method) in theirs):
                        yield self.solve, key, None

    def all(self):
        """False: the time was up before all was measured."""
        a, start = self.arguments, time.monotonic()
        revision = output_of("git", "describe", "--always", "--dirty", "--exclude", "*")
        for problem in a.problems:
            for ranks in a.ranks:
                drivers = {}
                try:
                    for act, key, at in self.missing(problem, ranks):
                        if a.minutes and time.monotonic() - start > 60 * a.minutes:
                            return False
                        begin, program = time.monotonic(), key[3]
                        if program not in drivers or drivers[program].has_ended():
                            command = [self.mpiexec, "-n", str(ranks), str(self.path(program)), problem]
                            drivers[program] = Driver(command, program.endswith("+huge"), a.timeout)
                            name = program.removesuffix("+huge")
                            about = name if name != "stretto" else f"stretto {peers_page.shown(problem)}, {ranks}"
                            self.abouts[about] = {**drivers[program].about, "problem": peers_page.shown(problem)}
                        act(drivers[program], key, at)
                        if sys.stderr.isatty():
                            print(f"\r{time.monotonic() - start:6.0f} s: {' '.join(map(str, key)):100}", end="", file=sys.stderr)
                        self.seconds += time.monotonic() - begin
                        self.built += [revision] * (revision not in self.built)
                finally:
                    for driver in drivers.values():
                        driver.end()
                    if drivers:
                        self.facts = {**self.facts, "date": datetime.date.today().isoformat(), **machine(), **self.versions()}
                        self.save(a.data)
                print(f"{time.monotonic() - start:6.0f} s: {problem}, {peers_page.in_words(ranks)}", flush=True)
        return True

    def save(self, path, **more):
        """A line for each entry of a list, for a change of one to be a change of one line."""
        content = {"facts": self.facts, "parameters": self.parameters, "seconds": round(self.seconds), "built": self.built,
                   "abouts": self.abouts,
                   "triad": self.triad, "cases": [{"case": case, **values} for case, values in self.cases.items() if
                                                  values["ms"] or "solves" in values], **more}
        path.write_text("{\n" + ",\n".join(
            f"{json.dumps(name)}: " + ("[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
                                      if isinstance(value, list) else json.dumps(value, indent=1))
            for name, value in content.items()) + "\n}\n")

    def versions(self):
        """Name, version and origin of every program that ran, one line each."""
        build = self.arguments.build
        native = " -march=native" if cache_variable(build, "STRETTO_NATIVE") == "ON" else ""
        found = {"Stretto": f"{self.version} ({', '.join(filter(None, self.built))}), "
                            f"{cache_variable(build, 'CMAKE_CXX_FLAGS_RELEASE')}{native}"}
        for name, library in (("petsc", "petsc"), ("other_petsc", "petsc"), ("hypre", "HYPRE"), ("belos", "trilinos_belos")):
            about = self.abouts.get(name, {})
            if "program" in about and self.path(name).exists():
                flags = f", {about['flags']}" if about.get("flags") else ""
                found[peers_page.NAMES[name]] = (about["program"].split()[1] + package_of(self.path(name), library)
                                                 + flags)
        found["compiler"] = output_of(cache_variable(build, "CMAKE_CXX_COMPILER"), "--version").split("\n")[0]
        found["MPI"] = output_of(self.mpiexec, "--version").split("\n")[0].strip("() ")
        return found

    def least_end(self, method):
        """Iterations that must be done for a time to be compared: a whole cycle, or some after the first."""
        if "gmres" in method:
            return 2 * CYCLE
        return self.arguments.first + (WARM_UP if "deep" in method else 0) + LEAST_TIMED

    def comparisons(self):
        """One for each pair in each case that was measured."""
        a = self.arguments
        for problem in a.problems:
            for ranks in a.ranks:
                for precond in a.precond:
                    for method, peers in self.pairs.items():
                        ours = self.case(problem, ranks, precond, "stretto", method)
                        end = ours.get("ended_at", math.inf)
                        if end < self.least_end(method):
                            ours = {**ours, "ms": [None] * len(ours["ms"]), "short": True}
                        for program, theirs in peers:
                            case = self.case(problem, ranks, precond, program, theirs)
                            if case["ms"] and ours["ms"]:
                                yield peers_page.Comparison(peers_page.shown(problem), ranks, precond, method, program, theirs, ours, case,
                                                            self.triad.get(ranks, [math.nan]))

    def command(self):
        """What measures all that is there, and writes the page."""
        found = {method for (*_, program, method), case in self.cases.items()
                 if program == "stretto" and (case["ms"] or "solves" in case)}
        methods = list(dict.fromkeys(method.split(":")[0] for method in PAIRS if method in found))
        options = [f"--{name.replace('_', '-')} {value}" for name, value in self.parameters.items()]
        return f"STRETTO_MATRICES=… make bench-peers BENCH_ARGS='{' '.join(options)} --methods {' '.join(methods)}'"

    def solves(self):
        """(problem, ranks, preconditioner, program, method) → what was said of its solves."""
        return {key: case["solves"] for key, case in self.cases.items() if "solves" in case}


def arguments_of(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/peers"))
    parser.add_argument("--other", type=pathlib.Path, help="another build, whose driver has another PETSc")
    parser.add_argument("--problems", nargs="+", help="default: seven, two of them of --matrices")
    parser.add_argument("--matrices", type=pathlib.Path, help="a folder with bcsstk16.mtx.gz and cage10.mtx.gz of the "
                        "SuiteSparse Matrix Collection (default: STRETTO_MATRICES)")
    parser.add_argument("--precond", nargs="+", default=["none", "jacobi"], choices=["none", "jacobi"])
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 1])
    parser.add_argument("--methods", nargs="+", help="only these of Stretto's, and their peers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--first", type=int, default=5, help="iterations before those timed")
    parser.add_argument("--more", type=int, default=50, help="iterations of Stretto timed, a multiple of 50 for "
                        "safeguards to count as often as they come")
    parser.add_argument("--peers-more", type=int, default=15, help="iterations of a peer timed")
    parser.add_argument("--solves", type=int, default=3, help=f"how often to solve to ‖b − Ax‖ ≤ {RTOL:g} ‖b‖ as well")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for an answer")
    parser.add_argument("--minutes", type=float, help="start nothing after these; run again to go on")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the page of what there is")
    parser.add_argument("--data", type=pathlib.Path, help="what was measured (BUILD/benchmarks.json)")
    parser.add_argument("--output", type=pathlib.Path, help="the page (docs/benchmarks.md); its JSON is beside it")
    parser.add_argument("--quick", action="store_true", help="one round of a small problem, to see that all works; "
                        "writes into BUILD")
    if "--quick" in argv:
        parser.set_defaults(problems=["poisson3d:32"], ranks=[2], rounds=1, more=20, solves=1)
    parser.set_defaults(warm_up=WARM_UP, cycle=CYCLE)
    arguments = parser.parse_args(argv)
    if min(arguments.ranks) < 1 or min(arguments.rounds, arguments.solves) < 0 or not arguments.rounds + arguments.solves:
        parser.error("--ranks is at least 1, and so is --rounds or --solves")
    if not arguments.problems and not arguments.report:
        folder = arguments.matrices or os.environ.get("STRETTO_MATRICES")
        arguments.problems = ["poisson3d:128", "poisson2d:1024", "jump3d:128", "poisson3d27:128", "poisson3d:200",
                              *(f"kron:{folder}/{name}.mtx.gz,100" for name in ("bcsstk16", "cage10") if folder)]
        if not folder:
            print("bench_peers: no folder of matrices (--matrices, STRETTO_MATRICES): five of the seven problems",
                  file=sys.stderr)
    name = "benchmarks_quick" if arguments.quick else "benchmarks"
    if arguments.quick and not arguments.data and not arguments.report:
        (arguments.build / f"{name}.json").unlink(missing_ok=True)
    arguments.data = arguments.data or arguments.build / f"{name}.json"
    arguments.output = arguments.output or (arguments.build / f"{name}.md" if arguments.quick else
                                            pathlib.Path("docs/benchmarks.md"))
    return arguments


def main():
    arguments = arguments_of(sys.argv[1:])
    bench = Bench(arguments)
    if not arguments.report and not bench.all():
        print(f"The time is up; what was measured is in {arguments.data}: run again to go on")
        return 0
    comparisons = list(bench.comparisons())
    if not comparisons:
        if bench.solves():
            print(f"No iterations were timed, so there is no page; the solves are in {arguments.data}")
            return 0
        raise SystemExit(f"nothing was measured of what is asked for: {arguments.data}")
    command = bench.command()
    bench.save(arguments.output.with_suffix(".json"), command=command,
               comparisons=[comparison.record() for comparison in comparisons])
    arguments.output.write_text(peers_page.page(bench, comparisons, command))
    print(f"Written: {arguments.output}, {arguments.output.with_suffix('.json')}")
    wrong = [line for comparison in comparisons for line in comparison.failures()]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
