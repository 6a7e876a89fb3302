# SPDX-License-Identifier: BSD-3-Clause
"""The page that bench_peers.py writes of what it measured."""

import dataclasses
import math
import re
import statistics
import textwrap

NAMES = {"stretto": "Stretto", "petsc": "PETSc", "other_petsc": "other PETSc", "hypre": "hypre", "belos": "Belos"}
# ours ÷ PETSc's same method, two ranks, no preconditioner, geometric mean over the problems: what we want.
GOALS = {("cg", "cg"): 0.60, ("pipelined_cg", "pipecg"): 0.50, ("deep_pipelined_cg:l=1", "pipelcg"): 0.45,
         ("deep_pipelined_cg:l=2", "pipelcg"): 0.45, ("deep_pipelined_cg:l=3", "pipelcg"): 0.45,
         ("gmres", "gmres"): 0.70, ("pipelined_gmres:l=1", "pgmres"): 0.55, ("bicgstab", "bcgs"): 0.60,
         ("improved_bicgstab", "ibcgs"): 0.55, ("pipelined_bicgstab", "pipebcgs"): 0.50}
GOAL_DISTINCT, GOAL_SOLVE = 0.85, 0.5
GOALS_PRODUCT = {"poisson3d": 0.45, "jump3d": 0.8}
DISTINCT = "jump3d"  # whose values are all distinct

# Two programs that take the same steps agree in ‖b − Ax‖/‖b‖ after the first few iterations to this. Most agree to ten
# digits; pipelcg has four left after five iterations with l = 2, three with l = 3.
SAME_STEPS = 1e-2


def base(program):
    return program.removesuffix("+huge")


def name_of(program):
    return NAMES[base(program)] + (", huge pages" if program.endswith("+huge") else "")


def shown(problem):
    """Without the folder of a file."""
    return re.sub(r"[^:,\s]*/(?=\w)", "", problem).replace(".mtx.gz", "")


def in_words(ranks):
    return f"{ranks} rank{'s' if ranks > 1 else ''}"


def precond_in_words(precond):
    return "no preconditioner" if precond == "none" else precond.capitalize()


@dataclasses.dataclass
class Comparison:
    """A method of ours beside a peer's, on a problem."""

    problem: str
    ranks: int
    precond: str
    method: str
    program: str
    peer_method: str
    ours: dict
    theirs: dict
    triad: list

    @property
    def ratios(self):
        """Ours ÷ theirs of each round that both ended."""
        theirs = dict(zip(self.theirs["at"], self.theirs["ms"]))
        return [ms / theirs[at] for at, ms in zip(self.ours["at"], self.ours["ms"]) if ms and theirs.get(at)]

    @property
    def ratio(self):
        return statistics.median(self.ratios) if self.ratios else math.nan

    def floor_ms(self, of):
        """Bytes of an iteration of our method over the bandwidth of the triad, in our storage or as compressed rows."""
        return 1e3 * self.ours.get(of, math.nan) / statistics.median(self.triad)

    @property
    def same_steps(self):
        a, b = self.ours.get("residual"), self.theirs.get("residual")
        return a is not None and b is not None and abs(a - b) <= SAME_STEPS * abs(a)

    @property
    def where(self):
        return f"{shown(self.problem)}, {in_words(self.ranks)}, {precond_in_words(self.precond)}"

    def failures(self):
        for name, case in ((self.method, self.ours), (f"{name_of(self.program)} {self.peer_method}", self.theirs)):
            if None in case["ms"] and not case.get("short"):
                yield f"{self.where}: {name} failed: {case.get('error', 'no time')}"
        if not self.same_steps and "residual" in self.theirs and "pipelcg" not in self.peer_method:
            yield (f"{self.where}: {self.method} and {name_of(self.program)} {self.peer_method} take different steps: "
                   f"residuals {self.ours.get('residual')} and {self.theirs['residual']}")

    def record(self):
        """What follows from the cases, for the JSON."""
        fields = {name: getattr(self, name) for name in ("problem", "ranks", "precond", "method", "program", "peer_method")}
        finite = {"ratio": self.ratio, "ours_over_floor": median(self.ours) / self.floor_ms("bytes"),
                  "theirs_over_floor": median(self.theirs) / self.floor_ms("csr_bytes")}
        return fields | {"rounds": len(self.ratios), "same_steps": self.same_steps} | {
            name: round(value, 4) if math.isfinite(value) else None for name, value in finite.items()}


def median(case):
    good = [ms for ms in case["ms"] if ms]
    return statistics.median(good) if good else math.nan


def with_range(values, digits=2, none="failed"):
    """Median and, of several, the smallest and the largest."""
    good = [value for value in values if value is not None]
    if not good:
        return none
    middle = f"{statistics.median(good):.{digits}f}"
    return middle if len(good) == 1 else f"{middle} ({min(good):.{digits}f}–{max(good):.{digits}f})"


def number(value, digits=2):
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def points(texts):
    """A list, wrapped."""
    return "\n".join(textwrap.fill(" ".join(text.split()), 120, initial_indent="- ", subsequent_indent="  ",
                                   break_long_words=False, break_on_hyphens=False) for text in texts)


def rounds_in_words(comparisons):
    """How often methods were timed beside PETSc and beside others, and on how many problems."""
    parts = []
    methods = [c for c in comparisons if c.method != "product"]
    for name, mine in (("PETSc", [c for c in methods if "petsc" in c.program]),
                       ("others", [c for c in methods if "petsc" not in c.program])):
        counts = sorted({len(c.theirs["ms"]) for c in mine})
        if counts:
            problems = len({c.problem for c in mine})
            parts.append(f"{name} {'–'.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} round{'s' * (counts[-1] > 1)} of "
                         f"{problems} problem{'s' * (problems > 1)}")
    return ", ".join(parts)


def groups(comparisons, *fields):
    """Comparisons that agree in these fields, in the order of the first."""
    found = {}
    for c in comparisons:
        found.setdefault(tuple(getattr(c, field) for field in fields), []).append(c)
    return found.items()


def mean(comparisons):
    ratios = [c.ratio for c in comparisons if math.isfinite(c.ratio)]
    return (statistics.geometric_mean(ratios), len(ratios)) if ratios else (math.nan, 0)


def cell(comparisons):
    value, count = mean(comparisons)
    return f"{value:.2f} ({count})" if count else "–"


def marked(text, missed):
    return f"**{text}**" if missed else text


def summary(comparisons):
    """Geometric means of the ratios over the problems, and which goals they miss."""
    text, missed = [], []
    for (precond, ranks), mine in groups([c for c in comparisons if c.method != "product"], "precond", "ranks"):
        programs = list(dict.fromkeys(c.program for c in mine))
        distinct = [c for c in mine if c.problem.startswith(DISTINCT)]
        goals = (precond, ranks) == ("none", 2)
        petscs = [program for program in programs if "petsc" in program]
        rows = []
        for (method, peer), same in groups([c for c in mine if "petsc" in c.program], "method", "peer_method"):
            goal = GOALS.get((method, peer.split()[0]), math.inf) if goals else math.inf
            cells = []
            for program in petscs:
                value, _ = mean([c for c in same if c.program == program])
                cells.append(marked(cell([c for c in same if c.program == program]), value > goal))
                if value > goal:
                    missed.append(f"`{method}` beside {name_of(program)}: {value:.3f} ({goal:.2f})")
            worst = max([c for c in distinct if (c.method, c.peer_method) == (method, peer) and "petsc" in c.program
                         and c.ratios], key=lambda c: c.ratio, default=None)
            if goals and worst and worst.ratio > GOAL_DISTINCT:
                missed.append(f"`{method}` on {DISTINCT} beside {name_of(worst.program)}: {worst.ratio:.3f} "
                              f"({GOAL_DISTINCT:.2f})")
            cells += [f"{goal:.2f}" if math.isfinite(goal) else ""] * goals
            cells.append(marked(number(worst.ratio), goals and worst.ratio > GOAL_DISTINCT) if worst else "–")
            rows.append(f"| `{method}` ÷ `{peer}` | {' | '.join(cells)} |")
        if rows:
            text.append(textwrap.fill(
                f"Ours ÷ PETSc's, {precond_in_words(precond)}, {in_words(ranks)}: geometric mean over the problems (how "
                "many), and the largest of the ratios where all values are distinct"
                + (f" (goal {GOAL_DISTINCT}):" if goals else ":"), 120) +
                f"\n\n| | {' | '.join(map(name_of, petscs))} |{' goal |' * goals} all distinct |\n"
                f"|---|{'--:|' * (len(petscs) + 1 + goals)}\n" + "\n".join(rows))
        others = [f"{name_of(program)} `{peer}` {cell(same)}" for (program, method, peer), same in
                  groups([c for c in mine if "petsc" not in c.program], "program", "method", "peer_method")]
        if others:
            text.append(textwrap.fill(f"Ours ÷ others', likewise: {'; '.join(others)}.", 120))
    text.append(f"Goals of means, and of values all distinct, that are missed: {'; '.join(missed) or 'none'}.")
    return "\n\n".join(text)


def huge_pages(comparisons):
    """What the peers gain by huge pages: with ÷ without, in the same round."""
    cases = {}
    for c in comparisons:
        if c.method != "product":
            cases.setdefault((base(c.program), c.problem, c.ranks, c.precond, c.peer_method), {})[c.program] = c.theirs
    ratios = {}
    for (program, *_), both in cases.items():
        if len(both) == 2:
            without, with_them = both[program], both[f"{program}+huge"]
            known = dict(zip(without["at"], without["ms"]))
            found = [ms / known[at] for at, ms in zip(with_them["at"], with_them["ms"]) if ms and known.get(at)]
            ratios.setdefault(program, []).extend([statistics.median(found)] if found else [])
    return "; ".join(f"{NAMES[program]} {statistics.median(values):.2f}, from {min(values):.2f} to {max(values):.2f}"
                     for program, values in ratios.items() if values)


def verdict(comparisons):
    """How many of the comparisons Stretto wins, loses, or neither, in words."""
    done = [c for c in comparisons if c.ratios]
    often = [c for c in done if len(c.ratios) > 2]
    won = sum(max(c.ratios) < 1 for c in often)
    lost = sorted((c for c in often if min(c.ratios) > 1), key=lambda c: -c.ratio)
    middles = [c.ratio for c in done]
    text = (f"{min(middles):.2f} to {max(middles):.2f} of its time in {len(done)} comparisons, in the middle "
            f"{statistics.median(middles):.2f}.")
    if often:
        text += (f" Of {len(often)} with three rounds and more, Stretto takes less time in every round in {won}, more in every "
                 f"round in {len(lost)}.")
    if lost:
        text += " More, the largest: " + "; ".join(
            f"{c.method} against {c.peer_method.split()[0]} ({c.where}: {c.ratio:.2f})" for c in lost[:5]) + "."
    return text


def reading(comparisons):
    """The points to read from the tables."""
    for (program,), mine in groups(comparisons, "program"):
        if any(c.ratios for c in mine):
            yield f"**{name_of(program)}**: Stretto takes {verdict(mine)}"
    over = [median(c.ours) / c.floor_ms("bytes") for c in comparisons]
    over = [value for value in over if math.isfinite(value)]
    if over:
        yield (f"Stretto takes {min(over):.2f} to {max(over):.2f} times its floor, in the middle "
               f"{statistics.median(over):.2f}.")
    gains = huge_pages(comparisons)
    if gains:
        yield ("Huge pages: the time of an iteration with them over that without, in the middle of all cases and their "
               f"range: {gains}.")
    yield ("On one node reductions cost little, so hiding them gains nothing: what these tables compare is how much "
           "memory an iteration moves, and how fast. Debian's packages are compiled for any x86-64 processor, Stretto "
           "for the one it runs on.")


def products(bench, comparisons):
    """Products alone: ours and what it is of every program's."""
    mine = [c for c in comparisons if c.method == "product"]
    programs = list(dict.fromkeys(c.program for c in mine))
    rows = []
    for (problem, ranks), same in groups(mine, "problem", "ranks"):
        about, ours = bench.abouts.get(f"stretto {problem}, {ranks}", {}), same[0]
        ratios = {c.program: f"{with_range(c.ratios)}" if c.ratios else "–" for c in same}
        goal = GOALS_PRODUCT.get(problem.split(":")[0])
        rows.append(f"| {shown(problem)}, {in_words(ranks)} | {about.get('storage')}, "
                    f"{about.get('bytes_per_nonzero', math.nan):.2f} | {number(median(ours.ours))} | "
                    f"{number(median(ours.ours) / ours.floor_ms('bytes'))} | "
                    f"{' | '.join(ratios.get(program, '–') for program in programs)} | {goal or ''} |")
    if not rows:
        return ""
    return ("## Products alone\n\n" + textwrap.fill(
                "y = A b by itself: how Stretto stores the matrix and its bytes for a nonzero, milliseconds of a product (in the "
                "middle of 31), how many times its floor that is, and ours ÷ theirs with what we want against PETSc.", 120) +
            f"\n\n| | stored, B/nonzero | ms | × floor | {' | '.join(map(name_of, programs))} | goal |\n"
            f"|---|---|--:|--:|{'--:|' * len(programs)}--:|\n" + "\n".join(rows) + "\n\n")


def best_solve(solves, problem, ranks, program):
    """(seconds, method, preconditioner, how often) of the method whose solves, all with a recomputed residual that is
    small enough, take least time in the middle."""
    good = [(statistics.median(line["seconds"] for line in lines), method, precond, len(lines))
            for (at, on, precond, by, method), lines in solves.items() if (at, on, by) == (problem, ranks, program)
            and all(line.get("converged") and line["residual"] <= 1.01e-8 for line in lines)]
    return min(good, default=None)


def tried(solves, problem, ranks, program):
    return any(key[:2] == (problem, ranks) and key[3] == program for key in solves)


def solved_with(found):
    seconds, method, precond, _ = found
    return f"{seconds:.2f} `{method}`{'' if precond == 'none' else f', {precond.capitalize()}'}"


def solutions(bench):
    """Time to solution: our best against the best of each program."""
    solves = bench.solves()
    programs = [program for program in dict.fromkeys(key[3] for key in solves) if program != "stretto"]
    rows, ratios, often = [], {program: [] for program in programs}, set()
    for problem, ranks in dict.fromkeys(key[:2] for key in solves):
        ours = best_solve(solves, problem, ranks, "stretto")
        cells = []
        for program in programs:
            theirs = best_solve(solves, problem, ranks, program)
            if ours and theirs:
                often |= {ours[3], theirs[3]}
                ratios[program].append(ours[0] / theirs[0])
            cells.append(f"{solved_with(theirs)}: {marked(f'{ours[0] / theirs[0]:.2f}', ours[0] / theirs[0] > GOAL_SOLVE)}"
                         if theirs and ours else "none" if tried(solves, problem, ranks, program) else "–")
        rows.append(f"| {shown(problem)}, {in_words(ranks)} | {solved_with(ours) if ours else 'none'} | {' | '.join(cells)} |")
    if not rows:
        return ""
    means = [f"{marked(f'{statistics.geometric_mean(values):.3f}', statistics.geometric_mean(values) > GOAL_SOLVE)} "
             f"({len(values)})" if values else "–" for values in ratios.values()]
    of = sorted({f"`{method}`" for *_, program, method in solves if program == "stretto"})
    times = "–".join(map(str, dict.fromkeys((min(often), max(often))))) if often else "1"
    return ("## Time to solution\n\n" + textwrap.fill(
                f"Seconds of the fastest solve to ‖b − Ax‖ ≤ 1e-8 ‖b‖ with {', '.join(of)} or what the peer has for them, "
                "without preconditioner and with Jacobi, as far as either was measured, and ours ÷ theirs (goal "
                f"{GOAL_SOLVE}, marked where missed); medians of {times} runs; –: not measured; none: not solved in "
                f"{bench.arguments.timeout} s. Counted only where the residual, recomputed, is that small; norms and "
                "convergence tests are on in every program. Other preconditioners: [large problems](large_problems.md).", 120,
                break_on_hyphens=False) +
            f"\n\n| | Stretto | {' | '.join(map(name_of, programs))} |\n|---|---|{'---|' * len(programs)}\n"
            + "\n".join(rows) + f"\n| geometric mean | | {' | '.join(means)} |\n\n")


PAGE = """# Benchmarks against PETSc, hypre and Belos

<!-- Written by scripts/bench_peers.py; do not edit. -->

{intro}

    {command}

kron:FILE,100 is the Kronecker sum of the FILE of the SuiteSparse Matrix Collection (HB/bcsstk16, vanHeukelum/cage10), in the
folder that STRETTO_MATRICES names, with a 1D Laplacian of 100 points.

{facts}

## Reading

{summary}

{reading}

{products}{solutions}## What binds

{binds}

## How it is measured

{measured}

{tables}
"""

# What bounds the methods on a node, and what was tried: what is known besides the times. One point each, wrapped when the
# page is written, here and below.
BINDS = """
**What is counted.** This is a virtual machine without counters of its processor: bytes are those that the methods' own text
moves (`stretto solve --json`; all in `tests/data/costs.json`), instructions are counted by valgrind for AVX2
(`tests/data/instructions.json`): for a nonzero of a product 9.6 as compressed rows, 7.3 in slices, 7.1 in step, 5.6 in
blocks, 4.5 where rows repeat. Pages: above, and [architecture](architecture.md#huge-pages).

**gmres.** Both programs read the basis twice in an iteration: for the dot products of the new product with it, and to
subtract. What delayed reorthogonalisation does with the two sweeps is to orthogonalise twice, where PETSc does so once. With
m = 30 an iteration moves 35 vectors of 8 bytes a row and 16 for the product here; there 37, with those that norm and scaling
read again, 20 and the compressed rows: bytes alone give 0.74 with seven points, more with fewer, 0.82 for values all
distinct. One sweep takes products of vectors that are not yet
orthogonal (`pipelined_gmres`, or `s_step_gmres` with 12 vectors an iteration), or a stretch of all vectors held in cache as long
as the product needs its neighbours. That was tried with seven points outside of the library (update, product and dot products
a stretch after the other, 8 to 32 vectors): 0.70 to 0.87 of the time where neighbours are 1,000 rows away, 0.75 to 1.05
where they are 16,000, as in a cube of 128, and 0.80 to 1.03 at 40,000. The product first in the group of the dot products,
as in `cg`, would read two vectors of 35 less: not tried. Tried as well: orthogonalising once (`orth=cgs`), which moves as much. In use: the last
vector of a cycle in one pass, taller tiles, and longer stretches without prefetching.

**Rows that repeat.** A product reads x, writes y and hardly anything else, so that loads of x from cache, seven or 27 for a
row, and not bytes are what takes the time: 27 points take some times their floor, and a fifth of PETSc's time or less.

**Rows without order, short ones (kron:cage10).** A product there is bound not by bytes but by loading: for a nonzero
its value, its column and an entry of x, of which many are not in the first cache, 91 KB being in use. Measured in one
process, it takes 0.5 to 0.8 ns a nonzero on one core as compressed rows, as slices and with values as codes alike, and
gathering by vector instructions takes more. So two cores, which share the memory, gain more from fewer bytes than one.

**Blocks (kron:bcsstk16).** Its nodes have three unknowns; blocks of their rows load an entry of x once for three, and as
the matrix is symmetric, one of two mirror images is kept: 5.1 bytes a nonzero where compressed rows take 12. Its 15,779
different values are too many for codes, and single precision does not keep them. On one core such a product is bound by
adding up the mirror image's sums, not by memory.

**Values all distinct (jump3d).** On a grid, symmetric: a value is read once for two entries, 4.7 bytes a nonzero. What is
left are vectors: with Jacobi an iteration of `cg` moves 13 (8 of its own, 2 of the product, 3 of Jacobi), and the matrix as
much as 4.

**PETSc 3.26**, compiled for the processor of this machine, takes about twice as long for a product as Debian's 3.18, which
is compiled for any; on another processor (family 25 model 17) both took the same. Here Debian's is the harder to beat.

**Time to solution** follows the time of an iteration, as all take the same number of them. Tried for the BiCGStab
methods: to form dot products while a product's rows are in cache, as `cg` does, which takes 0.97 to 1.2 of the time.

**The deep pipelines** begin with 20 iterations of CG and hand over to it where their basis drifts: on kron:bcsstk16,
which is ill-conditioned, after one or two iterations of their own with l = 2 and 3, and on jump3d, whose coefficients
differ by a factor of up to 10,000, after few with l = 3. What is timed there is an iteration with these safeguards off; a
user gets those of `cg`. On kron:cage10 GMRES methods converge within their second cycle.
"""

MEASURED = """
Every program gets the same rows of the same matrix on the same ranks, b = 1 and x₀ = 0; one thread a rank. PETSc's
matrix is of its standard type, `aij`, compressed rows. A small driver for each (`bench/peers`) sets the problem up once
and rests until it is told what to run; in a round all methods of all programs run one after the other. After {first}
iterations, {warm_up} more in deep pipelines, or a cycle, ‖b − Ax‖/‖b‖ is compared: {agreement}.

The time of an iteration is that of the {more} ({peers_more} in peers) that follow the first {first}, on the slowest
rank, from clocks read where the program tests for convergence; hypre and Belos have no such place, and there it is a
difference of two solves, each the shortest of those that fit into a second, and failed where the longer one is not
longer. Stretto's deep pipelines begin with {warm_up} iterations of CG, which are not counted; where they hand over to CG,
because the basis drifts, their own iterations count, up to the one in brackets; fewer than ten, and the time is that of
the method with these safeguards off (*steady*). Too short: less than a second cycle. GMRES methods have a cycle of {cycle} before, and
one that counts, with preconditioners on the right; PETSc's gmres is as it comes: classical Gram–Schmidt, once.

Each entry is the median of the rounds, with the smallest and the largest; one without these is of a single round, and
may be what something else on the machine made of it. A ratio is taken within a round, before the median is; where a
peer is measured at another time than others, Stretto's time is taken again beside it.

Stretto runs as users get it, at a tolerance of 1e-8, and what is timed ends where that is met (in brackets): it
computes ‖r‖ in every iteration, and its safeguards are on and in the times. In PETSc norms are off (`KSP_NORM_NONE`)
and the convergence test only counts; hypre's BiCGSTAB computes a norm in every iteration all the same. `pipelcg` is
told that the spectrum lies between 0 and the largest sum of absolute values in a row.

*Floor*: the bytes that an iteration of Stretto's method has to move, over the bandwidth of the triad: for each vector
that a merged group of statements reads or writes 8 a row, for Jacobi 24 a row, for a product 16 a row and the matrix,
as Stretto stores it in the column *× floor* of ours, as compressed rows (4 a row and 12 a nonzero) in those of peers.
It is not the bytes of the peer's own method, which moves more vectors. What stays in cache from one pass to the next
moves faster, so a small problem can be below its floor; and the triad is STREAM's, 24 bytes counted where 32 are moved
with write-allocate, so that a pass that only reads can be, too. Stretto's driver measures it on huge pages (best of
three) beside each of its times, and the median is taken.

*PETSc 3.26* is that of PyPI's source package (`pip download --no-binary :all: --no-deps --no-build-isolation petsc`),
configured with `--with-debugging=0 --with-fc=0 --with-cxx=0 --with-x=0 COPTFLAGS='-O3 -march=native'`, which
`make bench-peers` builds (`scripts/petsc.sh`).

*Huge pages*: with `GLIBC_TUNABLES=glibc.malloc.hugetlb=1`, which makes malloc ask for huge pages. Stretto's own large
arrays do by default.
"""


def table(bench, comparisons):
    """One case: rows of methods and peers, a peer without and with huge pages side by side."""
    rows = []
    for (method, peer, method_of_peer), both in groups(
            [dataclasses.replace(c, program=base(c.program)) for c in comparisons], "method", "program", "peer_method"):
        cells = [f"`{method}`", with_range(both[0].ours["ms"], none="too short" if both[0].ours.get("short") else "failed"), number(median(both[0].ours) / both[0].floor_ms("bytes")),
                 f"{NAMES[peer]} `{method_of_peer}`{'' if all(c.same_steps for c in both) else ' ‡'}"]
        if "ended_at" in both[0].ours:
            cells[0] += f" (to {both[0].ours['ended_at']})"
        if both[0].ours.get("steady"):
            cells[0] += " (steady)"
        for c in both:
            floor = math.nan if c.ours.get("short") else median(c.theirs) / c.floor_ms("csr_bytes")
            cells += [with_range(c.theirs["ms"]), number(floor),
                      f"**{with_range(c.ratios) if c.ratios else '–'}**"]
        rows.append(f"| {' | '.join(cells)} |")
    first = comparisons[0]
    about = bench.abouts.get(f"stretto {first.problem}, {first.ranks}", {})
    return (f"## {first.where}\n\n{about.get('rows')} rows, {about.get('nonzeros')} nonzeros; Stretto stores them "
            f"{about.get('storage')}, {about.get('bytes_per_nonzero', math.nan):.2f} bytes a nonzero; triad "
            f"{1e-9 * statistics.median(first.triad):.1f} GB/s.\n\n"
            "| Stretto | ms | × floor | peer | ms | × floor | ours ÷ theirs | huge pages: ms | × floor | ours ÷ theirs |\n"
            "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|\n" + "\n".join(rows))


def page(bench, comparisons, command):
    a = bench.arguments
    for program in ("petsc", "other_petsc"):
        if "program" in bench.abouts.get(program, {}):
            NAMES[program] = f"PETSc {bench.abouts[program]['program'].split()[1]}"
    different = [c for c in comparisons if not c.same_steps]
    agreement = (f"all pairs agree to {100 * SAME_STEPS:g} % or better" if not different else
                 f"{len(comparisons) - len(different)} of {len(comparisons)} pairs agree to {100 * SAME_STEPS:g} %; "
                 "the others failed or take other steps, and are marked ‡")
    often = "; ".join(f"{precond_in_words(precond)}, {in_words(ranks)}, {rounds_in_words(mine)}"
                      for (precond, ranks), mine in groups([c for c in comparisons if c.ratios], "precond", "ranks"))
    measured = MEASURED.format(
        first=a.first, warm_up=a.warm_up, cycle=a.cycle, more=a.more, peers_more=a.peers_more,
        agreement=agreement)
    return PAGE.format(
        intro=textwrap.fill(
            "Milliseconds per iteration of Stretto's methods and of their like elsewhere, measured in turn on one machine. "
            f"What is here took {bench.seconds / 60:.0f} min: {often}. "
            + ("It was measured in pieces, with the revisions named below. " if len(bench.built) > 1 else "")
            + "To run all of it, five rounds of everything (hours), and write this page:", 120),
        command=command,
        facts=points(f"{name}: {value}" for name, value in bench.facts.items()),
        summary=summary(comparisons),
        reading=points(reading(comparisons)),
        products=products(bench, comparisons),
        solutions=solutions(bench),
        binds=points(BINDS.strip().split("\n\n")),
        measured=points(measured.strip().split("\n\n")),
        tables="\n\n".join(table(bench, mine) for _, mine in groups(comparisons, "problem", "ranks", "precond")),
    )
