#!/usr/bin/env bash
# check.sh BUILD: format, shell scripts and lint, all of them even when one fails. BUILD holds the
# compile_commands.json of the build to lint.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0

step() {  # step NAME COMMAND…
    local begin=$SECONDS
    if "${@:2}"; then
        echo "$1: good ($((SECONDS - begin)) s)"
    else
        echo "$1: FAILED" >&2
        failed=1
    fi
}

step clang-format scripts/format.sh --dry-run -Werror
step shellcheck xargs -0 shellcheck -e SC1091 \
    < <(find scripts tests .ci -type f \( -name '*.sh' -o -path .ci/run \) -print0)
# Clang has no omp.h of GCC's here, and the checks are the same without; the warnings it counts are of system headers.
step clang-tidy xargs -0 -n1 -P"$(nproc)" "$(command -v clang-tidy-19 || echo clang-tidy)" -p "$1" --quiet \
    --extra-arg=-fno-openmp < <(find src apps -name '*.cpp' -print0) 2> >(grep -v 'warnings\? generated' >&2)
exit "$failed"
