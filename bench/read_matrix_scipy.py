# SPDX-License-Identifier: BSD-3-Clause
"""read_matrix_scipy.py DRIVER FILE: reads FILE with fast_matrix_market (to CSR, 2 threads) and with DRIVER, the
program of read_matrix.cpp, in turn; prints the best times and their ratio."""
import subprocess
import sys
import time

import fast_matrix_market

DRIVER, FILE = sys.argv[1:]
RUNS = 5
SETUPS = {"1 rank, 2 threads": (1, 2), "2 ranks, 1 thread": (2, 1)}


def scipy_seconds():
    begin = time.perf_counter()
    fast_matrix_market.mmread(FILE, parallelism=2).tocsr()
    return time.perf_counter() - begin


def stretto_seconds(ranks, threads):
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    run = subprocess.run([*command, DRIVER, FILE, str(threads)], capture_output=True, text=True, check=True)
    return float(run.stdout.split()[0])


times = {name: [] for name in ["fast_matrix_market", *SETUPS]}
for _ in range(RUNS):
    times["fast_matrix_market"].append(scipy_seconds())
    for name, setup in SETUPS.items():
        times[name].append(stretto_seconds(*setup))
reference = min(times["fast_matrix_market"])
for name, seconds in times.items():
    print(f"{name:20} {min(seconds):.3f} s (all: {' '.join(f'{s:.2f}' for s in seconds)}), {min(seconds) / reference:.2f} x")
