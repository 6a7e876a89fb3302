#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solves every .mtx.gz of a folder with every method and preconditioner that fit, on one, two and four ranks, and with
PETSc's like of them; checks each answer without the libraries; writes docs/zoo.md. By `make zoo`, or

    set -a; . scripts/mpi.env; set +a; python3 scripts/zoo.py FOLDER --build build/peers
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from matrix_file import Matrix

RTOL, MAX_IT, TIMEOUT = 1e-8, 500, 60
SLACK = 1 + 1e-6  # of a residual recomputed with other roundings
RANKS = (1, 2, 4)

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


def choices(listed):
    """(preconditioner, steps before) to try, from what the program lists."""
    for kind in listed["preconditioners"]:
        inner = [o["choices"] for o in kind["options"] if o["name"] == "inner"]
        if kind["name"] == "block_jacobi":
            yield from ((f"{kind['name']}:{name}", "") for name in inner[0])
        elif inner:
            yield f"{kind['name']}:ilu0", ""
            yield f"{kind['name']}:ilu0,restricted=0", ""
        else:
            yield kind["name"], ""
    yield from PREPARED


def run_stretto(arguments, path, definite, general, precond, prepare, ranks, folder):
    """The JSON of a run of several methods; methods that refuse this system or preconditioner are left out."""
    methods = [*definite, *general]
    while methods:
        command = ["timeout", "-s", "INT", "-k", "10", str(TIMEOUT), "mpirun", "-n", str(ranks), arguments.build / "stretto",
                   "solve", path, "--rhs", "A*ones", "--precond", precond, "--prepare", prepare, "--rtol", str(RTOL)]
        command += ["--max-it", str(MAX_IT), "--threads", "1", "--json", folder / "run.json", "--solution", folder / "{}.mtx"]
        for method in methods:
            command += ["--method", method]
        environment = {**os.environ, "OMPI_MCA_orte_abort_on_non_zero_status": "0"}
        done = subprocess.run([str(word) for word in command], capture_output=True, check=False, text=True, env=environment)
        refused = re.search(r"^stretto: ([\w=]+) needs (.*)", done.stderr, re.M)
        if not refused:
            break
        if refused[1] not in methods:  # a local solver, which no method can help
            return []
        methods = [m for m in methods if m not in (definite if refused[1] in definite else [refused[1]])]
    if not methods:
        return []
    runs = []
    if (folder / "run.json").exists():
        runs = json.loads((folder / "run.json").read_text())
        (folder / "run.json").unlink()
    runs = runs if isinstance(runs, list) else [runs]
    # What the time did not reach counts as not solved.
    return runs + [{"method": method, "status": f"over {TIMEOUT} s", "converged": False, "iterations": 0,
                    "relative_residual": None, "seconds": {"setup": 0, "solve": 0}}
                   for method in methods if method not in {run["method"] for run in runs}]


def zoo_of(arguments, matrix, path, definite, general, listed):
    """Every run of one matrix, with its recomputed residual."""
    results = []

    def one(task):
        (precond, prepare), ranks = task
        found = []
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for run in run_stretto(arguments, path, definite, general, precond, prepare, ranks, folder):
                solution = folder / f"{run['method']}.mtx"
                residual = None
                if run["converged"] and solution.exists():
                    lines = [line for line in solution.read_text().splitlines() if not line.startswith("%")]
                    residual = matrix.residual([float(line) for line in lines[1:]])
                found.append({"matrix": matrix.name, "method": run["method"], "ranks": ranks,
                              "precond": precond + (f" after {prepare}" if prepare else ""), "status": run["status"],
                              "claims": run["converged"], "iterations": run["iterations"], "recomputed": residual,
                              "reported": run["relative_residual"], "seconds": run["seconds"]["solve"],
                              "hint": run.get("structure", {}).get("hint", "")})
        return found

    tasks = [(choice, ranks) for choice in choices(listed) for ranks in RANKS]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for found in pool.map(one, tasks):
            results += found
    return results


def petsc_of(arguments, matrix, path, symmetric):
    """All in one process; where one of them ends it, the others in processes of their own."""
    keys = [(method, precond) for method in PETSC_METHODS for precond in PETSC
            if symmetric or (method != "cg" and precond not in ("block_jacobi:ic0", "block_jacobi:cholesky"))]
    results = []
    for ranks in RANKS:
        def lines(some, ranks=ranks):
            command = ["timeout", str(TIMEOUT), "mpirun", "-n", str(ranks), arguments.build / "bench/peers/petsc_solve", path,
                       str(RTOL), str(MAX_IT)]
            command += [f"{PETSC_METHODS[m]} {PETSC[p]} -ksp_norm_type unpreconditioned" for m, p in some]
            done = subprocess.run([str(word) for word in command], capture_output=True, check=False, text=True)
            return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

        found = lines(keys)
        if len(found) < len(keys):
            found = [(lines([key]) or [{"claims": False, "residual": None, "iterations": 0, "reason": "error"}])[0]
                     for key in keys]
        results += [{"matrix": matrix.name, "method": method, "precond": precond, "ranks": ranks, "claims": run["claims"],
                     "recomputed": run["residual"], "iterations": run["iterations"], "reason": run["reason"]}
                    for (method, precond), run in zip(keys, found)]
    return results


def true(run):
    return run["claims"] and run["recomputed"] is not None and run["recomputed"] <= RTOL * SLACK


PAGE = """# The zoo

<!-- Written by scripts/zoo.py (make zoo); do not edit. -->

{matrices} real matrices × every method that fits × {choices} preconditioners × {ranks} ranks of one thread: {total} solves.
b = A·ones, relative tolerance {rtol:.0e} of the true residual, at most {max_it} iterations, all options at their defaults;
Stretto {version}; {minutes:.0f} minutes on {cores} cores. `converged` is checked by recomputing ‖b − Ax‖/‖b‖ in Python from the
file and the solution written, every row summed without intermediate rounding.

## Summary

- **{converged} of {total} solves converged; {false} of them falsely** (recomputed residual above the tolerance; the largest is
  {worst:.4e}).
- **Against PETSc** ({petsc}, in the same run, same b, tolerance on the unpreconditioned norm and iteration limit), matrix by
  matrix, for the methods and preconditioners that both have: {compared} cases; Stretto solves **{ours}**, PETSc
  **{theirs}** ({claimed} claimed, {wrong} of them with a larger true residual than asked for).
- Matrices that some combination solves on every number of ranks: **{everywhere} of {matrices}**. {never}

## Solved, by preconditioner and method

Cases are matrices × numbers of ranks.

| preconditioner | {methods} |
|---|{bars}
{table}

## Against PETSc

Cases solved of those run, both judged by the true residual.

| preconditioner | method | cases | Stretto | PETSc |
|---|---|--:|--:|--:|
{peers}

Where they differ:

| matrix | preconditioner | method | ranks | Stretto | PETSc |
|---|---|---|--:|---|---|
{differ}

## Matrix by matrix

The quickest that converged, on 1 / 2 / 4 ranks: iterations and recomputed residual (times of such small systems say little).
*Solved*: of all methods and preconditioners tried there. The advice is what `stretto solve` says of the structure.

| matrix | rows | ranks | quickest | iterations | residual | solved | advice |
|---|--:|--:|---|--:|--:|--:|---|
{rows}

## What did not converge

Statuses of all solves of a matrix that did not, by preconditioner; every one of them says so and gives the residual it
reached.

{failures}
"""


def page(arguments, results, peers, sizes, version, seconds):
    methods = list(dict.fromkeys(run["method"] for run in results))
    preconds = list(dict.fromkeys(run["precond"] for run in results))
    names = list(sizes)

    def cell(runs):
        return f"{sum(map(true, runs))} / {len(runs)}" if runs else "–"

    table = [f"| {p} | " + " | ".join(cell([r for r in results if (r["precond"], r["method"]) == (p, m)]) for m in methods) + " |"
             for p in preconds]
    ours = {(r["matrix"], r["precond"], r["method"], r["ranks"]): r for r in results}
    both = [(ours[key], peer) for peer in peers if (key := (peer["matrix"], peer["precond"], peer["method"], peer["ranks"])) in ours]
    peer_rows = []
    for p in PETSC:
        for m in PETSC_METHODS:
            pairs = [pair for pair in both if (pair[0]["precond"], pair[0]["method"]) == (p, m)]
            if pairs:
                peer_rows.append(f"| {p} | {m} | {len(pairs)} | {sum(true(a) for a, _ in pairs)} | {sum(true(b) for _, b in pairs)} |")

    def verdict(run):
        if true(run):
            return f"{run['iterations']} iterations"
        word = run.get("status") or f"reason {run['reason']}"
        residual = run["recomputed"] if run["recomputed"] is not None else run.get("reported")
        return word + (f", {residual:.1e}" if residual is not None else "")

    differ = [f"| {a['matrix']} | {a['precond']} | {a['method']} | {a['ranks']} | {verdict(a)} | {verdict(b)} |"
              for a, b in both if true(a) != true(b)]
    rows, failures = [], []
    everywhere, never = 0, []
    for name in names:
        mine = [r for r in results if r["matrix"] == name]
        solved = {(r["precond"], r["method"], r["ranks"]) for r in mine if true(r)}
        good = any(all((p, m, k) in solved for k in RANKS) for p in preconds for m in methods)
        everywhere += good
        if not good:
            never.append(name)
        for k in RANKS:
            here = [r for r in mine if r["ranks"] == k]
            best = min(filter(true, here), key=lambda r: r["seconds"], default=None)
            entry = f"{best['method']}, {best['precond']} | {best['iterations']} | {best['recomputed']:.1e}" if best else "**none** | – | –"
            advice = next((r["hint"] for r in here if r["hint"]), "") if k == 1 else ""
            rows.append(f"| {name if k == 1 else ''} | {sizes[name] if k == 1 else ''} | {k} | {entry} | {cell(here)} | {advice} |")
        failed = collections.defaultdict(collections.Counter)
        for r in mine:
            if not true(r):
                failed[r["precond"]][r["status"]] += 1
        if failed:
            failures.append(f"- **{name}**: " + "; ".join(
                f"{p}: " + ", ".join(f"{n} {s}" for s, n in c.items()) for p, c in failed.items()))
    claimed = [r for r in results if r["claims"]]
    return PAGE.format(
        matrices=len(names), choices=len(preconds), ranks=", ".join(map(str, RANKS)), total=len(results), rtol=RTOL, max_it=MAX_IT,
        version=version, minutes=seconds / 60, cores=os.cpu_count(), converged=len(claimed),
        false=sum(not true(r) for r in claimed), worst=max(r["recomputed"] for r in claimed), petsc=arguments.petsc_version,
        compared=len(both), ours=sum(true(a) for a, _ in both), theirs=sum(true(b) for _, b in both),
        claimed=sum(b["claims"] for _, b in both), wrong=sum(b["claims"] and not true(b) for _, b in both),
        everywhere=everywhere, never="Not: " + ", ".join(never) + "." if never else "", methods=" | ".join(methods),
        bars="--:|" * len(methods), table="\n".join(table), peers="\n".join(peer_rows), differ="\n".join(differ) or "| – | | | | | |",
        rows="\n".join(rows), failures="\n".join(failures))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/peers"))
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--only", help="only matrices whose names match this expression")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("docs/zoo.md"))
    parser.add_argument("--raw", type=pathlib.Path, help="also write all results to this file, as JSON")
    arguments = parser.parse_args()
    arguments.petsc_version = "PETSc " + subprocess.run(["pkg-config", "--modversion", "petsc"], capture_output=True, check=False,
                                                        text=True).stdout.strip()
    listed = json.loads(subprocess.run([arguments.build / "stretto", "list", "--json", "-"], capture_output=True, check=True).stdout)
    definite = [m["name"] for m in listed["methods"] if "definite" in m["needs"]]
    general = [m["name"] for m in listed["methods"] if "definite" not in m["needs"]]
    start = time.monotonic()
    results, peers, sizes = [], [], {}
    for path in sorted(arguments.folder.glob("*.mtx.gz"), key=lambda file: file.stat().st_size):
        if arguments.only and not re.search(arguments.only, path.name):
            continue
        matrix = Matrix(path)
        symmetric = matrix.is_symmetric()
        sizes[matrix.name] = matrix.n
        results += zoo_of(arguments, matrix, path, definite if symmetric else [], general, listed)
        if (arguments.build / "bench/peers/petsc_solve").exists():
            peers += petsc_of(arguments, matrix, path, symmetric)
        mine = [r for r in results if r["matrix"] == matrix.name]
        print(f"{time.monotonic() - start:6.0f} s  {matrix.name}: {sum(map(true, mine))} of {len(mine)}", flush=True)
        # After each: an interrupted run leaves what it has.
        arguments.output.write_text(page(arguments, results, peers, sizes, listed["stretto"], time.monotonic() - start))
        if arguments.raw:
            arguments.raw.write_text(json.dumps({"stretto": results, "petsc": peers}))


if __name__ == "__main__":
    main()
