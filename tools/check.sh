#!/usr/bin/env bash
# check.sh [BUILD]: format, shell scripts and, where BUILD is named, which holds the compile_commands.json of what is
# compiled, lint; all of them even when one fails.
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

step clang-format tools/format.sh --dry-run -Werror
step shellcheck xargs -0 shellcheck -e SC1091 \
    < <(find tools tests examples .ci -type f \( -name '*.sh' -o -path .ci/run \) -print0)
if (($# == 0)); then exit "$failed"; fi
# PyPI's clang-tidy takes two thirds of the time of Debian's, which does where there is none.
tidy=build/lint/bin/clang-tidy
if ! [[ -x $tidy ]] && ! { python3 -m venv build/lint && build/lint/bin/pip install -q clang-tidy==23.1.4; } >&2; then
    tidy=$(command -v clang-tidy-19 || echo clang-tidy)
fi
# shellcheck disable=SC2317  # called through step
# Clang has no omp.h of GCC's here, and the checks are the same without; the warnings it counts are of system headers. Its
# -march=native may name features together that it then warns of, and neither GCC's precompiled headers nor all of its
# warnings are Clang's.
lint() {  # lint BUILD: the files whose names, each ended by a zero, come in
    xargs -0 -n1 -P"$(nproc)" "$tidy" -p "$1" --quiet \
        --extra-arg=-fno-openmp --extra-arg=-Wno-invalid-feature-combination --extra-arg=-Wno-ignored-gch \
        --extra-arg=-Wno-overriding-complex-range --extra-arg=-Wno-unknown-warning-option \
        --extra-arg=-Wno-deprecated-declarations 2> >(grep -v 'warnings\? generated' >&2)
}
# What this build leaves out, for want of a library, cannot be linted here.
sources() {  # sources BUILD FOLDER…
    python3 -c 'import json, os, sys
files = {os.path.relpath(each["file"]) for each in json.load(open(sys.argv[1] + "/compile_commands.json"))}
print(*sorted(file for file in files if file.startswith(tuple(sys.argv[2:]))), sep="\0", end="\0")' "$@"
}
step clang-tidy lint "$1" < <(sources "$1" src/ apps/cli/ plugins/ python/src/)
if [[ -e build/simulate/compile_commands.json ]]; then
    step 'clang-tidy of the simulator' lint build/simulate < <(sources build/simulate apps/simulator/)
fi
exit "$failed"
