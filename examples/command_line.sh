#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The command line, from a first solve to a prediction. `stretto` and `mpirun` are in PATH; files go into a
# folder that is removed at the end.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# A first solve, of a test problem. The program looks at the matrix, chooses, and says what it chose and why.
stretto solve poisson3d:20

# What there is to choose from: methods, preconditioners and problems, each with its options.
stretto list >list.txt
grep -A 3 "^  pipelined_cg " list.txt

# The same by name, on two ranks. --solution writes x, for Matrix Market.
mpirun -n 2 stretto solve poisson3d:20 --method pipelined_cg --precond jacobi --solution x.mtx

# A right-hand side of one's own is such a file, and so is a matrix, gzipped or not.
stretto solve poisson3d:20 --rhs x.mtx --method cg --precond block_jacobi:ic0 --rtol 1e-10

# Several methods beside each other: iterations, their time, and how much of their reductions was hidden.
mpirun -n 2 stretto solve poisson2d:100 --precond jacobi \
    --method cg --method pipelined_cg --method deep_pipelined_cg:l=2

# The same where reductions are slow, as on many nodes: each is ready only 200 µs after it began.
mpirun -n 2 stretto solve poisson2d:60 --precond jacobi --method cg --method pipelined_cg \
    --emulate-latency 200us

# For other programs: all that is known of a solve as JSON, and its residuals as CSV.
stretto solve poisson2d:60 --method cg --precond jacobi --json result.json --history residuals.csv
python3 -c 'import json; r = json.load(open("result.json")); print(r["status"], r["iterations"])'
tail -n 2 residuals.csv

# What does not converge ends with 1, and the last lines are commands to try next.
stretto solve convdiff3d:12 --method gmres:m=5 --max-it 20 || echo "ended with $?"

# What suits a matrix: every preconditioner is set up and tried for some iterations.
stretto advise convdiff2d:30

# A long solve is kept in a file, here after every 100 iterations; this one ends before it is done.
stretto solve jump2d:60 --method cg --precond jacobi --checkpoint state.bin,every=100 --max-it 300 ||
    echo "ended with $?"
# It goes on from there, on other ranks, too, with the method and the preconditioner that it had.
mpirun -n 2 stretto solve jump2d:60 --resume state.bin

# How long an iteration would take on one node of a large machine, and on 256.
stretto predict poisson3d:100 --machine cori --nodes 1,256 --precond jacobi \
    --methods cg pipelined_cg deep_pipelined_cg:l=2
