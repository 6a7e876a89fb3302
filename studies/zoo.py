# SPDX-License-Identifier: BSD-3-Clause
"""Which methods and preconditioners solve which real matrices? Every .mtx.gz of a folder with every method and preconditioner
that fit, on one, two and four ranks, and PETSc's like of them; each answer is checked without the libraries. By make zoo."""

import collections
import json
import pathlib
import re
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from . import machine, run
from .matrix_file import Matrix, values_of
from .text import bold, listed, points, table

BUILD = "build/peers"
RTOL, MAX_IT, TIMEOUT, RANKS = 1e-8, 500, 60, (1, 2, 4)
SLACK = 1 + 1e-6  # of a residual recomputed with other roundings
# PETSc's preconditioner of the same family.
PETSC = {
    "none": "-pc_type none",
    "jacobi": "-pc_type jacobi",
    "block_jacobi:ilu0": "-pc_type bjacobi -sub_pc_type ilu",
    "block_jacobi:ic0": "-pc_type bjacobi -sub_pc_type icc",
    "block_jacobi:lu": "-pc_type bjacobi -sub_pc_type lu",
    "block_jacobi:cholesky": "-pc_type bjacobi -sub_pc_type cholesky",
    "additive_schwarz:ilu0": "-pc_type asm -pc_asm_overlap 1",
    "additive_schwarz:ilu0,restricted=0": "-pc_type asm -pc_asm_overlap 1 -pc_asm_type basic",
    "amg": "-pc_type hypre -pc_hypre_type boomeramg",
}
PETSC_METHODS = {"cg": "-ksp_type cg", "bicgstab": "-ksp_type bcgs -ksp_pc_side right",
                 "gmres": "-ksp_type gmres -ksp_pc_side right"}
PREPARED = (("block_jacobi:ilu0", "equilibrate"), ("block_jacobi:ilut", "equilibrate,metis"))


def options(parser):
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (%(default)s)")
    parser.add_argument("--only", default="", help="only matrices whose names match this expression")


def choices(listing):
    """(preconditioner, steps before) to try, from what the program lists."""
    for kind in listing["preconditioners"]:
        inner = [o["choices"] for o in kind["options"] if o["name"] == "inner"]
        if kind["name"] == "block_jacobi":
            yield from ((f"{kind['name']}:{name}", "") for name in inner[0])
        elif inner:
            yield f"{kind['name']}:ilu0", ""
            yield f"{kind['name']}:ilu0,restricted=0", ""
        else:
            yield kind["name"], ""
    yield from PREPARED


def results_of(study, path, definite, general, precond, prepare, ranks, folder):
    """A run of several methods; methods that refuse this system or preconditioner are left out."""
    methods = [*definite, *general]
    while methods:
        words = run.words_of({"rhs": "A*ones", "precond": precond, "prepare": prepare, "rtol": RTOL, "max_it": MAX_IT,
                              "threads": 1, "json": folder / "run.json", "solution": folder / "{}.mtx"})
        command = study.stretto.command(ranks, "solve", path, *words, *(f"--method={method}" for method in methods))
        _, _, err = run.call(command, TIMEOUT)
        refused = re.search(r"^stretto: ([\w=]+) needs (.*)", err, re.MULTILINE)
        if not refused:
            break
        if refused[1] not in methods:  # a local solver, which no method can help
            return []
        methods = [m for m in methods if m not in (definite if refused[1] in definite else [refused[1]])]
    found = folder / "run.json"
    runs = json.loads(found.read_text()) if found.exists() and methods else []
    runs = runs if isinstance(runs, list) else [runs]
    # What the time did not reach counts as not solved.
    return runs + [{"method": method, "status": f"over {TIMEOUT} s", "converged": False, "iterations": 0,
                    "relative_residual": None, "seconds": {"solve": 0}}
                   for method in methods if method not in {each["method"] for each in runs}]


def stretto_of(study, listing, matrix, path, symmetric):
    """Every run of one matrix, with its recomputed residual."""
    definite = [m["name"] for m in listing["methods"] if "definite" in m["needs"]]
    general = [m["name"] for m in listing["methods"] if "definite" not in m["needs"]]

    def one(task):
        (precond, prepare), ranks = task
        found = []
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for each in results_of(study, path, definite if symmetric else [], general, precond, prepare, ranks, folder):
                solution = folder / f"{each['method']}.mtx"
                residual = matrix.residual(values_of(solution)) if each["converged"] and solution.exists() else None
                found.append({"method": each["method"], "ranks": ranks, "precond": precond + f" after {prepare}" * bool(prepare),
                              "status": each["status"], "claims": each["converged"], "iterations": each["iterations"],
                              "recomputed": residual, "reported": each["relative_residual"],
                              "seconds": each["seconds"]["solve"], "hint": each.get("structure", {}).get("hint", "")})
        return found

    tasks = [(choice, ranks) for choice in choices(listing) for ranks in RANKS]
    with ThreadPoolExecutor(study.options.jobs) as pool:
        return [each for found in pool.map(one, tasks) for each in found]


def petsc_of(study, path, symmetric):
    """All in one process; where one of them ends it, the others in processes of their own."""
    keys = [(method, precond) for method in PETSC_METHODS for precond in PETSC
            if symmetric or (method != "cg" and precond not in ("block_jacobi:ic0", "block_jacobi:cholesky"))]
    results, driver = [], study.options.build / "bench" / "peers" / "petsc_solve"
    if not driver.exists():  # where CMake found no PETSc
        return []
    for ranks in RANKS:
        def lines(some, ranks=ranks):
            command = [study.stretto.mpiexec, "-n", ranks, driver, path, RTOL, MAX_IT]
            command += [f"{PETSC_METHODS[m]} {PETSC[p]} -ksp_norm_type unpreconditioned" for m, p in some]
            _, out, _ = run.call(command, TIMEOUT)
            return [json.loads(line) for line in out.splitlines() if line.startswith("{")]

        found = lines(keys)
        if len(found) < len(keys):
            found = [(lines([key]) or [{"claims": False, "residual": None, "iterations": 0, "reason": "error"}])[0]
                     for key in keys]
        results += [{"method": method, "precond": precond, "ranks": ranks, "claims": each["claims"],
                     "recomputed": each["residual"], "iterations": each["iterations"], "reason": each["reason"]}
                    for (method, precond), each in zip(keys, found)]
    return results


def true(each):
    return each["claims"] and each["recomputed"] is not None and each["recomputed"] <= RTOL * SLACK


def said(each):
    if true(each):
        return f"{each['iterations']} iterations"
    word = each.get("status") or f"reason {each['reason']}"
    residual = each["recomputed"] if each["recomputed"] is not None else each.get("reported")
    return word + (f", {residual:.1e}" if residual is not None else "")


def counted(data, key, own, **names):
    """Adds to a list of counts, by what `names` says of them."""
    row = next((row for row in data[key] if all(row[n] == v for n, v in names.items())), None)
    if row is None:
        row = {**names, **dict.fromkeys(own, 0)}
        data[key].append(row)
    for name, value in own.items():
        row[name] += value


def add(data, name, n, runs, peers):
    """What the runs of a matrix say, for the tables."""
    for each in runs:
        counted(data, "solved", {"solved": true(each), "cases": 1}, precond=each["precond"], method=each["method"])
        data["converged"] += each["claims"]
        data["false"] += each["claims"] and not true(each)
        data["largest"] = max(data["largest"], each["recomputed"] or 0)
    ours = {(each["precond"], each["method"], each["ranks"]): each for each in runs}
    for theirs in peers:
        mine = ours.get((theirs["precond"], theirs["method"], theirs["ranks"]))
        if mine:
            data["claimed"] += theirs["claims"]
            counted(data, "against", {"cases": 1, "stretto": true(mine), "petsc": true(theirs)},
                    precond=theirs["precond"], method=theirs["method"])
            if true(mine) != true(theirs):
                data["differ"].append({"matrix": name, **{k: theirs[k] for k in ("precond", "method", "ranks")},
                                       "stretto": said(mine), "petsc": said(theirs)})
    solved = {(each["precond"], each["method"], each["ranks"]) for each in runs if true(each)}
    everywhere = any(all((p, m, k) in solved for k in RANKS) for p, m, _ in solved)
    for ranks in RANKS:
        here = [each for each in runs if each["ranks"] == ranks]
        best = min(filter(true, here), key=lambda each: each["seconds"], default={})
        data["matrices"].append({
            "matrix": name, "rows": n, "ranks": ranks, "method": best.get("method"), "precond": best.get("precond"),
            "iterations": best.get("iterations"), "residual": best.get("recomputed"), "solved": sum(map(true, here)),
            "cases": len(here), "everywhere": everywhere, "advice": next((each["hint"] for each in here if each["hint"]), "")})
    for precond, status in ((each["precond"], each["status"]) for each in runs if not true(each)):
        counted(data, "failures", {"solves": 1}, matrix=name, precond=precond, status=status)


def measure(study):
    listing, start = study.stretto.listed(), time.monotonic()
    paths = sorted((path for path in study.files() if re.search(study.options.only, path.name)), key=lambda p: p.stat().st_size)
    if not paths:
        raise run.Failed(f"--only {study.options.only}: no such matrix in {study.options.matrices}")
    petsc = "PETSc " + machine.output_of("pkg-config", "--modversion", "petsc")
    study.data |= {"facts": study.facts(), "petsc": petsc, "ranks": list(RANKS), "largest": 0,
                   **dict.fromkeys(("converged", "false", "claimed"), 0),
                   **{name: [] for name in ("solved", "against", "differ", "matrices", "failures")}}
    for path in paths[:2] if study.options.quick else paths:
        matrix = Matrix(path)
        symmetric = matrix.is_symmetric()
        runs, peers = stretto_of(study, listing, matrix, path, symmetric), petsc_of(study, path, symmetric)
        add(study.data, matrix.name, matrix.n, runs, peers)
        study.data["minutes"] = (time.monotonic() - start) / 60
        study.save()  # after each: an interrupted run leaves what it has
        study.say(f"{60 * study.data['minutes']:.0f} s: {matrix.name}")


# What follows reads the data alone.

AGAINST = {"preconditioner": "{precond}", "method": "{method}", "cases": "{cases}", "Stretto": "{stretto}", "PETSc": "{petsc}"}
DIFFER = {"matrix": "{matrix}", "preconditioner": "{precond}", "method": "{method}", "ranks": "{ranks}", "Stretto": "{stretto}",
          "PETSc": "{petsc}"}
MATRICES = {"matrix": lambda row: row["matrix"] * row["first"], "rows": lambda row: str(row["rows"]) * row["first"],
            "ranks": "{ranks}", "quickest": lambda row: f"{row['method']}, {row['precond']}" if row["method"] else bold("none"),
            "iterations": "{iterations}", "residual": "{residual:.1e}", "solved": "{solved} / {cases}",
            "advice": lambda row: row["advice"] * row["first"]}


def total(records, name):
    return sum(row[name] for row in records)


def solved_table(records):
    methods = list(dict.fromkeys(row["method"] for row in records))
    rows = collections.defaultdict(dict)
    for row in records:
        rows[row["precond"]][row["method"]] = f"{row['solved']} / {row['cases']}"
    return table([{"precond": precond, **row} for precond, row in rows.items()],
                 {"preconditioner": "{precond}", **{m: lambda row, m=m: row.get(m, "–") for m in methods}})


def failure_points(records):
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in records:
        found[row["matrix"]][row["precond"]].append(f"{row['solves']} {row['status']}")
    return points(f"**{matrix}**: " + "; ".join(f"{p}: {', '.join(some)}" for p, some in of.items())
                  for matrix, of in found.items())


def report(data):
    against, matrices = data["against"], data["matrices"]
    names = {row["matrix"]: row["everywhere"] for row in matrices}
    never = [name for name, everywhere in names.items() if not everywhere]
    return {
        "matrices": f"{len(names)}", "choices": f"{len({row['precond'] for row in data['solved']})}",
        "ranks": listed(map(str, data["ranks"]), "and"), "total": f"{total(data['solved'], 'cases')}", "rtol": f"{RTOL:.0e}",
        "max it": f"{MAX_IT}", "minutes": f"{data['minutes']:.0f}", "facts": machine.line(data["facts"]),
        "converged": f"{data['converged']}", "false": f"{data['false']}", "largest": f"{data['largest']:.4e}",
        "petsc": data["petsc"], "compared": f"{total(against, 'cases')}", "ours": f"{total(against, 'stretto')}",
        "theirs": f"{total(against, 'petsc')}", "claimed": f"{data['claimed']}",
        "wrong": f"{data['claimed'] - total(against, 'petsc')}",
        "everywhere": f"{sum(names.values())}", "never": f"Not: {listed(never)}." if never else "",
        "solved table": solved_table(data["solved"]), "against": table(against, AGAINST),
        "differ": table(data["differ"], DIFFER, "Nowhere."),
        "table": table([{**row, "first": row["ranks"] == RANKS[0]} for row in matrices], MATRICES),
        "failures": failure_points(data["failures"]) or "Nothing."}, {}
