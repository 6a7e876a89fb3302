#!/bin/bash
# Preconditioners, preparation and the look at the structure from the command line, on one to four ranks.
. "$(dirname "$0")/cli_checks.bash"

bar=$DATA/pyamg_bar.mtx.gz flow=$DATA/pyamg_recirc_flow.mtx.gz
methods=$("$STRETTO" list --json - | python3 -c "import json, sys; print(*(
  m['name'] + ':' + str(int('definite' in m['needs'])) for m in json.load(sys.stdin)['methods']))")

# ---- preconditioners ----
for precond in jacobi block_jacobi block_jacobi:ic0 block_jacobi:inner=cholesky,blocks=2 \
  additive_schwarz:ilu0,restricted=0 chebyshev:degree=3; do
  for method in $methods; do
    [ "${method#*:}" = 1 ] || continue
    check "${method%:*}, $precond" solves 2 solve "$bar" --rhs 'A*ones' --method "${method%:*}" --precond "$precond" \
      --columns 2 --threads 1 --json run.json
    check "${method%:*}, $precond: its bytes" holds run.json "r['precond_bytes'] >= 8 * 600 and r['converged']"
  done
done
for precond in jacobi block_jacobi block_jacobi:ilut,drop=1e-4 block_jacobi:sai,pattern=2 block_jacobi:lu \
  additive_schwarz additive_schwarz:lu,overlap=2; do
  for ranks in 1 3; do
    check "bicgstab, $precond on $ranks ranks" solves $ranks solve "$flow" --rhs 'A*ones' --method bicgstab \
      --method improved_bicgstab --precond "$precond" --threads 1 --json run.json
    check "bicgstab, $precond on $ranks ranks: residuals" holds run.json "max(s['relative_residual'] for s in r) <= 1e-8"
  done
done
check "complete factors, one block" solves 1 solve "$flow" --method bicgstab --precond block_jacobi:lu --json run.json \
  --threads 1
check "need one iteration" holds run.json "r['iterations'] <= 2"
check "the work per digit is that of set-up and solve" holds run.json \
  "abs(10 ** (-(r['seconds']['precond_setup'] + r['seconds']['solve']) / r['seconds']['per_digit']) / r['relative_residual'] - 1) < 1e-6"
check "is said, with the set-up" says out "^preconditioner: set up in .* MB; .* s for each digit"
if "$STRETTO" list 2>/dev/null | grep -q '^ *amg '; then
  check "amg" solves 2 solve poisson3d:20 --method cg --precond amg --json run.json
  check "its levels" holds run.json \
    "r['multigrid']['levels'] > 1 and 1 < r['multigrid']['grid_complexity'] < r['multigrid']['operator_complexity'] < 3"
  check "amg has no transpose" exits 2 2 solve poisson3d:20 --method improved_bicgstab --precond amg
  check "and says who needs none" says err 'needs products with M⁻ᵀ, which amg does not have: bicgstab takes it'
  check "for an elastic body" solves 2 solve elasticity3d:12 --method cg --precond jacobi
  check "is the hint" says out 'hint: --method cg --precond amg'
fi

# ---- preparation ----
for ranks in 1 2 3 4; do
  for steps in equilibrate metis nonzeros rcm equilibrate,metis,rcm; do
    check "$steps on $ranks ranks" solves $ranks solve "$flow" --rhs 'A*ones' --method bicgstab --columns 2 \
      --precond block_jacobi --prepare "$steps" --rtol 1e-12 --json run.json --solution x.mtx --threads 1
    check "$steps on $ranks ranks: ones, in their order" python ones x.mtx
    check "$steps on $ranks ranks: says how rows are dealt" holds run.json \
      "r['prepare'] == '$steps' and (r['partition']['halo'] > 0) == ($ranks > 1) and r['partition']['imbalance'] >= 1"
  done
done
printf '%%%%MatrixMarket matrix coordinate real general\n4 4 6\n1 1 1e6\n1 2 2e5\n2 2 1e-3\n3 3 5\n4 4 2e9\n4 1 3\n' >scaled.mtx
check "a badly scaled one" solves 2 solve scaled.mtx --method bicgstab --prepare equilibrate --json run.json --solution x.mtx
check "its residual is true" python residual run.json scaled.mtx <(printf '%%%%MatrixMarket matrix array real general\n4 1\n1\n1\n1\n1\n') x.mtx

# ---- structure ----
check "structure" solves 2 solve "$bar" --method cg --precond jacobi --json run.json
for line in 'pattern: symmetric' 'values: symmetric' 'diagonal: positive' 'diagonal dominance: ' 'structural rank: full' \
  'hint: --method cg --precond '; do
  check "structure says $line" says out "^  $line"
done
check "structure in the JSON" holds run.json \
  "r['structure']['symmetric'] and (r['structure']['positive_diagonal'], r['structure']['structural_rank']) == (600, 600)"
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 2\n2 1 1\n3 1 1\n1 2 1\n' >singular.mtx
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 -2\n2 1 1\n2 2 -2\n3 2 1\n3 3 -2\n' >negative.mtx
check "negative definite" solves 2 solve negative.mtx --rhs 'A*ones' --method cg --precond block_jacobi --solution x.mtx
check "negative definite: ones" python ones x.mtx
check "negative definite: says so" says out '^  negative diagonal: −A x = −b is solved'
check "structurally singular" exits 1 2 solve singular.mtx --method bicgstab --rhs random
check "structurally singular: says so" says out '^  structurally singular: rank at most 2 of 3$'
for ranks in 1 3; do
  check "cg of an unsymmetric matrix on $ranks ranks" exits 2 $ranks solve "$flow" --method cg
  check "cg of an unsymmetric matrix on $ranks ranks: says so" says err '^stretto: cg needs a symmetric matrix, and .*--insist'
  check "cg with a preconditioner that is not symmetric on $ranks ranks" exits 2 $ranks solve "$bar" --method cg \
    --precond block_jacobi:sai
  check "cg with a preconditioner that is not symmetric on $ranks ranks: says so" says err \
    '^stretto: cg needs a symmetric preconditioner, and block_jacobi:sai is not'
  check "an unknown step on $ranks ranks" exits 2 $ranks solve "$bar" --method cg --prepare scale
  check "an unknown step on $ranks ranks: says so" says err "^stretto: --prepare: there is no step 'scale'"
done
check "cg on insistence" exits 1 2 solve "$flow" --method cg --insist --max-it 50
check "Aᵀ of a preconditioner" exits 0 1 solve "$flow" --rhs 'A*ones' --method improved_bicgstab --precond block_jacobi:ilut
check "no inner solver of that name" exits 2 1 solve "$flow" --method bicgstab --precond block_jacobi:ilu
check "no inner solver of that name: those there are" says err 'did you mean ilu0 or ilut\? It takes: ilu0, ic0, ilut, sai, lu, cholesky'

finish
