#!/bin/bash
# stretto predict and stretto machine from the command line.
# shellcheck disable=SC2154  # tests is of cli_checks.bash
. "$(dirname "$0")/cli_checks.bash"

fails() { ! "$@"; }
# refused WHAT MESSAGE ARGUMENT…: exit code 2, and the first line says what is wrong.
refused() {
  check "$1" exits 2 1 "${@:3}"
  check "$1: says so" says err "^stretto: .*$2"
}
one="predict poisson2d:100 --methods cg"
# shellcheck disable=SC2086
{
refused "no problem" "problem is required" predict
refused "an unknown problem" "poisson5d" predict poisson5d:10
refused "no such file" "nowhere.mtx" predict nowhere.mtx
refused "an unknown method" "there is no method 'foo'" predict poisson2d:100 --methods foo
refused "an option that a method has not" "cg: unknown option 'l'" predict poisson2d:100 --methods cg:l=2
refused "an unknown machine" "there is no machine 'foo'" $one --machine foo
refused "a number of nodes that is none" "a number of nodes is 1 to 65536" $one --nodes 0
refused "more ranks than rows" "10000 rows for 16384 ranks; ask for fewer nodes" $one --nodes 1024
refused "gamma above 1" "'2' is not a number from 0 to 1" $one --gamma 2
refused "an odd cost" "cost:3: cost:K moves an even number K of vectors" $one --nodes 1 --precond cost:3
refused "a cost that is no number" "cost:K moves an even number" $one --nodes 1 --precond cost:x
refused "an unknown preconditioner" "foo" $one --nodes 1 --precond foo
refused "an unknown parameter" "'foo=1' is not PARAMETER=VALUE" $one --set foo=1
refused "too many columns" "a number of columns from 1 to 64" $one --columns 65
refused "a trial of a cost" "--trial takes a preconditioner that there is, not --precond cost:2" $one --nodes 1 --ranks-per-node 1 --trial --precond cost:2
refused "a trial of the published model" "--trial and --published exclude each other" $one --nodes 1 --trial --published
refused "a trial on other ranks" "--trial times the ranks of this run, 1: the machine has 16 per node; start 16 for --nodes 1" $one --nodes 1 --trial
refused "a measurement on several nodes" "--measure times the ranks of this run" $one --nodes 1,2 --measure

check "nobody asks for nodes without rows" solves 1 predict poisson2d:100 --methods cg --json few.json
check "as many as have some" holds few.json 'max(p["nodes"] for p in r["points"]) == 512'
check "a prediction" solves 1 predict poisson2d:1000 --machine lomonosov --nodes 1..1024 --gamma 1 --published \
  --methods bicgstab improved_bicgstab pipelined_bicgstab --json p.json
check "says the formula" says out '^T\(bicgstab\) = 18 T_vec \+ 2 T_SpMV \+ T_G\(24m\) \+ 2 T_G\(8m\)$'
check "says what is extrapolated" says out "^The network was measured on up to 128 nodes"
check "marks it" says out '^ +256 bicgstab .* \*$'
check "and nothing else" fails says out '^ +128 bicgstab .* \*$'
check "says (21)" says out "a pass over one vector \(21\)"
check "33 points" holds p.json 'len(r["points"]) == 33'
check "parts add up" holds p.json 'all(abs(sum(p["parts"].values()) / p["seconds_per_iteration"] - 1) < 1e-9 for p in r["points"])'
check "one of a family is best" holds p.json \
  'all(max(p["relative_performance"] for p in r["points"] if p["nodes"] == n) == 1 for n in (1, 32, 1024))'
check "classic BiCGStab on a node, Improved on many" holds p.json \
  '[x["method"] for x in r["best"]["bicgstab"]] == ["bicgstab", "improved_bicgstab"]'
check "speed-up and P of the classic method" holds p.json \
  'all(p["speed_up"] == p["over_classic"] for p in r["points"] if p["method"] == "bicgstab")'
check "JSON on standard output" solves 1 predict poisson2d:100 --nodes 1 --methods cg --json -
check "is JSON" holds out 'r["predicted"] and r["options"]["gamma"] == 0'
check "all methods that suit" solves 1 predict convdiff2d:100,peclet=10 --nodes 1 --json all.json
check "none for symmetric matrices" holds all.json '"cg" not in r["formulas"] and "gmres" in r["formulas"]'
check "a file" solves 1 predict "$DATA/lsc_F_2.mtx.gz" --nodes 1 --ranks-per-node 1 --precond jacobi --json file.json
check "two ranks say it once" solves 2 predict poisson2d:100 --nodes 1 --methods cg --json two.json
check "as one does" holds two.json 'len(r["points"]) == 1'
check "two ranks refuse alike" exits 2 2 predict poisson2d:100 --methods cg --machine foo
check "and say so" says err "^stretto: there is no machine 'foo'"

refused "a plot of no kind" "plot.txt" $one --nodes 1 --plot plot.txt
refused "a picture of parts of no kind" "--plot-parts parts.pdf" $one --nodes 1 --plot-parts parts.pdf
if command -v gnuplot >/dev/null || python3 -c 'import matplotlib' 2>/dev/null; then
  check "a plot" solves 1 predict poisson2d:100 --nodes 1..16 --methods cg pipelined_cg --plot plot.svg
  check "is there" says plot.svg "<svg"
  check "a picture of parts" solves 1 predict poisson2d:100 --nodes 1..16 --methods cg pipelined_cg minres --precond jacobi --plot-parts parts.svg
  check "is there, too" says parts.svg "<svg"
  check "of one number of nodes" solves 1 predict poisson2d:100 --nodes 4 --methods cg --plot-parts one.png
fi

check "a machine is measured" solves 2 machine here.json
check "in the format of simulations" holds here.json \
  'r["ranks_per_node"] == 2 and r["network_measured_to"] == 1 and len(r["parameters"]["bandwidth_by_bytes"]["value"]) > 8'
check "and predicts" solves 1 predict poisson2d:100 --machine here.json --nodes 1,2 --methods cg pipelined_cg
check "a trial" solves 2 predict poisson2d:50 --machine here.json --precond jacobi --columns 2 --methods cg s_step_gmres:m=10 \
  --trial --measure --seconds 0 --json trial.json
check "is of the ranks there are, beside what was measured" holds trial.json \
  '[x["nodes"] for x in r["points"]] == [1, 1] and all(x["measured"] > 0 and x["measured_parts"]["apply"] > 0 for x in r["points"])'
check "has measured parts" holds trial.json \
  'all(x["parts"]["products"] > 0 and x["parts"]["preconditioner"] > 0 and x["parts"]["exchanges"] == 0 for x in r["points"])'
check "one rank is measured" solves 1 machine alone.json
check "without a network" holds alone.json \
  'r["ranks_per_node"] == 1 and r["parameters"]["node_latency"]["value"] == 0 and "gamma" not in r["parameters"]'
check "and predicts for itself" solves 1 predict poisson2d:50 --machine alone.json --nodes 1 --methods cg
refused "more nodes without a network" "alone.json: it was measured on one rank and has no network" $one --machine alone.json --nodes 2
check "again predicts" solves 1 predict poisson2d:100 --machine here.json --nodes 1,2 --methods cg pipelined_cg
check "says that its network is extrapolated" says out "measured on up to 1 node; what is said of more"

sed 's/"network_measured_to": 1/"network_measured_to": 0.5/' here.json >half.json
refused "half a node" "network_measured_to is out of range" $one --machine half.json
}
finish
