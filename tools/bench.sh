#!/usr/bin/env bash
# bench.sh BUILD: runs every benchmark of a build in turn.
set -euo pipefail
cd "$(dirname "$0")/.."
found=0
while IFS= read -r program; do
    found=1
    echo "== $(basename "$program")"
    "$program"
done < <(find "$1/bench" -maxdepth 1 -type f -executable 2>/dev/null | sort)
((found)) || echo "No benchmarks in $1/bench."
