#!/usr/bin/env bash
# abi.sh COMMIT: do programs that were linked with COMMIT's shared library go on with that of these sources? abidiff compares what
# headers declare of both. They are built without optimisation, for the types alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
old=$(git rev-parse --verify --quiet "${1:-}^{commit}") || { echo "abi.sh: '${1:-}' is no commit; make abi ABI_OLD=v0.2.0" >&2; exit 2; }

library() {  # library SOURCES BUILD
    cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=ON -DSTRETTO_NATIVE=OFF -DSTRETTO_LEVELS=OFF \
        -DSTRETTO_CUDA=OFF -DSTRETTO_BUILD_CLI=OFF -DSTRETTO_BUILD_TESTS=OFF -DSTRETTO_BUILD_BENCH=OFF -DSTRETTO_BUILD_EXAMPLES=OFF \
        -DSTRETTO_BUILD_PETSC=OFF -DSTRETTO_BUILD_PYTHON=OFF >/dev/null
    cmake --build "$2" --target stretto
}
rm -rf build/abi/old-sources
mkdir -p build/abi/old-sources
git archive "$old" | tar -x -C build/abi/old-sources
library build/abi/old-sources build/abi/old
library . build/abi/new

# What is added breaks nothing, and is not counted.
if abidiff --no-added-syms --fail-no-debug-info --headers-dir1 build/abi/old-sources/include --headers-dir2 include \
    build/abi/old/libstretto.so build/abi/new/libstretto.so; then
    echo "abi.sh: programs linked with the library of $1 go on"
else
    echo "abi.sh: programs linked with the library of $1 may break: the above is another" >&2
    exit 1
fi
