#!/bin/bash
# `stretto solve` of complex systems: files and problems, hermitian and not, beside NumPy.
. "$(dirname "$0")/cli_checks.bash"

cat >check.py <<'END'
"""complex_residual RUN.json A.mtx B.mtx X.mtx: what the JSON says of ‖b − A x‖ is so."""
import json
import sys


def read(path):
    lines = [line for line in open(path) if not line.startswith("%")]
    kind = open(path).readline().split()
    sizes = [int(word) for word in lines[0].split()]
    values = {}
    if kind[2] == "array":
        for place, line in enumerate(lines[1:]):
            values[place % sizes[0], place // sizes[0]] = complex(*map(float, line.split()))
        return sizes, values
    for line in lines[1:]:
        row, column, real, imaginary = line.split()
        value = complex(float(real), float(imaginary))
        values[int(row) - 1, int(column) - 1] = value
        if kind[4] == "hermitian" and row != column:
            values[int(column) - 1, int(row) - 1] = value.conjugate()
    return sizes, values


run = json.load(open(sys.argv[1]))
(n, *_), A = read(sys.argv[2])
(_, columns), b = read(sys.argv[3])
_, x = read(sys.argv[4])
for j in range(columns):
    r = [b[i, j] for i in range(n)]
    for (i, k), a in A.items():
        r[i] -= a * x[k, j]
    size = sum(abs(value) ** 2 for value in r) ** 0.5 / sum(abs(b[i, j]) ** 2 for i in range(n)) ** 0.5
    said = run["columns_detail"][j]["relative_residual"]
    assert abs(size - said) <= 1e-3 * said + 1e-14, (size, said)
    assert size <= run["rtol"], size
END

# 30 unknowns in a ring; couplings turn by an angle.
{
  printf '%%%%MatrixMarket matrix coordinate complex hermitian\n30 30 60\n'
  for ((i = 1; i <= 30; ++i)); do
    echo "$i $i 2.5 0"
    if [ "$i" -gt 1 ]; then echo "$i $((i - 1)) -0.6 0.8"; else echo "30 1 -0.28 -0.96"; fi
  done
} >ring.mtx
{
  printf '%%%%MatrixMarket matrix coordinate complex general\n30 30 89\n'
  for ((i = 1; i <= 30; ++i)); do
    echo "$i $i 3 -1"
    if [ "$i" -gt 1 ]; then echo "$i $((i - 1)) -1.5 0.2"; fi
    if [ "$i" -lt 30 ]; then echo "$i $((i + 1)) -0.4 0.7"; fi
    if [ "$i" -eq 7 ]; then echo "7 23 0 1"; fi
  done
} >wind.mtx
{
  printf '%%%%MatrixMarket matrix array complex general\n30 2\n'
  for ((i = 1; i <= 60; ++i)); do echo "$((i % 7 - 3)).5 $((i % 5))"; done
} >b.mtx

# refused PATTERN ARGUMENT…: with one line, and exit code 2.
refused() {
  local pattern=$1
  shift
  exits 2 1 "$@" && says err "$pattern"
}

solved() {
  check "$1 on $2 ranks" solves "$2" solve "$1" --rhs b.mtx --json run.json --solution x.mtx "${@:3}"
  check "$1 on $2 ranks: the residual is true" python3 check.py run.json "$1" b.mtx x.mtx
  check "$1 on $2 ranks: complex" holds run.json "r['scalar'] == 'complex' and r['columns'] == 2"
}
for ranks in 1 3; do
  solved ring.mtx $ranks
  solved wind.mtx $ranks
  for method in cg pipelined_cg minres bicgstab pipelined_gmres; do
    solved ring.mtx $ranks --method $method --precond jacobi --rtol 1e-10
  done
  for method in bicgstab improved_bicgstab pipelined_bicgstab gmres s_step_gmres; do
    solved wind.mtx $ranks --method $method --precond block_jacobi:lu
  done
done
for problem in helmholtz2d:20x31 magnetic2d:25 gauge3d:8; do
  check "$problem" solves 2 solve $problem --rhs random:3 --columns 3
done
check "a storage" solves 1 solve magnetic2d:25 --storage sliced --json run.json
check "stored so" holds run.json "r['storage']['form'] == 'sliced'"
check "a real problem as a complex one" solves 1 solve poisson2d:20 --scalar complex --json run.json
check "says so" holds run.json "r['scalar'] == 'complex'"

check "cg of what is not hermitian" refused 'needs a hermitian matrix' solve wind.mtx --method cg
check "ilut" refused 'apart' solve ring.mtx --precond block_jacobi:ilut
check "real asked for" refused 'is complex' solve ring.mtx --scalar real
if "$STRETTO" list 2>/dev/null | grep -q '^ *amg '; then
  check "amg" solves 2 solve magnetic2d:25 --precond amg --method cg
  check "is that of the real part" says out 'amg: of the real part of A'
fi
check "advice is for real systems" exits 2 1 advise helmholtz2d:20
check "advice is for real systems: what is there" says err 'helmholtz2d:20 has complex values.*stretto solve helmholtz2d:20'
check "what is for real systems alone" refused 'for real systems' solve ring.mtx --prepare rcm
check "not converged" exits 1 1 solve wind.mtx --method bicgstab --max-it 1
finish
