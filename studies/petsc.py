# SPDX-License-Identifier: BSD-3-Clause
"""What does it cost to come through the plug-in for PETSc? Linear solves beside PETSc's own types and beside Stretto alone, and
whole Newton sequences. Takes Debian's libpetsc3.18-dev-examples, make petsc, and petsc_bench and stretto_bench of bench/peers."""

import pathlib
import re
import shlex
import statistics

from . import machine, run
from .text import listed, plural, points, table

BUILD = "build/peers"
RTOL = 1e-8
GOAL = 1.05
WHO = ("PETSc", "mult", "convert", "Stretto")
# (Stretto's method, PETSc's type), and PETSc's preconditioner with Stretto's.
PAIRS = (("cg", "cg"), ("bicgstab", "bcgs"), ("gmres", "gmres"))
PRECONDITIONERS = {"none": "none", "jacobi": "jacobi", "bjacobi": "block_jacobi:ilu0"}
CASES = [*(("poisson3d:64", pc, PAIRS[0]) for pc in PRECONDITIONERS), *(("jump3d:64", pc, PAIRS[0]) for pc in ("jacobi", "bjacobi")),
         *(("convdiff3d:64", "jacobi", pair) for pair in PAIRS[1:])]
EXAMPLES = "/usr/share/petsc/*/share/petsc/examples/src"
# Newton sequences: source, its arguments, and the methods whose reductions are all waited for.
ICE = ("snes/tutorials/ex48.c", "-M 40 -P 20 -dm_mat_type aij -pc_type bjacobi -ksp_rtol 1e-6")
CAVITY = ("snes/tutorials/ex19.c", "-da_refine 5 -lidvelocity 100 -grashof 1e3 -pc_type bjacobi -ksp_rtol 1e-4 -ksp_pc_side right")
SEQUENCES = [(*ICE, "cg", "cg"), (*ICE, "flexible_cg", "fcg"), (*CAVITY, "gmres", "gmres"), (*CAVITY, "bicgstab", "bcgs"),
             (*CAVITY, "gmres:flexible=1", "fgmres")]
MATRIX = ("auto", "mult", "convert")


def options(parser):
    parser.add_argument("--plugin", type=pathlib.Path, default=run.ROOT / "build/release/libstretto_petsc.so")
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--again", action="store_true", help="measure all anew")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for an answer")


def example(folder, name, mpicc="mpicc"):
    """The program of one of PETSc's examples, compiled with Debian's PETSc into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted(pathlib.Path("/").glob(f"{EXAMPLES[1:]}/{name}"))
    if not sources:
        raise run.Failed(f"there is no {EXAMPLES}/{name}: apt-get install libpetsc3.18-dev-examples libpetsc-real-dev")
    program = folder / pathlib.Path(name).stem
    if not program.exists():
        flags = shlex.split(machine.output_of("pkg-config", "--cflags", "--libs", "petsc"))
        code, _, err = run.call([mpicc, "-O2", "-w", sources[-1], "-o", program, *flags, "-lm"])
        if code:
            raise run.Failed(f"{name} does not compile: {err.strip()[-200:]}")
    return program


def plugin(study):
    path = study.options.plugin.absolute()
    if not path.exists():
        raise run.Failed(f"{path}: no plug-in; make petsc builds it")
    return path


def begun(study, name):
    """What is measured of a part."""
    part = {"rows": []} if study.options.again else study.data.get(name, {"rows": []})
    study.data[name] = part | {"facts": study.facts(), "rounds": study.options.rounds}
    return study.data[name]


# The parts.

def linear(study):
    """Solves by solvers that are set up, the second of two, so that a matrix is converted already. Goes on where it was."""
    a = study.options
    part = begun(study, "linear")
    rows = part["rows"]
    done = {(row["problem"], row["ranks"], row["precond"], row["method"]) for row in rows}
    for problem in dict.fromkeys(problem for problem, _, _ in CASES):
        for ranks in a.ranks:
            cases = [case[1:] for case in CASES if case[0] == problem and (problem, ranks, case[1], case[2][0]) not in done]
            if not cases:
                continue
            start = ["env", f"PETSC_OPTIONS=-dll_append {plugin(study)}", study.stretto.mpiexec, "-n", ranks]
            drivers = {name: run.Driver([*start, study.driver(f"{name}_bench"), problem], a.timeout) for name in ("petsc", "stretto")}
            try:
                for pc, (method, kind) in cases:
                    rows.append({"problem": problem, "ranks": ranks, "precond": pc, "method": method,
                                 **in_turn(drivers, pc, method, kind, a.rounds)})
                    part["program"] = drivers["petsc"].about.get("program", "")
                    study.save()
                    study.say(f"{problem}, {plural(ranks, 'rank')}, {pc}, {method}")
            finally:
                for driver in drivers.values():
                    driver.end()
    return part


def in_turn(drivers, pc, method, kind, rounds):
    """Seconds and iterations by who solves, a value a round."""
    asked = {"PETSc": ("petsc", kind, pc), "Stretto": ("stretto", method, PRECONDITIONERS[pc]),
             **{how: ("petsc", f"stretto -ksp_stretto_method {method} -ksp_stretto_matrix {how}", pc) for how in ("mult", "convert")}}
    found = {who: {"seconds": [], "first": []} for who in WHO}
    for _ in range(rounds):
        for who in WHO:
            program, named, precond = asked[who]
            line = drivers[program].do(do="solve", method=named, precond=precond, rtol=RTOL, max_iterations=20000, times=2)
            if not line.get("converged"):
                raise run.Failed(f"{who}, {named}, {precond}: {line.get('error', 'not converged')}")
            found[who]["seconds"].append(line["seconds"])
            found[who]["first"].append(line["first"])
            found[who]["iterations"] = line["iterations"]
    return found


def newton(study):
    """Whole Newton solves: seconds in all linear solves, and their iterations. Goes on where it was."""
    a, part = study.options, begun(study, "newton")
    rows = part["rows"]
    done = {(row["method"], row["ranks"]) for row in rows}
    for source, text, method, kind in SEQUENCES:
        program = example(run.ROOT / "build" / "petsc_examples", source)
        norm = "-ksp_norm_type unpreconditioned"
        asked = {"PETSc": f"-ksp_type {kind} {norm}",
                 **{how: f"-ksp_type stretto -ksp_stretto_method {method} -ksp_stretto_matrix {how} {norm}" for how in MATRIX}}
        for ranks in [ranks for ranks in a.ranks if (method, ranks) not in done]:
            found = {who: {"seconds": []} for who in asked}
            for _ in range(a.rounds):
                for who, words in asked.items():
                    load = ["-dll_append", plugin(study)] if who != "PETSc" else []
                    code, out, err = run.call([study.stretto.mpiexec, "-n", ranks, program, *text.split(), *load, *words.split(),
                                               "-snes_converged_reason", "-ksp_converged_reason", "-log_view"], a.timeout)
                    if code or "Nonlinear solve converged" not in out:
                        raise run.Failed(f"{source} with {words}: {(err or out).strip()[-300:]}")
                    its = [int(k) for k in re.findall(r"Linear solve .* iterations (\d+)", out)]
                    found[who] |= {"steps": len(its), "iterations": sum(its)}
                    found[who]["seconds"].append(float(re.search(r"^KSPSolve +\d+ +[\d.]+ +(\S+)", out, re.MULTILINE)[1]))
            rows.append({"example": source, "arguments": text, "ranks": ranks, "method": method, "type": kind,
                         "program": study.stretto.about(), **found})
            study.save()
            study.say(f"{source}, {method}, {plural(ranks, 'rank')}")
    return part


PARTS = {"linear": linear, "newton": newton}


# What follows reads the data alone.

def ratio(row, one, other):
    """The median of the rounds' own, in each of which all solve one after the other."""
    return statistics.median(ours / theirs for ours, theirs in zip(row[one]["seconds"], row[other]["seconds"]))


def seconds(row, who, which="seconds"):
    return f"{statistics.median(row[who][which]):.3g}"


def linear_table(part):
    return table(part["rows"], {
        "problem": "{problem}", "ranks": "{ranks}", "preconditioner": "{precond}", "method": "`{method}`",
        "iterations": lambda row: " ".join(dict.fromkeys(str(row[who]["iterations"]) for who in WHO)),
        "PETSc, s": lambda row: seconds(row, "PETSc"), "`mult`, s": lambda row: seconds(row, "mult"),
        "`mult` ÷ PETSc": lambda row: f"{ratio(row, 'mult', 'PETSc'):.3f}",
        "`convert`, s": lambda row: seconds(row, "convert"), "first solve, s": lambda row: seconds(row, "convert", "first"),
        "Stretto, s": lambda row: seconds(row, "Stretto"),
        "`convert` ÷ Stretto": lambda row: f"{ratio(row, 'convert', 'Stretto'):.3f}"})


def newton_table(part):
    return table(part["rows"], {
        "example": lambda row: pathlib.Path(row["example"]).stem, "ranks": "{ranks}", "PETSc's type": "`{type}`",
        "Stretto's method": "`{method}`", "linear solves": lambda row: str(row["PETSc"]["steps"]),
        "iterations, PETSc's": lambda row: str(row["PETSc"]["iterations"]), "ours": lambda row: str(row["auto"]["iterations"]),
        "PETSc, s": lambda row: seconds(row, "PETSc"),
        **{f"`{how}` ÷ PETSc": lambda row, how=how: f"{ratio(row, how, 'PETSc'):.3f}" for how in MATRIX}})


def said(rows, one, other, name, goal):
    ratios = [(ratio(row, one, other), row) for row in rows]
    above = [f"`{row['method']}` on {row.get('problem') or pathlib.Path(row['example']).stem}, {plural(row['ranks'], 'rank')}"
             f"{', ' + row['precond'] if 'precond' in row else ''} ({value:.3f})" for value, row in ratios if value > goal]
    return (f"{name}: {min(ratios, key=lambda x: x[0])[0]:.3f} to {max(ratios, key=lambda x: x[0])[0]:.3f}; at most {goal:g} is wanted, "
            f"which {len(rows) - len(above)} of {len(rows)} are" + (f", and not {listed(above)}." if above else "."))


def of_two_factorisations(rows):
    ratios = [ratio(row, "convert", "Stretto") for row in rows]
    return (f"`convert` with `bjacobi`: {min(ratios):.2f} to {max(ratios):.2f} of the time of Stretto alone, whose own ILU(0) works there; "
            "that of PETSc works in `convert`, as it is a PC of the program.")


def facts_of(sequence):
    """What its rows depend on, which may be of several programs."""
    programs = ", ".join(sorted({row["program"] for row in sequence["rows"]}))
    return f"{machine.line({**sequence['facts'], 'Stretto': programs})}; medians of {sequence['rounds']} rounds"


def report(data):
    straight, sequence = data["linear"], data.get("newton")
    rows = straight["rows"]
    apart = max(max(row[who]["seconds"]) / min(row[who]["seconds"]) for row in rows for who in WHO)
    return {"facts": machine.line(straight["facts"]), "program": straight["program"], "rounds": str(straight["rounds"]),
            "apart": f"{apart:.1f}", "linear": linear_table(straight),
            "said linear": points([said(rows, "mult", "PETSc", "`mult` beside PETSc's own type", GOAL),
                                   said([row for row in rows if row["precond"] != "bjacobi"], "convert", "Stretto",
                                        "`convert` beside Stretto alone, with no preconditioner or jacobi", GOAL),
                                   of_two_factorisations([row for row in rows if row["precond"] == "bjacobi"])]),
            "arguments": points(f"{pathlib.Path(source).stem}: `{text}`" for source, text in (ICE, CAVITY)),
            "said newton": points(said(sequence["rows"], how, "PETSc", f"`{how}`", 1) for how in MATRIX) if sequence else "",
            "newton facts": facts_of(sequence) if sequence else "Not measured yet",
            "newton": newton_table(sequence) if sequence else "Not measured yet."}, {}
