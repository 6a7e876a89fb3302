# SPDX-License-Identifier: BSD-3-Clause
"""Do pipelined conjugate gradients take the iterations of cg, and say the truth? Iterations beside those of cg at four
tolerances, what an iteration moves and takes, how the thresholds of the deep pipelines were chosen, and what PETSc says of
the same systems. The part `peers` needs make bench-peers to have been built."""

import json
import math
import statistics
from functools import partial

from . import families, run
from .families import PRECONDITIONERS, TOLERANCES, is_solved, of, ratios, solve_all, solved
from .matrix_file import name_of
from .text import bold, points, table

BUILD = "build/peers"
DEPTHS = (1, 2, 3, 5)
DEEP = tuple(f"deep_pipelined_cg:l={depth}" for depth in DEPTHS)
METHODS = ("cg", "single_reduction_cg", "pipelined_cg", *DEEP)
GENERATED = ("poisson2d:64", "poisson2d:128", "poisson3d:20", "poisson3d27:16", "aniso2d:64,epsilon=1e-2",
             "aniso2d:64,epsilon=1e-3", "jump2d:64,contrast=100", "jump2d:64,contrast=1e4", "jump2d:48,contrast=1e6",
             "jump3d:16,contrast=1e4", "diagonal:poisson2d,64")
DEFINITE = ("bcsstk13", "bcsstk16", "lsc_F_2", "nos3", "pyamg_bar", "wathenSmall")
DEFAULTS = {"growth": 100, "drift": 1e-9, "check": 50, "gap": 0.1, "warmup": 20}
THRESHOLDS = ({}, *({"growth": g} for g in (10, 30, 300, 1000, 1e300)), *({"drift": d} for d in (1e-12, 1e-10, 1e-6)),
              {"check": 0}, {"check": 25}, {"gap": 0.01}, {"gap": 1}, *({"warmup": w} for w in (5, 10, 40)))
CHOOSING, SEEDS = (1e-8, 1e-12), (1, 2, 3)  # tolerances and right-hand sides at which the thresholds were chosen
BENCHED = (("poisson2d:2048", "csr"), ("poisson2d:2048", "auto"), ("diagonal:poisson2d,2048", "csr"))
RTOL, MAX_IT, TIMEOUT = 1e-12, 5000, 10  # beside PETSc


def laplacian_bounds(n, epsilon=1.0):
    """Of poisson2d:n, or aniso2d:n."""
    low, high = (4 * f(math.pi / (2 * (n + 1))) ** 2 for f in (math.sin, math.cos))
    return low * (1 + epsilon), high * (1 + epsilon)


# Problem, preconditioner, and the ends of the spectrum where they are known.
RELIED = (("poisson2d:100", "none", laplacian_bounds(100)), ("poisson2d:200", "none", laplacian_bounds(200)),
          ("aniso2d:100,epsilon=1e-3", "none", laplacian_bounds(100, 1e-3)), ("jump2d:100,contrast=1e5", "none", None),
          ("jump2d:100,contrast=1e5", "jacobi", None), ("nos3", "none", None), ("bcsstk16", "jacobi", None),
          ("wathenSmall", "none", None), ("pyamg_bar", "none", None))
PETSC = ("cg", "groppcg", "pipecg", "pipecgrr", *(f"pipelcg {depth}{shifts}" for shifts in ("", " bounds")
                                                  for depth in (1, 2, 3)))


def label(method):
    return method.replace("deep_pipelined_cg:l=", "p(") + (")" if ":l=" in method else "")


def problems(study):
    files = [path for path in study.files() if name_of(path) in (DEFINITE[3:4] if study.options.quick else DEFINITE)]
    return [*families.few(study, GENERATED), *files]


def itself(each):
    """The part of the iterations that the method did before another took over."""
    over = next((at for at, text in each["events"] if "going on with" in text), None)
    return 1 if over is None or not each["iterations"] else min(1, over / each["iterations"])


def measure_iterations(study):
    runs = families.honest_runs(study, problems(study), METHODS, families.few(study, TOLERANCES))
    systems = {families.key(each) for each in of(runs, method="cg") if is_solved(each)}
    good = [each for each in runs if families.key(each) in systems]
    classic, records = of(good, method="cg"), []
    for method in METHODS[1:]:
        for precond in PRECONDITIONERS:
            own = of(good, method=method, precond=precond)
            found = [ratios(of(own, rtol=rtol), classic) for rtol in TOLERANCES]
            records.append({"method": method, "precond": precond, "mean": [statistics.mean(f) if f else None for f in found],
                            "worst": [max(f, default=None) for f in found], "solved": solved(own), "systems": len(own),
                            "over": sum(ratio > 1.1 for ratio in ratios(own, classic)),
                            "itself": statistics.mean(map(itself, own))})
    return {"max_it": study.options.max_it, "problems": len({each["problem"] for each in runs}), "systems": len(systems),
            "records": records, "worst": [families.worst(of(good, method=method), classic) for method in METHODS[1:]],
            "checked": families.checked(runs), "unsolved": families.unsolved(runs)}


def measure_thresholds(study):
    """Where cg converges: what it takes, and the deep pipelines with all thresholds."""
    thresholds = families.few(study, THRESHOLDS)
    specs = [run.with_options(method, options) for options in thresholds for method in DEEP]

    def one(case):
        problem, precond, rtol, seed = case
        classic = solve_all(study, problem, ["cg"], precond, rtol, f"random:{seed}")
        return classic + solve_all(study, problem, specs, precond, rtol, f"random:{seed}") if solved(classic) else []

    cases = [(q, p, t, s) for q in problems(study) for p in PRECONDITIONERS for t in families.few(study, CHOOSING, 1)
             for s in families.few(study, SEEDS, 1)]
    runs = [each for found in families.pooled(study, one, cases) for each in found]
    records = []
    for options in thresholds:
        own = [of(runs, method=run.with_options(method, options)) for method in DEEP]
        found = [ratios(each, of(runs, method="cg")) for each in own]
        every = [ratio for each in found for ratio in each]
        records.append({**{name: options.get(name) for name in DEFAULTS}, "mean": statistics.mean(every),
                        "worst": list(map(max, found)), "over": sum(ratio > 1.1 for ratio in every), "cases": len(every),
                        "failed": sum(len(each) - solved(each) for each in own),
                        "itself": [statistics.mean(map(itself, each)) for each in own]})
    return {"records": records}


def measure_times(study):
    return {f"{problem}, {storage}": families.benched(study, "cg", problem=problem, storage=storage)
            for problem, storage in families.few(study, BENCHED, 1)}


def peers_record(problem, precond, method, says, converged=False, residual=None, iterations=None, **_):
    return {"problem": problem, "precond": precond, "method": method, "says": says, "converged": converged,
            "residual": residual, "iterations": iterations, "exceeds": residual is not None and residual > RTOL}


def measure_peers(study):
    """What PETSc and Stretto say of the same systems, and ‖b − Ax‖/‖b‖; b = 1."""
    driver, records, petsc = study.driver("petsc_bench"), [], None
    for name, precond, bounds in families.few(study, RELIED):
        problem = study.files()[0].with_name(f"{name}.mtx.gz") if name in DEFINITE else name
        for method in PETSC:
            kind, *more = method.split(" ")
            spec = kind
            if more:
                low, high = (0, 0) if more[1:] != ["bounds"] else bounds or (None, None)
                spec += f" -ksp_pipelcg_pipel {more[0]}"
                if high is not None:  # else the driver gives 0 and the largest row sum
                    spec += f" -ksp_pipelcg_lmin {low} -ksp_pipelcg_lmax {high}"
            command = {"do": "solve", "method": spec, "precond": precond, "rtol": RTOL, "max_iterations": MAX_IT}
            code, out, _ = run.call([study.stretto.mpiexec, "-n", 1, driver, problem], TIMEOUT, json.dumps(command) + "\n", 1)
            lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
            petsc = petsc or lines and lines[0]["program"].split()[1]
            said = {"says": f"no end within {TIMEOUT} s" if code == run.LATE else "ended without a word"}
            said = lines[1] if len(lines) > 1 else said
            records.append(peers_record(name, precond, method, **said))
        results = study.stretto.solve(problem, METHODS, rhs="ones", precond=precond, rtol=RTOL, max_it=MAX_IT)
        records += [peers_record(name, precond, f"Stretto {method}", result["status"], result["converged"],
                                 result["relative_residual"], result["iterations"]) for method, result in zip(METHODS, results)]
        study.say(name)
    return {"petsc": petsc, "records": records}


PARTS = {"iterations": measure_iterations, "thresholds": measure_thresholds, "times": measure_times, "peers": measure_peers}
options = partial(families.options, max_it=20000)


# What follows reads the data alone.

ITERATIONS = {
    "method": lambda row: label(row["method"]), "precond": "{precond}",
    **{f"{rtol:.0e}": f"{{mean[{k}]:.3f}} ({{worst[{k}]:.3f}})" for k, rtol in enumerate(TOLERANCES)},
    "solved": "{solved} of {systems}", "over 1.1": "{over}", "itself": "{itself:%}"}
DEPTH_WORDS = " / ".join(map(str, DEPTHS))
CHOSEN = {
    **{name: lambda row, name=name, value=value: f"({value:g})" if row[name] is None else f"{row[name]:g}"
       for name, value in DEFAULTS.items()},
    "iterations of cg's, mean": "{mean:.4f}",
    f"worst, l = {DEPTH_WORDS}": " / ".join(f"{{worst[{k}]:.3f}}" for k in range(len(DEPTHS))),
    "over 1.1": "{over} of {cases}", "failed": "{failed}",
    f"itself, l = {DEPTH_WORDS}": " / ".join(f"{{itself[{k}]:%}}" for k in range(len(DEPTHS)))}
TIMES = {"method": lambda row: label(row["method"]), "precond": "{precond}", "basic, ms": "{basic:.1f}",
         "merged, ms": "{merged:.1f}", "A": "{apply:.1f}", "M⁻¹": "{precondition:.1f}", "vectors and local dots": "{vectors:.1f}",
         "waiting": "{reductions:.1f}", "of triad": "{of_triad:%}"}


def said_of_iterations(part):
    deep = [row for row in part["records"] if "deep" in row["method"]]
    others = [row["itself"] for row in deep]
    most = {name: max(worst for row in part["records"] if row["method"] == name for worst in row["worst"] if worst)
            for name in METHODS[1:]}
    return points((
        (f"**The deep pipelines take at most {max(most[m] for m in DEEP):.3f} times the iterations of cg here, and solve "
         f"{sum(row['solved'] for row in deep)} of the {sum(row['systems'] for row in deep)} systems that cg solves.** They do "
         f"{100 * min(others):.0f} to {100 * max(others):.0f} % of the iterations themselves; cg does the others after the "
         "hand-over, in the same Krylov space. A deep pipeline is for systems that are not too hard."),
        (f"pipelined_cg takes up to {most['pipelined_cg']:.1f} times as many iterations, where much accuracy is asked of an "
         "ill-conditioned system. Its residual replacement keeps what it returns true, not its convergence fast.")))


def said_of_thresholds(records):
    rows = [(row, [f"{name} {row[name]:g}" for name in DEFAULTS if row[name] is not None]) for row in records]
    over = [f"{', '.join(names) or 'the defaults'} ({100 * (max(row['worst']) - 1):.0f} %, {row['over']} of {row['cases']})"
            for row, names in rows if row["over"]]
    return f"More than a tenth more iterations, at most and in how many cases: {'; '.join(over) or 'nowhere'}."


def peers_cell(each):
    if each["residual"] is None:
        return each["says"]
    text = f"{each['residual']:.1e} ({each['iterations']})"
    if not each["converged"]:
        return f"{text} {each['says'].removeprefix('DIVERGED_').lower()}"
    return bold(text, each["exceeds"])


def peers_table(records, names, short):
    rows = {}
    for each in records:
        rows.setdefault((each["problem"], each["precond"]), {})[each["method"]] = each
    return table([{"problem": where[0], "precond": where[1], **{n: peers_cell(row[n]) for n in names if n in row}}
                  for where, row in rows.items()],
                 {"problem": "{problem}", "precond": "{precond}",
                  **{title: lambda row, name=name: row.get(name, "–") for name, title in zip(names, short)}})


def peers_verdict(records):
    """How often the word converged is true, by program."""
    text = []
    for program in ("PETSc", "Stretto"):
        own = [each for each in records if each["method"].startswith("Stretto") == (program == "Stretto")]
        said = [each for each in own if each["converged"]]
        false = [each["residual"] / RTOL for each in said if each["exceeds"]]
        text.append(f"{program} says converged in {len(said)} of {len(own)} runs; in {len(false)} of these ‖b − Ax‖ is larger"
                    + (f", up to {max(false):.2g} times" if false else ""))
    return "; ".join(text) + "."


def moved(times):
    rows = {(row["method"], row["precond"]): row for row in next(iter(times.values()))["records"]} if times else {}
    return table([{"l": depth, "flops": 6 * depth + 10, "none": rows[method, "none"], "copy": rows[method, "copy"]}
                  for depth, method in zip(DEPTHS, DEEP) if (method, "none") in rows],
                 {"l": "{l}", "flops per row, Table 1": "{flops}",
                  **{title: f"{{{p}[reads][{k}]:.0f}} + {{{p}[writes][{k}]:.0f}}" for title, p, k in (
                      ("reads + writes, basic", "none", 0), ("merged", "none", 1), ("preconditioned, basic", "copy", 0),
                      ("preconditioned, merged", "copy", 1))}})


def report(data):
    iterations, peers = data["iterations"], data.get("peers", {"petsc": "", "records": []})
    thresholds = data.get("thresholds", {"records": []})["records"]
    times = {name: bench for name, bench in data.get("times", {}).items() if name != "facts"}
    stretto = [f"Stretto {method}" for method in METHODS]
    shifts = [name.replace("pipelcg", "l =") for name in PETSC[4:]]
    return {
        "count": f"{iterations['problems']}", "files": ", ".join(DEFINITE), "max it": f"{iterations['max_it']}",
        "systems": f"{iterations['systems']}",
        "iterations": table(iterations["records"], ITERATIONS),
        "worst": points(f"{label(row['method'])}: {row['iterations'] / row['classic']:.3f} ({row['problem']}, {row['precond']}, "
                        f"{row['rtol']:.0e}: {row['iterations']} iterations, cg {row['classic']})"
                        for row in iterations["worst"]),
        "checked": families.verdict(iterations["checked"]), "unsolved": families.unsolved_list(iterations["unsolved"]),
        "said of iterations": said_of_iterations(iterations), "choosing": " and ".join(f"{t:.0e}" for t in CHOOSING),
        "thresholds": table(thresholds, CHOSEN), "said of thresholds": said_of_thresholds(thresholds),
        "moved": moved(times),
        "times": "\n\n".join(f"### {name}\n\n{families.bench_words(bench)}.\n\n{table(bench['records'], TIMES)}"
                             for name, bench in times.items()) or "Not measured.",
        "rtol": f"{RTOL:.0e}", "peers max it": f"{MAX_IT}", "petsc": peers["petsc"],
        "peers verdict": peers_verdict(peers["records"]), "peers classic": peers_table(peers["records"], PETSC[:4], PETSC[:4]),
        "peers deep": peers_table(peers["records"], PETSC[4:], shifts),
        "peers stretto": peers_table(peers["records"], stretto, list(map(label, METHODS))),
        **{f"{part} facts": families.facts(data, part) for part in PARTS}}, {}
