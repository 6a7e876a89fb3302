#!/bin/bash
# stretto bench: a small problem, every row, the table and the JSON; refusals.
. "$(dirname "$0")/cli_checks.bash"

check "bench bicgstab" solves 1 bench bicgstab --problem poisson3d:8 --iterations 6 --rounds 1 --threads 1
check "its table has two rows for each of six methods and three numbers of columns" says out 'gain'
check "it says what the columns mean" says out '^ms/iter: the best iteration'
check "and what is fastest" lines <(grep -E '^Fastest iteration with m = (1|4|16)( and a preconditioner)?: ' out) 6
caches=$([ -r /sys/devices/system/cpu/cpu0/cache/index0/size ] && echo known)
if [ "$caches" = known ]; then
  check "data in cache are said so" says out '^In cache: the data of 18 of 18 rows '
  check "without a fraction of the triad" says out ' in cache '
fi
check "one rank has no reductions to hide" says out '^One rank: '
check "all 36 rows" lines <(grep -E '^[a-z_]*bicgstab' out) 36

for ranks in 1 2 3; do
  check "bench on $ranks ranks" solves "$ranks" bench bicgstab --problem poisson3d:9x8x7 --iterations 6 --rounds 1 --storage csr \
    --threads 1 --columns 1,4 --json -
  cp out bench.json
  check "the JSON has the six methods for both numbers of columns" holds bench.json \
    "[(m['method'], m['preconditioned'], m['columns']) for m in r['measurements']] == [(n, p, c) for c in (1, 4) \
     for n, p in (('bicgstab', False), ('improved_bicgstab', False), ('pipelined_bicgstab', False), \
     ('bicgstab', True), ('reordered_bicgstab', True), ('pipelined_bicgstab', True))]"
  # Krasnopolsky 2019, Table 2.
  check "reads and writes are those of the paper" holds bench.json \
    "[(m[f]['vector_reads'], m[f]['vector_writes']) for m in r['measurements'][:6] for f in ('basic', 'merged')] == \
     [(18, 4), (14, 4), (27, 6), (14, 6), (34, 9), (18, 8), (18, 4), (15, 4), (22, 6), (15, 6), (43, 13), (23, 11)]"
  # Two products of 8·nonzeros + 4·(nonzeros + rows) and the vectors; the halo and the row starts of ranks come on top.
  check "bytes are those of the matrix and the vectors" holds bench.json \
    "all(0 <= f['gigabytes'] * 1e9 - (2 * (12 * r['nonzeros'] + 4 * r['rows'] + 16 * m['columns'] * r['rows']) + \
     8 * m['columns'] * r['rows'] * (f['vector_reads'] + f['vector_writes'] + 4 * m['preconditioned'])) \
     <= 16 * 72 * 4 * 2 * m['columns'] + 64 for m in r['measurements'] for f in (m['basic'], m['merged']))"
  check "times are positive and add up" holds bench.json \
    "all(m[f]['milliseconds'] > 0 and m[f]['of_triad'] > 0 and 0 < sum(m[f]['milliseconds_by_kernel'].values()) \
     for m in r['measurements'] for f in ('basic', 'merged')) and r['triad_gigabytes_per_second'] > 0 and \
     r['ranks'] == $ranks"
  check "columns are compared with single solves" holds bench.json \
    "all(m['of_single_solves'] > 0 for m in r['measurements'])"
done

check "bench cg" solves 1 bench cg --problem poisson2d:30 --iterations 12 --rounds 1 --threads 1
others=$("$STRETTO" list --json - | python3 -c 'import json, sys
listed = ["cg", "single_reduction_cg", "pipelined_cg", "deep_pipelined_cg"]
print(sum(m["classic"] == "cg" and m["name"] not in listed for m in json.load(sys.stdin)["methods"]))')
check "its table has two rows for each of 14 variants, and for each other method without and with a preconditioner" \
  lines <(grep -E '^[a-z_]*cg' out) $((28 + 4 * others))
check "bench minres, a family of its own" solves 1 bench minres --problem poisson3d:8 --iterations 6 --rounds 1 --threads 1
check "its table has two rows for each number of columns, without and with a preconditioner" lines <(grep -E '^minres' out) 12
for ranks in 1 3; do
  for problem in poisson2d:20x31 diagonal:poisson2d,25; do
    check "bench cg, $problem, $ranks ranks" solves "$ranks" bench cg --problem $problem --iterations 12 --rounds 1 \
      --threads 1 --json -
    cp out bench.json
    check "all methods and depths, without and with a preconditioner, on one column" holds bench.json \
      "[(m['method'], m['preconditioned'], m['columns']) for m in r['measurements']][:14] == [(n, p, 1) for p in (False, True) \
       for n in ('cg', 'single_reduction_cg', 'pipelined_cg', *(f'deep_pipelined_cg:l={l}' for l in (1, 2, 3, 5)))]"
    check "reads and writes of the merged forms" holds bench.json \
      "[(m['merged']['vector_reads'], m['merged']['vector_writes']) for m in r['measurements']][:14] == \
       [(5, 3), (5, 4), (7, 6), (7, 4), (9, 5), (11, 6), (17, 8), (7, 3), (7, 4), (10, 8), (10, 5), (12, 6), (14, 7), (20, 9)]"
    check "every kernel has its time" holds bench.json \
      "all(list(k) == ['apply', 'precondition', 'vectors', 'dots', 'reductions', 'halo', 'small'] and k['apply'] > 0 and \
       k['vectors'] > 0 and k['small'] > 0 and (k['precondition'] > 0) == m['preconditioned'] and \
       (f == 'merged' or k['dots'] > 0) for m in r['measurements'] for f in ('basic', 'merged') for k in [m[f]['milliseconds_by_kernel']])"
  done
done
# Its pipeline cannot last where the Krylov space ends: that is said, not timed as if it were another method's.
check "bench cg on a problem that is over at once" exits 1 1 bench cg --problem poisson2d:1 --iterations 12 --rounds 1

check "bench gmres" solves 1 bench gmres --problem poisson2d:20 --iterations 120 --rounds 1 --threads 1
check "its table has two rows for each of 13 variants" lines <(grep -E '^[a-z_]*gmres' out) 26
for family in gmres:30 gmres20:20 gmres60:60; do
  m=${family#*:}
  for ranks in 1 2; do
    [[ $ranks = 1 || $family = gmres:30 ]] || continue
    check "bench ${family%:*} on $ranks ranks" solves "$ranks" bench "${family%:*}" --problem poisson2d:21x37 \
      --iterations $((4 * m)) --rounds 1 --threads 1 --json -
    cp out bench.json
    check "all GMRES methods, and what they gain over the first" holds bench.json \
      "[m['method'].split(':')[0] for m in r['measurements']] == ['gmres'] * 3 + ['pipelined_gmres'] * 3 + \
       ['s_step_gmres'] * 4 + ['pipelined_s_step_gmres'] * 3 and r['measurements'][0]['speed_up'] == 1 and \
       all(m['speed_up'] > 0 for m in r['measurements'])"
    # Means of a cycle of m columns: classical Gram-Schmidt reads q_0 … q_c twice, and w three times.
    check "reads and writes of classical Gram-Schmidt" holds bench.json \
      "abs(r['measurements'][0]['merged']['vector_reads'] - ($m + 4)) < 1e-9 and \
       r['measurements'][0]['merged']['vector_writes'] == 2"
    check "blocks pass over less, merged more so" holds bench.json \
      "all(m['merged']['vector_reads'] < min(m['basic']['vector_reads'], $m / 1.5) for m in r['measurements'] \
       if m['method'].startswith(('s_step_gmres:s=10', 'pipelined_s_step')))"
  done
done

check "bench groups, its table" solves 1 bench groups --problem poisson2d:20 --rounds 1 --threads 1 --columns 1
[ "$caches" != known ] || check "it says that the data are in cache" says out '^The vectors are in the last-level caches'
check "bench groups" solves 2 bench groups --problem poisson2d:20 --rounds 1 --threads 1 --json -
cp out bench.json
check "every method has its groups, for each number of columns" holds bench.json \
  "len({(m['method'], m['preconditioned'], m['columns']) for m in r['measurements']}) == 72 and \
   all(m['of_triad'] > 0 and abs(m['bytes_per_element'] - 8 * (m['reads'] + m['writes'])) < 1e-9 for m in r['measurements'])"
check "they add up to what an iteration reads and writes" holds bench.json \
  "all([round(sum(g[k] * g['runs'] for g in of) / max(g['runs'] for g in of)) for k in ('reads', 'writes')] == expected \
   for method, expected in (('cg', [5, 3]), ('pipelined_cg', [7, 6]), ('bicgstab', [14, 4]), ('pipelined_bicgstab', [18, 8])) \
   for c in (1, 4, 16) for of in [[g for g in r['measurements'] if g['method'] == method and not g['preconditioned'] and \
   g['columns'] == c]])"
check "another family" exits 2 1 bench nonsense
check "another family is named" says err \
  "there is no benchmark 'nonsense'; there are: bicgstab, cg, gmres, gmres20, gmres60, flexible_cg, minres, hmatrix, groups"
check "no family" exits 2 1 bench
check "zero columns" exits 2 1 bench bicgstab --columns 0
check "too few iterations" exits 2 1 bench bicgstab --iterations 3
check "too few for what is measured together" exits 2 2 bench cg --iterations 11
check "and how many are enough" says err '11 iterations are too few, as 4 are measured together; --iterations 12 is the least'
check "no such problem" exits 2 2 bench bicgstab --problem nonsense:8
check "an output that cannot be written" exits 2 2 bench bicgstab --problem poisson3d:8 --json /nowhere/x.json
check "is said once" says err '^stretto: cannot write /nowhere/x.json'

finish
