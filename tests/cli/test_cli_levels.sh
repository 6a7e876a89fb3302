#!/bin/bash
# A build for any x86-64: the loader takes the library for the processor, or for a lesser one that tunables make of it.
. "$(dirname "$0")/cli_checks.bash"

levels=$(dirname "$STRETTO")/glibc-hwcaps
if [[ ! -d $levels ]]; then
  echo "skipped: not a build with levels (cmake --preset portable)"
  exit 0
fi
check "a library for each level" lines <(ls "$levels"/x86-64-v[34]/libstretto.so) 2

best=$("$STRETTO" list --json - | python3 -c 'import json, sys; print(json.load(sys.stdin)["instruction_set"])')
expected=portable
grep -qw avx2 /proc/cpuinfo && expected=avx2
grep -qw avx512vl /proc/cpuinfo && expected=avx512
check "the best that the processor has" test "$best" = "$expected"

for level in portable:-AVX512F,-AVX2 avx2:-AVX512F avx512:; do
  set=${level%%:*}
  if [[ $set = avx512 && $best != avx512 || $set = avx2 && $best = portable ]]; then
    echo "skipped: this processor has no $set"
    continue
  fi
  export GLIBC_TUNABLES=glibc.cpu.hwcaps=${level#*:}
  for method in pipelined_cg gmres s_step_gmres; do
    check "$method with $set" solves 2 solve poisson3d:17 --method $method --columns 3 --storage csr --json -
    cp out "$set.json"
    check "$method says that it ran with $set" holds "$set.json" "r['instruction_set'] == '$set' and r['converged']"
    [[ -f $method.json ]] || cp "$set.json" $method.json
    # Sums in another order, and fused multiplications: another last digit.
    check "$method with $set does what it does with less" holds "$set.json" \
      "(lambda p: abs(p['iterations'] - r['iterations']) <= 1 and all(abs(a['relative_residual'] / b['relative_residual'] - 1) < 1e-3 \
       for a, b in zip(p['columns_detail'], r['columns_detail'])))(__import__('json').load(open('$method.json')))"
  done
done
finish
