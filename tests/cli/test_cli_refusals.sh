#!/bin/bash
# The command line on bad input: exit code 2, one clear line on standard error, nothing on standard output, no
# file left behind, soon; alone and on three ranks.
. "$(dirname "$0")/cli_checks.bash"
# Open MPI waits this long for ranks that the exit of another one ends; here all exit by themselves.
export OMPI_MCA_odls_base_sigkill_timeout=0

# program_lines FILE: the lines of the program, without those that mpiexec adds about an exit code that is not 0.
program_lines() { grep -E '^(stretto|terminate|Try)|[Ee]rror:|\[[0-9]+\] ' "$1"; }

# refused PATTERN ARGUMENT…: on one rank and on three, at the same time.
refused() {
  local pattern=$1 ranks codes=() good=0
  shift
  for ranks in 1 3; do
    start $ranks
    # shellcheck disable=SC2154
    timeout -k 1 20 "${words[@]}" "$@" >"out$ranks" 2>"err$ranks" </dev/null &
    codes+=($!)
  done
  for ranks in 1 3; do
    wait "${codes[ranks / 2]}"
    code=$?
    program_lines "err$ranks" >said
    [ $code -eq 2 ] || { echo "exit code $code, not 2, on $ranks ranks"; good=1; }
    [ "$(grep -vc '^Try: ' said)" -eq 1 ] || { echo "not one line on $ranks ranks"; good=1; }
    grep -Eq "^stretto: .*$pattern" said || { echo "no '$pattern' on $ranks ranks"; good=1; }
    ! grep -Eq '.{400}' said || { echo "a line of over 400 characters on $ranks ranks"; good=1; }
    [ $good -eq 0 ] || cut -c 1-400 "err$ranks"
  done
  lines err1 "$(wc -l <said)" || good=1
  silent out1 || good=1
  # mpiexec of MPICH reports on standard output.
  ! grep -Ev '^(=|YOUR APPLICATION|This typically|Please see|$)' out3 || { echo "standard output in use"; good=1; }
  for file in new.*; do
    [ ! -e "$file" ] || { echo "$file is left behind"; rm -r "$file"; good=1; }
  done
  return $good
}

# file NAME LINE…
file() { printf '%s\n' "${@:2}" >"$1"; }
general="%%MatrixMarket matrix coordinate real general"
file good.mtx "$general" "2 2 2" "1 1 4" "2 2 4"
outputs="--json new.json --solution new.mtx --history new.csv"

# ---- the matrix ----
mkdir folder.mtx
: >empty.mtx
file banner.mtx "$general"
file short.mtx "$general" "2 2 3" "1 1 4" "2 2 4"
file cut.mtx "$general" "2 2 2" "1 1 4" "2 2"
file long.mtx "$general" "2 2 1" "1 1 4" "2 2 4"
file text.mtx "hello" "world"
file word.mtx "$general" "2 2 2" "1 1 4" "2 2 four"
file hermitian.mtx "%%MatrixMarket matrix coordinate complex hermitian" "1 1 1" "1 1 1 2"
file below.mtx "$general" "% comment" "2 2 2" "1 1 4" "0 2 4"
file above.mtx "$general" "% comment" "2 2 2" "1 1 4" "2 3 4"
file wide.mtx "$general" "2 3 2" "1 1 4" "2 2 4"
file nan.mtx "$general" "2 2 2" "1 1 nan" "2 2 4"
file inf.mtx "$general" "2 2 2" "1 1 4" "2 2 -Inf"
file huge.mtx "$general" "2 2 2" "1 1 4" "2 2 1e999"
file nothing.mtx "$general" "0 0 0"
file minus.mtx "$general" "2 2 -1"
file size.mtx "$general" "99999999999999999999 99999999999999999999 2" "1 1 4" "2 2 4"
file rows.mtx "$general" "9000000000000000000 9000000000000000000 1" "1 1 4"
file entries.mtx "$general" "2 2 9000000000000000000" "1 1 4"
file plain.mtx.gz "hello"
head -c 20000 "$DATA/pyamg_bar.mtx.gz" >cut.mtx.gz
head -c 5 "$DATA/pyamg_bar.mtx.gz" >head.mtx.gz
{ head -c 10000 "$DATA/pyamg_bar.mtx.gz"; head -c 30000 /dev/zero; } >damaged.mtx.gz
while read -r matrix pattern; do
  # shellcheck disable=SC2086
  check "$matrix" refused "$matrix.*$pattern" solve "$matrix" --method bicgstab $outputs
done <<'END'
missing.mtx '
folder.mtx directory
empty.mtx empty
banner.mtx ends before
short.mtx 3 entries
cut.mtx line 4
long.mtx has more
text.mtx not a Matrix Market file
word.mtx line 4.*four
hermitian.mtx line 3.*not real
below.mtx line 5.*index 0
above.mtx line 5.*index 3
wide.mtx not square
nan.mtx line 3.*not a finite number
inf.mtx line 4.*not a finite number
huge.mtx line 4.*not a finite number
nothing.mtx empty
minus.mtx negative
size.mtx too large
rows.mtx line 2
entries.mtx line 2
plain.mtx.gz not a Matrix Market file
cut.mtx.gz end of file
head.mtx.gz
damaged.mtx.gz
END

# ---- the right-hand side ----
array="%%MatrixMarket matrix array real general"
file three.mtx "$array" "3 1" 1 2 3
file nan_rhs.mtx "$array" "2 1" 1 nan
file short_rhs.mtx "$array" "2 2" 1 2 3
file wide_rhs.mtx "$array" "2 65" $(seq 130)
file two_rhs.mtx "$array" "2 2" 1 2 3 4
while read -r rhs pattern; do
  # shellcheck disable=SC2086
  check "--rhs $rhs" refused "$pattern" solve good.mtx --method cg --rhs "$rhs" $outputs
done <<'END'
missing.mtx missing.mtx
folder.mtx directory
three.mtx A has 2 rows.*three.mtx have 3
nan_rhs.mtx nan_rhs.mtx, line 4.*not a finite number
short_rhs.mtx short_rhs.mtx
wide_rhs.mtx 65
random:x integer
random:-1 integer
one A\*ones
END
check "other --columns than the file has" refused 'two_rhs.mtx has 2' solve good.mtx --method cg --rhs two_rhs.mtx \
  --columns 3

# ---- null spaces ----
file ones.mtx "$array" "2 1" 1 1
while read -r null_space pattern; do
  # shellcheck disable=SC2086
  check "--null-space $null_space" refused "$pattern" solve good.mtx --method cg --null-space "$null_space" $outputs
done <<'END'
missing.mtx --null-space 'missing.mtx' is neither a file nor auto, constant or none
three.mtx A has 2 rows.*three.mtx have 3
ones.mtx A takes column 1 not to zero
constant A takes constants not to zero: .* 1.0e\+00
END

# ---- initial guesses ----
while read -r guess pattern; do
  # shellcheck disable=SC2086
  check "--guess $guess" refused "$pattern" solve good.mtx --method cg --guess "$guess" $outputs
done <<'END'
nowhere.mtx nowhere.mtx' is no file
nan_rhs.mtx nan_rhs.mtx, line 4.*not a finite number
two_rhs.mtx has 2 columns, the right-hand sides have 1
END

# ---- names and options ----
while IFS='|' read -r pattern arguments; do
  # shellcheck disable=SC2086
  check "$arguments" refused "$pattern" $arguments $outputs
done <<'END'
no method 'nope'.*pipelined_cg|solve good.mtx --method nope
no method 'CG'|solve good.mtx --method CG
unknown option 'foo'.*patience|solve good.mtx --method cg:foo=1
patience=x|solve good.mtx --method cg:patience=x
patience=-1|solve good.mtx --method cg:patience=-1
given twice|solve good.mtx --method pipelined_cg:check=1,check=2
no preconditioner 'nope'.*jacobi|solve good.mtx --method cg --precond nope
unknown option|solve good.mtx --method cg --precond jacobi:x=1
neither a file nor a problem.*poisson2d|solve nope:4 --method cg
size must be|solve poisson2d --method cg
poisson2d:0|solve poisson2d:0 --method cg
poisson2d:-3|solve poisson2d:-3 --method cg
poisson2d:4x4x4|solve poisson2d:4x4x4 --method cg
poisson2d:99999999999999|solve poisson2d:99999999999999 --method cg
use more ranks|solve poisson2d:200000 --method cg
unknown option 'zeta'|solve aniso2d:4,zeta=1 --method cg
epsilon=0|solve aniso2d:4,epsilon=0 --method cg
peclet=nan|solve convdiff2d:4,peclet=nan --method cg
--columns|solve good.mtx --method cg --columns 0
--columns|solve good.mtx --method cg --columns 65
--columns|solve good.mtx --method cg --columns x
rtol|solve good.mtx --method cg --rtol -1
rtol|solve good.mtx --method cg --rtol nan
atol|solve good.mtx --method cg --atol -1
--max-it|solve good.mtx --method cg --max-it -1
--max-it|solve good.mtx --method cg --max-it 99999999999
--threads|solve good.mtx --method cg --threads 0
--threads|solve good.mtx --method cg --threads x
merged|solve good.mtx --method cg --formulation fast
did you mean sphere|bem shpere
problem is required|solve --method cg
no option --nope$|solve good.mtx --method cg --nope
no option --metod: did you mean --method|solve good.mtx --metod cg
no option --tol: did you mean --rtol|solve --tol 1e-6 good.mtx --method cg
no option --max_it: did you mean --max-it|solve good.mtx --method cg --max_it=5
no option --x0: did you mean --guess|solve good.mtx --method cg --x0 good.mtx
no option --prcond: did you mean --precond|bem sphere --prcond none
did you mean pipelined_cg|solve good.mtx --method pipelined-gc
did you mean bicgstab|solve good.mtx --method bicg
did you mean block_jacobi:ilu0|solve good.mtx --method cg --precond ilu0
did you mean block_jacobi:ilut|solve good.mtx --method cg --precond ilut
commas: block_jacobi:ilut,drop=1|solve good.mtx --method cg --precond block_jacobi:ilut:drop=1
did you mean poisson2d|solve poison2d:4 --method cg
commas: jump2d:4,contrast=1e6|solve jump2d:4:contrast=1e6 --method cg
did you mean contrast|solve jump2d:4,contrst=1e6 --method cg
did you mean --rtol|solve good.mtx --method cg:tol=1e-3
did you mean m\?|solve good.mtx --method gmres:restart=5
did you mean matern|kernel scattered --kernel mattern --method cg
did you mean two_spheres|bem two_sphere:n=100 --method bicgstab
did you mean mesh:part.stl|bem part.stl --method bicgstab
'1.5' is not a number of iterations|solve good.mtx --method cg --max-it 1.5
unexpected argument 'extra'|solve good.mtx --method cg extra
unexpected argument 'bicgstab'|solve good.mtx --method cg bicgstab
did you mean --method bicgstab|solve good.mtx --method cg bicgstab
one method|solve good.mtx --method cg --method bicgstab
several.*: --method cg --method gmres|solve good.mtx --method cg,gmres
several.*: --method cg:patience=9 --method gmres:m=5|solve good.mtx --method cg:patience=9,gmres:m=5
several.*takes one: --precond jacobi or --precond amg|solve good.mtx --method cg --precond jacobi,amg
--precond is given 2 times, and taken once: none or jacobi|solve good.mtx --method cg --precond none --precond jacobi
one problem at a time|solve good.mtx poisson3d:4
END
check "no command" refused 'subcommand is required'
check "no such command" refused 'nope' nope
check "one that is nearly there" refused 'did you mean solve\?' sovle
check "a problem after a family" refused 'did you mean --problem poisson3d:20' bench bicgstab poisson3d:20
check "a problem for a family" refused 'stretto bench FAMILY --problem poisson3d:20' bench poisson3d:20
check "no such benchmark" refused 'did you mean hmatrix\?.*groups' bench hmatrx
check "overlap on one rank" exits 2 1 overlap
check "says how to start it" says err '^stretto: overlap: one rank waits for nobody; .*mpirun -n 2'
check "1e5 is a number" solves 1 solve poisson2d:1e1 --method cg --max-it 1e5 --columns 2e0
check "list of something" refused 'something' list something

# ---- where results go ----
for option in json solution history; do
  for path in nowhere/file folder.mtx; do
    check "--$option $path" refused "cannot write .*$path" solve good.mtx --method cg --$option $path
  done
done
check "a file that cannot be written, why" refused 'cannot write nowhere/file: No such file or directory' solve good.mtx \
  --method cg --json nowhere/file
check "list --json nowhere" refused "cannot write nowhere/file" list --json nowhere/file
check "two results in one file" refused new.json solve good.mtx --method cg --json new.json --history new.json
check "the same by another name" refused "new.json is" solve good.mtx --method cg --json new.json --history ./new.json
check "a result over the matrix" refused "good.mtx is" solve good.mtx --method cg --solution ./good.mtx
OMP_NUM_THREADS=two "$STRETTO" solve poisson2d:5 --method cg >out 2>err
check "threads that are no number" [ $? -eq 2 ]
check "threads that are no number are named" says err "OMP_NUM_THREADS=two is not"

# A full disk shows only when all is written: no rank may wait for the one that writes.
export limit=20
for ranks in 1 3; do
  for full in "--json /dev/full --solution x.mtx" "--history /dev/full --solution x.mtx" "--solution /dev/full"; do
    # shellcheck disable=SC2086
    check "$full on $ranks ranks" exits 2 $ranks solve good.mtx --method cg $full
    check "$full on $ranks ranks: says so" says err '^stretto: cannot write /dev/full'
  done
done
"$STRETTO" solve good.mtx --method cg --json - >/dev/full 2>err
check "standard output on a full disk" [ $? -eq 2 ]
for arguments in list "solve good.mtx --method cg" --help "bem sphere:n=100 --method bicgstab"; do
  # shellcheck disable=SC2086
  "$STRETTO" $arguments >/dev/full 2>err
  check "$arguments on a full disk" [ $? -eq 2 ]
  check "$arguments on a full disk: says why, once" grep -qx 'stretto: cannot write to standard output: No space left on device' err
  check "$arguments on a full disk: nothing else" lines err 1
done

# What was there stays there.
echo precious >kept.json
check "a refusal" refused nope solve good.mtx --method nope --json kept.json
check "a later refusal" refused 'missing.mtx' solve missing.mtx --method cg --json kept.json
check "leaves what was there" says kept.json '^precious$'

finish
