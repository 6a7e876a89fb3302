#!/usr/bin/env bash
# demo.sh: a 3D Poisson problem of a million unknowns and two real matrices on two ranks, every method that fits, in
# one table. STRETTO is the program and MPIEXEC starts ranks; make demo sets both.
set -euo pipefail
cd "$(dirname "$0")/.."
set -a; . tools/mpi.env; set +a
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

echo "Two ranks, one thread each; converged means ‖b − Ax‖ ≤ 1e-8 ‖b‖, recomputed."
solve() {  # solve PROBLEM METHOD…
    local problem=$1 methods=()
    for method in "${@:2}"; do methods+=(--method "$method"); done
    "$MPIEXEC" -n 2 "$STRETTO" solve "$problem" "${methods[@]}" --precond jacobi --threads 1 >"$rows"
    # The table follows the first empty line and ends at the next; its header is shown once.
    awk -v first="${header:-yes}" '
        NR == 1 { problem = $0; sub(/; set up.*/, "", problem) }
        NF == 0 { part++ }
        part == 1 && NF && /^method / { if (first == "yes") print "\n" $0; print problem; next }
        part == 1 && NF { print "  " $0 }' "$rows"
    header=no
}
names() {  # names NEEDS: the methods whose needs begin so
    "$STRETTO" list --json - | python3 -c 'import json, sys
print(*(m["name"] for m in json.load(sys.stdin)["methods"] if m["needs"].startswith(sys.argv[1])))' "$1"
}
read -ra symmetric < <(names symmetric)
read -ra any < <(names square)
solve poisson3d:100 "${symmetric[@]}" "${any[@]}"
solve tests/data/lsc_F_2.mtx.gz "${symmetric[@]}" "${any[@]}"
solve tests/data/teko_F_big.mtx.gz "${any[@]}"

echo "
An emulated network: milliseconds per iteration, and the fraction of the reductions that is hidden, when every reduction
takes so long (poisson3d:60, two ranks)."
output=$(dirname "$STRETTO")
python3 -m studies latency --rounds 1 --delays 0,0.5,1,2,4 --output "$output" >/dev/null
grep '^|' "$output/latency.md"
echo "Drawn in $output/latency.svg"
