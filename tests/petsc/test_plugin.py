#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_plugin.py PLUGIN: what a program of PETSc's may ask of a KSP, asked of type `stretto`, on any number of ranks."""

import pathlib
import sys
import tempfile
import unittest

from plugin_cases import PETSc, mat_solve, matrix, numpy, residual, solver, vectors

CG = ["cg", "pipelined_cg", "predict_and_recompute_cg", "deep_pipelined_cg:l=2", "s_step_cg", "minres"]
GENERAL = ["bicgstab", "pipelined_bicgstab", "gmres", "pipelined_gmres", "gmres:flexible=1"]


class Solves(unittest.TestCase):
    def check(self, ksp, A, b, x, transposed=False, at_most=1.0000001e-8):
        (ksp.solveTranspose if transposed else ksp.solve)(b, x)
        self.assertGreater(ksp.getConvergedReason(), 0)
        self.assertLessEqual(residual(A, b, x, transposed), at_most)
        return ksp.getIterationNumber()

    def test_methods_and_matrices(self):
        for methods, wind in ((CG, 0.0), (GENERAL, 0.3)):
            A = matrix(wind=wind)
            for method in methods:
                for products in ("mult", "convert", "auto"):
                    with self.subTest(method=method, products=products):
                        b, x = vectors(A)
                        self.check(solver(A, method, matrix=products), A, b, x)

    def test_automatic_method(self):
        A = matrix()
        b, x = vectors(A)
        self.check(solver(A), A, b, x)
        A.setOption(PETSc.Mat.Option.SPD, True)
        self.check(solver(A), A, b, x)

    def test_automatic_method_for_inner_solvers(self):
        A = matrix(wind=0.3)
        for inner, method in (("gmres", "gmres:flexible=1"), ("richardson", "bicgstab")):
            b, x = vectors(A)
            ksp = solver(A, pc="mg")
            ksp.getPC().setMGLevels(1)
            ksp.getPC().getMGCoarseSolve().setType(inner)
            ksp.getPC().getMGCoarseSolve().getPC().setType("jacobi")
            ksp.getPC().getMGCoarseSolve().setTolerances(max_it=4)
            self.check(ksp, A, b, x)
            said = self.view(ksp)
            self.assertTrue(said is None or f"method auto: {method}\n" in said, said)

    def view(self, ksp):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "view"
            viewer = PETSc.Viewer().createASCII(str(path), comm=ksp.getComm())
            ksp.view(viewer)
            viewer.destroy()
            return path.read_text() if path.exists() else None  # rank 0 writes

    def test_kinds_of_matrices(self):
        for kind in ("aij", "baij", "sbaij"):
            A = matrix(kind=kind)
            b, x = vectors(A)
            self.check(solver(A, "cg", matrix="convert"), A, b, x)

    def test_iterations_are_those_of_petsc(self):
        A = matrix()
        for method, name in (("cg", "cg"), ("gmres", "gmres")):
            b, x = vectors(A)
            ours = self.check(solver(A, method, verify="recurrence"), A, b, x, at_most=1e-7)
            stock = PETSc.KSP().create()
            stock.setOperators(A)
            stock.setType(name)
            stock.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
            if name == "gmres":
                stock.setPCSide(PETSc.PC.Side.RIGHT)
            stock.getPC().setType("jacobi")
            stock.setTolerances(rtol=1e-8)
            stock.solve(b, x)
            self.assertLessEqual(abs(ours - stock.getIterationNumber()), 1)

    def test_monitors_and_history(self):
        A = matrix()
        for method in ("cg", "gmres"):
            b, x = vectors(A)
            told = []
            ksp = solver(A, method, verify="recurrence")
            ksp.setMonitor(lambda ksp, its, norm: told.append((its, norm)))
            ksp.setConvergenceHistory()
            its = self.check(ksp, A, b, x, at_most=1e-7)
            self.assertEqual([n for n, _ in told], list(range(its + 1)))
            self.assertAlmostEqual(told[0][1], b.norm())
            numpy.testing.assert_allclose(ksp.getConvergenceHistory(), [norm for _, norm in told])

    def test_true_residual_while_it_runs(self):
        A = matrix()
        for method in ("cg", "bicgstab"):
            b, x = vectors(A)
            told = []

            def monitor(ksp, its, norm):
                told.append((norm, ksp.buildResidual().norm()))
            ksp = solver(A, method)
            ksp.setMonitor(monitor)
            self.check(ksp, A, b, x)
            for recursive, true in told:
                self.assertAlmostEqual(recursive / true, 1, delta=1e-3, msg=method)

    def test_test_of_a_program(self):
        A = matrix()
        for method in ("cg", "gmres"):
            b, x = vectors(A)
            ksp = solver(A, method)
            ksp.setConvergenceTest(lambda ksp, its, norm: PETSc.KSP.ConvergedReason.CONVERGED_STEP_LENGTH
                                   if its == 7 else PETSc.KSP.ConvergedReason.ITERATING)
            ksp.solve(b, x)
            self.assertEqual((ksp.getIterationNumber(), ksp.getConvergedReason()),
                             (7, PETSc.KSP.ConvergedReason.CONVERGED_STEP_LENGTH))
            self.assertGreater(x.norm(), 0)

    def test_norm_none_does_all_iterations(self):
        A = matrix()
        for method in ("cg", "gmres", "bicgstab"):
            b, x = vectors(A)
            ksp = solver(A, method)
            ksp.setNormType(PETSc.KSP.NormType.NONE)
            ksp.setTolerances(max_it=5)
            PETSc.Options()["test_ksp_convergence_test"] = "skip"
            ksp.setFromOptions()
            PETSc.Options().delValue("test_ksp_convergence_test")
            ksp.solve(b, x)
            self.assertEqual((ksp.getIterationNumber(), ksp.getConvergedReason()),
                             (5, PETSc.KSP.ConvergedReason.CONVERGED_ITS))

    def test_limits(self):
        A = matrix()
        for method in ("cg", "gmres"):
            b, x = vectors(A)
            ksp = solver(A, method)
            ksp.setTolerances(max_it=4)
            ksp.solve(b, x)
            self.assertEqual((ksp.getIterationNumber(), ksp.getConvergedReason()),
                             (4, PETSc.KSP.ConvergedReason.DIVERGED_MAX_IT))
            self.assertGreater(x.norm(), 0)
            self.check(solver(A, method, rtol=0.1), A, b, x, at_most=0.1)

    def test_guesses(self):
        A = matrix()
        for method in ("cg", "gmres"):
            b, x = vectors(A)
            ksp = solver(A, method)
            first = self.check(ksp, A, b, x)
            ksp.setInitialGuessNonzero(True)
            self.assertLessEqual(self.check(ksp, A, b, x), 1)
            x.scale(1.001)
            self.assertLess(self.check(ksp, A, b, x), first)

    def test_zero_right_hand_side(self):
        A = matrix()
        for method in ("cg", "gmres", "bicgstab"):
            b, x = vectors(A)
            b.set(0)
            ksp = solver(A, method)
            ksp.solve(b, x)
            self.assertGreater(ksp.getConvergedReason(), 0)
            self.assertEqual((ksp.getIterationNumber(), x.norm()), (0, 0))

    def test_left_preconditioning(self):
        A = matrix(wind=0.3)
        for method in ("gmres", "bicgstab"):
            for products in ("mult", "convert"):
                b, x = vectors(A)
                ksp = solver(A, method, pc="sor" if b.getComm().size == 1 else "bjacobi", matrix=products)
                ksp.setPCSide(PETSc.PC.Side.LEFT)
                self.check(ksp, A, b, x, at_most=1e-6)
                self.assertEqual(ksp.getNormType(), PETSc.KSP.NormType.PRECONDITIONED)

    def test_preconditioning_from_both_sides(self):
        A = matrix(wind=0.3)
        for method in ("gmres", "bicgstab"):
            for products in ("mult", "convert"):
                b, x = vectors(A)
                told = []
                ksp = solver(A, method, matrix=products)
                ksp.setPCSide(PETSc.PC.Side.SYMMETRIC)
                ksp.setMonitor(lambda ksp, its, norm: told.append((norm, ksp.buildResidual().norm())))
                first = self.check(ksp, A, b, x)
                self.assertEqual(ksp.getNormType(), PETSc.KSP.NormType.PRECONDITIONED)
                recursive, true = told[-1 if method == "bicgstab" else 0]
                self.assertAlmostEqual(2 * recursive / true, 1, delta=1e-3)  # the diagonal is 4
                ksp.setInitialGuessNonzero(True)
                x.scale(1.001)
                self.assertLess(self.check(ksp, A, b, x), first)

    def test_transposed(self):
        A = matrix(wind=0.3)
        for method in ("gmres", "bicgstab"):
            for products in ("mult", "convert"):
                b, x = vectors(A)
                ksp = solver(A, method, matrix=products)
                self.check(ksp, A, b, x, transposed=True)
                self.check(ksp, A, b, x)
                self.check(ksp, A, b, x, transposed=True)

    def test_many_right_hand_sides(self):
        for method, wind in (("cg", 0.0), ("gmres", 0.3), ("pipelined_bicgstab", 0.3)):
            for products in ("mult", "convert"):
                A = matrix(wind=wind)
                columns = 5
                B = PETSc.Mat().createDense((A.getSizes()[0], (None, columns)))
                B.setUp()
                X = B.duplicate()
                for each in (B, X):
                    each.assemble()
                first, last = B.getOwnershipRange()
                B.getDenseArray()[:] = numpy.random.default_rng(3).standard_normal((B.getSize()[0], columns))[first:last]
                ksp = solver(A, method, matrix=products)
                mat_solve(ksp, B, X)
                self.assertGreater(ksp.getConvergedReason(), 0)
                for j in range(columns):
                    self.assertLess(residual(A, B.getColumnVector(j), X.getColumnVector(j)), 1.01e-8)

    def test_negative_definite(self):
        A = matrix(sign=-1.0)
        for method in ("cg", "pipelined_cg", "deep_pipelined_cg:l=1"):
            for pc in ("none", "jacobi", "bjacobi"):
                for products in ("mult", "convert"):
                    with self.subTest(method=method, pc=pc, products=products):
                        b, x = vectors(A)
                        ksp = solver(A, method, pc=pc, matrix=products)
                        self.check(ksp, A, b, x)
                        self.check(ksp, A, b, x)

    def test_indefinite_is_said(self):
        A = matrix()
        A.shift(-2.0)
        b, x = vectors(A)
        ksp = solver(A, "cg", pc="none")
        ksp.solve(b, x)
        self.assertLess(ksp.getConvergedReason(), 0)

    def test_null_space(self):
        A = matrix(ends=0)
        A.setNullSpace(PETSc.NullSpace().create(constant=True))
        for method in ("cg", "gmres", "bicgstab"):
            for products in ("mult", "convert"):
                b, x = vectors(A)
                A.getNullSpace().remove(b)
                self.check(solver(A, method, matrix=products), A, b, x, at_most=1.01e-8)
                self.assertLess(abs(x.sum()), 1e-6 * x.norm())

    def test_new_values_and_new_patterns(self):
        A = matrix()
        for products in ("auto", "convert", "mult"):
            ksp = solver(A, "cg", matrix=products)
            b, x = vectors(A)
            for step in range(4):
                if step > 1:
                    A.scale(1.5)
                    A.shift(0.01 * step)
                self.check(ksp, A, b, x)
            other = matrix(n=30, ends=5.0)
            ksp.setOperators(other)
            self.check(ksp, other, b, x)
            small = matrix(n=11)
            ksp.reset()
            ksp.setOperators(small)
            b, x = vectors(small)
            self.check(ksp, small, b, x)

    def test_view_names_the_method(self):
        A = matrix()
        b, x = vectors(A)
        ksp = solver(A, "pipelined_cg")
        self.check(ksp, A, b, x)
        with tempfile.TemporaryDirectory() as folder:
            for make, *more in (("createASCII",), ("createBinary", "w")):
                viewer = getattr(PETSc.Viewer(), make)(f"{folder}/{make}", *more, comm=ksp.comm)
                ksp.view(viewer)
                viewer.destroy()
            if ksp.comm.rank == 0:  # which writes
                self.assertIn("method pipelined_cg", pathlib.Path(folder, "createASCII").read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
