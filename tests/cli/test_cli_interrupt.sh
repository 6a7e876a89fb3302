#!/bin/bash
# Signals and terminals: an interrupted solve ends soon and says how far it came; a progress line only on a terminal.
. "$(dirname "$0")/cli_checks.bash"

# Takes minutes: far beyond double precision, patience without end.
long="solve diagonal:poisson2d,1100 --rtol 1e-30 --max-it 1000000000"

# within SECONDS PID: the process ends in time; its exit code in $code.
within() {
  local tenths
  for ((tenths = 10 * $1; tenths > 0; --tenths)); do
    kill -0 "$2" 2>check.kill || break
    sleep 0.1
  done
  [ "$tenths" -gt 0 ] || { echo "still there after $1 s"; kill -KILL "$2"; }
  wait "$2"
  code=$?
  [ "$tenths" -gt 0 ]
}

# interrupted SIGNAL RANKS ARGUMENT…: the signal comes half a second after the solve began.
interrupted() {
  local signal=$1 tenths
  start "$2"
  shift 2
  rm -f out err
  # shellcheck disable=SC2154
  "${words[@]}" "$@" >out 2>err </dev/null &
  for ((tenths = 200; tenths > 0; --tenths)); do
    grep -qs '^method' out && break
    sleep 0.1
  done
  sleep 0.5
  kill -"$signal" $!
  within 10 $!
}

for signal in INT TERM; do
  for ranks in 1 2; do
    what="SIG$signal on $ranks ranks"
    # shellcheck disable=SC2086
    check "$what ends the solve" interrupted $signal $ranks $long --method cg:patience=1000000000 --json run.json \
      --history run.csv
    check "$what: exit code 1" [ "$code" -eq 1 ]
    check "$what: in the table, with the residual" says out 'interrupted +[0-9]+ .* [0-9]\.[0-9]+e-[0-9]+'
    check "$what: every field" python fields run.json
    check "$what: in the JSON" holds run.json \
      "r['status'] == 'interrupted' and not r['converged'] and r['iterations'] > 0 and r['relative_residual'] < 1"
    check "$what: history" python history run.csv run.json
    check "$what: nothing from the program on standard error" eval '! grep stretto err'
  done
done

for method in pipelined_cg bicgstab pipelined_bicgstab; do
  # shellcheck disable=SC2086
  check "SIGINT in $method" interrupted INT 1 $long --method $method:patience=1000000000 --json run.json \
    --solution x.mtx
  check "SIGINT in $method: in the JSON" holds run.json "r['status'] == 'interrupted'"
  check "SIGINT in $method: the solution is whole" python whole x.mtx
done

# Whatever the method waits for when it comes, it leaves a snapshot.
for method in cg minres s_step_cg bicgstab; do
  for turn in 1 2 3 4; do
    rm -f state.bin
    check "SIGTERM in $method with --checkpoint, $turn" interrupted TERM 1 solve diagonal:poisson2d,500 --rtol 1e-30 \
      --max-it 1000000000 --method $method:patience=1000000000 --checkpoint state.bin
    check "SIGTERM in $method with --checkpoint, $turn: leaves one" [ -s state.bin ]
  done
done

# shellcheck disable=SC2086
check "SIGINT with several methods" interrupted INT 1 $long --method cg:patience=1000000000 --method bicgstab
grep -E '^(cg|bicgstab)' out >rows
check "SIGINT with several methods: the next does not start" lines rows 1

# ---- the progress line ----
problem="solve poisson2d:600 --method cg"
# shellcheck disable=SC2086
check "off a terminal" solves 1 $problem
check "off a terminal there is no progress line" silent err
for ranks in 1 2; do
  # mpirun hands the ranks a pipe for standard error, so there the line has to be asked for.
  asked=$([ $ranks -eq 1 ] || echo --progress)
  start $ranks
  # shellcheck disable=SC2086
  python on_terminal "${words[@]}" $problem $asked >seen 2>err
  code=$?
  check "on a terminal, $ranks ranks" [ $code -eq 0 ]
  tr '\r' '\n' <seen >lines
  check "on a terminal, $ranks ranks: a progress line" says lines \
    '^cg  iteration [0-9]+  residual [0-9.e+-]+ \(target 1e-08\)'
  check "on a terminal, $ranks ranks: then the table" says lines '^cg +converged +[0-9]+ '
done

finish
