#!/bin/bash
# Communication seen from the command line: what was measured, emulated latency, progress modes, traces, the machine file.
# shellcheck disable=SC2154  # limit and words are of cli_checks.bash
. "$(dirname "$0")/cli_checks.bash"

# ---- measuring ----
for ranks in 2 3; do
  check "overlap on $ranks ranks" solves "$ranks" overlap --repetitions 1 --json overlap.json --machine machine.json
  check "its table" says out '^all-reduce on p ranks: '
  check "ends with what to do" says <(tail -n 1 out) '^So: .*(use|start) '
  check "in the JSON too" holds overlap.json "'So: ' + r['advice'] == open('out').read().splitlines()[-1]"
  check "γ is formula (C.1)" holds overlap.json \
    "[m['bytes'] for m in r['overhead']] == [8 << k for k in range(12)] and all(math.isclose(of['gamma'], \
     (of['total_seconds'] - m['work_seconds']) / m['blocking_seconds']) for m in r['overhead'] \
     for of in m['modes'].values()) and {'none', 'poll', 'thread'} <= set(r['overhead'][0]['modes'])"
  check "overlap is that of the paper" holds overlap.json \
    "{m['collective'] for m in r['concurrency']} == {'all-reduce', 'all-gather'} and all(math.isclose( \
     m['overlap_percent'], 100 * (m['pure_seconds'] + m['cpu_seconds'] - m['together_seconds']) / \
     min(m['pure_seconds'], m['cpu_seconds']), abs_tol=1e-9) for m in r['concurrency'])"
  check "ten in flight" holds overlap.json "all(m['depth'] == 10 and m['ratio'] > 0 for m in r['pipelining'])"
  check "2 to 10 neighbours" holds overlap.json \
    "{m['neighbours'] for m in r['exchange']} == {2, 4, 6, 8, 10} and max(m['bytes'] for m in r['exchange']) == 1 << 20"
  check "the laws are fitted" holds overlap.json \
    "all(r['fits'][w][k] >= 0 for w, k in (('all_reduce', 'c0'), ('all_reduce', 'n1'))) and \
     r['fits']['point_to_point']['limit_bytes'] in [m['bytes'] for m in r['exchange']]"
  check "and kept" holds machine.json \
    "[c for c in r['configurations'] if c['ranks'] == $ranks][0]['all_reduce']['c1'] >= 0"
done
start 2
check "overlap on a core for two" timeout -k 5 "$limit" taskset -c 0 "${words[@]}" overlap --repetitions 1 --json overlap.json
check "says that a rank had to wait for it" holds overlap.json \
  "__import__('re').search('kept a rank from its core for [0-9]+ % of the time.* measure again|2 ranks on 1 core', r['advice'])"
check "one entry for each number of ranks" holds machine.json "[c['ranks'] for c in r['configurations']] == [2, 3]"

# ---- probe ----
solve="solve poisson3d:12 --threads 1"
# shellcheck disable=SC2086
{
check "a method that hides is probed for" solves 2 $solve --method pipelined_cg --machine machine.json --json run.json
check "and told of" holds run.json "any(t.startswith('progress mode: ' + r['progress_mode'] + '; a reduction takes') and \
  'a product takes' in t for t in r['remarks'])"
# What a busy machine measures is not the same every time: the file says what was.
# kept LATENCY GAMMAS: as if a probe of two ranks had found them
kept() {
  python3 - "$1" "$2" <<'END'
import json
import sys
file = json.load(open("machine.json"))
mine = dict(next(c for c in file["configurations"] if c["ranks"] == 2))
mine.update(emulated_latency=sys.argv[1], probe={"reduction_seconds": 1e-5, "gamma": json.loads(sys.argv[2])})
file["configurations"] = [c for c in file["configurations"] if (c["ranks"], c["emulated_latency"]) != (2, sys.argv[1])]
json.dump({**file, "configurations": [*file["configurations"], mine]}, open("machine.json", "w"))
END
}
kept "" '{"none": 1.0, "poll": 0.2, "thread": 0.9, "library": 0.9}'
check "what is kept is used" solves 2 $solve --method pipelined_cg --machine machine.json --json run.json
check "and said" holds run.json "r['progress_mode'] == 'poll' and any('as kept in machine.json' in t for t in r['remarks'])"
kept "" '{"none": 1.0, "library": 0.1}'
check "what was measured with other modes is not" solves 2 $solve --method pipelined_cg --machine machine.json --json run.json
check "so it is measured again" holds run.json "not any('as kept' in t for t in r['remarks'])"
kept 10ms '{"none": 1.0, "poll": 1.0, "thread": 1.0, "library": 1.0}'
check "where nothing can be hidden" solves 2 $solve --method pipelined_cg --machine machine.json --json run.json \
  --emulate-latency 10ms
check "an event advises" holds run.json "'hides next to nothing; single_reduction_cg' in r['events'][0]['text']"
check "where there is no work to hide behind" solves 2 $solve --method pipelined_cg --machine machine.json \
  --json run.json --emulate-latency 8ms
check "too" holds run.json "'little work' in r['events'][0]['text'] and r['progress_mode'] == 'poll'"
check "nothing is probed where nothing hides" solves 2 $solve --method cg --json run.json
check "or said" holds run.json "r['progress_mode'] == 'none' and not any('progress' in t for t in r['remarks'])"
check "but of a machine file" solves 2 $solve --method cg --machine machine.json --json run.json
check "that it is not read" holds run.json "any('not read' in t for t in r['remarks'])"
for wrong in '{"stretto_machine": "x", "configurations": []}' '{"stretto_machine": 1, "configurations": {}}' '[]' '7'; do
  echo "$wrong" >wrong.json
  check "$wrong" exits 2 2 $solve --method pipelined_cg --machine wrong.json
  check "is no machine file" says err 'wrong.json is not a machine file'
done

# ---- progress modes ----
for mode in none poll thread; do
  for ranks in 1 2 4; do
    check "$mode on $ranks ranks" solves $ranks $solve --method pipelined_cg --progress-mode $mode --json run.json \
      --solution "$mode$ranks.mtx"
    check "$mode on $ranks ranks is said" holds run.json "r['progress_mode'] == '$mode'"
    check "$mode on $ranks ranks: the same bits" cmp "none$ranks.mtx" "$mode$ranks.mtx"
  done
done

# ---- emulated latency ----
for method in cg,2 single_reduction_cg,1; do
  IFS=, read -r name times <<<"$method"
  check "$name with a latency" solves 2 $solve --method "$name" --emulate-latency 5ms,message=1ms,jitter=1ms --json run.json
  # The maximum over ranks, hence no less than the latency.
  check "$name loses it $times times" holds run.json \
    "r['per_iteration']['lost_seconds'] >= 0.99 * $times * 0.005 and r['per_iteration']['hidden_fraction'] < 0.1"
  check "and as long for messages" holds run.json \
    "r['seconds']['by_kernel']['halo'] >= 0.9 * 0.001 * r['total']['applies'] and \
     r['emulated_latency'] == '5ms,message=1ms,jitter=1ms'"
done
check "bench takes it too" solves 1 bench bicgstab --problem poisson3d:6 --iterations 4 --rounds 1 --threads 1 \
  --columns 1 --emulate-latency 100us

# ---- trace ----
for ranks in 1 3; do
  check "a trace of $ranks ranks" solves $ranks $solve --method pipelined_cg --method deep_pipelined_cg:l=3 \
    --emulate-latency 10ms --trace trace.json --json run.json
  check "a trace of $ranks ranks: spans" python trace trace.json run.json $ranks
done

# ---- refusals ----
check "no such mode" exits 2 1 $solve --method cg --progress-mode often
check "no such latency" exits 2 2 $solve --method cg --emulate-latency 5
check "is said once" lines <(grep "^stretto: '5' is not a time" err) 1
check "a trace that cannot be written" exits 2 2 $solve --method cg --trace /nowhere/t.json
check "a machine file that is none" exits 2 2 $solve --method pipelined_cg --machine run.json
check "is named" says err 'run.json is not a machine file'
check "overlap refuses it too" exits 2 2 overlap --machine run.json
}

finish
