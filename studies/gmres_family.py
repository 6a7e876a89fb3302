# SPDX-License-Identifier: BSD-3-Clause
"""What do pipelined and s-step GMRES gain, and do they converge as gmres? Time per iteration beside the figures of Yamazaki
et al. 2017, the dense work beside OpenBLAS (make bench builds it), convergence by restarts, and what they solve. Half an hour;
the timings want a quiet machine."""

import csv
import json
import pathlib
import re
import tempfile
from functools import partial

from . import families, picture, run
from .families import PRECONDITIONERS, mean_ratio, of, ratios, solved
from .matrix_file import name_of
from .text import listed, points, spread, table

METHODS = ("gmres", "gmres:orth=cgs", "gmres:orth=mgs", "pipelined_gmres:l=1", "pipelined_gmres:l=2",
           "pipelined_gmres:l=5", "pipelined_gmres:l=10", "s_step_gmres:s=5", "s_step_gmres:s=10",
           "pipelined_s_step_gmres:l=2,t=5", "pipelined_s_step_gmres:l=3,t=5")
GENERATED = ("poisson2d:100", "poisson3d:24", "aniso2d:60", "jump2d:60", "convdiff2d:100,peclet=5",
             "convdiff2d:100,peclet=50", "convdiff2d:100,peclet=500", "convdiff2d:100,peclet=5000",
             "convdiff3d:24,peclet=20", "convdiff3d:24,peclet=500")
HOPELESS = ("bayer10", "nsjac", "bcsstk13", "olm1000")  # far from solved by GMRES(30) with Jacobi or nothing
RTOL, CYCLE, CYCLES = 1e-8, 30, 400
# Convergence by restarts: problem, preconditioner (the paper's is sparse approximate inverses of blocks).
COURSES = (("poisson2d:100", "none"), ("poisson2d:100", "block_jacobi:sai"), ("convdiff2d:100,peclet=50", "none"),
           ("convdiff2d:100,peclet=50", "block_jacobi:sai"), ("jump2d:60", "jacobi"))
# Yamazaki et al. 2017: speed-up over GMRES. Fig. 11 on 120 processes, without blocking; Fig. 13 on 60; Fig. 15 on one
# node, MPI, 12 processes ("mpi 12 · 1"), the first two also on two.
PAPER = {
    "gmres": {"pipelined_gmres:l=2": "1.14", "pipelined_gmres:l=5": "1.18", "pipelined_gmres:l=10": "1.21",
              "s_step_gmres:s=10": "1.29 – 1.92"},
    "gmres20": {"pipelined_gmres:l=2": "0.89", "pipelined_gmres:l=5": "0.91", "pipelined_gmres:l=10": "0.95",
                "s_step_gmres:s=5": "1.14", "s_step_gmres:s=10": "1.20",
                "pipelined_s_step_gmres:l=2,t=5,tau=0": "1.03", "pipelined_s_step_gmres:l=2,t=5,tau=0.001": "1.07"},
    "gmres60": {"s_step_gmres:s=10": "1.56 – 2.08"},
}
# What is timed: title, and cycles enough for a best one.
BENCHES = {"gmres": ("GMRES(30), 2D Laplace (Figs. 11 and 15)", 120),
           "gmres20": ("GMRES(20), 27-point Laplace (Fig. 13)", 80), "gmres60": ("GMRES(60), 2D Laplace (Fig. 15)", 600)}
EVENTS = {"blocks cut": "a block was dependent", "made more careful": "two cycles were not as good",
          "stood still": "two restarts gained nothing"}


def measure_panels(study):
    command = [study.stretto.path.parent / "bench" / "panels", "--benchmark_format=json"]
    command += ["--benchmark_min_time=0.01", "--benchmark_filter=basis:30"] if study.options.quick else []
    code, out, err = run.call(command)
    if code:
        raise run.Failed(f"{command[0]}: {err.strip()[-200:]}")
    names = {"triad_GB/s": "triad"}
    found = {"block": [], "pipelined": []}
    for each in json.loads(out)["benchmarks"]:
        kind = each["name"].split("/")[0]
        if kind in found and each.get("run_type") == "iteration":
            sizes = {name: int(value) for name, value in re.findall(r"(\w+):(\d+)", each["name"])}
            kept = ("triad_GB/s", "products", "update", "update+products", "blas_products", "blas_update", "blas_both", "merged",
                    "basic", "blas", "without_change")
            found[kind].append({**sizes, **{names.get(name, name): each[name] for name in kept if name in each}})
    for row in found["block"]:
        row["of_blas"] = row["update+products"] / row["blas_both"]
    for row in found["pipelined"]:
        k = row["basis"]
        row |= {"of_basic": row["merged"] / row["basic"], "of_blas": row["merged"] / row["blas"],
                "of_orthogonalised": (2 * k + 3) / (k + 4) * row.pop("without_change") / row["merged"]}
    return found


def measure_solved(study):
    files = [path for path in study.files() if name_of(path) not in HOPELESS]
    runs = families.honest_runs(study, [*families.few(study, files), *families.few(study, GENERATED)], METHODS, (RTOL,))
    classic, records, slower = of(runs, method="gmres"), [], []
    for method in METHODS:
        own = of(runs, method=method)
        records.append({"method": method, "solved": [solved(of(own, precond=p)) for p in PRECONDITIONERS],
                        "runs": len(of(own, precond="none")), "mean": mean_ratio(own, classic, "iterations"),
                        "worst": max(ratios(own, classic)), **{name: sum(any(text in said for _, said in each["events"])
                                                                         for each in own) for name, text in EVENTS.items()}})
        worst = families.worst(own, classic)
        slower += [worst] if worst["iterations"] > 1.2 * worst["classic"] else []
    return {"max_it": study.options.max_it, "records": records, "slower": slower, "checked": families.checked(runs),
            "unsolved": families.unsolved(runs)}


def measure_courses(study):
    """True residuals at the restarts, whose first is that of the start."""
    with tempfile.TemporaryDirectory() as folder:
        def one(case):
            number, ((problem, precond), method) = case
            path = pathlib.Path(folder) / f"{number}.csv"
            [result] = study.stretto.solve(problem, [method], rhs="random", precond=precond, rtol=RTOL, max_it=CYCLE * CYCLES,
                                           history=path, true_residuals=True)
            with path.open() as file:
                residuals = [float(row["true_1"]) for row in csv.DictReader(file)]
            return {"problem": problem, "precond": precond, "method": method, "status": result["status"],
                    "iterations": result["iterations"], "restarts": residuals[CYCLE - 1::CYCLE]}

        cases = [(course, method) for course in families.few(study, COURSES) for method in METHODS]
        return {"records": families.pooled(study, one, enumerate(cases))}


PARTS = {**{name: lambda study, name=name: families.benched(study, name, iterations=BENCHES[name][1]) for name in BENCHES},
         "panels": measure_panels, "courses": measure_courses, "solved": measure_solved}
options = partial(families.options, rounds=1)


# What follows reads the data alone.

READS = "{reads[0]:.1f} + {writes[0]:.1f} → {reads[1]:.1f} + {writes[1]:.1f}"
TIMES = {"method": "{method}", "basic, ms": "{basic:.2f}", "merged, ms": "{merged:.2f}", "speed-up": "{speed_up:.2f}",
         "paper's": "{paper}", "products, ms": "{apply:.2f}", "vectors, ms": "{vectors:.2f}", "of triad": "{of_triad:%}",
         "reads + writes, basic → merged": READS}
BLOCKS = {"threads": "{threads}", "basis": "{basis}", "block": "{block}", "triad, GB/s": "{triad:.0f}",
          "products": "{products:%}", "update": "{update:%}", "both in one pass": "{update+products:%}",
          "OpenBLAS: products": "{blas_products:%}", "its update": "{blas_update:%}", "its both": "{blas_both:%}",
          "time of OpenBLAS / ours": "{of_blas:.1f}"}
CHANGE = {"threads": "{threads}", "basis": "{basis}", "triad, GB/s": "{triad:.0f}", "one pass": "{merged:%}",
          "pass for each statement": "{basic:%}", "OpenBLAS, BLAS-2": "{blas:%}", "time of basic / merged": "{of_basic:.2f}",
          "of BLAS-2 / merged": "{of_blas:.2f}", "of merged / without the change of basis": "{of_orthogonalised:.2f}"}
SOLVED = {"method": "{method}", **{f"converged, {p}": f"{{solved[{k}]}} of {{runs}}" for k, p in enumerate(PRECONDITIONERS)},
          "iterations of gmres's, mean": "{mean:.3f}", "worst": "{worst:.2f}", **{name: f"{{{name}}}" for name in EVENTS}}


def bench_section(name, bench):
    title, _ = BENCHES[name]
    rows = [{**row, "paper": PAPER[name].get(row["method"], "")} for row in bench["records"]]
    note = f"\n\n{bench['note']}" if "note" in bench else ""
    return (f"### {title}\n\n`stretto bench {name}`: {families.bench_words(bench)}.{note}\n\n{table(rows, TIMES)}\n\n"
            f"Measured: {families.facts({name: bench}, name)}.")


def cases_of(courses):
    return list(dict.fromkeys((each["problem"], each["precond"]) for each in courses))


def deviation(each, classic):
    """The largest of a residual at a restart from gmres's, relative."""
    return max((abs(a / b - 1) for a, b in zip(each["restarts"], classic["restarts"])), default=0)


def courses_table(courses):
    rows = []
    for method in METHODS:
        row = {"method": method}
        for case in cases_of(courses):
            [each], [classic] = (of(courses, problem=case[0], precond=case[1], method=m) for m in (method, "gmres"))
            status = "" if each["status"] == "converged" else f" {each['status']}"
            cycles, off = -(-each["iterations"] // CYCLE), deviation(each, classic)
            row[", ".join(case)] = f"{cycles} ({each['iterations']}){status}, {f'{off:.0e}' if off else 0}"
        rows.append(row)
    return table(rows, {title: lambda row, title=title: row[title] for title in rows[0]})


def said_of_courses(courses):
    alike, other = [], []
    for case in cases_of(courses):
        own = of(courses, problem=case[0], precond=case[1])
        [classic] = of(own, method="gmres")
        cycles = [-(-each["iterations"] // CYCLE) / -(-classic["iterations"] // CYCLE) for each in own]
        if max(deviation(each, classic) for each in own) == 0:
            alike.append(" with ".join(case))
        else:
            other.append(f"{' with '.join(case)}, where cycles are {spread(cycles)} of gmres's")
    lines = []
    if alike:
        lines.append(f"**All methods have the residuals of gmres at every restart, to all digits kept**, on {listed(alike)}.")
    if other:
        lines.append(f"Not so on {listed(other)}: long before the end rounding decides what a restarted method does, and gmres "
                     "with another Gram–Schmidt goes another way, too.")
    return points(lines)


def courses_picture(courses):
    """gmres of each course; the other methods faint, which shows where they go another way."""
    named, beside = {}, []
    for colour, case in zip(picture.COLOURS, cases_of(courses)):
        for each in of(courses, problem=case[0], precond=case[1]):
            line = list(enumerate(each["restarts"], 1))
            if each["method"] == "gmres":
                named[", ".join(case)] = line, colour, None
            else:
                beside.append((line, colour))
    return picture.curves("gmres, and ten other methods in faint lines: true residual at the restarts",
                          ("restarts", "‖b − Ax‖ / ‖b‖"), named, (0, 10), beside)


def report(data):
    courses, panels, part = data["courses"]["records"], data["panels"], data["solved"]
    most = max(part["records"], key=lambda row: row["worst"])
    return {
        "benches": "\n\n".join(bench_section(name, data[name]) for name in BENCHES if name in data),
        "blocks": table(panels["block"], BLOCKS), "change": table(panels["pipelined"], CHANGE),
        "courses problems": "; ".join(" with ".join(case) for case in cases_of(courses)), "rtol": f"{RTOL:.0e}",
        "courses": courses_table(courses), "said of courses": said_of_courses(courses), "max it": f"{part['max_it']}",
        "cases": f"{len(PRECONDITIONERS) * part['records'][0]['runs']}", "solved": table(part["records"], SOLVED),
        "checked": families.verdict(part["checked"]),
        "slower": points(f"{row['method']}: {row['problem']}, {row['precond']}: {row['iterations']} iterations, gmres "
                         f"{row['classic']}" for row in part["slower"]) or "None.",
        "unsolved": families.unsolved_list(part["unsolved"]),
        "said of solved": f"In the mean the methods take {spread([row['mean'] for row in part['records']])} of gmres's "
                          f"iterations, at most {most['worst']:.2f} times as many ({most['method']}).",
        "left out": listed(HOPELESS), **{f"{name} facts": families.facts(data, name) for name in ("panels", "courses", "solved")},
    }, {"gmres_restarts.svg": courses_picture(courses)}
