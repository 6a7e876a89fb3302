#!/usr/bin/env bash
# What an iteration of every method costs by its own count, in every storage of the matrix, against costs.json in tests/data.
# A change that moves more bytes, or passes over a vector once more, fails here on any machine. After one that is meant:
#
#     UPDATE=1 STRETTO=build/release/stretto MPIEXEC=mpiexec DATA=tests/data bash tests/guards/costs.sh
. "$(dirname "$0")/../cli/cli_checks.bash"

# Three unknowns at a node, symmetric: blocks that keep one of two mirror images. Seven points, not symmetric: runs in step
# that keep both.
python3 - <<'END'
import random

random.seed(1)


def write(name, side, unknowns, symmetric):
    n, entries = side**3 * unknowns, {}
    for node in range(side**3):
        for step in (0, 1, side, side * side):
            other = node + step
            inside = other < side**3 and (step != 1 or (node + 1) % side) and (step != side or (node // side + 1) % side)
            for a in range(unknowns):
                for b in range(unknowns):
                    i, k = unknowns * node + a, unknowns * other + b
                    if inside and i < k:
                        entries[i, k] = -random.random()
                        entries[k, i] = entries[i, k] if symmetric else -random.random()
    sums = [0.01] * n
    for (i, _), value in entries.items():
        sums[i] -= value
    entries.update({(i, i): value for i, value in enumerate(sums)})
    with open(name, "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{n} {n} {len(entries)}\n")
        file.writelines(f"{i + 1} {k + 1} {value!r}\n" for (i, k), value in sorted(entries.items()))


write("blocks.mtx", 10, 3, True)
write("upwind.mtx", 24, 1, False)
END

# Every method of the registry by itself, but for those that need options for 60 iterations of their own.
special=(deep_pipelined_cg s_step_cg pipelined_s_step_cg pipelined_gmres s_step_gmres pipelined_s_step_gmres)
others=(deep_pipelined_cg:l={1,2,3} s_step_cg pipelined_s_step_cg gmres:orth={cgs,cgs2,mgs} pipelined_gmres:l={1,2} s_step_gmres:s=5 pipelined_s_step_gmres)
check "list" solves 1 list --json -
names() {  # names NEEDS: those of the methods that are not special, and whose needs match
  python3 -c 'import json, re, sys
print(*(m["name"] for m in json.load(open("out"))["methods"]
        if re.search(sys.argv[1], m["needs"]) and m["name"] not in sys.argv[2:]))' "$1" "${special[@]}"
}
read -ra steady < <(names '')
read -ra unsymmetric < <(names '^square$')
# Rows repeat; run in step; are in blocks; have no order: the form is part of what is compared.
# On other problems than Poisson's some methods hand over or cut a cycle short, where rounding says so, and a processor may:
# they are left out there.
for problem in poisson3d:24 jump3d:24 blocks.mtx upwind.mtx "$DATA"/{teko_F_big,pyamg_bar}.mtx.gz; do
  asked=("${steady[@]/#/--method=}")
  if [[ $problem == upwind.mtx ]]; then asked=("${unsymmetric[@]/#/--method=}"); fi
  if [[ $problem == poisson3d:24 ]]; then asked+=("${others[@]/#/--method=}"); fi
  for storage in auto csr; do
    for precond in none jacobi; do
      for columns in 1 4; do
        name=$(basename "${problem%.gz}" .mtx)
        file="$name,$storage,$precond,$columns.json"
        run 1 solve "$problem" --rtol 0 --max-it 60 --threads 1 --insist --storage $storage --precond $precond \
          --columns $columns "${asked[@]}" --json "$file"
        check "$file" test -s "$file"
      done
    done
  done
done

check "the costs are as they were" python3 - "$DATA/costs.json" <<'END'
import glob
import json
import os
import sys

found, methods, whole = {}, set(), set()
for path in sorted(glob.glob("*.json")):
    for run in json.load(open(path)):
        of = run["per_iteration"]
        method = f"{run['method']}{':' * bool(run['options'])}{run['options']}"
        methods.add(method)
        if of["applies"] < 1:  # no whole cycle of its own: rounding cut the pipeline short
            continue
        whole.add(method)
        name = f"{path.removesuffix('.json')} {method}"
        counts = ("applies", "preconditionings", "reductions", "vector_reads", "vector_writes")
        found[name] = {"form": run["storage"]["form"], **{count: round(of[count], 3) for count in counts},
                       "bytes": round(of["bytes"] / run["rows"], 2)}
if os.environ.get("UPDATE"):
    with open(sys.argv[1], "w") as file:
        file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
known = json.load(open(sys.argv[1]))
wrong = [f"{method}: no whole cycle of its own" for method in sorted(methods - whole)]


def same(one, other):
    """To a hundredth: where a check falls among 60 iterations is up to rounding."""
    return one and other and all(value == other[key] if key == "form" else abs(value - other[key]) <= 0.01 * other[key]
                                 for key, value in one.items())


wrong += [f"{name}: {found.get(name)}, not {known.get(name)}" for name in sorted({*found, *known})
         if not same(found.get(name), known.get(name))]
print("\n".join(wrong))
sys.exit(bool(wrong))
END
finish
