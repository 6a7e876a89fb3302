#!/bin/bash
# What auto chooses, how it changes its mind, and the page of advice.
# shellcheck disable=SC2154  # tests and limit are of cli_checks.bash
. "$(dirname "$0")/cli_checks.bash"

# A machine on which a reduction takes long: what stretto machine would write.
python3 - <<'END'
import json
value = {"memory_bandwidth": 1e10, "cache": 1e6, "cache_bandwidth": 5e10, "kernel": 5e-7, "message": 0, "node_latency": 3e-5,
         "node_bandwidth": 1e10, "link_latency": 3e-5, "link_bandwidth": 1e10, "network_bandwidth": 1e10, "gamma": 0.1,
         "all_reduce": [0, 0, 0, 0], "exchange": [0] * 7}
json.dump({"name": "made up", "platform": "fattree", "ranks_per_node": 4, "network_measured_to": 1,
           "parameters": {name: {"value": each, "unit": "", "source": "made up"} for name, each in value.items()}},
          open("machine.json", "w"))
END

# ---- by a machine file: the same twice ----
for ranks in 1 2 3; do
  for time in first second; do
    check "by a machine file, on $ranks ranks" solves $ranks solve poisson2d:40 --machine machine.json --json "$time.json"
  done
  check "the same twice" python3 -c "import json; a, b = (json.load(open(f'{n}.json'))['choice'] for n in ('first', 'second'))
for key in ('method', 'precond', 'reasons', 'changes', 'parts', 'methods'): assert a[key] == b[key], (key, a[key], b[key])"
  check "says what it went by" holds first.json "r['choice']['parts']['from'] == 'machine' and r['choice']['reasons'] and \
    r['choice']['expected']['seconds'] > 0 and all(w['seconds'] > 0 for w in r['choice']['runners_up'])"
done
check "for people" says out '^choice: .* with '
check "with the times that decided" says out 'reduction .*, product '
check "what it was expected to take" says out '(this|the last) was expected to take .* iterations \(assumed\)'
check "and what the others were" says out 'others were expected to take: '
check "auto beside a method by name" solves 1 solve poisson2d:40 --method auto --method cg --json run.json
check "is told of auto alone" holds run.json "r[0]['choice'] and not r[1]['choice']"
for refusal in "--machine nowhere" "--machine nowhere.json" "--method cg --machine nowhere" "--machine run.json"; do
  # shellcheck disable=SC2086
  check "$refusal" exits 2 2 solve poisson2d:10 $refusal
done
check "the last of them, for it is a result" says err "run.json is not a machine file"
python3 -c "import json; m = json.load(open('machine.json')); m['ranks_per_node'] = 1
m['parameters']['node_latency']['value'] = 0; json.dump(m, open('alone.json', 'w'))"
check "a machine of one rank" solves 1 solve poisson2d:40 --machine alone.json --json run.json
check "has no reductions" holds run.json "r['choice']['parts']['reduction_seconds'] == 0 and r['method'] == 'cg'"
check "and says nothing of two" exits 2 2 solve poisson2d:40 --machine alone.json
check "which is said" says err "measured on one rank and has no network"
check "a checkpoint of what was prepared" exits 1 1 solve poisson2d:40 --method cg --prepare equilibrate --max-it 20 --checkpoint kept,every=10
check "is gone on with" solves 1 solve poisson2d:40 --resume kept --json run.json
check "as it was prepared" holds run.json "r['prepare'] == 'equilibrate' and r['method'] == 'cg'"
check "for GPUs and tasks it is refused" exits 2 2 solve poisson2d:10 --execution tasks
check "before anything is told" test ! -s out

# ---- trials before the choice ----
check "no budget for trials" solves 2 solve poisson2d:40 --machine machine.json --trial-budget 0 --json run.json
check "means none" holds run.json "not any('trial' in reason for reason in r['choice']['reasons'])"
check "half of the solve" solves 2 solve poisson2d:40 --machine machine.json --trial-budget 0.5 --json run.json
check "means some, and they are told" holds run.json "any('trial: ' in reason for reason in r['choice']['reasons'])"
check "more than the solve" exits 2 1 solve poisson2d:10 --trial-budget 2
check "is refused" says err "a part from 0 to 1"

# ---- depth ----
for method in deep_pipelined_cg:l=auto pipelined_gmres:l=auto s_step_cg:s=auto pipelined_s_step_cg:l=auto,s=auto; do
  check "$method" solves 2 solve poisson2d:30 --method $method --emulate-latency 200us --json run.json
  check "is a number then" holds run.json "'auto' not in r['options'] and r['options'] and r['choice']['method'].endswith(r['options'])"
done
check "a latency" solves 2 solve poisson2d:60 --method deep_pipelined_cg:l=auto --machine machine.json \
  --emulate-latency 2ms --json slow.json
check "and a shorter one" solves 2 solve poisson2d:60 --method deep_pipelined_cg:l=auto --machine machine.json \
  --json fast.json
check "are different depths" python3 -c "import json; slow, fast = (json.load(open(n))['options'] for n in ('slow.json', 'fast.json'))
assert int(slow[2:]) > int(fast[2:]), (slow, fast)"
check "a method without depth" exits 2 1 solve poisson2d:10 --method cg:l=auto
check "says so" says err "cg: unknown option 'l'"
check "another option" exits 2 1 solve poisson2d:10 --method deep_pipelined_cg:warmup=auto
check "takes a number" says err "warmup=auto: it takes an integer"

# ---- a change of mind ----
python3 - <<'END'
n = 400  # tridiagonal, 1 and 2: its diagonal is positive and it is not definite
entries = [(i, i, 1.0 + i % 7 / 50) for i in range(1, n + 1)] + [(i + 1, i, 2.0) for i in range(1, n)]
lines = ["%%MatrixMarket matrix coordinate real symmetric", f"{n} {n} {len(entries)}", *(f"{i} {j} {v}" for i, j, v in entries)]
open("indefinite.mtx", "w").write("\n".join(lines) + "\n")
END
for ranks in 1 2; do
  check "what is not definite, on $ranks ranks" solves $ranks solve indefinite.mtx --rhs random:1 --json run.json
  check "is for another than cg in the end" holds run.json "'cg' not in r['finished_by'] or r['precond'] != 'jacobi'"
  check "of which all is told" holds run.json "r['precond'] == r['choice']['precond'] == r['choice']['expected']['precond'] and \
    (r['precond_bytes'] > 0) == (r['precond'] != 'none') and r['choice']['expected']['iterations_from'] == 'assumption'"
  check "also in words" says out "$(python3 -c "import json; print('^choice: .* with ' + json.load(open('run.json'))['precond'] + ':')")"
done
check "more than double precision has" exits 1 1 solve indefinite.mtx --rhs random:1 --rtol 1e-19 --json run.json
check "does not send to what auto has tried" holds run.json "any(w['ended'] for w in r['choice']['runners_up']) and r['next'] and \
  not {w['precond'] for w in r['choice']['runners_up'] if w['ended']} & \
  {s['command'].split('--precond ')[1].split()[0] for s in r['next'] if '--rtol 1e-19' in s['command'] and '--max-it' not in s['command']}"
check "too strict a limit" exits 1 1 solve poisson2d:30 --max-it 1 --rtol 1e-14 --precond jacobi --method auto --json run.json
check "is told what to do" holds run.json "r['next']"
check "one that came half of the way" exits 1 1 solve poisson2d:60 --max-it 90 --method cg --precond none --json run.json
check "is to go on first" holds run.json "'--max-it 900' in r['next'][0]['command'] and '--method cg' in r['next'][0]['command']"

# ---- advise ----
for ranks in 1 2; do
  check "advice on $ranks ranks" solves $ranks advise poisson2d:30 --json advice.json --iterations 5
  check "says what it saw" says out 'positive diagonal|symmetric'
  check "says what it does not know" says out 'Nobody can say beforehand how fast a method converges'
  check "has trials" holds advice.json "all(t['trial']['iterations'] >= 1 for t in r['trials'] if not t['ended'])"
  check "and commands" holds advice.json "len(r['commands']) >= 2"
  python3 -c "import json; print(*json.load(open('advice.json'))['commands'][:2], sep='\n')" >commands
  while read -r line; do
    words=${line#mpirun -n "$ranks" }
    # shellcheck disable=SC2086
    check "which run: $line" solves $ranks ${words#* }
  done <commands
done
check "by a machine file and a latency" solves 2 advise poisson2d:30 --iterations 5 --machine machine.json --emulate-latency 1ms --json advice.json
check "which its commands have" holds advice.json "all('--machine machine.json' in c and '--emulate-latency 1ms' in c for c in r['commands'])"
check "a machine that is not there" exits 2 2 advise poisson2d:10 --machine nowhere.json
check "is missed" says err "there is no machine 'nowhere.json'"
check "of a file that is not there" exits 2 1 advise nowhere.mtx
check "says so" says err 'nowhere.mtx'
check "of no iterations" exits 2 1 advise poisson2d:10 --iterations 0
check "by a machine file that has no kernel" python3 -c "import json; m = json.load(open('machine.json')); del m['parameters']['kernel']; json.dump(m, open('bad.json', 'w'))"
check "is refused" exits 2 2 solve poisson2d:10 --machine bad.json
check "and says so" says err "bad.json is not a machine file"
finish
