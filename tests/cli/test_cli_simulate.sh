#!/bin/bash
# The simulation of clusters from the command line, where the simulator is built (make simulate).
. "$(dirname "$0")/cli_checks.bash"

fails() { ! "$@"; }
problem="simulate --problem poisson3d:16"
# shellcheck disable=SC2086
{
check "a number of nodes that is none" exits 2 1 $problem --method cg --nodes 0
check "says so" says err '^stretto: --nodes 0: a number of nodes is 1 to 65536$'
check "an unknown parameter" exits 2 1 $problem --method cg --set foo=1
check "says so" says err "'foo=1' is not PARAMETER=VALUE"
check "an unknown method" exits 2 1 $problem --method foo
check "too many ranks" exits 2 1 $problem --method cg --nodes 65536
check "says so" says err "more than 65536 in all"
check "detours back in time" exits 2 1 $problem --method cg --detours=-1,5
check "no bandwidth" exits 2 1 $problem --method cg --set memory_bandwidth=x0
check "says so" says err "^stretto: --set memory_bandwidth=x0: out of range"
machines="$(dirname "$STRETTO")/../../share/machines"
sed 's/"value": 5e-07/"value": -5e-07/' "$machines/cori.json" >negative.json
check "a machine that gives time back" exits 2 1 $problem --method cg --machine negative.json
check "says so" says err "negative.json: kernel is out of range"
check "help" solves 1 simulate --help

# refused WHAT MESSAGE ARGUMENT…: exit code 2, and one line says what is wrong.
refused() {
  check "$1" exits 2 1 "${@:3}"
  check "$1: says so" says err "^stretto: .*$2"
  check "$1: in a line" lines err 1
}
with_hint() { check "$1" exits 2 1 "${@:3}"; check "$1: says so" says err "^stretto: .*$2"; }
one="$problem --nodes 1 --method cg"
mkdir somewhere
refused "a folder as a machine" "there is no machine 'somewhere'" $one --machine somewhere
sed '0,/"source"/s/"source"/"sauce"/' "$machines/cori.json" >sauce.json
refused "a parameter without a source" "sauce.json: memory_bandwidth has no 'sauce'; it has value, unit, source" $one --machine sauce.json
python3 -c 'import json, sys; m = json.load(open(sys.argv[1])); \
  del m["parameters"]["kernel"]["source"]; json.dump(m, open("unsaid.json", "w"))' "$machines/cori.json"
refused "none at all" "unsaid.json is not a machine file: .*source" $one --machine unsaid.json
sed 's/"kernel"/"colonel"/' "$machines/cori.json" >colonel.json
refused "an unknown parameter of a machine" "no 'colonel'; it has memory_bandwidth, .*all_reduce, exchange" $one --machine colonel.json
sed 's/"platform"/"plattform"/' "$machines/cori.json" >plattform.json
refused "an unknown field of a machine" "no 'plattform'; it has name, platform, ranks_per_node, parameters" $one --machine plattform.json
sed 's/"ranks_per_node": 16/"ranks_per_node": 16.5/' "$machines/cori.json" >half.json
refused "half a rank" "ranks_per_node is out of range" $one --machine half.json
refused "a law with too few coefficients" "4 numbers from 0 up" $one --set all_reduce=1,2
for what in nan inf -inf 1e999; do
  for option in imbalance rtol iterations columns ranks-per-node polls seed; do
    with_hint "--$option $what" "'$what' is not a" $one "--$option=$what"
  done
  for option in detours=$what,1 detours=1,$what set=kernel=$what set=kernel=x$what set=all_reduce=0,0,0,$what precond=cost:$what; do
    refused "--$option" "'$what' of .* is not a finite number" $one "--$option"
  done
  refused "--nodes $what" "'$what' of --nodes $what is not a finite number" $problem --method cg --nodes=$what
done
refused "an odd cost" "an even number of vectors" $one --precond cost:3
outputs=("json none/a.json" "trace none/a-")
if command -v gnuplot >/dev/null || python3 -c 'import matplotlib' 2>/dev/null; then
  outputs+=("plot none/a.svg")
else
  echo "Neither gnuplot nor matplotlib: --plot is not asked for"
fi
for output in "${outputs[@]}"; do
  # shellcheck disable=SC2086
  refused "an output that cannot be written, --$output" "cannot write none/a" $one --$output
  check "before anything is simulated" silent out
done
cp "$machines/cori.json" own.json
refused "a machine that would be overwritten" "own.json is an input" $one --machine ./own.json --json own.json
check "it is there" [ -s own.json ]

refused "whole solves without numerics" "takes real numerics" $one --to-solution --dry
for more in --dry "--reductions act" "--exchanges messages" "--precond additive_schwarz:ic0" "--storage auto" "--trace t-"; do
  refused "one process, $more" "--numerics one takes" $one --numerics one $more
done
refused "one process, matrix powers" "--numerics one takes" $problem --nodes 1 --numerics one --method s_step_gmres:h=2
refused "a file that is not there" "'none.mtx' is neither a file nor a problem" simulate --problem none.mtx --nodes 1 --method cg
refused "a layer of it" "'none.mtx' is neither a file nor a problem" simulate --problem kron:none.mtx,3 --nodes 1 --method cg
file="simulate --problem $DATA/lsc_F_2.mtx.gz --nodes 1 --method cg"
for deal in boxes columns; do
  refused "$deal of a file" "lsc_F_2.mtx.gz has no grid: type --grid" $file --deal $deal
done
refused "two cells" "--grid '3x4': three numbers" $file --grid 3x4
refused "cells of a generated problem" "poisson3d:16 has its own" $problem --nodes 1 --method cg --grid 16x16x16
refused "a right-hand side without numerics" "--rhs takes real numerics" $problem --nodes 1 --dry --method cg --rhs random

# ---- platform files: two nodes with a link between ----
cat >two.xml <<'XML'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <host id="left" speed="1Gf" core="4"/>
    <host id="right" speed="1Gf" core="4"/>
    <link id="inside" bandwidth="8GBps" latency="300ns"/>
    <link id="between" bandwidth="1GBps" latency="2us"/>
    <route src="left" dst="left"><link_ctn id="inside"/></route>
    <route src="right" dst="right"><link_ctn id="inside"/></route>
    <route src="left" dst="right"><link_ctn id="between"/></route>
  </zone>
</platform>
XML
printf 'left\nright\n' >hosts
pair="$problem --method cg --ranks-per-node 4 --iterations 30 --nodes"
refused "a platform that is not there" "there is no platform 'none.xml'" $pair 2 --platform none.xml --hosts hosts
mkdir folder.xml
refused "a folder" "there is no platform 'folder.xml'" $pair 2 --platform folder.xml --hosts hosts
refused "a platform of no kind" "'torus' is neither aries nor fattree nor a FILE.xml" $pair 2 --platform torus
refused "no hosts" "two.xml: --hosts FILE says" $pair 2 --platform two.xml
refused "hosts without a platform" "goes with --platform FILE.xml" $pair 2 --hosts hosts
refused "hosts that are not there" "cannot read nohosts" $pair 2 --platform two.xml --hosts nohosts
refused "more nodes than hosts" "hosts names 2 hosts" $pair 2..4 --platform two.xml --hosts hosts
printf 'left\nleft\n' >twice
refused "a host twice" "twice has left twice" $pair 2 --platform two.xml --hosts twice
printf 'left:4\n' >numbers
refused "no name" "'left:4' of numbers is no name" $pair 1 --platform two.xml --hosts numbers

simulator="$(dirname "$STRETTO")/../simulate/stretto-simulator.so"
if [ ! -e "$simulator" ] || ! command -v smpirun >/dev/null; then
  echo "the simulator is not built: the simulations themselves are skipped"
  finish
fi

# ---- what the simulator looks at first ----
refused "cells that do not fit" "no multiple of its cells" $file --deal boxes --grid 7x7x7
refused "more columns than there are" "of whole lines along x: take fewer --nodes" simulate --problem poisson3d:4 --deal columns \
  --nodes 1 --ranks-per-node 32 --method cg
refused "a right-hand side that is not there" "--rhs 'none.mtx' is neither a file" $problem --nodes 1 --method cg --rhs none.mtx

# ---- platform files that SimGrid reads ----
check "a platform of one's own" solves 1 $pair 2 --platform two.xml --hosts hosts --history --json two.json
check "JSON on standard output" solves 1 $pair 2 --platform two.xml --hosts hosts --json -
check "and nothing else" holds out "r['simulated'] and len(r['points']) == 1"
sed 's/2us/20us/' two.xml >far.xml
check "with a longer way" solves 1 $pair 2 --platform far.xml --hosts hosts --history --json far.json
check "takes longer" python faster two.json far.json
check "to the same residuals" python same_residuals two.json far.json
for reductions in ana act; do
  check "$reductions, exchanges in memory" solves 1 $pair 2 --platform far.xml --hosts hosts --history --reductions $reductions \
    --exchanges memory --json far_$reductions.json
  check "agrees" python costs_as far_$reductions.json far_ana.json
done
sed 's/1GBps/1MBps/' two.xml >thin.xml
for exchanges in messages memory; do
  check "a thin link, $exchanges" solves 1 $pair 2 --platform thin.xml --hosts hosts --exchanges $exchanges --json thin.json
  check "takes the time of its bytes" holds thin.json "r['points'][0]['seconds_per_iteration'] > 16 * 16 * 8 / 1e6"
done
check "the first host alone" solves 1 $pair 1,2 --platform two.xml --hosts hosts --json both.json
check "has no such way" holds both.json "len(r['points']) == 2 and \
  r['points'][0]['kernels']['reductions'] < r['points'][1]['kernels']['reductions']"
own="$problem --method cg --ranks-per-node 4 --nodes 2 --platform two.xml --hosts hosts --to-solution"
check "whole solves there" solves 1 $own --numerics ranks --json ranks.json
check "by one process" solves 1 $own --json one.json
check "the same" python same_solves one.json ranks.json
printf 'left\nmiddle\n' >unknown
refused "an unknown host" "Host not found: 'middle'$" $pair 2 --platform two.xml --hosts unknown
sed '/src="left" dst="right"/d' two.xml >apart.xml
refused "no way between nodes" "no connecting path between" $pair 2 --platform apart.xml --hosts hosts
head -n 5 two.xml >broken.xml
refused "a broken file" "Parse error at .*broken.xml" $pair 2 --platform broken.xml --hosts hosts

# ---- the real methods: the same numbers as with MPI ----
methods="cg pipelined_cg deep_pipelined_cg:l=2 pipelined_bicgstab pipelined_s_step_gmres:m=20"
check "four ranks" solves 1 $problem --nodes 2 --ranks-per-node 2 --iterations 200 --history --json four.json --methods $methods
for method in $methods; do
  check "$method with MPI" solves 4 solve poisson3d:16 --threads 1 --storage csr --progress-mode none --method "$method" \
    --history history.csv --json run.json
  check "has the same residuals" python simulated four.json "$method" run.json history.csv
done

# ---- 64 ranks, and every back end ----
smoke="$problem --nodes 4 --iterations 60 --methods cg pipelined_cg deep_pipelined_cg:l=2 --history"
for reductions in rd act ana; do
  check "64 ranks, $reductions" solves 1 $smoke --reductions $reductions --exchanges messages --json $reductions.json
  check "converges" holds $reductions.json "len(r['points']) == 3 and all(p['status'] == 'converged' and \
    p['ranks'] == 64 and p['relative_residual'] <= 1e-8 for p in r['points'])"
done
check "ana, exchanges in memory" solves 1 $smoke --exchanges memory --json memory.json
check "again" solves 1 $smoke --exchanges memory --json again.json
check "48 ranks: no power of two" solves 1 $problem --nodes 3 --iterations 60 --method cg pipelined_cg --reductions act --json act48.json
check "the same computed" solves 1 $problem --nodes 3 --iterations 60 --method cg pipelined_cg --json ana48.json
check "the back ends agree" python backends rd.json act.json ana.json memory.json
check "and on 48 ranks" python backends act48.json act48.json ana48.json ana48.json
for exchanges in messages memory; do
  check "tests in every kernel, $exchanges" solves 1 $smoke --reductions rd --polls 2 --exchanges $exchanges --json polled_$exchanges.json
done
check "sums advance while a rank waits for either" python backends polled_messages.json polled_memory.json polled_memory.json polled_messages.json
check "and tests hide what they can" holds polled_memory.json "[p['hidden'] > 0.5 for p in r['points']] == [False, True, True]"
check "same seed, same times" python same_times memory.json again.json
check "what hides, hides" holds ana.json "[p['hidden'] > 0.3 for p in r['points']] == [False, True, True]"
check "without progress it does not" holds rd.json "all(p['hidden'] < 0.1 for p in r['points'])"

# ---- blocking, against SMPI's own all-reduce ----
for reductions in rd ana mpi; do
  check "blocking, $reductions" solves 1 $smoke --blocking --reductions $reductions --set message=0 --exchanges messages --json $reductions.json
done
check "as SMPI has it" python backends rd.json mpi.json ana.json mpi.json

# ---- noise, parameters, dry runs ----
noisy="$problem --nodes 2 --iterations 30 --method cg --imbalance 0.5 --detours 1e-5,1000"
check "noise" solves 1 $noisy --seed 1 --json noise1.json
check "again" solves 1 $noisy --seed 1 --json again.json
check "the same" python same_times noise1.json again.json
check "another seed" solves 1 $noisy --seed 2 --json noise2.json
check "other times" fails python same_times noise1.json noise2.json
check "half the latency" solves 1 $smoke --exchanges memory --set link_latency=x0.5 --json half.json
check "is faster" python faster half.json memory.json
check "and said" holds half.json "'x0.5' in r['machine']['parameters']['link_latency']['source'] and r['simulated'] is True"
check "a real run" solves 1 simulate --problem poisson2d:256 --nodes 2 --deal boxes --iterations 50 --method cg pipelined_cg --rtol 0 --json real.json
check "a dry run" solves 1 simulate --problem poisson2d:256 --nodes 2 --deal boxes --iterations 50 --method cg pipelined_cg --dry --json dry.json
check "costs the same" python costs_as dry.json real.json
check "more iterations than a method lasts" exits 2 1 $problem --nodes 1 --dry --iterations 2000 --method deep_pipelined_cg:l=3
check "says so" says err "^stretto: a dry run of deep_pipelined_cg:l=3 ends after [0-9]+ iterations"
check "all-reduces of a published law" solves 1 simulate --machine lomonosov --problem diagonal:poisson2d,64 --dry --nodes 1,2,16 \
  --method cg --blocking --iterations 30 --json law.json
# cg has two in an iteration, of 16 and of 24 bytes; Krasnopolsky 2019, formula (10).
check "take as long as it says" holds law.json "all(abs(p['kernels']['reductions'] / sum(3.5e-6 + 1.7e-6 * l**0.21 * \
  p['nodes']**0.54 for l in (16, 24)) - 1) < 0.05 for p in r['points'])"
if command -v gnuplot >/dev/null; then
  check "a plot" solves 1 $problem --dry --nodes 1,2,4 --methods cg pipelined_cg --iterations 20 --plot speed_up.svg
  check "has the methods and the ideal line" says speed_up.svg "ideal"
  check "and its title" says speed_up.svg "simulated: poisson3d:16"
fi

# ---- to the solution: one process for all ranks gives what the ranks give, each by itself ----
# Few iterations, and blocks of one pass: sums are taken in another order, and what rounding decides would differ.
whole="--to-solution --precond jacobi --methods deep_pipelined_cg:l=2 cg pipelined_cg s_step_cg gmres pipelined_gmres:m=16 \
  s_step_gmres:orth=pip bicgstab improved_bicgstab pipelined_bicgstab"
noise="--imbalance 0.2 --detours 1e-5,2000"
for machine in "--nodes 4" "--nodes 3 --deal boxes" "--nodes 4 --machine lomonosov --blocking"; do
  for noises in "" "$noise"; do
    check "all ranks, $machine $noises" solves 1 $problem $machine $noises $whole --numerics ranks --json ranks.json
    check "one process" solves 1 $problem $machine $noises $whole --json one.json
    check "the same" python same_solves one.json ranks.json
  done
done
file="simulate --problem $DATA/lsc_F_2.mtx.gz --nodes 2 --to-solution --methods cg pipelined_cg s_step_cg gmres --precond jacobi"
check "a file" solves 1 $file --numerics ranks --json ranks.json
check "at once" solves 1 $file --json one.json
check "the same" python same_solves one.json ranks.json
layers="simulate --problem kron:$DATA/lsc_F_2.mtx.gz,2 --nodes 2 --rtol 1e-4 --to-solution --method deep_pipelined_cg:l=3 cg --precond jacobi"
check "several columns, layers of a file" solves 1 $layers --columns 3 --numerics ranks --json ranks.json
check "at once" solves 1 $layers --columns 3 --json one.json
check "the same" python same_solves one.json ranks.json
check "all converge, measured by cg" holds one.json "r['options']['numerics'] == 'auto' and [(p['method'], p['status']) for p in r['points']] == \
  [('cg', 'converged'), ('deep_pipelined_cg:l=3', 'converged')] and r['points'][0]['over_classic'] == 1 and \
  r['points'][1]['over_classic'] == r['points'][0]['seconds_to_solution'] / r['points'][1]['seconds_to_solution']"
whole="--to-solution --rhs random:7 --methods cg deep_pipelined_cg:l=2 bicgstab"
for deal in rows columns boxes; do
  check "blocks, $deal, all ranks" solves 1 $problem --nodes 2 $whole --precond block_jacobi:ilu0 --deal $deal --numerics ranks --json ranks.json
  check "one process" solves 1 $problem --nodes 2 $whole --precond block_jacobi:ilu0 --deal $deal --json one.json
  check "the same" python same_solves one.json ranks.json
done
check "cells of two rows" solves 1 simulate --problem "kron:$DATA/pyamg_bar.mtx.gz,4" --nodes 1 --to-solution --precond jacobi --deal boxes \
  --grid 10x30x4 --methods cg --json cells.json
check "other preconditioners need all ranks" solves 1 $problem --nodes 1 --to-solution --precond additive_schwarz:ic0 --methods cg --json ranks.json
check "and have them" holds ranks.json "r['points'][0]['total']['blocking_reductions'] > 2 * r['points'][0]['iterations'] > 0"
check "the parts of a pipeline" solves 1 $problem --nodes 2 --to-solution --precond jacobi --methods pipelined_cg --json parts.json
check "are it and the rest" holds parts.json "[(p['loop'], p['iterations']) for p in r['points'][0]['parts']] == \
  [('', 0), ('pipelined_cg', r['points'][0]['iterations'])] and abs(sum(p['seconds'] for p in r['points'][0]['parts']) / \
  r['points'][0]['seconds'] - 1) < 1e-6"
check "in the table, too" says out "start and end \([0-9]+ %\), pipelined_cg [0-9]+ \([0-9]+ %\)$"
check "too few iterations" solves 1 $problem --nodes 1 --to-solution --iterations 5 --method cg --json few.json
check "are no solution" holds few.json "r['points'][0]['status'] == 'max_iterations' and r['points'][0]['seconds_to_solution'] is None"
check "and compare with nothing" says out " cg +[0-9.]+ +– "

# ---- timelines: a reduction as long as a product, and one that is much longer ----
depths="--methods cg deep_pipelined_cg:l=1 deep_pipelined_cg:l=2"
check "the ideal scenario" solves 1 simulate --problem poisson2d:400 --nodes 4 --dry --iterations 30 $depths --trace ideal- --json ideal.json
check "one in flight hides all" holds ideal.json "[p['hidden'] > 0.9 for p in r['points']] == [False, True, True]"
check "the communication-bound one" solves 1 simulate --problem diagonal:poisson2d,100 --nodes 4 --dry --iterations 30 $depths \
  --trace bound- --json bound.json
check "more in flight, less waiting" holds bound.json "[a['kernels']['reductions'] > 1.5 * b['kernels']['reductions'] \
  for a, b in zip(r['points'], r['points'][1:])] == [True, True]"
check "cg has one" python in_flight bound-cg.json 1
for l in 1 2; do
  check "a pipeline has as many as it is deep" python in_flight "bound-deep_pipelined_cg-l-$l.json" $l
done

# ---- the table ----
check "fewest nodes last" solves 1 $problem --nodes 4,2,4 --ranks-per-node 2 --iterations 20 --dry --method cg --json order.json
check "they are the base all the same" holds order.json "[p['nodes'] for p in r['points']] == [2, 4]"
check "says so" says out "over cg at 2 nodes\."
check "a speed-up of 1 there" says out "^ +2 +4 cg +[0-9.]+ +1\.00 "
check "dry runs converge nowhere" says out " dry$"
check "one node, too few iterations, then enough" solves 1 $problem --nodes 1 --iterations 3 --method cg
check "one node, in good English" says out "over cg at 1 node\."
check "did not converge" says out " cg .* 3  max_iterations$"
check "enough iterations" solves 1 $problem --nodes 1 --iterations 200 --method cg
check "did" says out " cg .*  converged$"

# ---- the time of an iteration is that of one, however many there are ----
bursts="simulate --problem diagonal:poisson2d,100 --nodes 16 --dry --exchanges memory --methods cg pipelined_cg \
  deep_pipelined_cg:l=1 deep_pipelined_cg:l=2 deep_pipelined_cg:l=3"
blocks="simulate --problem poisson2d:64 --nodes 4 --dry --exchanges memory --methods s_step_cg pipelined_s_step_cg"
sheet="simulate --problem poisson3d27:24 --nodes 4 --dry --exchanges memory --deal boxes --precond matrix --methods cg pipelined_cg \
  deep_pipelined_cg:l=2 deep_pipelined_cg:l=3"
for iterations in 21 24 61; do  # 21: the last block has one iteration
  check "$iterations iterations, sums in bursts" solves 1 $bursts --iterations $iterations --json bursts$iterations.json
  check "$iterations iterations, in blocks" solves 1 $blocks --iterations $iterations --json blocks$iterations.json
  check "$iterations iterations, norms measured now and then" solves 1 $sheet --iterations $iterations --json sheet$iterations.json
done
for iterations in 21 24; do
  check "as many seconds each, bursts, $iterations" python as_long_each bursts$iterations.json bursts61.json
  check "as many seconds each, blocks, $iterations" python as_long_each blocks$iterations.json blocks61.json
  check "as many seconds each, norms, $iterations" python as_long_each sheet$iterations.json sheet61.json
done

# ---- exchanges by a published law ----
alone="--machine lomonosov --dry --exchanges memory --iterations 20 --nodes 2 --ranks-per-node 1 --methods cg --set kernel=0 \
  --set memory_bandwidth=x1e9 --set cache_bandwidth=x1e9"
check "512 bytes" solves 1 simulate --problem poisson2d:64 $alone --json small.json
check "formula (8) of Krasnopolsky 2019" holds small.json "abs(r['points'][0]['kernels']['halo'] / (2.4e-6 + 6.9e-8 * 512**0.56) - 1) < 1e-3"
check "8000 bytes" solves 1 simulate --problem poisson2d:1000 $alone --json large.json
check "its other branch" holds large.json "abs(r['points'][0]['kernels']['halo'] / (3.2e-6 + 2e-9 * 8000) - 1) < 1e-3"
check "twice as long" solves 1 simulate --problem poisson2d:1000 $alone --set exchange=2048,0,0,0,6.4e-6,4e-9,1 --json twice.json
check "as set" holds twice.json "abs(r['points'][0]['kernels']['halo'] / (6.4e-6 + 4e-9 * 8000) - 1) < 1e-3"

# ---- signals: nothing is left behind ----
# ended SIGNAL CODE: the signal comes when the first point is there; the second takes half a minute.
ended() {
  local tenths
  mkdir -p signals
  TMPDIR=$PWD/signals "$STRETTO" simulate --problem poisson2d:1000 --nodes 1,256 --dry --iterations 300 --method cg \
    --json "$PWD/part.json" >out 2>err </dev/null &
  local pid=$!
  for ((tenths = 600; tenths > 0; --tenths)); do
    [ -e "$(echo signals/stretto-*/hosts)" ] && grep -q '^n255:' signals/stretto-*/hosts && break
    sleep 0.1
  done
  sleep 1
  kill -"$1" $pid
  wait $pid
  code=$?
  [ "$code" -eq "$2" ] || { echo "exit code $code, not $2"; cat err; return 1; }
}
# no_process: nobody works in the temporary folder any more.
no_process() {
  local tenths
  for ((tenths = 50; tenths > 0; --tenths)); do
    readlink /proc/[0-9]*/cwd 2>proc.err | grep -q "^$PWD/signals" || return 0
    sleep 0.1
  done
  readlink /proc/[0-9]*/cwd 2>proc.err | grep signals
  return 1
}
for signal in "INT 130" "TERM 143"; do
  check "SIG$signal" ended $signal
  check "SIG$signal: says how far it came" says err "^stretto: interrupted: 1 of 2 points are simulated$"
  check "SIG$signal: and keeps it" holds part.json "[p['nodes'] for p in r['points']] == [1]"
  check "SIG$signal: no simulator goes on" no_process
  check "SIG$signal: no folder stays" [ -z "$(ls signals)" ]
done

check "an unknown preconditioner" exits 2 1 $problem --nodes 1 --method cg --precond foo
check "says so" says err "there is no preconditioner 'foo'"
}
finish
