#!/bin/bash
# The command line on good input: what it prints, what its files hold, the same on one to four ranks.
. "$(dirname "$0")/cli_checks.bash"

# matrix NAME SYMMETRY LEFT RIGHT: 40 rows, tridiagonal, LEFT below the diagonal, RIGHT above it.
matrix() {
  local i n=40
  {
    echo "%%MatrixMarket matrix coordinate real $2"
    echo "% a comment"
    if [ "$2" = symmetric ]; then echo $n $n $((2 * n - 1)); else echo $n $n $((3 * n - 2)); fi
    for ((i = 1; i <= n; ++i)); do
      if [ $i -gt 1 ]; then echo $i $((i - 1)) "$3"; fi
      echo $i $i $((3 + i % 4))
      if [ $i -lt $n ] && [ "$2" = general ]; then echo $i $((i + 1)) "$4"; fi
    done
  } >"$1"
}
matrix spd.mtx symmetric -1.25
matrix wind.mtx general -1.75 -0.25
{
  printf '%%%%MatrixMarket matrix array real general\n40 2\n'
  for ((i = 1; i <= 80; ++i)); do echo "$((i % 7 - 3)).5"; done
} >two.mtx
{
  printf '%%%%MatrixMarket matrix array real general\n40 1\n'
  for ((i = 1; i <= 40; ++i)); do echo 1; done
} >ones.mtx
gzip -k wind.mtx
methods="cg pipelined_cg bicgstab pipelined_bicgstab"

# ---- the table ----
check "a table of two methods" solves 2 solve spd.mtx --method cg --method pipelined_cg:check=10
check "a row for the first" says out '^cg +converged +[0-9]+ '
check "a row for the second" says out '^pipelined_cg:check=10 +converged +[0-9]+ '
grep converged out >rows
check "and no other" lines rows 2
check "off a terminal nothing on standard error" silent err
check "several methods, a JSON list" solves 1 solve spd.mtx --method cg --method bicgstab --json two.json
check "in their order" holds two.json "[run['method'] for run in r] == ['cg', 'bicgstab']"
check "options in any order" solves 1 solve --rtol 1e-6 --method=cg spd.mtx --json=- --columns 1
check "JSON alone on standard output" python fields out
check "nothing on standard error" silent err

# ---- JSON ----
for method in $methods; do
  for ranks in 1 2 3 4; do
    check "$method on $ranks ranks" solves $ranks solve spd.mtx --method "$method" --rhs two.mtx --threads 1 \
      --rtol 1e-9 --json run.json --solution "x$ranks.mtx" --history run.csv
    check "$method on $ranks ranks: every field" python fields run.json
    check "$method on $ranks ranks: what was asked for" holds run.json \
      "r['method'] == '$method' and r['problem'] == 'spd.mtx' and (r['rows'], r['nonzeros'], r['columns'], \
       r['ranks'], r['threads']) == (40, 118, 2, $ranks, 1) and (r['precond'], r['formulation']) == ('none', 'merged')"
    check "$method on $ranks ranks: converged" holds run.json \
      "r['converged'] and r['status'] == 'converged' and 0 < r['relative_residual'] <= 1e-9 and r['iterations'] < 80"
    check "$method on $ranks ranks: the residual is true" python residual run.json spd.mtx two.mtx "x$ranks.mtx"
    check "$method on $ranks ranks: history" python history run.csv run.json
    check "$method on $ranks ranks: the solution of one" python same x1.mtx "x$ranks.mtx" 1e-7
  done
done

# The numbers of the papers, counted in a run.
"$STRETTO" list --json list.json >listed
for numbers in cg,2,0,1 pipelined_cg,1,1,1 bicgstab,3,0,2 pipelined_bicgstab,2,2,2; do
  IFS=, read -r method reductions hidden applies <<<"$numbers"
  for choice in "merged none" "merged jacobi" "basic none" "basic jacobi"; do
    read -r formulation precond <<<"$choice"
    what="$method $choice"
    check "$what" solves 2 solve spd.mtx --method "$method" --formulation "$formulation" --precond "$precond" \
      --json run.json
    check "$what: reductions and products" holds run.json \
      "[r['per_iteration'][k] for k in ('reductions', 'hidden_reductions', 'applies')] \
       == [$reductions, $hidden, $applies]"
    check "$what: cost as listed" python costs run.json list.json "$formulation"
    check "$what: bytes" holds run.json "r['per_iteration']['bytes'] > 8 * 40 * r['per_iteration']['vector_reads']"
  done
done

# ---- choices that must not change the answer ----
check "a gzipped matrix" solves 1 solve wind.mtx.gz --method bicgstab --rhs two.mtx --rtol 1e-12 --solution wind_x.mtx
for choice in "1 --formulation basic" "1 --threads 2" "3 --precond jacobi" "2 --threads 2 --precond jacobi"; do
  read -r ranks options <<<"$choice"
  # shellcheck disable=SC2086
  check "$options on $ranks ranks" solves "$ranks" solve wind.mtx --method pipelined_bicgstab --rhs two.mtx \
    --rtol 1e-12 --solution x.mtx $options
  check "$options on $ranks ranks: same solution" python same wind_x.mtx x.mtx 1e-9
done

# ---- right-hand sides ----
check "A*ones" solves 2 solve wind.mtx --method bicgstab --rhs 'A*ones' --rtol 1e-12 --solution x.mtx
check "A*ones has the solution ones" python ones x.mtx
check "ones" solves 2 solve spd.mtx --method cg --json run.json --solution x.mtx
check "ones is the default" python residual run.json spd.mtx ones.mtx x.mtx
for ranks in 1 2 4; do
  check "random on $ranks ranks" solves $ranks solve wind.mtx --method bicgstab --rhs random:7 --columns 3 \
    --rtol 1e-12 --solution "random$ranks.mtx"
  check "random on $ranks ranks is the same" python same random1.mtx "random$ranks.mtx" 1e-9
done
check "random columns differ" python differ random1.mtx
check "another seed" solves 1 solve wind.mtx --method bicgstab --rhs random:8 --rtol 1e-12 --solution other.mtx
check "another seed is another right-hand side" eval '! python same other.mtx random1.mtx 1e-3'
check "one random column" solves 1 solve wind.mtx --method bicgstab --rhs random:7 --rtol 1e-12 --solution other.mtx
check "one random column is the first of three" python same other.mtx random1.mtx 1e-9
check "a solution is a right-hand side" solves 2 solve wind.mtx --method bicgstab --rhs random1.mtx --json run.json
check "with as many columns as the file has" holds run.json "r['columns'] == 3"
for columns in 1 7 64; do
  check "$columns columns" solves 2 solve poisson2d:9 --method pipelined_cg --columns $columns --json run.json
  check "$columns columns, each with its status" holds run.json \
    "len(r['columns_detail']) == $columns and all(c['status'] == 'converged' for c in r['columns_detail'])"
done

# ---- initial guesses ----
for ranks in 1 3; do
  check "a solution is a guess on $ranks ranks" solves $ranks solve wind.mtx --method bicgstab --rhs random:7 --columns 3 \
    --guess random1.mtx --prepare nonzeros --json run.json
  check "a solution is a guess on $ranks ranks: nothing to do" holds run.json \
    "r['iterations'] == 0 and r['relative_residual'] <= 1e-8"
done

# ---- singular systems ----
{ printf '%%%%MatrixMarket matrix array real general\n81 1\n'; yes 2 | head -n 81; } >twos.mtx
for ranks in 1 3; do
  what="a Neumann problem on $ranks ranks"
  check "$what: b is outside" exits 1 $ranks solve neumann2d:9 --method cg --method gmres --columns 2 --rhs random:3 \
    --json run.json
  check "$what: it is singular" says out '^  singular: A takes constants to zero$'
  check "$what: what is done" says out '^  null space: constants: removed from b and x$'
  check "$what: how far outside" says out \
    '^  b is outside of the range of A, by [0-9.e-]+ of its length: no x solves.*\(--null-space constant says'
  check "$what: the answer is named" says out '^cg +least_squares '
  check "$what: and not called converged" holds run.json "all(m['status'] == 'least_squares' and not m['converged'] and \
    m['relative_residual'] > 1e-3 and all(c['projected_residual'] <= 1e-8 for c in m['columns_detail']) for m in r)"
  check "$what: asked for" solves $ranks solve neumann2d:9 --method cg --rhs random:3 --null-space constant \
    --solution short.mtx
  check "$what: by a file" solves $ranks solve neumann2d:9 --method cg --rhs random:3 --null-space twos.mtx \
    --solution x.mtx --json run.json
  check "$what: by a file, the same" python same short.mtx x.mtx 1e-6
  check "$what: by a file, named" holds run.json "r['null_space'] == {'vectors': ['1 column of twos.mtx'], \
    'dimension': 1, 'range_known': True, 'removed': True}"
  check "$what: left alone" exits 1 $ranks solve neumann2d:9 --method cg --rhs random:3 --null-space none --json run.json
  check "$what: left alone, but said" says out 'no x solves the system \(--null-space constant seeks'
  check "$what: left alone, not removed" holds run.json "not r['null_space']['removed']"
  check "$what: b in the range" solves $ranks solve neumann2d:9 --method cg --rhs short.mtx --json run.json
  check "$what: b in the range converges" holds run.json \
    "r['converged'] and r['columns_detail'][0]['outside_range'] < 1e-12 and not r['events']"
done

# ---- what the recurrence believes ----
check "not recomputed" solves 2 solve spd.mtx --method cg --verify recurrence --json run.json
check "not recomputed: said so" holds run.json \
  "(r['status'], r['verified'], r['converged']) == ('passed_unverified', False, False)"
check "recomputed" solves 2 solve spd.mtx --method cg --json run.json
check "recomputed: said so, and sums counted" holds run.json \
  "r['verified'] and r['total']['blocking_reductions'] == \
   r['total']['reductions'] - r['total']['hidden_reductions'] > 0"

# ---- not converged ----
for ranks in 1 2; do
  check "out of iterations on $ranks ranks" exits 1 $ranks solve poisson2d:30 --method cg --max-it 5 --json run.json
  check "out of iterations on $ranks ranks: status" holds run.json \
    "(r['status'], r['converged'], r['iterations']) == ('max_iterations', False, 5) and r['relative_residual'] > 1e-8"
  check "out of iterations on $ranks ranks: in the table" says out '^cg +max_iterations +5 '
done
check "beyond double precision" exits 1 1 solve poisson2d:30 --method cg --rtol 1e-20 --json run.json
check "beyond double precision: stagnated" holds run.json \
  "r['status'] == 'stagnated' and r['relative_residual'] < 1e-12"

printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 3e-20\n' >graded.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n1e-20\n' >graded_b.mtx
check "less than can be told" exits 1 1 solve graded.mtx --method gmres --precond jacobi --rhs graded_b.mtx --rtol 1e-30 --json run.json
check "less than can be told: stagnated" holds run.json "r['status'] == 'stagnated' and r['relative_residual'] < 1e-30"
check "the same, told" exits 0 1 solve graded.mtx --method gmres --precond jacobi --rhs graded_b.mtx --rtol 1e-27 --json run.json
check "zero is told" exits 0 1 solve graded.mtx --method gmres --precond jacobi --rhs 'A*ones' --rtol 1e-30 --json run.json

check "a tolerance of zero" exits 1 1 solve poisson2d:30 --method cg --rtol 0 --json run.json
check "a tolerance of zero: stagnated" holds run.json "r['status'] == 'stagnated' and r['relative_residual'] < 1e-12"
printf '%%%%MatrixMarket matrix array real general\n4 1\n1e300\n1e300\n1e300\n1e300\n' >large.mtx
check "out of range" exits 1 2 solve poisson2d:2 --method cg --rhs large.mtx --json run.json
check "out of range: no residual in the table" says out '^cg +not_finite +0 .* not finite '
check "out of range: no residual in the JSON" holds run.json \
  "(r['status'], r['converged'], r['relative_residual']) == ('not_finite', False, None)"

# ---- few rows, many ranks ----
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 4\n' >one.mtx
for method in $methods; do
  for problem in one.mtx poisson2d:1 poisson2d:3x1; do
    check "$method of $problem on four ranks" solves 4 solve $problem --method "$method" --precond jacobi \
      --rhs 'A*ones' --columns 2 --json run.json --solution x.mtx
    check "$method of $problem on four ranks: ones" python ones x.mtx
  done
done

# ---- true residuals and pictures ----
for ranks in 1 3; do
  check "true residuals on $ranks ranks" solves $ranks solve convdiff2d:20 --method pipelined_bicgstab --columns 2 \
    --rhs random --rtol 1e-10 --true-residuals --history run.csv --json run.json
  check "two columns, recursive and true" says run.csv '^iteration,column_1,column_2,true_1,true_2$'
  check "a line for each iteration" lines run.csv "$(($(python3 -c 'import json; print(json.load(open("run.json"))["iterations"])') + 1))"
  check "true is recursive up to rounding" python3 -c "
rows = [[float(v) for v in line.split(',')] for line in open('run.csv').read().splitlines()[1:]]
assert all(abs(r[k] - r[k + 2]) <= 1e-3 * r[k] + 1e-12 for r in rows for k in (1, 2)), rows"
done
check "true residuals of what" exits 2 1 solve poisson2d:5 --method cg --true-residuals
check "true residuals of what: says so" says err '^stretto: --true-residuals go to --history or --plot$'
check "a picture of another kind" exits 2 2 solve poisson2d:5 --method cg --plot x.pdf
check "a picture of another kind: says so" says err 'must end in .png or .svg'
mkdir poor
IFS=: read -ra folders <<<"$PATH"
find "${folders[@]}" -maxdepth 1 ! -name 'gnuplot*' ! -name 'python*' -exec ln -sf -t poor {} + 2>/dev/null
check "nothing to draw with" eval "! PATH=$PWD/poor '$STRETTO' solve poisson2d:5 --method cg --plot x.svg 2>err"
check "nothing to draw with: says so" says err 'needs gnuplot, or Python with matplotlib'
if command -v gnuplot >/dev/null || python3 -c 'import matplotlib' 2>/dev/null; then
  check "a picture of two methods" solves 2 solve convdiff2d:20 --method bicgstab --method pipelined_bicgstab \
    --true-residuals --plot 'a "b.svg'
  check "it is an SVG" says 'a "b.svg' '<svg'
  check "it names the methods" says 'a "b.svg' pipelined_bicgstab
  check "nothing to draw" exits 2 1 solve poisson2d:5 --method cg --max-it 0 --plot none.png
  check "nothing to draw: says so" says err '^stretto: --plot none.png: there is no residual to draw$'
  check "nothing to draw: leaves no file" eval '! test -e none.png'
  check "a PNG" solves 1 solve poisson2d:10 --method cg --columns 3 --plot run.png
  check "is one" eval 'head -c 4 run.png | grep -q PNG'
else
  echo "Neither gnuplot nor matplotlib: no picture drawn"
fi

# ---- a real matrix ----
check "a real matrix" solves 3 solve "$DATA/pyamg_bar.mtx.gz" --method pipelined_cg --precond jacobi --json run.json
check "a real matrix: as it is" holds run.json "(r['rows'], r['nonzeros'], r['converged']) == (600, 23402, True)"

finish
