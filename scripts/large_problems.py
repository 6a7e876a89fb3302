#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time to solution of millions of unknowns with jumping and anisotropic coefficients, Stretto and PETSc in turn, CG with
preconditioners of the same class; writes docs/large_problems.md. From the repository root, after `make zoo` or
`make bench-peers` has built the drivers:

    set -a; . scripts/mpi.env; set +a; python3 scripts/large_problems.py --build build/peers
"""

import argparse
import json
import os
import pathlib
import subprocess

RTOL, MAX_IT = 1e-8, 5000
HYPRE = ("-pc_type hypre -pc_hypre_type boomeramg -pc_hypre_boomeramg_strong_threshold 0.5 -pc_hypre_boomeramg_coarsen_type HMIS "
         "-pc_hypre_boomeramg_interp_type ext+i -pc_hypre_boomeramg_P_max 4")
CLASSES = {
    "amg": ("amg", HYPRE),
    "ilu0": ("block_jacobi:ilu0", "-pc_type bjacobi -sub_pc_type ilu"),
    "chebyshev": ("chebyshev:degree=4", "-pc_type ksp -ksp_ksp_type chebyshev -ksp_ksp_max_it 5 -ksp_ksp_norm_type none "
                  "-ksp_ksp_convergence_test skip -ksp_pc_type jacobi"),
}


def stretto(arguments, problem, precond):
    command = ["mpirun", "-n", str(arguments.ranks), str(arguments.stretto), "solve", problem, "--rhs", "A*ones", "--method", "cg",
               "--precond", precond, "--rtol", str(RTOL), "--max-it", str(MAX_IT), "--threads", "1", "--json", "-"]
    environment = {**os.environ, "OMPI_MCA_orte_abort_on_non_zero_status": "0"}
    run = json.loads(subprocess.run(command, capture_output=True, check=False, env=environment).stdout)
    return {"solved": run["converged"], "iterations": run["iterations"], "residual": run["relative_residual"],
            "setup": run["seconds"]["precond_setup"], "solve": run["seconds"]["solve"], "megabytes": run["precond_bytes"] * 1e-6}


def petsc(arguments, problem, options):
    command = ["mpirun", "-n", str(arguments.ranks), str(arguments.build / "bench/peers/petsc_solve"), problem, str(RTOL), str(MAX_IT),
               f"-ksp_type cg -ksp_norm_type unpreconditioned {options}"]
    run = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {"solved": run["claims"] and run["residual"] <= RTOL * 1.01, **run}


PAGE = """# Large problems

<!-- Written by scripts/large_problems.py; do not edit. -->

Time to solution of CG on {ranks} ranks of one thread ({cores} cores), Stretto and PETSc in turn, one run each: set-up of the
preconditioner, and solve. b = A·ones, tolerance {rtol:.0e} on the unpreconditioned residual. Both multigrids are hypre's
BoomerAMG, PETSc's with the same threshold, coarsening and interpolation and its own default smoother; ILU(0) is of one block for
each rank; Chebyshev polynomials have degree 4, bounds found by each program in its own way.{note}

| problem | unknowns | preconditioner | Stretto: iterations | residual | set-up, s | solve, s | PETSc: iterations | residual | set-up, s | solve, s | Stretto over PETSc |
|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}

{best}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/peers"))
    parser.add_argument("--stretto", type=pathlib.Path, help="default: that of the build")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--cases", nargs="*", default=["jump3d:128", "aniso3d:128", "jump3d:200/amg"],
                        help="PROBLEM[/CLASS,…], classes: " + ", ".join(CLASSES))
    parser.add_argument("--raw", type=pathlib.Path, help="results so far: read, added to, and all of them reported")
    parser.add_argument("--note", default="", help="what else to say of how this was measured")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("docs/large_problems.md"))
    arguments = parser.parse_args()
    arguments.stretto = arguments.stretto or arguments.build / "stretto"
    results = json.loads(arguments.raw.read_text()) if arguments.raw and arguments.raw.exists() else []
    for case in arguments.cases:
        problem, _, classes = case.partition("/")
        for name in classes.split(",") if classes else CLASSES:
            results.append([problem, name, stretto(arguments, problem, CLASSES[name][0]), petsc(arguments, problem, CLASSES[name][1])])
            print(results[-1], flush=True)
            if arguments.raw:
                arguments.raw.write_text(json.dumps(results))
    rows, best = [], []
    for problem, name, ours, theirs in results:
        def cells(run):
            return (f"{run['iterations'] if run['solved'] else '**not solved**'} | {run['residual']:.1e} | {run['setup']:.1f} "
                    f"| {run['solve']:.1f}")
        ratio = (ours["setup"] + ours["solve"]) / (theirs["setup"] + theirs["solve"])
        edge = int(problem.partition(":")[2].partition(",")[0])
        rows.append(f"| {problem} | {edge ** 3 / 1e6:.1f} million | {name} | {cells(ours)} | {cells(theirs)} | {ratio:.2f} |")
    for problem in dict.fromkeys(result[0] for result in results):
        pairs = {name: (o["setup"] + o["solve"], t["setup"] + t["solve"]) for p, name, o, t in results if p == problem}
        ours, theirs = min(pairs, key=lambda n: pairs[n][0]), min(pairs, key=lambda n: pairs[n][1])
        best.append(f"- **{problem}**: best in Stretto {ours}, {pairs[ours][0]:.1f} s; in PETSc {theirs}, {pairs[theirs][1]:.1f} s: "
                    f"{pairs[ours][0] / pairs[theirs][1]:.2f} of PETSc's time.")
    arguments.output.write_text(PAGE.format(ranks=arguments.ranks, cores=os.cpu_count(), rtol=RTOL, rows="\n".join(rows),
                                            note=arguments.note and f" {arguments.note}",
                                            best="\n".join(best)))


if __name__ == "__main__":
    main()
