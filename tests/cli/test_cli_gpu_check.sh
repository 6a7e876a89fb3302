#!/bin/bash
# What builds, tests and measures everything on a GPU: without one it says so; on the emulated device it runs, and means nothing.
. "$(dirname "$0")/cli_checks.bash"

root=$(cd "$(dirname "$0")/../.." && pwd)
tool=$root/tools/gpu_check.py measured=$root/docs/measured

# ends CODE ARGUMENT…: the tool's output goes to out and err.
ends() {
  local expected=$1
  shift
  python3 "$tool" "$@" >out 2>err
  local code=$?
  [ "$code" -eq "$expected" ] || { echo "exit code $code, not $expected"; cat out err; return 1; }
}

if ! [ -e /dev/nvidia0 ]; then
  check "without a GPU" ends 2
  check "which is said" says err 'gpu_check: .*no GPU \(/dev/nvidia0\)'
fi
check "no such part" ends 2 speed
check "is named" says err "there is no part 'speed': build, test, solves, measure, report"
check "figures" ends 0 measure report --device emulated --quick --build "$(dirname "$STRETTO")" --output .
check "have a page" says gpu.md '^# Measured on no GPU, but a processor that plays one'
check "with groups" says gpu.md '^\| pipelined_bicgstab \| 1 \| [0-9.]+ \([0-9.]+\) \|$'
check "with products" says gpu.md '^\| jump3d \| 4 \| [0-9.]+ \([0-9.]+\) \|$'
check "with iterations" says gpu.md '^\| poisson3d \| gmres \| 16 \| [0-9.]+ \([0-9.]+\) \|$'
check "and loops as one kernel, beside launches" says gpu.md '^\| poisson3d \| pipelined_cg \| [0-9.]+ \([0-9.]+\) \|$'
check "and whole solves" says gpu.md '^\| poisson3d \| jacobi \| pipelined_cg \| 1000 \| [0-9.]+ \| '
if "$STRETTO" solve poisson2d:3 --method cg --precond amg >/dev/null 2>&1; then  # where hypre is
  check "with multigrid, too" says gpu.md '^\| jump3d \| amg \| cg \| 1000 \| [0-9.]+ \| '
fi
check "with hierarchical products" says gpu.md '^\| 500 \| 16 \| '
check "and charges" says gpu.md '^\| 500 \| converged \|'
check "and a machine to predict with" exits 0 1 predict poisson3d:50 --nodes 1 --machine gpu_machine.json
check "that has bandwidths" holds gpu_machine.json "r['parameters']['memory_bandwidth']['value'] > 0"
mkdir -p again
cp "$measured/gpu.json" again
check "the page of an H200" ends 0 report --output again
check "follows from its data" cmp again/gpu.md "$measured/gpu.md"
finish
