#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times an iteration of Stretto's methods and of their like in PETSc and hypre, in turn, on the same matrices and
ranks, and writes docs/benchmarks.md and a JSON file. make bench-peers builds what it needs and calls it; by hand:

    set -a; . scripts/mpi.env; set +a; python3 scripts/bench_peers.py --build build/peers --rounds 3 --ranks 1 2

What was measured is kept in --raw, and only what is missing there is measured; so it may be done in pieces (--minutes).
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import textwrap
import time

from matrix_file import Matrix

# Stretto's method, and what its peers call theirs (for PETSc with the options for it). Methods that this build of
# Stretto does not have are left out.
PAIRS = {
    "cg": (("petsc", "cg"), ("hypre", "pcg")),
    "single_reduction_cg": (("petsc", "cg -ksp_cg_single_reduction"),),
    "pipelined_cg": (("petsc", "pipecg"), ("petsc", "groppcg"), ("petsc", "pipecgrr")),
    "deep_pipelined_cg:l=1": (("petsc", "pipelcg -ksp_pipelcg_pipel 1"),),
    "deep_pipelined_cg:l=2": (("petsc", "pipelcg -ksp_pipelcg_pipel 2"),),
    "deep_pipelined_cg:l=3": (("petsc", "pipelcg -ksp_pipelcg_pipel 3"),),
    "bicgstab": (("petsc", "bcgs"), ("hypre", "bicgstab")),
    "improved_bicgstab": (("petsc", "ibcgs"),),
    "pipelined_bicgstab": (("petsc", "pipebcgs"),),
    "gmres": (("petsc", "gmres"),),
    "gmres:orth=cgs": (("petsc", "gmres"),),
    "s_step_gmres:s=5": (("petsc", "gmres"),),
    "s_step_gmres:s=10": (("petsc", "gmres"),),
    "pipelined_gmres:l=1": (("petsc", "pgmres"),),
    "pipelined_gmres:l=2": (("petsc", "pgmres"),),
}
NAMES = {"stretto": "Stretto", "petsc": "PETSc", "other_petsc": "other PETSc", "hypre": "hypre"}
# ours ÷ PETSc's same method, two ranks, no preconditioner, geometric mean over the problems: what we want.
GOALS = {"cg": 0.60, "pipelined_cg": 0.50, "deep_pipelined_cg:l=1": 0.45, "deep_pipelined_cg:l=2": 0.45,
         "deep_pipelined_cg:l=3": 0.45, "gmres": 0.70, "pipelined_gmres:l=1": 0.55, "bicgstab": 0.60,
         "improved_bicgstab": 0.55, "pipelined_bicgstab": 0.50}
CSR = " csr"  # with the matrix as compressed rows
WARM_UP = 20  # iterations of CG that the deep pipelines begin with, and which are not to be in their time
CYCLE = 30  # columns of GMRES methods, of PETSc's too; only whole cycles are alike
HUGE_PAGES = "glibc.malloc.hugetlb=1"

# Two programs that take the same steps agree in ‖b − Ax‖/‖b‖ after the first few iterations to this. Most agree to ten
# digits; pipelcg has four left after five iterations with l = 2, three with l = 3.
SAME_STEPS = 1e-2


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


def programs(build, driver, lines, revisions):
    """Name, version and origin of every program that ran, one line each."""
    native = " -march=native" if cache_variable(build, "STRETTO_NATIVE") == "ON" else ""
    compiler = output_of(cache_variable(build, "CMAKE_CXX_COMPILER"), "--version").split("\n")[0]
    stretto = json.loads(output_of(build / "stretto", "list", "--json", "-"))["stretto"]
    revision = ", ".join(filter(None, revisions))
    found = {"Stretto": f"{stretto}{f' ({revision})' if revision else ''}, "
                        f"{cache_variable(build, 'CMAKE_CXX_FLAGS_RELEASE')}{native}"}
    for peer in ("petsc", "other_petsc", "hypre"):
        line = next((line for line in lines if line.get("driver") == peer), None)
        if line:
            flags = f", {line['flags']}" if line.get("flags") else ""
            origin = package_of(driver(peer), "HYPRE" if peer == "hypre" else "petsc")
            found[NAMES[peer]] = line["program"].split()[1] + origin + flags
    found["compiler"] = compiler
    found["MPI"] = output_of(cache_variable(build, "MPIEXEC_EXECUTABLE"), "--version").split("\n")[0].strip("() ")
    return found


class Bench:
    """Runs the drivers and keeps what they say: one record for each case, that is (problem, ranks, preconditioner,
    program, method, huge pages), with the values of all rounds."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.mpiexec = cache_variable(arguments.build, "MPIEXEC_EXECUTABLE")
        self.folder = arguments.build / "bench/peers"
        raw = json.loads(arguments.raw.read_text()) if arguments.raw.exists() else {}
        self.cases = {tuple(case.pop("case")): case for case in raw.get("cases", [])}
        self.triad = {int(ranks): values for ranks, values in raw.get("triad", {}).items()}
        self.lines, self.seconds, self.built = raw.get("programs", []), raw.get("seconds", 0), raw.get("built", [])
        known = json.loads(output_of(arguments.build / "stretto", "list", "--json", "-"))
        options = {method["name"]: {option["name"] for option in method["options"]} for method in known["methods"]}
        self.needs_definite = {method["name"] for method in known["methods"] if "positive" in method["needs"]}
        self.definite = {problem["name"] for problem in known["problems"] if problem["positive_definite"]}
        for problem in arguments.problems:
            if problem.startswith("kron:"):
                if Matrix(pathlib.Path(problem[5:].rpartition(",")[0])).is_symmetric():
                    self.definite.add(problem)  # the file's is taken to be
            elif problem.split(":")[0] not in (each["name"] for each in known["problems"]):
                raise SystemExit(f"there is no problem '{problem}'; stretto list shows them")
        self.pairs = {}
        for method, peers in PAIRS.items():
            name, _, option = method.partition(":")
            wanted = not arguments.methods or name in arguments.methods
            if wanted and name in options and (not option or option.split("=")[0] in options[name]):
                both = [peer for each in peers
                        for peer in ([each, ("other_petsc", each[1])] if each[0] == "petsc" else [each])]
                self.pairs[method] = [peer for peer in both if self.driver(peer[0]).exists()]

    def pairs_for(self, problem):
        definite = problem in self.definite or problem.split(":")[0] in self.definite
        return [pair for pair in self.pairs.items() if definite or pair[0].split(":")[0] not in self.needs_definite]

    def driver(self, program):
        if program == "other_petsc":
            return (self.arguments.other or self.folder / "none") / "bench/peers/petsc_bench"
        return self.folder / f"{program}_bench"

    def run(self, problem, ranks, program, method, huge=False, beside=None):
        """`beside`: the method that this is compared with, for a peer may have several."""
        a = self.arguments
        command = [self.mpiexec, "-n", str(ranks), str(self.driver(program)), problem, method, ",".join(a.precond)]
        first = a.first + (WARM_UP if "pipelcg" in method or "deep" in method else 0)
        command += [str(CYCLE), str(-(-a.more // CYCLE) * CYCLE)] if "gmres" in method else [str(first), str(a.more)]
        environment = {**os.environ, "GLIBC_TUNABLES": HUGE_PAGES} if huge else os.environ
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=a.timeout, check=False,
                                  env=environment)
            output, trouble = done.stdout, done.stderr.strip() if done.returncode else ""
        except subprocess.TimeoutExpired as expired:
            output, trouble = (expired.stdout or b"").decode(), f"took over {a.timeout} s"
        lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        said = {line["precond"]: line for line in lines}
        self.lines += [{**line, "driver": program} for line in lines[:1] if "program" in line and
                       all(program != other["driver"] for other in self.lines)]
        for precond in a.precond:
            line = said.get(precond, {"error": (trouble or "said nothing").split("\n")[0]})
            case = self.cases.setdefault((problem, ranks, precond, program, method, huge),
                                         {"ms": [], "errors": []})
            if "error" in line:
                case["errors"].append(line["error"])
            case["ms"].append(line.get("ms", math.nan))
            case.setdefault("beside", []).append(beside)
            case["restarted"] = case.get("restarted", False) or "restarted" in output
            case.update({key: line[key] for key in ("residual", "bytes", "nonzeros", "rows", "events") if key in line})
            if "triad" in line:
                self.triad.setdefault(ranks, []).append(line["triad"])

    def rounds(self, problem, ranks, method, peers):
        """How often a method and its peers were measured, without and with huge pages."""
        runs = [("stretto", method + CSR, False), *((*peer, True) for peer in peers)]
        return min(len(self.cases.get((problem, ranks, precond, *run), {"ms": []})["ms"])
                   for run in runs for precond in self.arguments.precond)

    def save(self):
        self.arguments.raw.write_text(json.dumps({
            "cases": [{"case": case, **values} for case, values in self.cases.items()], "triad": self.triad,
            "programs": self.lines, "seconds": self.seconds, "built": self.built}, indent=1))

    def all(self):
        """False: the time was up before all was measured."""
        a = self.arguments
        start = time.monotonic()
        revision = output_of("git", "describe", "--always", "--dirty", "--exclude", "*")
        for k in range(a.rounds):
            for problem in a.problems:
                for ranks in a.ranks:
                    for method, peers in self.pairs_for(problem):
                        if self.rounds(problem, ranks, method, peers) > k:
                            continue
                        if a.minutes and time.monotonic() - start > 60 * a.minutes:
                            return False
                        begin = time.monotonic()
                        self.run(problem, ranks, "stretto", method)
                        self.run(problem, ranks, "stretto", method + CSR)
                        for program, theirs in peers:
                            self.run(problem, ranks, program, theirs, beside=method)
                            self.run(problem, ranks, program, theirs, huge=True, beside=method)
                        self.seconds += time.monotonic() - begin
                        self.built += [revision] * (revision not in self.built)
                        self.save()
                        print(f"{time.monotonic() - start:6.0f} s: round {k + 1} of {a.rounds}, {problem}, "
                              f"{ranks_in_words(ranks)}, {method}", flush=True)
        return True

    def bandwidth(self, ranks):
        return statistics.median(self.triad[ranks])

    def comparisons(self):
        """A dict for each pair in each case: ours, theirs without and with huge pages, and the ratios ours/theirs."""
        for problem in self.arguments.problems:
            for ranks in self.arguments.ranks:
                for precond in self.arguments.precond:
                    for method, peers in self.pairs_for(problem):
                        ours, csr = (self.cases[problem, ranks, precond, "stretto", method + form, False]
                                     for form in ("", CSR))
                        for program, theirs in peers:
                            plain, huge = (measured_beside(
                                self.cases[problem, ranks, precond, program, theirs, huge], method)
                                for huge in (False, True))
                            floor = 1e3 * csr["bytes"] / self.bandwidth(ranks) if "bytes" in csr else math.nan
                            yield {
                                "problem": problem, "ranks": ranks, "precond": precond, "method": method,
                                "program": program, "peer_method": theirs, "floor_ms": floor,
                                "ours": ours, "csr": csr, "plain": plain, "huge": huge,
                                "ratio": ratios(ours, plain), "ratio_huge": ratios(ours, huge),
                                "ratio_csr": ratios(csr, plain), "ratio_csr_huge": ratios(csr, huge),
                                "same_steps": same_steps(ours, plain),
                            }


def measured_beside(case, method):
    """A peer's case, with the times that were measured beside this method."""
    return {**case, "ms": [ms for ms, other in zip(case["ms"], case.get("beside", [method] * len(case["ms"])))
                           if other == method]}


def ratios(ours, theirs):
    """Of each round."""
    return [a / b for a, b in zip(ours["ms"], theirs["ms"])]


def same_steps(ours, theirs):
    a, b = ours.get("residual", math.nan), theirs.get("residual", math.nan)
    return abs(a - b) <= SAME_STEPS * abs(a)


def shown(problem):
    """Without the folder of a file."""
    return re.sub(r"[^:,]*/", "", problem).replace(".mtx.gz", "")


def ranks_in_words(ranks):
    return f"{ranks} rank{'s' if ranks > 1 else ''}"


def with_range(values, digits):
    """Median and, of several, the smallest and the largest."""
    good = [value for value in values if math.isfinite(value)]
    if len(good) < len(values) or not good:
        return "failed"
    middle = f"{statistics.median(good):.{digits}f}"
    return middle if len(good) == 1 else f"{middle} ({min(good):.{digits}f}–{max(good):.{digits}f})"


def over_floor(case, floor):
    middle = statistics.median(case["ms"]) / floor
    return f"{middle:.2f}" if math.isfinite(middle) else "–"


PAGE = """# Benchmarks against PETSc and hypre

<!-- Written by scripts/bench_peers.py; do not edit. -->

Milliseconds per iteration of Stretto's methods and of their like elsewhere, measured in turn on one machine. To run
them again, which takes about {minutes}, and write this page again:

    make bench-peers{options}

{facts}

## Reading

{summary}

{reading}

## How it is measured

{measured}

{tables}
"""

# One point each; wrapped when the page is written.
MEASURED = """
Every program gets the same rows of the same matrix on the same ranks, from Stretto's generators, b = 1 and x₀ = 0; one
thread a rank. After {first} iterations ‖b − Ax‖/‖b‖ is compared: {agreement}.

The time of an iteration is (T({total}) − T({first})) / {more}, T(n) being the time of a solve of exactly n iterations,
from a barrier to the end of the last rank. Set-up and the first iterations cancel. Short solves are
repeated for half a second, and the shortest counts. Three small drivers (`bench/peers`) share this measure.

{rounds} Each entry is the median, with the smallest and the largest. A ratio is taken within a round, from runs that
follow each other, before the median is; so it need not be the quotient of two medians.

The deep pipelines and `pipelcg` have {first_deep} iterations in place of the first {first}, because Stretto's begins with {warm_up} of CG.
GMRES methods have one cycle of {cycle} iterations, then whole cycles, with preconditioners on the right; the first of the
pipelined ones is one of gmres. PETSc's gmres is as it comes: classical Gram–Schmidt, once.

Stretto runs as users get it, at a tolerance of 1e-8 that is not met: it computes ‖r‖ in every iteration, and its safeguards are on and in the times. In PETSc
norms are off (`KSP_NORM_NONE`) and the convergence test only counts. In hypre the tolerance is zero; BiCGSTAB computes
a norm in every iteration all the same. PETSc's `bcgs` is preconditioned from the right, as Stretto's is. `pipelcg` is
told that the spectrum lies between 0 and the largest sum of absolute values in a row.

*CSR*: the same with the matrix as compressed rows (`--storage csr`). Of itself Stretto stores rows that repeat, as those of
these constant coefficients do, only once, and a product then hardly reads the matrix. Both keep every value exactly. A
matrix whose values all differ is read without indices where its columns run in step, as on a regular grid.

*Floor*: the bytes that an iteration of Stretto's method has to move with compressed rows, over the bandwidth of the triad: for a product 12
bytes a nonzero and 20 a row, for each vector that a merged group of statements reads or writes 8 a row, for Jacobi 24
a row. The columns *× floor* divide by it, ours with CSR and theirs. What stays in cache from one pass to the next moves faster, so a
small problem can be below its floor. The triad is STREAM's, its bytes counted without write-allocate, on huge pages;
every run of Stretto's driver measures it (best of ten), and the median of all runs is taken.

*Huge pages*: with `GLIBC_TUNABLES={huge}`, which makes malloc ask for huge pages. Stretto's own large arrays always do.
"""

TABLE_HEAD = """
| Stretto | ms | CSR: ms | × floor | peer | ms | × floor | ours ÷ theirs | CSR ÷ theirs | huge pages: ms | × floor | ours ÷ theirs | CSR ÷ theirs |
|---|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|"""


def table_row(c):
    name = f"{NAMES[c['program']]} `{c['peer_method']}`"
    if c["plain"]["restarted"] or c["huge"]["restarted"]:
        name += " †"
    if not c["same_steps"]:
        name += " ‡"
    cells = [f"`{c['method']}`", with_range(c["ours"]["ms"], 2), with_range(c["csr"]["ms"], 2),
             over_floor(c["csr"], c["floor_ms"]), name]
    for case, ratio, csr in ((c["plain"], c["ratio"], c["ratio_csr"]), (c["huge"], c["ratio_huge"], c["ratio_csr_huge"])):
        cells += [with_range(case["ms"], 2), over_floor(case, c["floor_ms"]), f"**{with_range(ratio, 2)}**",
                  with_range(csr, 2)]
    return f"| {' | '.join(cells)} |"


def tables(bench, comparisons):
    text = []
    for problem in bench.arguments.problems:
        for ranks in bench.arguments.ranks:
            for precond in bench.arguments.precond:
                rows = [c for c in comparisons if (c["problem"], c["ranks"], c["precond"]) == (problem, ranks, precond)]
                ours = rows[0]["ours"]
                size = f"{ours['rows']} rows, {ours['nonzeros']} nonzeros, " if "rows" in ours else ""
                preconditioner = "no preconditioner" if precond == "none" else precond.capitalize()
                text.append(f"## {shown(problem)}, {preconditioner}, {ranks_in_words(ranks)}\n\n{size}triad "
                            f"{1e-9 * bench.bandwidth(ranks):.1f} GB/s.\n{TABLE_HEAD}")
                text[-1] += "".join(f"\n{table_row(row)}" for row in rows)
    if any(c["plain"]["restarted"] or c["huge"]["restarted"] for c in comparisons):
        text.append("† Restarted after a breakdown in some run; the time contains that.")
    if not all(c["same_steps"] for c in comparisons):
        text.append("‡ Takes other steps than Stretto's method, by the residual after the first iterations, or failed.")
    return "\n\n".join(text)


def verdict(comparisons, key):
    """How many of the comparisons Stretto wins, loses, or neither, in words."""
    done = [(c, c[key]) for c in comparisons if all(map(math.isfinite, c[key]))]
    if not done:
        return "nothing could be compared."
    won = sum(max(ratio) < 1 for _, ratio in done)
    lost = sorted(((c, ratio) for c, ratio in done if min(ratio) > 1), key=lambda each: -statistics.median(each[1]))
    middles = [statistics.median(ratio) for _, ratio in done]
    text = (f"less time than the peer in every round in {won} of {len(done)} comparisons, more in every round in "
            f"{len(lost)}, sometimes less and sometimes more in {len(done) - won - len(lost)}. The median of ours ÷ "
            f"theirs is {min(middles):.2f} to {max(middles):.2f}, in the middle {statistics.median(middles):.2f}.")
    if lost:
        text += " Most more: " + "; ".join(
            f"{c['method']} against {NAMES[c['program']]} {c['peer_method'].split()[0]} ({shown(c['problem'])}, "
            f"{c['precond']}, {ranks_in_words(c['ranks'])}: {statistics.median(ratio):.2f})"
            for c, ratio in lost[:5]) + "."
    return text


def floors(comparisons, case, program=None):
    values = [statistics.median(c[case]["ms"]) / c["floor_ms"] for c in comparisons
              if program in (None, c["program"])]
    values = [value for value in values if math.isfinite(value)]
    return f"{min(values):.2f} to {max(values):.2f}" if values else "nothing"


def summary(comparisons):
    """Geometric means of the ratios over the problems, the same method against PETSc's."""
    tables = []
    for precond in dict.fromkeys(c["precond"] for c in comparisons):
        for ranks in dict.fromkeys(c["ranks"] for c in comparisons):
            mine = [c for c in comparisons if (c["precond"], c["ranks"]) == (precond, ranks) and c["program"] != "hypre"]
            programs = list(dict.fromkeys(c["program"] for c in mine))
            rows = []
            for method, peer in dict.fromkeys((c["method"], c["peer_method"]) for c in mine):
                cells = []
                for program in programs:
                    for key in ("ratio", "ratio_huge"):
                        ratio = [statistics.median(c[key]) for c in mine
                                 if (c["method"], c["peer_method"], c["program"]) == (method, peer, program)]
                        ratio = [r for r in ratio if math.isfinite(r)]
                        cells.append(f"{statistics.geometric_mean(ratio):.2f} ({len(ratio)})" if ratio else "–")
                first = next(p for name, p in PAIRS[method] if name == "petsc")
                goal = f"{GOALS[method]:.2f}" if method in GOALS and peer == first else ""
                rows.append(f"| `{method}` ÷ `{peer}` | {' | '.join(cells)} | {goal} |")
            if rows:
                head = " | ".join(f"{NAMES[p]}{also}" for p in programs for also in ("", ", huge pages"))
                name = "no preconditioner" if precond == "none" else precond.capitalize()
                tables.append(f"Ours ÷ theirs, geometric mean over the problems (how many), {name}, {ranks_in_words(ranks)}:\n\n"
                              f"| | {head} | goal |\n|---|{'--:|' * (2 * len(programs) + 1)}\n" + "\n".join(rows))
    return "\n\n".join(tables)


def reading(comparisons):
    """The points to read from the tables."""
    peers = sorted({c["program"] for c in comparisons}, reverse=True)
    for program in peers:
        mine = [c for c in comparisons if c["program"] == program]
        for key, name in (("ratio", "as it is"), ("ratio_huge", "with huge pages")):
            yield f"**{NAMES[program]}, {name}**: Stretto takes {verdict(mine, key)}"
            yield (f"**{NAMES[program]}, {name}, against Stretto with compressed rows**: Stretto takes "
                   f"{verdict(mine, key.replace('ratio', 'ratio_csr'))}")
    theirs = "; ".join(f"{NAMES[program]} {floors(comparisons, 'plain', program)}, with huge pages "
                       f"{floors(comparisons, 'huge', program)}" for program in peers)
    yield (f"With compressed rows Stretto takes {floors(comparisons, 'csr')} times the floor, as it is "
           f"{floors(comparisons, 'ours')}; {theirs}.")
    yield ("On one node reductions cost little, so hiding them gains nothing: what these tables compare is how much "
           "memory an iteration moves, and how fast. The time to a solution depends on the number of iterations as "
           "well. Debian's packages are compiled for any x86-64 processor, Stretto for the one it runs on.")


def points(texts):
    """A list, wrapped."""
    return "\n".join(textwrap.fill(" ".join(text.split()), 120, initial_indent="- ", subsequent_indent="  ",
                                   break_long_words=False, break_on_hyphens=False) for text in texts)


def page(bench, comparisons, facts, seconds, options):
    a = bench.arguments
    different = [c for c in comparisons if not c["same_steps"]]
    agreement = (f"all pairs agree to {100 * SAME_STEPS:g} % or better" if not different else
                 f"{len(comparisons) - len(different)} of {len(comparisons)} pairs agree to {100 * SAME_STEPS:g} %, "
                 "the others are marked")
    minutes = max(1, round(seconds / 60))
    measured = MEASURED.format(
        first=a.first, first_deep=a.first + WARM_UP, warm_up=WARM_UP, cycle=CYCLE, more=a.more, total=a.first + a.more, agreement=agreement, huge=HUGE_PAGES,
        rounds="One round." if a.rounds == 1 else
        f"{a.rounds} rounds; in each, every method of Stretto and then its peers run one after the other.")
    return PAGE.format(
        minutes=f"{minutes} minute{'s' if minutes > 1 else ''}",
        options=f" BENCH_ARGS='{options}'" if options else "",
        facts=points(f"{name}: {value}" for name, value in facts.items()),
        summary=summary(comparisons),
        reading=points(reading(comparisons)),
        measured=points(measured.strip().split("\n\n")),
        tables=tables(bench, comparisons),
    )


def failures(comparisons):
    """What is wrong with the results, for the exit code."""
    for c in comparisons:
        where = f"{c['problem']}, {ranks_in_words(c['ranks'])}, {c['precond']}: "
        for name, case in ((c["method"], c["ours"]), (c["method"] + CSR, c["csr"]), (c["peer_method"], c["plain"]), (c["peer_method"], c["huge"])):
            if case["errors"]:
                yield f"{where}{name} failed: {case['errors'][0]}"
            elif not all(ms > 0 for ms in case["ms"]):
                yield f"{where}{name}: times {case['ms']}"
        if not c["same_steps"]:
            yield (f"{where}{c['method']} and {NAMES[c['program']]} {c['peer_method']} take different steps: residuals "
                   f"{c['ours'].get('residual')} and {c['plain'].get('residual')}")


def arguments_of(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/peers"))
    parser.add_argument("--other", type=pathlib.Path, help="another build, whose driver has another PETSc")
    parser.add_argument("--problems", nargs="+", default=["poisson3d:200", "poisson2d:1024"])
    parser.add_argument("--precond", nargs="+", default=["none", "jacobi"], choices=["none", "jacobi"])
    parser.add_argument("--ranks", nargs="+", type=int, default=[2])
    parser.add_argument("--methods", nargs="+", help="only these of Stretto's, and their peers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--first", type=int, default=5, help="iterations of the short solve")
    parser.add_argument("--more", type=int, default=50, help="iterations more in the long one, a multiple of 50 for "
                        "safeguards to count as often as they come")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for a run")
    parser.add_argument("--minutes", type=float, help="start nothing after these; run again to go on")
    parser.add_argument("--raw", type=pathlib.Path, help="what was measured (BUILD/benchmarks_raw.json)")
    parser.add_argument("--output", type=pathlib.Path, help="the page (docs/benchmarks.md)")
    parser.add_argument("--json", type=pathlib.Path, help="all results (BUILD/benchmarks.json)")
    parser.add_argument("--quick", action="store_true", help="one round of a small problem, to see that all works; "
                        "writes into BUILD")
    if "--quick" in argv:
        parser.set_defaults(problems=["poisson3d:32"], rounds=1, more=20)
    arguments = parser.parse_args(argv)
    name = "benchmarks_quick" if arguments.quick else "benchmarks"
    arguments.json = arguments.json or arguments.build / f"{name}.json"
    arguments.raw = arguments.raw or arguments.build / f"{name}_raw.json"
    if arguments.quick:
        arguments.raw.unlink(missing_ok=True)
    arguments.output = arguments.output or (arguments.build / f"{name}.md" if arguments.quick else
                                            pathlib.Path("docs/benchmarks.md"))
    return arguments


def main():
    arguments = arguments_of(sys.argv[1:])
    bench = Bench(arguments)
    if not any(bench.pairs.values()):
        raise SystemExit(f"{arguments.build} has no driver for PETSc or hypre, or Stretto no method asked for; cmake "
                         "says what it found")
    facts = {"date": datetime.date.today().isoformat(), **machine(), "load before": f"{os.getloadavg()[0]:.2f}"}
    if not bench.all():
        print(f"The time is up; what was measured is in {arguments.raw}: run again to go on")
        return 0
    comparisons = list(bench.comparisons())
    facts.update(programs(arguments.build, bench.driver, bench.lines, bench.built))
    # Not what is measured.
    options = re.sub(r"--(build|other|json|raw|minutes) \S+ ?", "", " ".join(map(shown, sys.argv[1:]))).strip()
    arguments.json.write_text(json.dumps({
        "facts": facts,
        "settings": {key: str(value) if isinstance(value, pathlib.Path) else value
                     for key, value in vars(arguments).items()},
        "seconds": bench.seconds,
        "triad": {str(ranks): values for ranks, values in bench.triad.items()},
        "comparisons": comparisons,
    }, indent=1).replace("NaN", "null"))
    arguments.output.write_text(page(bench, comparisons, facts, bench.seconds, options))
    print(f"Written: {arguments.output}, {arguments.json}")
    wrong = list(failures(comparisons))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
