#!/bin/bash
# Single precision from the command line: methods refined in double, rounded preconditioners, and what is refused.
. "$(dirname "$0")/cli_checks.bash"

bar=$DATA/pyamg_bar.mtx.gz flow=$DATA/pyamg_recirc_flow.mtx.gz

for ranks in 1 2 3; do
  for method in refine:inner=cg refine:inner=pipelined_cg refine:inner=deep_pipelined_cg,l=2 gmres:basis=single,m=50; do
    check "$method on $ranks ranks" solves $ranks solve "$bar" --rhs 'A*ones' --method "$method" --columns 2 --threads 1 \
      --precond block_jacobi:ic0,precision=single --rtol 1e-12 --json run.json --solution x.mtx
    check "$method on $ranks ranks: ones" python ones x.mtx
    check "$method on $ranks ranks: verified" holds run.json "r['converged'] and r['verified'] and r['relative_residual'] <= 1e-12"
    check "$method on $ranks ranks: soon" holds run.json "r['iterations'] <= 1000"
  done
done
for precond in jacobi block_jacobi:ilut block_jacobi:sai additive_schwarz; do
  joined=$precond$([ "${precond#*:}" = "$precond" ] && echo : || echo ,)precision=single
  check "$joined" solves 2 solve "$flow" --rhs 'A*ones' --method refine:inner=gmres,m=80 --precond "$joined" --threads 1 --json run.json
done
check "two methods, each with its options" solves 1 solve poisson2d:40 --rhs random --method cg --method refine:inner=cg --precond jacobi --json run.json
check "both are in the file" holds run.json "[s['method'] for s in r] == ['cg', 'refine'] and r[1]['options'] == 'inner=cg'"
check "iterations of both" holds run.json "r[1]['iterations'] <= 1.5 * r[0]['iterations']"

printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 1\n2 1 0.9999999999\n2 2 1\n3 2 1e-4\n3 3 1\n' >hard.mtx
check "too hard for single precision" solves 1 solve hard.mtx --method refine:inner=gmres --rtol 1e-9 --threads 1
check "says that it went on" says out 'gmres in single precision gained less than a factor of 10: going on in double'

check "a depth to be chosen" solves 2 solve poisson2d:40 --method refine:inner=deep_pipelined_cg,l=auto --threads 1 --json run.json
check "was chosen" holds run.json "r['method'] == 'refine' and r['options'].startswith('inner=deep_pipelined_cg,l=') and \
  r['choice']['why'] == r['choice']['reasons'][0]"
check "the inner method to the end" solves 2 solve poisson2d:40 --method refine:inner=cg --threads 1
check "is no hand-over" says out 'refine:inner=cg +converged'
check "nothing in itself" exits 2 1 solve "$bar" --method refine:inner=refine
check "nothing in itself: what to type" says err '^stretto: refine:inner=refine: name a method, as in refine:inner=cg'
check "no inner method" exits 2 2 solve "$bar" --method refine
check "no inner method: what to type" says err '^stretto: refine needs a method .*type refine:inner=NAME'
check "no such inner method" exits 2 1 solve "$bar" --method refine:inner=cgg
check "no such inner method: names" says err "there is no method 'cgg'"
check "with tasks" exits 2 1 solve "$bar" --method refine:inner=cg --execution tasks
check "with tasks: says so" says err 'in single precision is for vectors in the processor'
check "predicted" exits 2 1 predict poisson3d:60 --nodes 1 --method refine:inner=cg
check "predicted: says so" says err 'refine:inner=cg'
check "all in single precision" solves 2 solve jump2d:40 --method pipelined_cg --precond block_jacobi:ilu0 --scalar single --json run.json
check "is refinement and a short preconditioner" holds run.json "r['method'] == 'refine' and r['options'] == 'inner=pipelined_cg' and r['precond'] == 'block_jacobi:ilu0,precision=single'"
check "is verified" holds run.json "r['converged'] and r['relative_residual'] <= 1e-8"
check "options go over" solves 1 solve convdiff2d:30 --method pipelined_gmres:l=2 --precond none --scalar single --json run.json
check "to the inner method" holds run.json "r['options'] == 'inner=pipelined_gmres,l=2'"
check "hermitian, too" solves 2 solve magnetic2d:20 --method cg --precond jacobi --scalar single --rtol 1e-5
for method in gmres pipelined_gmres bicgstab pipelined_bicgstab; do
  check "complex, too: $method" solves 2 solve helmholtz2d:30,points=12 --method $method --precond block_jacobi:ilu0 --scalar single --rtol 1e-10 --json run.json
  check "complex, too: $method verified" holds run.json "r['method'] == 'refine' and r['scalar'] == 'complex' and r['converged'] and r['relative_residual'] <= 1e-10"
done
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2e60\n2 1 -1e60\n2 2 2e60\n3 3 3e60\n' >large.mtx
check "beyond single precision" solves 1 solve large.mtx --method gmres --precond jacobi --scalar single --rhs 'A*ones' --json run.json
check "keeps its preconditioner" says out 'jacobi: kept in double precision: rows whose largest number'
check "is solved" holds run.json "r['converged'] and r['relative_residual'] <= 1e-8"
check "single without a method" exits 2 2 solve poisson2d:20 --scalar single
check "asks for one" says err 'name a method and a preconditioner'
finish
