# What tests/cli/test_*.sh share: run the program, check what it did, count the failures. Sourced first:
# works in a fresh folder that is removed at the end.
# STRETTO is the program, MPIEXEC starts ranks, DATA is tests/data.
: "${STRETTO:?the program to test}" "${MPIEXEC:?the command that starts ranks}" "${DATA:?the folder tests/data}"
STRETTO=$(realpath "$STRETTO") DATA=$(realpath "$DATA")
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
# Where Open MPI keeps its folders; two programs that start at once fight for them in one place.
export OMPI_MCA_orte_tmpdir_base=$work.mpi
mkdir "$work.mpi"
trap 'rm -rf "$work" "$work.mpi"' EXIT
cd "$work" || exit 1
checks=0 failures=0
limit=120  # seconds for a run

# check WHAT COMMAND…: COMMAND must succeed.
check() {
  local what=$1
  shift
  checks=$((checks + 1))
  "$@" >check.log 2>&1 && return
  failures=$((failures + 1))
  echo "FAILED: $what"
  sed 's/^/    /' check.log
}

# start RANKS: the words that start the program, in a place of its own. One rank needs no mpiexec.
start() {
  OMPI_MCA_orte_tmpdir_base=$(mktemp -d -p "$work.mpi")
  if [ "$1" -eq 1 ]; then words=("$STRETTO"); else words=("$MPIEXEC" -n "$1" "$STRETTO"); fi
}

# run RANKS ARGUMENT…: leaves standard output in `out`, standard error in `err`, the exit code in $code.
run() {
  start "$1"
  shift
  timeout -k 5 $limit "${words[@]}" "$@" >out 2>err </dev/null
  code=$?
}

# solves RANKS ARGUMENT…: the same, and the exit code must be 0.
solves() {
  run "$@"
  [ "$code" -eq 0 ] || { echo "exit code $code"; cat out err; return 1; }
}

# exits CODE RANKS ARGUMENT…: the same for any exit code.
exits() {
  local expected=$1
  shift
  run "$@"
  [ "$code" -eq "$expected" ] || { echo "exit code $code, not $expected"; cat out err; return 1; }
}

# says FILE PATTERN, lines FILE HOW_MANY, silent FILE
says() { grep -Eq -- "$2" "$1" || { echo "no '$2' in:"; cat "$1"; return 1; }; }
lines() { [ "$(wc -l <"$1")" -eq "$2" ] || { echo "not $2 lines in '$1':"; cat "$1"; return 1; }; }
silent() { [ ! -s "$1" ] || { echo "'$1' is not empty:"; head -n 3 "$1"; return 1; }; }

# python CHECK ARGUMENT…: one of the checks in cli_checks.py.
python() { python3 "$tests/cli_checks.py" "$@"; }

# holds FILE EXPRESSION: a Python expression of r, the content of a JSON file.
holds() { python holds "$@"; }

finish() {
  echo "$checks checks, $failures failed"
  [ "$failures" -eq 0 ]
  exit
}
