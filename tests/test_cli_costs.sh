#!/usr/bin/env bash
# What an iteration of every method costs by its own count, in every storage of the matrix, against costs.json in tests/data.
# A change that moves more bytes, or passes over a vector once more, fails here on any machine. After one that is meant:
#
#     UPDATE=1 STRETTO=build/release/stretto MPIEXEC=mpiexec DATA=tests/data bash tests/test_cli_costs.sh
. "$(dirname "$0")/cli_checks.bash"

steady=(cg single_reduction_cg pipelined_cg bicgstab improved_bicgstab reordered_bicgstab pipelined_bicgstab gmres)
others=(deep_pipelined_cg:l={1,2,3} gmres:orth={cgs,cgs2,mgs} pipelined_gmres:l={1,2} s_step_gmres:s=5 pipelined_s_step_gmres)
# Rows repeat; run in step; are in blocks; have no order: the form is part of what is compared.
# On real matrices some methods hand over or cut a cycle short, where rounding says so: they are left out there.
for problem in poisson3d:24 jump3d:24 "$DATA"/{teko_F_big,pyamg_bar}.mtx.gz; do
  asked=("${steady[@]/#/--method=}")
  if ! test -f "$problem"; then asked+=("${others[@]/#/--method=}"); fi
  for storage in auto csr; do
    for precond in none jacobi; do
      for columns in 1 4; do
        name=$(basename "$problem" .mtx.gz)
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

found = {}
for path in sorted(glob.glob("*.json")):
    for run in json.load(open(path)):
        of = run["per_iteration"]
        name = f"{path.removesuffix('.json')} {run['method']}{':' * bool(run['options'])}{run['options']}"
        counts = ("applies", "preconditionings", "reductions", "vector_reads", "vector_writes")
        found[name] = {"form": run["storage"]["form"], **{count: round(of[count], 3) for count in counts},
                       "bytes": round(of["bytes"] / run["rows"], 2)}
if os.environ.get("UPDATE"):
    with open(sys.argv[1], "w") as file:
        file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
known = json.load(open(sys.argv[1]))
wrong = [f"{name}: no whole cycle of its own" for name, of in found.items() if of["applies"] < 1]
wrong += [f"{name}: {found.get(name)}, not {known.get(name)}" for name in sorted({*found, *known})
         if found.get(name) != known.get(name)]
print("\n".join(wrong))
sys.exit(bool(wrong))
END
finish
