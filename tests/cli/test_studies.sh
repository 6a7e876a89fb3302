#!/bin/bash
# The pages of docs/measured follow from their data, and what writes them works. Nothing is measured but one small case.
# shellcheck disable=SC2154  # tests and limit are of cli_checks.bash
. "$(dirname "$0")/cli_checks.bash"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tests/../..
pages=$tests/../../docs/measured

studies() { timeout -k 5 "$limit" python3 -m studies "$@" >out 2>err </dev/null; }

# refuses PATTERN ARGUMENT…: one line on standard error, exit code 2.
refuses() {
  local pattern=$1
  shift
  studies "$@"
  local code=$?
  [ $code -eq 2 ] || { echo "exit code $code"; cat out err; return 1; }
  lines err 1 && says err "$pattern"
}

reproduces() {  # reproduces NAME: the page, the data and the pictures, bit for bit
  studies "$1" --report --data "$pages/$1.json" --output again || { cat err; return 1; }
  sed 's/^Written: //; s/, /\n/g' out >written
  local file
  while read -r file; do cmp "$file" "$pages/$(basename "$file")" || return 1; done <written
}

check 'the help lists every study in a line' studies --help
names=$(sed -n 's/^  \([a-z_]\+\) .*?$/\1/p' out)
for name in $names; do check "$name follows from its data" reproduces "$name"; done
# That of a GPU is tools/gpu_check.py's, that of hmat-oss what `stretto bench hmatrix` prints.
check 'every measured page has a study' diff <(basename -a -s .json "$pages"/*.json | grep -v '^gpu' | sort) <(echo "$names" | sort)
check 'nothing but their index is among the pages besides' diff <(basename -a "$pages"/* | grep -vx -e README.md -e hmatrix.md -e 'gpu.*' | sort) <(basename -a again/* | sort)
check 'tables, wrapped texts, the machine, links' python3 "$tests/studies_checks.py"
check 'a study measures' studies latency --quick --stretto "$STRETTO" --mpiexec "$MPIEXEC" --output measured
check 'and writes' says measured/latency.md '^\| 1 \| '
check 'a campaign finds nothing in some random systems' studies campaign --quick --parts solves --minutes 0.2 --jobs 1 \
  --stretto "$STRETTO" --mpiexec "$MPIEXEC" --output measured
check 'and says so' says measured/campaign.md '^Nothing\.'

check 'no such study' refuses "invalid choice: 'nothing'" nothing
check 'no such option' refuses 'unrecognized arguments: --nothing' growth --nothing
check 'not a number' refuses "invalid int value: 'many'" groups --rounds many
check 'no data' refuses 'no data to report' growth --report --data none.json --output again
echo '{"facts": {}' >broken.json
check 'broken data' refuses 'broken.json: ' growth --report --data broken.json --output again
echo '{"facts": {}}' >empty.json
check 'data without what a page needs' refuses 'empty.json has no ' growth --report --data empty.json --output again
check 'no program' refuses 'no program' growth --quick --stretto ./none --output again
check 'no folder of matrices' env -u STRETTO_MATRICES bash -c "$(declare -f refuses studies says lines); limit=$limit
  refuses 'needs a folder' zoo --quick --stretto '$STRETTO' --output again"

finish
