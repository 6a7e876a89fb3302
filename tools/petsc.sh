#!/usr/bin/env bash
# petsc.sh FOLDER [VERSION]: builds the PETSc of PyPI's source package into FOLDER, optimised for this machine, with the
# MPI and BLAS that are there. Does nothing where FOLDER has one.
set -euo pipefail

folder=$(realpath -m "${1:?petsc.sh FOLDER [VERSION]}")
version=${2:-3.26.1}
if [[ -e $folder/lib/libpetsc.so ]]; then exit 0; fi

unset PETSC_DIR PETSC_ARCH MAKEFLAGS MAKEOVERRIDES MFLAGS
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet wheel setuptools
"$work/venv/bin/pip" download --quiet --no-binary :all: --no-deps --no-build-isolation -d "$work" "petsc==$version"
tar -xf "$work/petsc-$version.tar.gz" -C "$work"
cd "$work/petsc-$version"
echo "Building PETSc $version, some minutes: ${folder}.log"
{
    ./configure --prefix="$folder" --with-cc="$(command -v mpicc.openmpi || echo mpicc)" --with-debugging=0 --with-fc=0 --with-cxx=0 --with-x=0 COPTFLAGS='-O3 -march=native'
    make -j "$(nproc)" all
    make install
} > "$folder.log" 2>&1 || { tail -n 20 "$folder.log" >&2; exit 1; }
