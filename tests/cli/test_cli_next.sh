#!/bin/bash
# What is chosen where nothing is asked for, and what a solve that did not converge says to type next.
# shellcheck disable=SC2154  # tests and limit are of cli_checks.bash
. "$(dirname "$0")/cli_checks.bash"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tests/../..

# ---- no option at all ----
for ranks in 1 2; do
  check "a grid on $ranks ranks" solves $ranks solve poisson3d:15 --json run.json
  check "says what was chosen" holds run.json "r['choice']['method'] == r['method'] and r['choice']['precond'] == r['precond'] and r['next'] == []"
  check "an unsymmetric matrix on $ranks ranks" solves $ranks solve convdiff2d:40,peclet=50 --json run.json
  check "is given a method for it" holds run.json "('bicgstab' in r['method'] or 'gmres' in r['method']) and r['choice']['why']"
done
check "a method alone takes no preconditioner" solves 1 solve poisson2d:20 --method cg --json run.json
check "and chooses nothing" holds run.json "r['precond'] == 'none' and r['choice'] is None"
check "a preconditioner alone" solves 1 solve convdiff2d:20,peclet=5 --precond block_jacobi:sai --json run.json
check "is given a method that takes it" holds run.json "r['method'] == 'bicgstab' and r['precond'] == 'block_jacobi:sai'"
check "auto by name" solves 1 solve poisson2d:20 --method auto --precond auto --json run.json
check "is the same" holds run.json "r['choice']['method'] == r['method']"
check "the name of what is yet to be chosen" solves 1 solve convdiff2d:20,peclet=5 --solution 'x_{}.mtx'
check "is auto" test -s x_auto.mtx
check "a step for an SPD method with a preconditioner that is not symmetric" solves 1 solve poisson2d:20 \
  --precond block_jacobi:sai --json run.json
check "takes another" holds run.json "r['method'] == 'bicgstab'"

# ---- next ----
check "no solution" exits 1 2 solve convdiff2d:40,peclet=50 --method bicgstab --max-it 2 --rhs random:7 --columns 2 --json run.json
check "has a next step" says out '^next: mpirun -n 2 [^ ]*stretto solve convdiff2d:40,peclet=50 --rhs random:7 --columns 2 --method '
check "in the JSON as well" holds run.json "1 <= len(r['next']) <= 3 and all(step['why'] for step in r['next'])"
check "whose last is on one rank" holds run.json "r['next'][-1]['command'].split()[0].endswith('stretto')"
check "an accuracy that double precision has not" exits 1 1 solve poisson2d:100 --method cg --precond jacobi --rtol 1e-16 --json run.json
check "is named" holds run.json "'--rtol' in r['next'][0]['command']"
check "no step after one that converged, of several" exits 1 1 solve poisson2d:60 --method cg --method cg:patience=1 --json run.json
check "is shown" test -z "$(grep '^next' out)"

# ---- the ends of the matrix known on one side ----
# Rows of a flow without a way out: what A takes to zero is known, what its transpose does is computed.
cat >flow.mtx <<'END'
%%MatrixMarket matrix coordinate real general
4 4 12
1 1 3
1 2 -1
1 4 -2
2 1 -4
2 2 6
2 3 -2
3 2 -6
3 3 9
3 4 -3
4 1 -4
4 3 -8
4 4 12
END
for ranks in 1 4; do
  check "b outside of the range on $ranks ranks" exits 1 "$ranks" solve flow.mtx --json run.json
  check "is said, with what was computed" holds run.json "r['status'] == 'least_squares' and r['null_space']['range_known'] and \
    any('Aᵀ takes to zero was computed' in t for t in r['remarks']) and any('outside of the range' in t for t in r['remarks'])"
  check "and has a next step" holds run.json "'--null-space constant' in r['next'][0]['command']"
  check "which solves" solves "$ranks" solve flow.mtx --null-space constant
done

# ---- what works first comes first ----
python3 -c "from studies import hints; [hints.problem(name, '.') for name in ('helmholtz:20', 'plate:40')]"
check "Helmholtz's equation on 4 ranks" exits 1 4 solve helmholtz_20.mtx --method cg --precond block_jacobi:ic0 --json run.json
check "is for minres and a direct solve before Schwarz" holds run.json \
  "{s['command'].split('--precond ')[1] for s in r['next'][:2]} == {'jacobi', 'block_jacobi:lu'} and 'schwarz' in r['next'][2]['command']"
check "which solves it" solves 4 solve helmholtz_20.mtx --method minres --precond jacobi
check "a plate" solves 1 solve plate_40.mtx --json run.json
check "is solved by what it comes to" holds run.json "r['converged'] and r['choice']['precond'] == r['precond']"

# ---- followed, as they stand ----
check "hints lead to a solution" timeout -k 5 "$limit" python3 -m studies hints --quick --stretto "$STRETTO" --mpiexec "$MPIEXEC" \
  --output followed
finish
