# SPDX-License-Identifier: BSD-3-Clause
"""What does an iteration of the BiCGStab methods take, and what do they solve? Times beside the tables of Krasnopolsky 2019,
what is solved at four tolerances, and how their safeguards were chosen. Half an hour; the timings want a quiet machine."""

from . import families, run
from .families import PRECONDITIONERS, TOLERANCES, mean_ratio, of, solve_all, solved
from .matrix_file import name_of
from .text import listed, points, spread, table

METHODS = ("bicgstab", "improved_bicgstab", "reordered_bicgstab", "pipelined_bicgstab")
GENERATED = ("poisson2d:100", "poisson3d:24", "aniso2d:80", "jump2d:60", "convdiff2d:100,peclet=5",
             "convdiff2d:100,peclet=50", "convdiff2d:100,peclet=500", "convdiff2d:200,peclet=20",
             "convdiff3d:24,peclet=20", "convdiff3d:24,peclet=500")
HOPELESS = ("bayer10", "nsjac")  # hours of runs that end nowhere
DEFAULTS = {"check": 50, "gap": 1.5e-8, "breakdown": 1e-12}
CHECKS = ({"check": 0}, {"check": 10}, {"check": 25}, {}, {"check": 100}, {"check": 25, "gap": 0}, {"check": 25, "gap": 1e-6})
BREAKDOWNS = ({"breakdown": 0}, {"breakdown": 1e-15}, {}, {"breakdown": 1e-10})
CHOOSING = (1e-8, 1e-12)  # tolerances at which the safeguards were chosen
# Krasnopolsky 2019, Table 4: seconds of an iteration on one node of Lomonosov-2, basic and merged; m = 1, 4, 16.
TABLE4 = {
    ("bicgstab", "none"): ((0.062, 0.058), (0.181, 0.164), (0.65, 0.59)),
    ("improved_bicgstab", "none"): ((0.074, 0.061), (0.236, 0.182), (0.87, 0.66)),
    ("pipelined_bicgstab", "none"): ((0.087, 0.069), (0.282, 0.212), (1.06, 0.78)),
    ("bicgstab", "copy"): ((0.066, 0.064), (0.201, 0.189), (0.72, 0.68)),
    ("reordered_bicgstab", "copy"): ((0.072, 0.065), (0.224, 0.196), (0.81, 0.7)),
    ("pipelined_bicgstab", "copy"): ((0.107, 0.085), (0.368, 0.279), (1.39, 1.03)),
}
PAPER_COLUMNS = (1, 4, 16)


def problems(study):
    files = [path for path in study.files() if name_of(path) not in HOPELESS]
    return [*families.few(study, sorted(files, key=lambda path: path.stat().st_size)), *families.few(study, GENERATED, 1)]


def measure_honesty(study):
    runs = families.honest_runs(study, problems(study), METHODS, families.few(study, TOLERANCES))
    records = []
    for method in METHODS:
        for precond in PRECONDITIONERS:
            own = of(runs, method=method, precond=precond)
            records.append({"method": method, "precond": precond, "solved": [solved(of(own, rtol=t)) for t in TOLERANCES],
                            "runs": len({each["problem"] for each in own}),
                            "products": mean_ratio(own, of(runs, method="bicgstab", precond=precond))})
    return {"max_it": study.options.max_it, "records": records, "checked": families.checked(runs),
            "unsolved": families.unsolved(runs)}


def measure_safeguards(study):
    """The pipelined method with other checks, all methods with other thresholds of breakdown."""
    found = {}
    for name, methods, variants in (("checks", METHODS[-1:], CHECKS), ("breakdowns", METHODS, BREAKDOWNS)):
        runs = {}
        for number, options in enumerate(families.few(study, variants, 4)):
            def one(case, options=options):
                problem, method, precond, rtol = case
                [each] = solve_all(study, problem, [run.with_options(method, options)], precond, rtol)
                return {**each, "method": method}

            runs[number] = families.pooled(study, one, [(q, m, p, t) for q in problems(study) for m in methods
                                                        for p in PRECONDITIONERS for t in CHOOSING])
            study.say(f"{name} {options}")
        default = runs[variants.index({})]
        found[name] = [{**DEFAULTS, **variants[number], "solved": solved(own), "runs": len(own),
                        "products": [mean_ratio(of(own, method=m), of(default, method=m)) for m in methods],
                        "fell_back": sum(each["finished_by"] != each["method"] for each in own),
                        "iterations": sum(each["iterations"] for each in own)} for number, own in runs.items()]
    return found


def measure_times(study):
    """With compressed rows, as the paper has them, and with Stretto's own choice, which stores equal rows once."""
    return {storage: families.benched(study, "bicgstab", problem="poisson3d:200", storage=storage)
            for storage in ("csr", "auto")}


PARTS = {"honesty": measure_honesty, "safeguards": measure_safeguards, "times": measure_times}
options = families.options


# What follows reads the data alone.

METHOD = {"method": "{method}", "precond": "{precond}"}
TIMES = {**METHOD, "m": "{columns}", "basic, ms": "{basic:.1f}", "merged, ms": "{merged:.1f}", "gain": "{gain:%}",
         "paper's gain": "{paper:%}", "of triad": "{of_triad:%}",
         "reads + writes, basic → merged": "{reads[0]:.0f} + {writes[0]:.0f} → {reads[1]:.0f} + {writes[1]:.0f}"}
AGAINST = {**METHOD, "basic": "{basic:.2f}", "merged": "{merged:.2f}", "paper, basic": "{paper[0]:.2f}",
           "paper, merged": "{paper[1]:.2f}"}
HONESTY = {**METHOD, **{f"{rtol:.0e}": f"{{solved[{k}]}} of {{runs}}" for k, rtol in enumerate(TOLERANCES)},
           "products, of bicgstab's": "{products:.2f}"}
COMMON = {"converged": "{solved} of {runs}", "products, of the default's": lambda row: " / ".join(
    f"{ratio:.2f}" if ratio else "–" for ratio in row["products"]), "fell back": "{fell_back}", "iterations": "{iterations}"}


def times_table(bench):
    rows = []
    for row in bench["records"]:
        paper = TABLE4.get((row["method"], row["precond"]))
        m = PAPER_COLUMNS.index(row["columns"]) if paper and row["columns"] in PAPER_COLUMNS else None
        rows.append({**row, "paper": None if m is None else 1 - paper[m][1] / paper[m][0]})
    return table(rows, TIMES)


def against_table(records):
    """Beside bicgstab without a preconditioner, m = 1, and the same of the paper."""
    ours = {(row["method"], row["precond"]): row for row in records if row["columns"] == 1}
    classic, paper = ours["bicgstab", "none"], TABLE4["bicgstab", "none"][0]
    return table([{"method": key[0], "precond": key[1], **{form: ours[key][form] / classic[form] for form in ("basic", "merged")},
                   "paper": [ours_ / theirs for ours_, theirs in zip(times[0], paper)]}
                  for key, times in TABLE4.items() if key in ours], AGAINST)


def single_table(records):
    """m columns together over m solves of one."""
    rows = {}
    for row in records:
        if row["of_single"] is not None and row["columns"] > 1:
            rows.setdefault((row["method"], row["precond"]), {})[row["columns"]] = row["of_single"]
    columns = sorted({m for row in rows.values() for m in row})
    return table([{"method": key[0], "precond": key[1], **{f"m{m}": row.get(m) for m in columns},
                   **{f"paper{m}": TABLE4[key][k][1] / (m * TABLE4[key][0][1]) for k, m in enumerate(PAPER_COLUMNS)}}
                  for key, row in rows.items() if key in TABLE4],
                 {**METHOD, **{f"m = {m}": f"{{m{m}:.2f}}" for m in columns},
                  **{f"paper, m = {m}": f"{{paper{m}:.2f}}" for m in PAPER_COLUMNS[1:]}})


def said(bench):
    """What merging gains, for one right-hand side and several."""
    lines = []
    for method, precond in dict.fromkeys((row["method"], row["precond"]) for row in bench["records"]):
        own = [row for row in bench["records"] if (row["method"], row["precond"]) == (method, precond)]
        gains = [100 * row["gain"] for row in own]
        lines.append(f"{method}{', preconditioned,' * (precond == 'copy')} {spread(gains, 0)} %")
    return "; ".join(lines) + "."


def report(data):
    csr, auto, honesty, safeguards = data["times"]["csr"], data["times"]["auto"], data["honesty"], data["safeguards"]
    return {
        "bench": families.bench_words(csr), "times": times_table(csr), "against": against_table(csr["records"]),
        "single": single_table(csr["records"]), "auto bench": families.bench_words(auto), "auto times": times_table(auto),
        "reading": points([f"Merging gains with compressed rows: {said(csr)}", f"With equal rows stored once: {said(auto)}"]),
        "max it": f"{honesty['max_it']}", "honesty": table(honesty["records"], HONESTY),
        "checked": families.verdict(honesty["checked"]), "unsolved": families.unsolved_list(honesty["unsolved"]),
        "left out": listed(HOPELESS), "choosing": " and ".join(f"{t:.0e}" for t in CHOOSING),
        "checks": table(safeguards["checks"], {"check": "{check:g}", "gap": "{gap:g}", **COMMON}),
        "breakdowns": table(safeguards["breakdowns"], {"breakdown": "{breakdown:g}", **COMMON}),
        **{f"{part} facts": families.facts(data, part) for part in PARTS}}, {}
