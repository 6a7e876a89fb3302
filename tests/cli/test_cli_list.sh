#!/bin/bash
# The command line without a solve: help, version, the lists of what there is.
. "$(dirname "$0")/cli_checks.bash"

check "--help" solves 1 --help
check "--help names the commands" says out '^ +solve .*'
check "--help names the commands" says out '^ +bem .*'
check "--help names the commands" says out '^ +kernel .*'
check "--help names the commands" says out '^ +bench .*'
check "--help names the commands" says out '^ +list .*'
check "solve --help" solves 1 solve --help
for option in rhs columns method precond rtol atol max-it formulation threads json history plot true-residuals solution null-space; do
  check "solve --help tells of --$option" says out "--$option "
done
check "solve --help says that a method comes alone" says out '--method NAME +One method'
for ranks in 1 3; do
  check "--version on $ranks ranks" solves $ranks --version
  check "--version on $ranks ranks is a number" says out '^[0-9]+\.[0-9]+\.[0-9]+$'
  check "--version on $ranks ranks comes once" lines out 1
done

check "list as JSON" solves 1 list --json -
cp out list.json
check "list names its version" holds list.json "r['stretto'].count('.') == 2"
check "list has the methods, those of a family together" holds list.json \
  "(lambda n: n[:4] == ['cg', 'single_reduction_cg', 'pipelined_cg', 'deep_pipelined_cg'] and all(
     n[n.index(f[0]):][:len(f)] == f for k in ('bicgstab', 'gmres') for f in [[x for x in n if k in x]]))( \
   [m['name'] for m in r['methods']])"
check "list has the GMRES methods" holds list.json \
  "['gmres', 'pipelined_gmres', 's_step_gmres', 'pipelined_s_step_gmres'] == \
   [m['name'] for m in r['methods'] if 'gmres' in m['name']]"
check "an option that takes words has its default among them" holds list.json \
  "[o['choices'][int(o['default'])] for m in r['methods'] if 'gmres' in m['name'] for o in m['options'] \
   if 'choices' in o] == ['dcgs2', 'right', 'double', 'newton', 'right', 'pip2', 'newton', 'right', 'newton', 'right']"
check "a method has all that a program needs" holds list.json \
  "all({'title', 'source', 'needs', 'options', 'per_iteration', 'per_iteration_preconditioned'} <= m.keys() \
   for m in r['methods'])"
check "an option has a default within its range" holds list.json \
  "all(o['minimum'] <= o['default'] and (o['maximum'] is None or o['default'] <= o['maximum']) and o['help'] \
   for kind in ('methods', 'preconditioners', 'problems') for m in r[kind] for o in m['options'])"

check "list" solves 1 list
for name in cg single_reduction_cg pipelined_cg deep_pipelined_cg bicgstab improved_bicgstab reordered_bicgstab pipelined_bicgstab \
  none jacobi block_jacobi additive_schwarz chebyshev amg \
  poisson2d poisson3d poisson3d27 neumann2d neumann3d convdiff2d aniso2d aniso3d diagonal; do
  check "list names $name" says out "^  $name\b"
  check "list as JSON names $name" says list.json "\"name\": \"$name\""
done
check "words that an option takes are listed" says out '^      orth=dcgs2  .*: one of dcgs2, cgs2, cgs, mgs$'
check "list on three ranks" solves 3 list --json list3.json
check "list on three ranks is the same" cmp list.json list3.json

# Every problem that is listed can be solved as it stands.
check "Neumann problems are singular" holds list.json \
  "[p['name'] for p in r['problems'] if p['singular']] == ['neumann2d', 'neumann3d']"
for problem in poisson2d:6 poisson2d:6x4 poisson3d:4 poisson3d:4x3x2 poisson3d27:4 aniso2d:6 aniso2d:6,epsilon=0.1 \
  aniso3d:4,y=0.5,z=0.01 \
  jump2d:6,contrast=100,seed=3 jump3d:4 diagonal:poisson2d,6 convdiff2d:6,peclet=20,angle=1 convdiff3d:4; do
  check "$problem" solves 2 solve "$problem" --method bicgstab --json run.json
  check "$problem: its name comes back" holds run.json "r['problem'] == '$problem' and r['converged']"
  named=${problem%%:*}
  check "$problem is listed" holds list.json "'$named' in [p['name'] for p in r['problems']]"
done

finish
