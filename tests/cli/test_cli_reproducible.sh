#!/bin/bash
# --reproducible: the same bits on any number of ranks and threads, and what cannot be so is refused.
. "$(dirname "$0")/cli_checks.bash"

same() { cmp "$1" "$2" || { head -n 5 "$1" "$2"; return 1; }; }
refuses() { exits 2 1 "${@:2}" && says err "$1"; }

# WHAT PROBLEM METHOD PRECONDITIONER ARGUMENT…
compared() {
  local what=$1 problem=$2 method=$3 precond=$4 ranks threads
  shift 4
  local asked=(solve "$problem" --method "$method" --precond "$precond" --rhs random --reproducible "$@")
  check "$what" solves 1 "${asked[@]}" --threads 1 --solution one.mtx --history one.csv --json one.json
  check "$what: said in the JSON" holds one.json "r['reproducible'] and r['converged']"
  for ranks in 1 2 3; do
    for threads in 1 2; do
      check "$what, $ranks ranks of $threads" solves "$ranks" "${asked[@]}" --threads $threads --solution other.mtx --history other.csv
      check "$what, $ranks ranks of $threads: x" same one.mtx other.mtx
      check "$what, $ranks ranks of $threads: residuals" same one.csv other.csv
    done
  done
  check "$what, as tasks" solves 2 "${asked[@]}" --threads 2 --execution tasks:tiles=5 --solution other.mtx
  check "$what, as tasks: x" same one.mtx other.mtx
}

compared "pipelined_cg" jump3d:20 pipelined_cg jacobi --columns 2
compared "gmres, chebyshev" convdiff2d:60 gmres chebyshev
compared "a real matrix" "$DATA/pyamg_recirc_flow.mtx.gz" bicgstab jacobi
for method in gmres:basis=single refine:inner=s_step_gmres; do  # registers add up in double precision, the last rows too
  asked=(solve poisson2d:10 --method "$method" --precond none --rhs random --reproducible)
  check "$method" solves 1 "${asked[@]}" --solution one.mtx
  for ranks in 2 3; do
    check "$method, $ranks ranks" solves $ranks "${asked[@]}" --solution other.mtx
    check "$method, $ranks ranks: x" same one.mtx other.mtx
  done
done
check "slow reductions change nothing" solves 2 solve convdiff2d:60 --method gmres --precond chebyshev --rhs random --reproducible \
  --emulate-latency 100us,jitter=100us --progress-mode poll --solution other.mtx
check "slow reductions: the same iterations" solves 1 solve convdiff2d:60 --method gmres --precond chebyshev --rhs random --reproducible \
  --solution one.mtx
check "slow reductions: x" same one.mtx other.mtx
check "equilibrated, as nonzeros are dealt" solves 1 solve "$DATA/pyamg_recirc_flow.mtx.gz" --method bicgstab --precond jacobi \
  --prepare equilibrate,nonzeros --reproducible --solution one.mtx
check "equilibrated, 3 ranks" solves 3 solve "$DATA/pyamg_recirc_flow.mtx.gz" --method bicgstab --precond jacobi \
  --prepare equilibrate,nonzeros --reproducible --solution other.mtx
check "equilibrated: x" same one.mtx other.mtx
check "singular" solves 1 solve neumann3d:12 --method cg --precond jacobi --rhs random --null-space constant --reproducible --solution one.mtx
check "singular, 3 ranks" solves 3 solve neumann3d:12 --method cg --precond jacobi --rhs random --null-space constant --reproducible \
  --solution other.mtx
check "singular: x" same one.mtx other.mtx

# What an iteration begins with is kept, so even other ranks go on as if nothing had happened.
asked=(solve jump3d:20 --method cg --precond jacobi --rhs random --reproducible)
check "without a break" solves 1 "${asked[@]}" --solution one.mtx
check "broken off, 2 ranks" exits 1 2 "${asked[@]}" --max-it 40 --checkpoint state.bin,every=10it
check "gone on with, 3 ranks" solves 3 "${asked[@]}" --resume state.bin --solution other.mtx --json other.json
check "gone on with: from there" holds other.json "r['resumed_after'] >= 30"
check "gone on with: x" same one.mtx other.mtx

check "auto" refuses "name a method and a preconditioner" solve jump3d:8 --reproducible
check "an automatic depth" refuses "name a method" solve jump3d:8 --method deep_pipelined_cg:l=auto --precond jacobi --reproducible
check "blocks of ranks" refuses "those are none, jacobi and chebyshev|none, jacobi" \
  solve jump3d:8 --method cg --precond block_jacobi:ic0 --reproducible
check "another storage" refuses "leave it out" solve jump3d:8 --method cg --storage blocked --reproducible
check "an order of ranks" refuses "leave it out" solve jump3d:8 --method cg --prepare metis --reproducible
check "a device" refuses "device cpu" solve jump3d:8 --method cg --device emulated --reproducible

finish
