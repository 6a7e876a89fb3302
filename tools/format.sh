#!/usr/bin/env bash
# format.sh OPTIONS…: clang-format over all sources, with -i to change them. Version 19, for one result everywhere.
set -euo pipefail
cd "$(dirname "$0")/.."
find include src plugins apps tests examples bench python \( -name '*.[ch]pp' -o -name '*.c' \) -print0 |
    xargs -0 "$(command -v clang-format-19 || echo clang-format)" "$@"
