#!/bin/bash
# Methods as tasks from the command line, beside as many threads as there are tiles: the same history, to the bit.
. "$(dirname "$0")/cli_checks.bash"

run 1 solve poisson2d:9 --method cg --execution tasks
if says err 'was built without oneTBB' >/dev/null; then
  echo "no tasks in this build"
  finish
fi

# as_threads RANKS ARGUMENT…: both ways, and compares what every iteration believed.
as_threads() {
  solves "$@" --threads 6 --history threads.csv || return 1
  solves "$@" --threads 3 --execution tasks:tiles=2 --history tasks.csv --json run.json || return 1
  cmp threads.csv tasks.csv && holds run.json "r['device'] == 'tasks' and r['threads'] == 3 and r['converged']"
}

for ranks in 1 2; do
  for method in cg pipelined_cg pipelined_gmres; do
    check "$method on $ranks ranks" as_threads $ranks solve poisson2d:140 --method $method --precond jacobi --rtol 1e-6
  done
  check "equilibrated, on $ranks ranks" as_threads $ranks solve jump2d:140,contrast=10 --method cg --precond block_jacobi \
    --prepare equilibrate
  check "one thread communicates, on $ranks ranks" solves $ranks solve poisson2d:140 --method pipelined_cg --threads 2 \
    --execution tasks:communication=main --emulate-latency 100us
done
check "a trace" solves 1 solve poisson2d:140 --method cg --threads 2 --execution tasks --trace trace.json
check "has what threads did" says trace.json 'tasks, thread 0'

# ---- what is not there is said ----
check "no tiles" exits 2 1 solve poisson2d:9 --method cg --execution tasks:tiles=0
check "what is allowed" says err 'tiles'
check "no such way" exits 2 1 solve poisson2d:9 --method cg --execution fibres
check "what there is" says err 'threads, or tasks\[:tiles=N,communication=any\|main\]'
check "a device" exits 2 1 solve poisson2d:9 --method cg --execution tasks --device emulated
check "is another thing" says err '--execution tasks is for the processor, not for --device emulated'
check "basic" exits 2 1 solve poisson2d:9 --method cg --execution tasks --formulation basic
check "is for threads" says err 'the basic formulation, a pass for each call, is for threads'
check "chosen" exits 2 1 solve poisson2d:9 --execution tasks
check "what to type" says err '--execution tasks: what is chosen by its times is for .*--method cg --precond jacobi'
finish
