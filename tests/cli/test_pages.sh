#!/usr/bin/env bash
# The commands of the first pages run as they stand there: docs/start.md and docs/howto; and so does examples/command_line.sh.
. "$(dirname "$0")/cli_checks.bash"
sources=$(dirname "$(dirname "$DATA")")
limit=300 pages=0

# In a folder where the sources' tests are, the program and MPI's mpirun in PATH, as the pages say.
ln -s "$sources/tests" tests
mkdir bin
ln -s "$STRETTO" bin/stretto
ln -s "$(command -v "$MPIEXEC")" bin/mpirun
export PATH=$PWD/bin:$PATH

for page in "$sources"/docs/start.md "$sources"/docs/howto/*.md; do
  name=$(basename "$page" .md)
  # shellcheck disable=SC2016  # these are no commands
  sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$page" >"$name.sh"
  [ -s "$name.sh" ] || continue
  pages=$((pages + 1))
  check "the commands of $name.md" timeout -k 5 "$limit" bash -euo pipefail "$name.sh"
done
check "pages with commands" test "$pages" -ge 4
check "examples/command_line.sh" timeout -k 5 "$limit" bash "$sources/examples/command_line.sh"
finish
