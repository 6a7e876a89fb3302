#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_plugin_errors.py PLUGIN: what the KSP type `stretto` refuses, and errors in functions that PETSc calls for a solve."""

import ctypes
import gc
import math
import sys
import unittest

from plugin_cases import PETSc, Jacobi, Product, matrix, residual, solver, vectors


def allocated():
    """Bytes of this process that were allocated and not freed."""
    class Memory(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                                                         "uordblks", "fordblks", "keepcost")]
    gc.collect()
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = Memory
    found = ask()
    return found.uordblks + found.hblkhd


class Refusals(unittest.TestCase):
    def refused(self, work):
        PETSc.Sys.pushErrorHandler("ignore")
        try:
            self.assertRaises(PETSc.Error, work)
        finally:
            PETSc.Sys.popErrorHandler()

    def test_bad_options(self):
        A = matrix()
        for name, value in (("method", "conjugate"), ("method", "cg:l=3"), ("method", "auto:m=50"), ("matrix", "mine"), ("verify", "no")):
            with self.subTest(name=name, value=value):
                self.refused(lambda: solver(A, **{name: value}))
                PETSc.Options().delValue(f"test_ksp_stretto_{name}")

    def test_norms_that_are_not_had(self):
        A = matrix()
        b, x = vectors(A)
        ksp = solver(A, "cg")
        ksp.setNormType(PETSc.KSP.NormType.NATURAL)
        self.refused(lambda: ksp.solve(b, x))

    def test_what_cannot_be_converted(self):
        A = matrix()
        shell = PETSc.Mat().createPython(A.getSizes(), Product(A))
        b, x = vectors(A)
        self.refused(lambda: solver(shell, "cg", pc="none", matrix="convert").solve(b, x))

    def test_rectangular(self):
        A = PETSc.Mat().createDense((8, 6))
        A.setUp()
        A.assemble()
        b, x = A.createVecLeft(), A.createVecRight()
        self.refused(lambda: solver(A, "cg", pc="none").solve(b, x))


class Failures(unittest.TestCase):
    methods = ("cg", "pipelined_cg", "deep_pipelined_cg:l=2", "gmres", "pipelined_gmres", "bicgstab")

    def test_exceptions_of_products(self):
        A = matrix()
        for method in self.methods:
            for at in (1, 2, 5):
                with self.subTest(method=method, at=at):
                    shell = PETSc.Mat().createPython(A.getSizes(), Product(A, at))
                    b, x = vectors(A)
                    ksp = solver(shell, method, pc="none")
                    self.assertRaisesRegex(ValueError, "of the product", lambda: ksp.solve(b, x))
                    shell.getPythonContext().fails_at = 0
                    ksp.solve(b, x)
                    self.assertGreater(ksp.getConvergedReason(), 0)

    def test_exceptions_of_preconditioners_on_one_rank(self):
        A = matrix()
        rank, size = PETSc.COMM_WORLD.rank, PETSc.COMM_WORLD.size
        for method in self.methods:
            with self.subTest(method=method):
                b, x = vectors(A)
                ksp = solver(A, method, pc="none")
                ksp.getPC().setType("python")
                ksp.getPC().setPythonContext(Jacobi(fails_at=4, ranks={size - 1}))
                PETSc.Sys.pushErrorHandler("ignore")
                self.assertRaises(ValueError if rank == size - 1 else PETSc.Error, lambda: ksp.solve(b, x))
                PETSc.Sys.popErrorHandler()
                ksp.getPC().setPythonContext(Jacobi())
                ksp.solve(b, x)
                self.assertGreater(ksp.getConvergedReason(), 0)

    def test_exceptions_of_monitors(self):
        A = matrix()

        def monitor(ksp, its, norm):
            if its == 3:
                raise ValueError("of the monitor")
        for method in self.methods:
            b, x = vectors(A)
            ksp = solver(A, method)
            ksp.setMonitor(monitor)
            self.assertRaisesRegex(ValueError, "of the monitor", lambda: ksp.solve(b, x))

    def test_exceptions_outlive_the_callbacks_that_follow(self):
        A = matrix()
        rank = PETSc.COMM_WORLD.rank
        for method in self.methods:
            for place in ("monitor", "preconditioner", "product"):
                with self.subTest(method=method, place=place):
                    def monitor(ksp, its, norm, fails=place == "monitor"):
                        if fails and its == 3 and rank == 0:
                            raise ValueError("of the monitor")
                    here = {0}
                    shell = PETSc.Mat().createPython(A.getSizes(), Product(A, fails_at=5 * (place == "product")))
                    b, x = vectors(A)
                    ksp = solver(shell, method, pc="none")
                    ksp.getPC().setType("python")
                    ksp.getPC().setPythonContext(Jacobi(fails_at=4 * (place == "preconditioner"), ranks=here))
                    ksp.setMonitor(monitor)
                    PETSc.Sys.pushErrorHandler("ignore")
                    if rank == 0 or place == "product":
                        self.assertRaisesRegex(ValueError, f"of the {place}", lambda: ksp.solve(b, x))
                    else:
                        self.assertRaises(PETSc.Error, lambda: ksp.solve(b, x))
                    PETSc.Sys.popErrorHandler()

    def test_failures_leave_no_memory_behind(self):
        A = matrix(60)
        b, x = vectors(A)
        size = PETSc.COMM_WORLD.size

        def fail(method, place):
            """A solve that the last rank's product, preconditioner or monitor ends, or NaN everywhere; then a solver less."""
            def monitor(ksp, its, norm):
                if place == "monitor" and its == 3 and ksp.comm.rank == size - 1:
                    raise ValueError("of the monitor")
            shell = PETSc.Mat().createPython(A.getSizes(), Product(A, fails_at=5 * (place == "product")))
            pc = Jacobi(fails_at=4 * (place == "preconditioner"), nan_at=4 * (place == "nan"), nan_stays=place == "nan", ranks={size - 1})
            ksp = solver(shell, method, pc="none")
            ksp.getPC().setType("python")
            ksp.getPC().setPythonContext(pc)
            ksp.setMonitor(monitor)
            try:
                ksp.solve(b, x)
                return ksp.getConvergedReason() < 0
            except (ValueError, PETSc.Error):
                return True
            finally:
                ksp.destroy()
                shell.destroy()

        PETSc.Sys.pushErrorHandler("ignore")
        for _ in range(40):  # after which MPI keeps no more buffers for later
            fail("cg", "product")
        for method in self.methods:
            for place in ("product", "preconditioner", "monitor", "nan"):
                with self.subTest(method=method, place=place):
                    found = []
                    for _ in range(4):
                        for _ in range(10):
                            self.assertTrue(fail(method, place))
                        found.append(allocated())
                    # A vector of each of these ten solves would be ten times as much.
                    self.assertLess(min(after - before for before, after in zip(found, found[1:])), 8 * A.getLocalSize()[0])
        PETSc.Sys.popErrorHandler()

    def test_nan_that_stays(self):
        A = matrix()
        for method in self.methods:
            with self.subTest(method=method):
                b, x = vectors(A)
                ksp = solver(A, method, pc="none")
                ksp.getPC().setType("python")
                ksp.getPC().setPythonContext(Jacobi(nan_at=4, nan_stays=True))
                ksp.solve(b, x)
                self.assertEqual(ksp.getConvergedReason(), PETSc.KSP.ConvergedReason.DIVERGED_NANORINF)
                self.assertTrue(math.isfinite(x.norm()))
                ksp.getPC().setPythonContext(Jacobi())
                ksp.setInitialGuessNonzero(True)
                ksp.solve(b, x)
                self.assertGreater(ksp.getConvergedReason(), 0)

    def test_nan(self):
        A = matrix()
        for method in self.methods:
            for at in (1, 3):
                with self.subTest(method=method, at=at):
                    b, x = vectors(A)
                    ksp = solver(A, method, pc="none")
                    ksp.getPC().setType("python")
                    ksp.getPC().setPythonContext(Jacobi(nan_at=at))
                    ksp.solve(b, x)
                    reason = ksp.getConvergedReason()
                    self.assertTrue(reason > 0 or reason == PETSc.KSP.ConvergedReason.DIVERGED_NANORINF, reason)
                    if reason > 0:
                        self.assertLessEqual(residual(A, b, x), 1.01e-8)
                    ksp.getPC().setPythonContext(Jacobi(nan_at=0))
                    b, x = vectors(A)
                    ksp.solve(b, x)
                    self.assertGreater(ksp.getConvergedReason(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
