# SPDX-License-Identifier: BSD-3-Clause
"""How long do large problems take to solve, beside PETSc? Diffusion with jumping and anisotropic coefficients, an elastic body,
convection, and Kronecker sums of real matrices, in turn, with preconditioners of the same class; make zoo or make bench-peers builds the drivers."""

import math
from statistics import geometric_mean

from . import machine, run
from .text import NONE, bold, listed, points, table

BUILD = "build/peers"
RTOL, MAX_IT = 1e-8, 5000
BOOMER = "-pc_type hypre -pc_hypre_type boomeramg -pc_hypre_boomeramg_strong_threshold 0.5"
AS_OURS = (f"{BOOMER} -pc_hypre_boomeramg_coarsen_type PMIS -pc_hypre_boomeramg_interp_type ext+i -pc_hypre_boomeramg_P_max 4 "
           "-pc_hypre_boomeramg_agg_nl 1")
CHEBYSHEV = ("-pc_type ksp -ksp_ksp_type chebyshev -ksp_ksp_max_it 5 -ksp_ksp_norm_type none -ksp_ksp_convergence_test skip "
             "-ksp_pc_type jacobi")
# Stretto's preconditioner, where it has one of that class, and PETSc's options; with CG they are to be symmetric.
CLASSES = {
    "amg": ("amg", AS_OURS),
    "hypre": (None, BOOMER),
    "gamg": (None, "-pc_type gamg"),
    "ilu0": ("block_jacobi:ilu0", "-pc_type bjacobi -sub_pc_type ilu"),
    "asm": ("additive_schwarz", "-pc_type asm"),
    "chebyshev": ("chebyshev:degree=4", CHEBYSHEV),
    "ilu0-single": ("block_jacobi:ilu0,precision=single", None),
    "chebyshev-single": ("chebyshev:degree=4,precision=single", None),
}
SYMMETRIC = {"asm": ("additive_schwarz:inner=ic0,restricted=0", "-pc_type asm -pc_asm_type basic -sub_pc_type icc")}
DEFAULTS = ("hypre", "gamg", "ilu0", "asm")  # of PETSc's, but for hypre's threshold in three dimensions
METHODS = {"cg": "-ksp_type cg", "bicgstab": "-ksp_type bcgs -ksp_pc_side right", "gmres": "-ksp_type gmres -ksp_pc_side right"}
# PROBLEM[/CLASS,…[/METHOD,…]]
CASES = ("poisson3d:128", "jump3d:128", "aniso3d:128", "poisson3d:200/amg,hypre,gamg,ilu0,chebyshev,chebyshev-single",
         "jump3d:200/amg,hypre,gamg,ilu0", "elasticity3d:48", "kron:bcsstk16,100",
         "convdiff3d:128,peclet=50/amg,hypre,gamg,ilu0,ilu0-single,asm/bicgstab", "convdiff3d:128,peclet=50/amg,ilu0/gmres",
         "kron:cage10,100/amg,hypre,gamg,ilu0,ilu0-single,asm/bicgstab", "kron:cage10,100/ilu0,ilu0-single/gmres")
SHORT, ROUNDS = 10, 3  # rows of fewer seconds, both programs together, are measured so often


def options(parser):
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--cases", nargs="+", metavar="CASE",
                        help="other problems stay as they were measured; without, all are measured; "
                             f"PROBLEM[/CLASS,…[/METHOD,…]], classes: {', '.join(CLASSES)}; methods: {', '.join(METHODS)}")


def stretto(study, problem, method, precond):
    if not precond:
        return None
    [found] = study.stretto.solve(problem, [method], study.options.ranks, rhs="A*ones", precond=precond, rtol=RTOL, max_it=MAX_IT)
    return {"solved": found["converged"], "iterations": found["iterations"], "residual": found["relative_residual"],
            "setup": found["seconds"]["precond_setup"], "solve": found["seconds"]["solve"]}


def petsc(study, problem, method, options):
    if not options:
        return None
    found = study.answer(study.options.ranks, "petsc_solve", problem, RTOL, MAX_IT,
                         f"{METHODS[method]} -ksp_norm_type unpreconditioned {options}")
    return {"solved": found["claims"] and found["residual"] <= 1.01 * RTOL,
            **{name: found[name] for name in ("iterations", "residual", "setup", "solve")}}


def named_in(case, names, table):
    """The rows of the table that a case names."""
    for name in names:
        if name not in table:
            raise run.Failed(f"--cases {case}: there is no '{name}', but {', '.join(table)}")
    return names


def in_turn(*programs):
    """Of each the run of median seconds; None for one that has no such row."""
    rounds = [[program() for program in programs]]
    if sum(seconds(each) for each in rounds[0] if each) < SHORT:
        rounds += [[program() for program in programs] for _ in range(1, ROUNDS)]
    return [sorted(runs, key=seconds)[len(runs) // 2] if runs[0] else None for runs in zip(*rounds)]


def measure(study):
    cases = ["jump3d:16", "aniso3d:16/amg,gamg", "convdiff3d:16/ilu0/gmres"] if study.options.quick else study.options.cases or CASES
    anew = {case.split("/")[0] for case in cases}
    kept = [row for row in study.data.get("records", []) if study.options.cases and row["problem"] not in anew]
    study.data = {"ranks": study.options.ranks, "facts": [*study.data.get("facts", []), study.facts()] if kept else [study.facts()],
                  "records": kept}
    run_number = len(study.data["facts"]) - 1
    for case in cases:
        problem, classes, methods = (case.split("/") + ["", ""])[:3]
        place = study.specification(problem)
        for method in named_in(case, methods.split(",") if methods else ["cg"], METHODS):
            for name in named_in(case, classes.split(",") if classes else list(CLASSES), CLASSES):
                own, other = (SYMMETRIC if method == "cg" else {}).get(name, CLASSES[name])
                ours, theirs = in_turn(lambda: stretto(study, place, method, own), lambda: petsc(study, place, method, other))
                study.data["records"].append({"run": run_number, "problem": problem, "method": method, "class": name, "stretto": ours, "petsc": theirs,
                                              "ratio": ours and theirs and seconds(ours) / seconds(theirs)})
                study.save()
                study.say(f"{problem}, {method}, {name}")


def seconds(each):
    return each["setup"] + each["solve"]


# What follows reads the data alone.

def columns_of(program, name):
    def shown(how):
        return lambda row: how(row[program]) if row[program] else NONE
    return {f"{name}: iterations": shown(lambda x: str(x["iterations"]) if x["solved"] else bold("not solved")),
            f"{name}: residual": shown(lambda x: f"{x['residual']:.1e}"), f"{name}: set-up, s": shown(lambda x: f"{x['setup']:.2f}"),
            f"{name}: solve, s": shown(lambda x: f"{x['solve']:.2f}"),
            f"{name}: s a digit": shown(lambda x: f"{seconds(x) / -math.log10(x['residual']):.2f}" if x["solved"] else NONE)}


COLUMNS = {"problem": "{problem}", "method": "{method}", "preconditioner": "{class}",
           **columns_of("stretto", "Stretto"), **columns_of("petsc", "PETSc"),
           "Stretto over PETSc": lambda row: f"{row['ratio']:.2f}" if row["ratio"] else NONE}


def quickest(rows, program):
    return min((row for row in rows if row[program] and row[program]["solved"]), key=lambda row: seconds(row[program]), default=None)


def named(row):
    return f"{row['class']} with {row['method']}"


def contests(records):
    """Of each problem its name, Stretto's best row, PETSc's, and PETSc's with defaults (None where none of them was measured)."""
    for problem in dict.fromkeys(row["problem"] for row in records):
        own = [row for row in records if row["problem"] == problem]
        ours, theirs = quickest(own, "stretto"), quickest(own, "petsc")
        if ours and theirs:
            yield problem, ours, theirs, quickest([row for row in own if row["class"] in DEFAULTS], "petsc")


def share(ours, theirs):
    return seconds(ours["stretto"]) / seconds(theirs["petsc"])


def best(records):
    for problem, ours, theirs, usual in contests(records):
        said = (f"**{problem}**: best in Stretto {named(ours)}, {seconds(ours['stretto']):.1f} s; in PETSc {named(theirs)}, "
                f"{seconds(theirs['petsc']):.1f} s: {share(ours, theirs):.2f} of PETSc's time")
        yield said + (f"; {share(ours, usual):.2f} of that of its best with defaults, {named(usual)}." if usual else ".")


def shares(records):
    """Geometric means over the problems."""
    found = list(contests(records))
    of_any, of_usual = [share(ours, theirs) for _, ours, theirs, _ in found], [share(ours, usual) for _, ours, _, usual in found if usual]
    return {"mean_usual": f"{geometric_mean(of_usual):.2f}", "mean_any": f"{geometric_mean(of_any):.2f}", "worst_any": f"{max(of_any):.2f}"}


def machines(data):
    """What each run was made on, and which problems it measured."""
    for number, facts in enumerate(data["facts"]):
        problems = dict.fromkeys(row["problem"] for row in data["records"] if row["run"] == number)
        if problems:
            yield f"{listed(f'`{problem}`' for problem in problems)}: {machine.line(facts)}."


def report(data):
    return {**shares(data["records"]), "ranks": f"{data['ranks']}", "short": f"{SHORT}", "rtol": f"{RTOL:.0e}", "facts": points(machines(data)),
            "table": table(data["records"], COLUMNS), "best": points(best(data["records"]))}, {}
