#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""suite.py PLUGIN MPIEXEC FOLDER [--short] [--ranks 1,2,4] [NAME…]: programs that PETSc is delivered with, which use much
of what there is in it, with PETSc's own types and with the plug-in's. Each is to end alike: exit code, the number of solves,
which of them converged, and the solution; of nonlinear solvers, whose steps may be others, that they converge, and where to. Skipped (77) where the examples are not installed."""

import argparse
import sys

import examples

KSP, TESTS, SNES, TS = "ksp/ksp/tutorials/", "ksp/ksp/tests/", "snes/tutorials/", "ts/tutorials/"
LINEAR = (SNES + "ex70.c",)  # which calls KSPSolve itself
SCHUR = ("-ksp_rtol 1e-9 -pc_use_amat -pc_type fieldsplit -pc_fieldsplit_type schur -pc_fieldsplit_schur_fact_type full "
         "-pc_fieldsplit_schur_precondition a11 -fieldsplit_velocity_pc_type lu -fieldsplit_pressure_ksp_rtol 1e-9 "
         "-fieldsplit_pressure_pc_type lu")
# Source, arguments, numbers of ranks, which ex56 (cubes), ex60 (squares) and TS ex3 (one) choose themselves, prefix of the solver; whether it belongs to the short run.
CASES = [
    (KSP + "ex2.c", "-m 100 -n 100", (1, 2, 4), "", True),
    (KSP + "ex3.c", "", (1, 2, 4), "", False),
    (KSP + "ex5.c", "-pc_type asm", (1, 2, 4), "", False),
    (KSP + "ex9.c", "", (1, 2, 4), "", True),
    (KSP + "ex16.c", "-ntimes 3", (1, 2, 4), "", True),
    (KSP + "ex23.c", "", (1, 2, 4), "", False),
    (KSP + "ex29.c", "-bc_type neumann -pc_type jacobi -da_grid_x 20 -da_grid_y 20", (1, 2, 4), "", True),
    (KSP + "ex34.c", "-pc_type jacobi -da_grid_x 12 -da_grid_y 12 -da_grid_z 12", (1, 2, 4), "", False),
    (KSP + "ex42.c", "-stokes_ksp_type fgmres -stokes_pc_type fieldsplit -stokes_pc_fieldsplit_type schur "
                     "-stokes_fieldsplit_u_pc_type jacobi -stokes_fieldsplit_p_pc_type jacobi -mx 6", (1, 2, 4), "stokes_", False),
    (KSP + "ex43.c", "-stokes_ksp_type fgmres -stokes_pc_type fieldsplit -stokes_pc_fieldsplit_block_size 3 "
                     "-stokes_pc_fieldsplit_type symmetric_multiplicative -stokes_pc_fieldsplit_0_fields 0,1 "
                     "-stokes_pc_fieldsplit_1_fields 2 -stokes_fieldsplit_0_ksp_type preonly "
                     "-stokes_fieldsplit_0_pc_type lu -stokes_fieldsplit_1_ksp_type preonly "
                     "-stokes_fieldsplit_1_pc_type jacobi", (1, 2, 4), "stokes_", False),
    (KSP + "ex45.c", "-pc_type mg -pc_mg_levels 2 -da_refine 1 -mg_levels_ksp_type {type} -mg_levels_ksp_max_it 2 "
                     "-mg_levels_pc_type jacobi -ksp_type fgmres", (1, 2, 4), "", True),
    (KSP + "ex50.c", "-pc_type gamg -da_grid_x 33 -da_grid_y 33", (1, 2, 4), "", False),
    (KSP + "ex54.c", "-ne 39 -pc_type gamg -ksp_type cg", (1, 2, 4), "", False),
    (KSP + "ex56.c", "-two_solves -ne 5 -pc_type gamg -ksp_type cg -alpha 1.e-3", (1,), "", False),
    (KSP + "ex71.c", "-pde_type Poisson -cells 7,9,8 -dim 3 -pc_type jacobi -ksp_type cg", (1, 2, 4), "", False),
    (TESTS + "ex4.c", "-m 5 -pc_type jacobi", (1, 2, 4), "", False),
    (TESTS + "ex32.c", "-pc_type jacobi", (1, 2, 4), "", False),
    (TESTS + "ex60.c", "-ksp_type fcg -pc_type jacobi", (1, 4), "", False),
    (SNES + "ex5.c", "-snes_type newtontr -da_refine 2", (1, 2, 4), "", True),
    (SNES + "ex5.c", "-snes_mf_operator -pc_type mg -snes_grid_sequence 2", (1, 2, 4), "", True),
    (SNES + "ex19.c", "-pc_type fieldsplit -pc_fieldsplit_block_size 4 -pc_fieldsplit_type SCHUR "
                      "-pc_fieldsplit_0_fields 0,1,2 -pc_fieldsplit_1_fields 3 -ksp_type fgmres -da_refine 2", (1, 2, 4), "", False),
    (SNES + "ex48.c", "-M 8 -P 4 -dm_mat_type aij -pc_type bjacobi -ksp_type cg", (1, 2, 4), "", True),
    (SNES + "ex48.c", "-M 8 -P 4 -dm_mat_type baij -pc_type bjacobi -ksp_type cg", (1, 2, 4), "", False),
    (SNES + "ex48.c", "-M 8 -P 4 -dm_mat_type sbaij -pc_type bjacobi -sub_pc_type icc -ksp_type cg", (1, 2, 4), "", False),
    (SNES + "ex62.c", f"-dm_plex_simplex 0 -dm_refine 2 -sol trig -vel_petscspace_degree 2 -pres_petscspace_degree 1 {SCHUR}", (1, 2, 4),
     "", False),
    (SNES + "ex69.c", "-dm_plex_simplex 0 -dm_plex_separate_marker -dm_refine 2 -vel_petscspace_degree 2 -pres_petscspace_degree 1 "
                      f"{SCHUR}", (1, 2, 4), "", False),
    (SNES + "ex70.c", "-nx 16 -ny 24 -ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_type schur "
                      "-pc_fieldsplit_schur_fact_type lower -fieldsplit_0_ksp_type gmres -fieldsplit_0_pc_type bjacobi "
                      "-fieldsplit_1_pc_type jacobi -fieldsplit_1_inner_ksp_type preonly "
                      "-fieldsplit_1_inner_pc_type jacobi", (1, 2, 4), "", False),
    (TS + "ex3.c", "-ts_type beuler -ts_max_steps 5 -time_dependent_rhs -pc_type jacobi", (1,), "", True),
    (TS + "ex3.c", "-ts_type beuler -use_ifunc -ts_dt 0.0005 -ksp_guess_type fischer -pc_type none", (1,), "", False),
    (TS + "ex13.c", "-ts_max_steps 5 -da_grid_x 40 -da_grid_y 40 -pc_type jacobi", (1, 2, 4), "", False),
    (TS + "ex15.c", "-da_grid_x 20 -da_grid_y 20 -boundary 1 -ts_max_steps 10 -pc_type jacobi", (1, 2, 4), "", False),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("plugin", "mpiexec", "folder"):
        parser.add_argument(name)
    parser.add_argument("--short", action="store_true", help="a minute's worth")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    ranks_wanted = {int(number) for number in given.ranks.split(",")}
    try:
        programs = examples.Examples(given.folder, given.plugin, given.mpiexec)
    except examples.Missing as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    failed = ran = 0
    for source, text, all_ranks, prefix, short in CASES:
        if given.names and not any(name in source for name in given.names) or given.short and not short:
            continue
        for ranks in sorted(ranks_wanted & set(all_ranks)):
            if given.short and ranks > 2:
                continue
            nonlinear = not source.startswith((KSP, TESTS, *LINEAR))
            viewed = "ts" if source.startswith(TS) else "snes" if nonlinear else f"{prefix}ksp"
            arguments = [*text.split(), f"-{prefix}ksp_converged_reason", "-nox", "-snes_converged_reason",
                         f"-{viewed}_view_solution", "binary:SOLUTION"]
            stock = programs.run(source, ranks, [word.replace("{type}", "gmres") for word in arguments])
            method = examples.METHODS.get(examples.type_of(arguments, prefix), "auto")
            ours = programs.run(source, ranks, programs.with_plugin(
                [word.replace("{type}", "stretto") for word in arguments], method, prefix))
            found = examples.complaints(stock, ours, nonlinear=nonlinear)
            if stock.code:
                found = [f"PETSc's own run ends with {stock.code}: {examples.last_line(stock.text)}"]
            failed += bool(found)
            ran += 1
            print(f"{'FAILED' if found else 'ok'}: {source} {text} on {ranks}: {method}, "
                  f"iterations {ours.iterations}, PETSc's {stock.iterations} {'; '.join(found)}", flush=True)
    print(f"{ran - failed} of {ran} end as with PETSc's own types")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
