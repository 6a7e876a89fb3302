#!/bin/bash
# Methods on the emulated device from the command line, beside the processor, on one to three ranks.
. "$(dirname "$0")/cli_checks.bash"

compare="abs(r['iterations'] - int(open('iterations').read())) <= 2 + r['iterations'] // 5"

# as_processor RANKS ARGUMENT…: solves on both, and takes as many iterations, or nearly.
as_processor() {
  solves "$@" --threads 1 --json run.json || return 1
  python3 -c "import json; print(json.load(open('run.json'))['iterations'])" >iterations
  solves "$@" --threads 1 --json run.json --solution x.mtx --device emulated || return 1
  holds run.json "r['device'] == 'emulated' and r['converged'] and $compare" || { cat iterations; return 1; }
  python ones x.mtx
}

"$STRETTO" solve poisson2d:3 --method cg --precond amg >/dev/null 2>&1 && amg=1 || amg=0  # where hypre is

for ranks in 1 2 3; do
  for method in cg pipelined_cg deep_pipelined_cg; do
    check "$method on $ranks ranks" as_processor $ranks solve poisson3d:10 --rhs 'A*ones' --method $method --precond jacobi \
      --rtol 1e-10
  done
  for method in pipelined_bicgstab gmres pipelined_gmres; do
    check "$method on $ranks ranks" as_processor $ranks solve convdiff2d:20 --rhs 'A*ones' --method $method --rtol 1e-10 \
      --columns 2
  done
  for precond in chebyshev block_jacobi:ic0,blocks=20; do
    check "$precond on $ranks ranks" as_processor $ranks solve poisson3d:10 --rhs 'A*ones' --method pipelined_cg \
      --precond $precond --rtol 1e-10
  done
  if ((amg)); then
    check "amg on $ranks ranks" as_processor $ranks solve poisson3d:10 --rhs 'A*ones' --method cg --precond amg --rtol 1e-10
  fi
  check "sai on $ranks ranks" as_processor $ranks solve convdiff2d:20 --rhs 'A*ones' --method bicgstab \
    --precond block_jacobi:sai --rtol 1e-10
  check "rows that moved, on $ranks ranks" as_processor $ranks solve poisson2d:12 --rhs 'A*ones' --method cg \
    --prepare nonzeros --rtol 1e-12
done

# ---- the way of halos, and the timeline ----
for aware in 0 1; do
  STRETTO_GPU_AWARE_MPI=$aware check "halos, MPI that takes addresses: $aware" as_processor 3 solve convdiff2d:20 --rhs 'A*ones' \
    --method bicgstab --rtol 1e-10 --columns 3
done
STRETTO_GPU_AWARE_MPI=perhaps check "neither" exits 2 2 solve poisson2d:9 --method cg --device emulated
check "is named" says err "STRETTO_GPU_AWARE_MPI is 'perhaps'"
check "a trace" exits 0 2 solve poisson2d:9 --method pipelined_cg --precond jacobi --device emulated --trace trace.json
check "has the device's kernels" holds trace.json \
  "{'vectors', 'diagonal', 'product, repeated rows', 'to the host'} <= {each['name'] for each in r['traceEvents']}"
check "on a track of their own" holds trace.json "'device' in [each.get('args', {}).get('name') for each in r['traceEvents']]"

# ---- hierarchical matrices ----
for ranks in 1 2 3; do
  for layout in distributed replicated; do
    for method in bicgstab pipelined_bicgstab; do
      check "two spheres by $method, $layout, on $ranks ranks" solves $ranks bem two_spheres:n=640,distance=3 --method $method \
        --layout $layout --json run.json --device emulated
      check "have their charge" holds run.json \
        "r['device'] == 'emulated' and r['converged'] and r['bem']['relative_error'] < 0.04"
    done
  done
done
check "a kernel with block Jacobi and columns" solves 2 kernel scattered:n=400 --kernel matern --method cg --precond block_jacobi \
  --columns 3 --rhs random --device emulated --json run.json
check "is solved" holds run.json "r['converged'] and r['device'] == 'emulated'"
for how in 'redundant block' 'shared pipe1'; do
  read -r vectors hiding <<< "$how"
  check "two devices of each rank, $how" solves 2 bem two_spheres:n=320,distance=3 --method pipelined_bicgstab \
    --layout replicated --device emulated --devices 2 --device-vectors "$vectors" --hiding "$hiding" --json run.json
  check "have the charge, too" holds run.json "r['converged'] and r['bem']['relative_error'] < 0.08 and \
      (r['partition']['devices'], r['partition']['device_vectors'], r['partition']['hiding']) == (2, '$vectors', '$hiding')"
done
check "the report tells of devices" solves 1 bem sphere:n=320 --method bicgstab --layout replicated --device emulated --devices 3 --device-vectors shared
check "and what they have" says out '3 devices for each rank, which share the rows of vectors'
check "block on the processor" solves 2 bem two_spheres:n=640,distance=3 --method pipelined_bicgstab --layout replicated --hiding block
check "our scheme of batches alone" solves 1 bench hmatrix --device emulated --sizes 320 --epsilons 1e-3 --columns 1 \
  --schemes ours --json run.json
check "is one" holds run.json "[m['disjoint_rows'] for m in r['measurements']] == [True]"
check "the study of batches" solves 2 bench hmatrix --device emulated --sizes 320 --epsilons 1e-3 --columns 1,3 --json run.json
check "all schemes give the same" holds run.json \
  "len(r['measurements']) == 30 and all(m['difference'] < 1e-12 and m['seconds'] > 0 for m in r['measurements'])"
check "has a row for each" says out 'vbatch\(20K, variable\) \+ 3 streams'

# ---- what is not there is said ----
check "several devices with distributed vectors" exits 2 2 bem sphere:n=80 --device emulated --devices 2
check "are told what they need" says err '--devices 2 needs --layout replicated'
check "several processors" exits 2 1 bem sphere:n=80 --layout replicated --devices 2
check "need a device" says err '--devices 2 needs --device cuda or emulated'
check "no devices" exits 2 1 bem sphere:n=80 --layout replicated --device emulated --devices 0
check "are refused" says err 'a rank has 1 to 16'
check "what one device would share" exits 2 1 bem sphere:n=80 --layout replicated --device emulated --device-vectors shared
check "is refused" says err 'needs several devices of a rank'
check "copies of the processor" exits 2 1 bem sphere:n=80 --layout replicated --hiding pipe1
check "are none" says err 'there are no copies to hide'
check "an all-gather that is not there" exits 2 1 bem sphere:n=80 --hiding block
check "is not hidden" says err '--hiding block needs --layout replicated'
check "transposed products of several" exits 2 2 bem sphere:n=80 --method improved_bicgstab --layout replicated --device emulated --devices 2
check "name the option" says err 'several devices of a rank do not: --devices 1'
check "inner iterations" exits 2 2 bem sphere:n=80 --method bicgstab --precond inner --device emulated
check "are named" says err '--precond inner is not there for hierarchical matrices on the device emulated'
check "benches of others" exits 2 1 bench cg --device emulated
check "say where" says err 'hmatrix alone runs on devices'
check "schemes of batches on the processor" exits 2 1 bench hmatrix --schemes ours
check "are for devices" says err '--schemes is for products on a device'
check "another preconditioner" exits 2 1 solve poisson2d:9 --method cg --precond block_jacobi:ic0 --device emulated
check "is named" says err '--precond block_jacobi:ic0 is not there on the device emulated'
check "with what to ask for" says err 'ask for --precond block_jacobi:inner=ic0,blocks=2 or more'
if ((amg)); then
  check "hypre's cycle" exits 2 2 solve poisson2d:9 --method cg --precond amg:cycle=hypre --device emulated
  check "is named, too" says err 'ask for --precond amg without cycle=hypre'
fi
check "equilibrate" exits 2 1 solve poisson2d:9 --method cg --prepare equilibrate --device emulated
check "is named" says err '--prepare equilibrate is not for the device emulated'
export STRETTO_ONE_KERNEL=yes
check "one kernel, neither yes nor no" exits 2 1 solve poisson2d:9 --method cg --device emulated
check "what it is" says err "STRETTO_ONE_KERNEL is 'yes': it is 0 \(never\) or 1 \(always\)"
unset STRETTO_ONE_KERNEL
check "hints" exits 0 1 solve poisson2d:9 --method cg --device emulated
check "hints name what a device may not have, and are left out" bash -c 'grep -q "pattern: symmetric" out && ! grep hint: out'
check "no such device" exits 2 1 solve poisson2d:9 --method cg --device gpu
if ! [ -e /dev/nvidia0 ]; then
  check "no GPU" exits 2 1 solve poisson2d:9 --method cg --device cuda
  check "why" says err '--device cuda: (this program was built without CUDA; make cuda|there is no GPU here)'
fi
finish
