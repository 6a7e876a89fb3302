# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack 1.0 and later: in a repository of your own, as packages/stretto/package.py; then spack dev-build stretto@main.
# Built so with Debian's libraries; with all of Spack's own it was resolved only.
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Stretto(CMakePackage):
    """Krylov solvers for MPI, threads and many right-hand sides that hide, merge and avoid global reductions."""

    license("BSD-3-Clause")
    version("main")
    version("0.2.0")

    variant("shared", default=True, description="Shared libraries")
    variant("threads", default=True, description="Threads inside a process")
    variant("complex", default=True, description="Complex scalars, too")
    variant("hypre", default=True, description="The preconditioner amg")
    variant("cuda", default=False, description="Methods on NVIDIA's GPUs")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("googletest", type="test")
    depends_on("python@3:", type="test")
    depends_on("mpi@3:")
    depends_on("zlib-api")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("cli11")
    depends_on("blas")
    depends_on("lapack")
    depends_on("suite-sparse")
    depends_on("metis@5:")
    depends_on("tbb")
    depends_on("hypre+mpi~int64~complex", when="+hypre")
    depends_on("cuda@13:", when="+cuda")

    conflicts("%gcc@:11", msg="Stretto is C++20")

    def setup_build_environment(self, env):
        # Named, it is taken with every MPI: a hypre that is only found may be of another.
        if self.spec.satisfies("+hypre"):
            env.set("HYPRE_DIR", self.spec["hypre"].prefix)

    def cmake_args(self):
        # Spack's compiler wrapper compiles for the target, and OpenBLAS has no library by the name of lapack.
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("STRETTO_THREADS", "threads"),
            self.define_from_variant("STRETTO_WITH_HYPRE", "hypre"),
            self.define_from_variant("STRETTO_CUDA", "cuda"),
            self.define("STRETTO_SCALARS", "double;complex" if self.spec.satisfies("+complex") else "double"),
            self.define("STRETTO_LIB_lapack", (self.spec["lapack"].libs + self.spec["blas"].libs).joined(";")),
            self.define("STRETTO_NATIVE", False),
            self.define("STRETTO_LEVELS", False),
            self.define("STRETTO_BUILD_BENCH", False),
            self.define("STRETTO_BUILD_EXAMPLES", False),
            self.define("STRETTO_BUILD_PETSC", False),
            self.define("STRETTO_BUILD_PYTHON", "OFF"),
            self.define("STRETTO_BUILD_TESTS", self.run_tests),
        ]
