#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""programs.py PLUGIN MPIEXEC [--matrix auto|mult|convert] [NAME…]: programs of others, as Debian has them and unmodified, with PETSc's
own types and with Stretto's through PETSC_OPTIONS alone. Each is to end, and with about as many iterations. What is not
installed is skipped by a line; 77 where nothing is."""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import examples

def iterations(text):
    """Of each solve."""
    told = re.findall(r"^Iteration: (\d+),", text, re.MULTILINE)  # by the demo's own monitor
    return [int(found[3]) for found in examples.REASON.findall(text)] or [int(number) for number in told[-1:]]


def programs(folder):
    """(name, what it needs, command, ranks, options with PETSc's types, with Stretto's)."""
    scaling = "dolfinx-scaling-test --scaling_type strong --order 1"
    replaced = "-stretto_replace cg"
    yield ("dolfinx-scaling-test, elasticity, GAMG", "/usr/bin/dolfinx-scaling-test",
           f"{scaling} --problem_type elasticity --ndofs 30000 -ksp_type cg -ksp_rtol 1e-8 -ksp_norm_type unpreconditioned "
           "-pc_type gamg -ksp_converged_reason -mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi", 2, "", replaced)
    yield ("dolfinx-scaling-test, Poisson, BoomerAMG", "/usr/bin/dolfinx-scaling-test",
           f"{scaling} --problem_type poisson --ndofs 50000 -ksp_type cg -ksp_rtol 1e-8 -ksp_norm_type unpreconditioned "
           "-pc_type hypre -pc_hypre_type boomeramg -ksp_converged_reason", 2, "", replaced)
    yield ("dolfinx-scaling-test, Poisson, Jacobi", "/usr/bin/dolfinx-scaling-test",
           f"{scaling} --problem_type poisson --ndofs 100000 -ksp_type cg -ksp_rtol 1e-8 -ksp_norm_type unpreconditioned "
           "-pc_type jacobi -ksp_converged_reason", 1, "", replaced)
    demo = "/usr/share/dolfinx/demo-python/demo_elasticity.py"
    yield "DOLFINx in Python, demo_elasticity", demo, f"/usr/bin/python3 {demo}", 1, "-ksp_norm_type unpreconditioned", replaced
    magnet = pathlib.Path("/usr/share/doc/getdp/examples/demos")
    yield ("GetDP, magnet", str(magnet / "magnet.pro"),
           f"getdp {magnet}/magnet.pro -msh {magnet}/magnet.msh -name {folder}/magnet -solve Magnetostatics_phi "
           "-ksp_type gmres -pc_type jacobi -ksp_rtol 1e-8 -ksp_converged_reason -ksp_max_it 5000", 1, "",
           "-stretto_replace gmres")


def run(mpiexec, ranks, command, options):
    environment = {**os.environ, "PETSC_OPTIONS": options, "OMP_NUM_THREADS": "1"}
    start = [*shlex.split(mpiexec), "-n", str(ranks)] if ranks > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*start, *shlex.split(command)], capture_output=True, text=True, env=environment, timeout=900,
                              errors="replace", cwd=folder)
    return done.returncode, iterations(done.stdout), done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plugin")
    parser.add_argument("mpiexec")
    parser.add_argument("--matrix", default="auto")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    ran = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, needed, command, ranks, stock, ours in programs(folder):
            if given.names and not any(each in name for each in given.names):
                continue
            if not os.path.exists(needed):
                print(f"skipped: {name}: {needed} is not there")
                continue
            ran += 1
            loaded = f"-dll_append {os.path.abspath(given.plugin)} {ours} -ksp_stretto_matrix {given.matrix} -ksp_converged_reason"
            code, before, text = run(given.mpiexec, ranks, command, stock + " -ksp_converged_reason")
            our_code, after, our_text = run(given.mpiexec, ranks, command, loaded)
            good = code == our_code == 0 and len(before) == len(after) > 0 and all(
                b <= 1.1 * a + 2 for a, b in zip(before, after))
            failed += not good
            print(f"{'ok' if good else 'FAILED'}: {name}: iterations {after}, with PETSc's type {before}", flush=True)
            if not good:
                print(f"PETSc's run ({code}):\n{text[-2000:]}\nwith the plug-in ({our_code}):\n{our_text[-3000:]}")
    sys.exit(77 if not ran else failed > 0)


if __name__ == "__main__":
    main()
