#!/usr/bin/env bash
# A method that tools/new_method has written, built in. STRETTO is a program with the method trial_method, NEW_METHOD the
# tool.
. "$(dirname "$0")/../../cli/cli_checks.bash"

check "list" solves 1 list
check "the method is in the list" says out '^ +trial_method '
check "list as JSON" solves 1 list --json -
cp out list.json
check "behind its family, before the others" holds list.json \
  "(lambda n: n.index('deep_pipelined_cg') < n.index('trial_method') < n.index('bicgstab'))([m['name'] for m in r['methods']])"
check "iterations cost something" holds list.json \
  "all(m[k]['applies'] == 1 for m in r['methods'] if m['name'] == 'trial_method' for k in ('per_iteration', 'per_iteration_preconditioned'))"
check "it solves" solves 2 solve poisson2d:40 --method trial_method --precond jacobi --json solve.json
check "itself" holds solve.json "r['converged'] and r['finished_by'] == 'trial_method'"

check "writes three files" "$NEW_METHOD" another_method --root tree
for file in include/stretto/methods/another_method.hpp src/methods/another_method.cpp docs/methods/another_method.md; do
  check "$file" says tree/$file another_method
  check "$file has its own name only" bash -c "! grep -q my_method tree/$file"
done
refuses() {  # refuses PATTERN ARGUMENT…
  if "$NEW_METHOD" "${@:2}" --root tree 2>err; then return 1; fi
  says err "$1"
}
echo kept >tree/src/methods/another_method.cpp
check "a name that is taken" refuses "there is a method 'another_method' already.*another_method.cpp" another_method
check "nothing is overwritten" says tree/src/methods/another_method.cpp '^kept$'
for name in Upper 2fast two__bars a-dash ''; do check "'$name' is no name" refuses "is no name for a method" "$name"; done
finish
