# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack: in a repository of your own, as packages/stretto/package.py; then spack dev-build stretto@main.
from spack.package import *


class Stretto(CMakePackage):
    """Krylov solvers for MPI, threads and many right-hand sides that hide, merge and avoid global reductions."""

    license("BSD-3-Clause")
    version("main")

    variant("shared", default=True, description="Shared libraries")
    variant("threads", default=True, description="Threads inside a process")
    variant("complex", default=True, description="Complex scalars, too")
    variant("hypre", default=True, description="The preconditioner amg")
    variant("cuda", default=False, description="Methods on NVIDIA's GPUs")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("mpi@3:")
    depends_on("zlib-api")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("cli11")
    depends_on("blas")
    depends_on("lapack")
    depends_on("suite-sparse")
    depends_on("metis")
    depends_on("intel-oneapi-tbb")
    depends_on("hypre+mpi", when="+hypre")
    depends_on("cuda@13:", when="+cuda")

    conflicts("%gcc@:11", msg="Stretto is C++20")

    def cmake_args(self):
        args = [self.define_from_variant("BUILD_SHARED_LIBS", "shared"), self.define_from_variant("STRETTO_THREADS", "threads"),
                self.define_from_variant("STRETTO_WITH_HYPRE", "hypre"), self.define_from_variant("STRETTO_CUDA", "cuda"),
                self.define("STRETTO_SCALARS", "double;complex" if self.spec.satisfies("+complex") else "double"),
                self.define("STRETTO_NATIVE", False), self.define("STRETTO_BUILD_BENCH", False), self.define("STRETTO_BUILD_PYTHON", "OFF"),
                self.define("STRETTO_BUILD_PETSC", False), self.define("STRETTO_BUILD_TESTS", self.run_tests)]
        if self.spec.satisfies("+hypre"):
            args.append(self.define("CMAKE_PREFIX_PATH", self.spec["hypre"].prefix))
        return args
