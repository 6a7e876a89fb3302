#!/bin/sh
# cuda_compiles.sh NM COMMAND…: nvcc takes what methods launch, and leaves nothing out without a word: no host calls what is compiled
# for the device alone, where nvcc has it call exit; no loop that is one kernel is next to nothing, as where it calls a host's function.
nm=$1
shift
"$@" -Xptxas=-v -o cuda_compiles.o >cuda_compiles.txt 2>&1 || { cat cuda_compiles.txt; exit 1; }
if "$nm" -u cuda_compiles.o | grep -w exit; then
  echo "a host calls what is compiled for the device alone"
  exit 1
fi
awk '/Compiling entry.*LoopKernel/ { name = $7 }
     name && /Used [0-9]+ registers/ { ++loops; if ($5 + 0 < 64) { print name " is empty: " $0; bad = 1 }; name = "" }
     END { print loops " loops"; exit bad || loops != 6 }' cuda_compiles.txt
