#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_example.py PLUGIN MPIEXEC SOURCE: a PETSc program in C, compiled as its comment says, with PETSc's own method and with the
plug-in's, on one and two ranks."""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import examples

PLUGIN, MPIEXEC, SOURCE = sys.argv[1:4]
SAID = re.compile(r"(\w+): (\w+) after (\d+) iterations, \|b - A x\| / \|b\| = (\S+)")


class Example(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = pathlib.Path(cls.folder.name) / "program"
        subprocess.run(["mpicc", "-Wall", "-Wextra", "-Werror", SOURCE, "-o", str(cls.program), *examples.flags()], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_it(self, ranks, options):
        """What the program says of its solve: type, reason, iterations, residual."""
        done = subprocess.run([*shlex.split(MPIEXEC), "-n", str(ranks), str(self.program), *options.split(), "-pc_type", "jacobi"],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        kind, reason, iterations, residual = SAID.search(done.stdout).groups()
        return kind, reason, int(iterations), float(residual)

    def test_with_petsc_and_with_the_plugin(self):
        for ranks in (1, 2):
            kind, reason, expected, _ = self.run_it(ranks, "-ksp_type cg -ksp_norm_type unpreconditioned")
            self.assertEqual((kind, reason), ("cg", "CONVERGED_RTOL"))
            for method in ("auto", "pipelined_cg"):
                with self.subTest(ranks=ranks, method=method):
                    kind, reason, iterations, residual = self.run_it(
                        ranks, f"-dll_append {PLUGIN} -ksp_type stretto -ksp_stretto_method {method}")
                    self.assertEqual((kind, reason), ("stretto", "CONVERGED_RTOL"))
                    self.assertLessEqual(residual, 1e-8)
                    self.assertLessEqual(abs(iterations - expected), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
