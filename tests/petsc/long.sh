#!/usr/bin/env bash
# long.sh BUILD: what takes long of the tests of the plug-in in BUILD: PETSc's programs, their test cases, others' programs.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}") plugin=$(realpath "$1/libstretto_petsc.so") programs=$(realpath "$1")/petsc_examples
mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$1/CMakeCache.txt")
set -a
. "$here/../../tools/mpi.env"
set +a
failed=0
/usr/bin/python3 "$here/suite.py" "$plugin" "$mpiexec" "$programs" || (($? == 77)) || failed=1
/usr/bin/python3 "$here/sweep.py" "$plugin" "$mpiexec" "$programs" --least 715 || (($? == 77)) || failed=1
/usr/bin/python3 "$here/programs.py" "$plugin" "$mpiexec" || (($? == 77)) || failed=1
exit "$failed"
