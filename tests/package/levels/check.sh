#!/bin/bash
# check.sh BUILD: installs the library with levels; where it was built and where it was installed the loader takes the one
# for this processor, and for a lesser one that tunables make of it.
set -eu
build=$1
cmake --install "$build" --prefix "$build/prefix" >/dev/null
[[ -d $build/glibc-hwcaps ]] || { echo "skipped: this compiler, processor or C library has no levels"; exit 0; }
has() { grep -qw "$1" /proc/cpuinfo; }
for which in "$build/which" "$build/prefix/bin/which"; do
  for case in portable:-AVX512F,-AVX2:fpu avx2:-AVX512F:avx2 avx512::avx512vl; do
    IFS=: read -r expected tunables flag <<<"$case"
    has "$flag" || { echo "skipped: this processor has no $expected"; continue; }
    got=$(GLIBC_TUNABLES=glibc.cpu.hwcaps=$tunables "$which")
    echo "$which with hwcaps '$tunables': $got"
    [[ $got = "$expected" ]] || { echo "FAILED: not $expected"; exit 1; }
  done
done
