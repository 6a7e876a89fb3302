# SPDX-License-Identifier: BSD-3-Clause
"""How long do large problems take to solve, beside PETSc? Millions of unknowns with jumping and anisotropic coefficients, in
turn, CG with preconditioners of the same class; make zoo or make bench-peers builds the drivers."""

import json

from . import machine, run
from .text import NONE, bold, points, table

BUILD = "build/peers"
RTOL, MAX_IT = 1e-8, 5000
BOOMER = "-pc_type hypre -pc_hypre_type boomeramg -pc_hypre_boomeramg_strong_threshold 0.5"
AS_OURS = (f"{BOOMER} -pc_hypre_boomeramg_coarsen_type PMIS -pc_hypre_boomeramg_interp_type ext+i -pc_hypre_boomeramg_P_max 4 "
           "-pc_hypre_boomeramg_agg_nl 1")
CHEBYSHEV = ("-pc_type ksp -ksp_ksp_type chebyshev -ksp_ksp_max_it 5 -ksp_ksp_norm_type none -ksp_ksp_convergence_test skip "
             "-ksp_pc_type jacobi")
# Stretto's preconditioner, where it has one of that class, and PETSc's options.
CLASSES = {
    "amg": ("amg", AS_OURS),
    "hypre": (None, BOOMER),
    "gamg": (None, "-pc_type gamg"),
    "ilu0": ("block_jacobi:ilu0", "-pc_type bjacobi -sub_pc_type ilu"),
    "chebyshev": ("chebyshev:degree=4", CHEBYSHEV),
}
DEFAULTS = ("hypre", "gamg", "ilu0")  # of PETSc's, but for hypre's threshold in three dimensions


def options(parser):
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=["poisson3d:128", "jump3d:128", "aniso3d:128", "jump3d:200/amg,chebyshev"], metavar="CASE",
                        help="PROBLEM[/CLASS,…], classes: " + ", ".join(CLASSES))


def stretto(study, problem, precond):
    if not precond:
        return None
    [found] = study.stretto.solve(problem, ["cg"], study.options.ranks, rhs="A*ones", precond=precond, rtol=RTOL, max_it=MAX_IT)
    return {"solved": found["converged"], "iterations": found["iterations"], "residual": found["relative_residual"],
            "setup": found["seconds"]["precond_setup"], "solve": found["seconds"]["solve"]}


def petsc(study, problem, options):
    code, out, err = run.call([study.stretto.mpiexec, "-n", study.options.ranks, study.driver("petsc_solve"), problem, RTOL,
                               MAX_IT, f"-ksp_type cg -ksp_norm_type unpreconditioned {options}"])
    if code:
        raise run.Failed(f"PETSc, {problem} {options}: {err.strip()[-200:]}")
    found = json.loads(out)
    return {"solved": found["claims"] and found["residual"] <= 1.01 * RTOL,
            **{name: found[name] for name in ("iterations", "residual", "setup", "solve")}}


def measure(study):
    study.data |= {"facts": study.facts(), "ranks": study.options.ranks, "records": []}
    for case in ["jump3d:16", "aniso3d:16/amg,gamg"] if study.options.quick else study.options.cases:
        problem, _, classes = case.partition("/")
        for name in classes.split(",") if classes else CLASSES:
            if name not in CLASSES:
                raise run.Failed(f"--cases {case}: no class '{name}', but {', '.join(CLASSES)}")
            ours, theirs = stretto(study, problem, CLASSES[name][0]), petsc(study, problem, CLASSES[name][1])
            edge = int(problem.partition(":")[2].partition(",")[0])
            study.data["records"].append({"problem": problem, "class": name, "unknowns": edge ** 3, "stretto": ours,
                                          "petsc": theirs, "ratio": ours and seconds(ours) / seconds(theirs)})
            study.save()
            study.say(f"{problem}, {name}")


def seconds(each):
    return each["setup"] + each["solve"]


# What follows reads the data alone.

def columns_of(program, name):
    def shown(how):
        return lambda row: how(row[program]) if row[program] else NONE
    return {f"{name}: iterations": shown(lambda x: str(x["iterations"]) if x["solved"] else bold("not solved")),
            f"{name}: residual": shown(lambda x: f"{x['residual']:.1e}"), f"{name}: set-up, s": shown(lambda x: f"{x['setup']:.2f}"),
            f"{name}: solve, s": shown(lambda x: f"{x['solve']:.2f}")}


COLUMNS = {"problem": "{problem}", "unknowns": lambda row: f"{row['unknowns'] / 1e6:.1f} million",
           "preconditioner": "{class}", **columns_of("stretto", "Stretto"), **columns_of("petsc", "PETSc"),
           "Stretto over PETSc": lambda row: f"{row['ratio']:.2f}" if row["ratio"] else NONE}


def quickest(rows, program):
    return min((row for row in rows if row[program] and row[program]["solved"]), key=lambda row: seconds(row[program]), default=None)


def best(records):
    for problem in dict.fromkeys(row["problem"] for row in records):
        own = [row for row in records if row["problem"] == problem]
        ours, theirs = quickest(own, "stretto"), quickest(own, "petsc")
        usual = quickest([row for row in own if row["class"] in DEFAULTS], "petsc")
        if ours and theirs:
            a, b = seconds(ours["stretto"]), seconds(theirs["petsc"])
            said = (f"**{problem}**: best in Stretto {ours['class']}, {a:.1f} s; in PETSc {theirs['class']}, {b:.1f} s: "
                    f"{a / b:.2f} of PETSc's time")
            yield said + (f"; {a / seconds(usual['petsc']):.2f} of that of its best with defaults, {usual['class']}." if usual else ".")


def report(data):
    return {"ranks": f"{data['ranks']}", "rtol": f"{RTOL:.0e}", "facts": machine.line(data["facts"]),
            "table": table(data["records"], COLUMNS), "best": points(best(data["records"]))}, {}
