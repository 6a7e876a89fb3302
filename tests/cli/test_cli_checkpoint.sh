#!/bin/bash
# Checkpoints: a solve that was killed at any moment, or interrupted, goes on, and nothing but the iterations since is lost.
. "$(dirname "$0")/cli_checks.bash"

# Some seconds, of so many iterations that a kill comes between.
problem="solve jump2d:300,contrast=1000 --precond jacobi --rtol 1e-10"

# killed SECONDS RANKS ARGUMENT…: SIGKILL so many seconds after there is a checkpoint. mpiexec ends what it has started.
killed() {
  local seconds=$1 tenths
  start "$2"
  shift 2
  # shellcheck disable=SC2154
  "${words[@]}" "$@" >out 2>err </dev/null &
  local process=$!
  for ((tenths = 300; tenths > 0; --tenths)); do
    [ -f state.bin ] && break
    sleep 0.1
  done
  sleep "$seconds"
  kill -KILL $process 2>kill.log
  wait $process 2>>kill.log
  return 0
}

# refuses RANKS PATTERN ARGUMENT…: exit code 2, and why.
refuses() {
  local ranks=$1 pattern=$2
  shift 2
  exits 2 "$ranks" "$@" && says err "$pattern"
}

# At random moments, some of them while a snapshot is written, as one is after every iteration then.
RANDOM=${SEED:=$$}
echo "SEED=$SEED repeats the moments"
for ranks in 1 2; do
  # shellcheck disable=SC2086
  check "whole, $ranks ranks" solves $ranks $problem --method cg --json whole.json
  rm -f state.bin
  after=0
  for every in 40it 1it 7it 1it 40it; do
    resume=()
    [ -f state.bin ] && resume=(--resume state.bin)
    seconds=$(printf '0.%03d' $((RANDOM % 150)))
    # shellcheck disable=SC2086
    killed "$seconds" $ranks $problem --method cg --checkpoint state.bin,every=$every "${resume[@]}"
    # shellcheck disable=SC2086
    check "killed after $seconds s, every=$every, $ranks ranks: the checkpoint is whole" \
      exits 1 $ranks $problem --resume state.bin --max-it 1 --json kept.json
    check "killed after $seconds s, every=$every, $ranks ranks: and no older than the last" holds kept.json \
      "r['resumed_after'] >= $after"
    after=$(grep -o '"resumed_after": *[0-9]*' kept.json | head -1 | tr -dc 0-9)
  done
  # shellcheck disable=SC2086
  check "goes on to the end, $ranks ranks" solves $ranks $problem --method cg --checkpoint state.bin,every=40it \
    "${resume[@]}" --json rest.json --history rest.csv
  iterations=$(grep -o '"iterations": *[0-9]*' whole.json | head -1 | tr -dc 0-9)
  check "nothing but iterations since is lost, $ranks ranks" holds rest.json \
    "r['iterations'] == $iterations and r['converged']"
  # shellcheck disable=SC2086
  check "on three ranks, with method and preconditioner of the file" solves 3 $problem --resume state.bin --json other.json
  check "on three ranks: about as many iterations" holds other.json \
    "r['method'] == 'cg' and r['precond'] == 'jacobi' and abs(r['iterations'] - $iterations) < 20 and r['resumed_after'] > 0"
done

# shellcheck disable=SC2086
check "another method goes on from x" solves 2 $problem --method bicgstab --resume state.bin --json other.json
check "another method goes on from x: it says from where" holds other.json \
  "r['resumed_after'] > 0 and any('from a checkpoint of cg' in e['text'] for e in r['events'])"

check "another preconditioner goes on from x" solves 1 solve jump2d:300,contrast=1000 --method cg --precond block_jacobi:ic0 \
  --resume state.bin --json other.json
check "another preconditioner goes on from x: it says so" holds other.json \
  "any('from x alone: its preconditioner was jacobi' in e['text'] for e in r['events'])"

check "refused: two methods" refuses 1 'belong to one method' solve poisson2d:20 --method cg --method bicgstab \
  --checkpoint a.bin
check "refused: how often" refuses 1 'every=soon: how long' solve poisson2d:20 --method cg --checkpoint a.bin,every=soon
check "refused: a word that is none" refuses 1 "'evry=5' of the checkpoint" solve poisson2d:20 --method cg --checkpoint a.bin,evry=5
check "refused: no name" refuses 1 'the name of a file is wanted' solve poisson2d:20 --resume ""
check "refused: a guess beside it" refuses 1 '--guess and --resume' solve poisson2d:20 --resume state.bin --guess x.mtx
check "refused: no such file" refuses 2 'cannot open none.bin' solve poisson2d:20 --resume none.bin
echo nothing >nothing.bin
check "refused: something else" refuses 2 'nothing.bin is no checkpoint' solve poisson2d:20 --resume nothing.bin
check "refused: another system" refuses 2 'state.bin is of another system' solve poisson2d:21 --resume state.bin
head -c 5000 state.bin >half.bin
check "refused: cut off" refuses 1 'half.bin is not whole' solve jump2d:300,contrast=1000 --resume half.bin
check "refused: no folder" refuses 1 'no_folder' solve poisson2d:20 --method cg --checkpoint no_folder/a.bin

finish
