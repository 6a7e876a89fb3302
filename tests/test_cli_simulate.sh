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
# refused WHAT MESSAGE ARGUMENT…: exit code 2, and one line says what is wrong.
refused() {
  check "$1" exits 2 1 "${@:3}"
  check "says so" says err "^stretto: .*$2"
  check "in a line" lines err 1
}
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

# ---- platform files that SimGrid reads ----
check "a platform of one's own" solves 1 $pair 2 --platform two.xml --hosts hosts --history --json two.json
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

check "an unknown preconditioner" exits 2 1 $problem --nodes 1 --method cg --precond foo
check "says so" says err "there is no preconditioner 'foo'"
}
finish
