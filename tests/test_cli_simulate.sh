#!/bin/bash
# The simulation of clusters from the command line, where the simulator is built (make simulate).
. "$(dirname "$0")/cli_checks.bash"

fails() { ! "$@"; }
problem="simulate --problem poisson3d:16"
# shellcheck disable=SC2086
{
check "a number of nodes that is none" exits 2 1 $problem --method cg --nodes 0
check "says so" says err '^stretto: --nodes 0: a number of nodes is 1 to 65536$'
check "an unknown parameter" exits 2 1 $problem --method cg --set foo=1
check "says so" says err "'foo=1' is not PARAMETER=VALUE"
check "an unknown method" exits 2 1 $problem --method foo
check "help" solves 1 simulate --help

simulator="$(dirname "$STRETTO")/../simulate/stretto-simulator.so"
if [ ! -e "$simulator" ] || ! command -v smpirun >/dev/null; then
  echo "the simulator is not built: the simulations themselves are skipped"
  finish
fi

# ---- the real methods: the same numbers as with MPI ----
methods="cg pipelined_cg deep_pipelined_cg:l=2 pipelined_bicgstab pipelined_s_step_gmres:m=20"
check "four ranks" solves 1 $problem --nodes 2 --ranks-per-node 2 --iterations 200 --history --json four.json --methods $methods
for method in $methods; do
  check "$method with MPI" solves 4 solve poisson3d:16 --threads 1 --storage csr --progress-mode none --method "$method" \
    --history history.csv --json run.json
  check "has the same residuals" python simulated four.json "$method" run.json history.csv
done

# ---- 64 ranks, and every back end ----
smoke="$problem --nodes 4 --iterations 60 --methods cg pipelined_cg deep_pipelined_cg:l=2 --history"
for reductions in rd act ana; do
  check "64 ranks, $reductions" solves 1 $smoke --reductions $reductions --exchanges messages --json $reductions.json
  check "converges" holds $reductions.json "len(r['points']) == 3 and all(p['status'] == 'converged' and \
    p['ranks'] == 64 and p['relative_residual'] <= 1e-8 for p in r['points'])"
done
check "ana, exchanges in memory" solves 1 $smoke --exchanges memory --json memory.json
check "again" solves 1 $smoke --exchanges memory --json again.json
check "48 ranks: no power of two" solves 1 $problem --nodes 3 --iterations 60 --method cg pipelined_cg --reductions act --json act48.json
check "the same computed" solves 1 $problem --nodes 3 --iterations 60 --method cg pipelined_cg --json ana48.json
check "the back ends agree" python backends rd.json act.json ana.json memory.json
check "and on 48 ranks" python backends act48.json act48.json ana48.json ana48.json
check "same seed, same times" python same_times memory.json again.json
check "what hides, hides" holds ana.json "[p['hidden'] > 0.3 for p in r['points']] == [False, True, True]"
check "without progress it does not" holds rd.json "all(p['hidden'] < 0.1 for p in r['points'])"

# ---- blocking, against SMPI's own all-reduce ----
for reductions in rd ana mpi; do
  check "blocking, $reductions" solves 1 $smoke --blocking --reductions $reductions --set message=0 --exchanges messages --json $reductions.json
done
check "as SMPI has it" python backends rd.json mpi.json ana.json mpi.json

# ---- noise, parameters, dry runs ----
noisy="$problem --nodes 2 --iterations 30 --method cg --imbalance 0.5 --detours 1e-5,1000"
check "noise" solves 1 $noisy --seed 1 --json noise1.json
check "again" solves 1 $noisy --seed 1 --json again.json
check "the same" python same_times noise1.json again.json
check "another seed" solves 1 $noisy --seed 2 --json noise2.json
check "other times" fails python same_times noise1.json noise2.json
check "half the latency" solves 1 $smoke --exchanges memory --set link_latency=x0.5 --json half.json
check "is faster" python faster half.json memory.json
check "and said" holds half.json "'x0.5' in r['machine']['parameters']['link_latency']['source'] and r['simulated'] is True"
check "a real run" solves 1 simulate --problem poisson2d:256 --nodes 2 --deal boxes --iterations 50 --method cg pipelined_cg --rtol 0 --json real.json
check "a dry run" solves 1 simulate --problem poisson2d:256 --nodes 2 --deal boxes --iterations 50 --method cg pipelined_cg --dry --json dry.json
check "costs the same" python costs_as dry.json real.json
check "an unknown preconditioner" exits 2 1 $problem --nodes 1 --method cg --precond foo
check "says so" says err "there is no preconditioner 'foo'"
}
finish
