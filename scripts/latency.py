#!/usr/bin/env python3
"""Time per iteration against an emulated latency of reductions, for the conjugate gradient methods: a table in Markdown
on standard output and, with --plot, a picture drawn by gnuplot or matplotlib."""

import argparse
import json
import os
import subprocess

from curves import draw

METHODS = ["cg", "single_reduction_cg", "pipelined_cg"] + [f"deep_pipelined_cg:l={l}" for l in (1, 2, 3, 5)]
# Iterations as the paper has them: nothing is checked, the shifts are given, and the basis may drift.
BARE = {"pipelined_cg": ":check=0", "deep_pipelined_cg": ",lmax=12,drift=1,growth=1e300,gap=1e300"}


def measure(arguments, method, delay):
    """Milliseconds of an iteration, those of them lost to reductions, and the fraction hidden."""
    bare = method + BARE.get(method.split(":")[0], "")
    out = subprocess.run([arguments.mpiexec, "-n", str(arguments.ranks), arguments.stretto, "solve", arguments.problem,
                          "--method", bare, "--rtol", "0", "--max-it", str(arguments.iterations), "--threads", "1",
                          "--emulate-latency", f"{delay}ms", "--json", "-"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True).stdout
    run = json.loads(out)
    assert run["finished_by"] == run["method"], f"{method} gave up"
    of = run["per_iteration"]
    return 1e3 * of["seconds"], 1e3 * of["lost_seconds"], of["hidden_fraction"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stretto", default=os.environ.get("STRETTO", "build/release/stretto"))
    parser.add_argument("--mpiexec", default=os.environ.get("MPIEXEC", "mpiexec"))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--problem", default="poisson3d:60")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3, help="of which the fastest counts")
    parser.add_argument("--delays", default="0,0.25,0.5,1,2,4", help="milliseconds")
    parser.add_argument("--plot", help="FILE.svg or FILE.png")
    parser.add_argument("--json", help="write all that was measured to this file")
    arguments = parser.parse_args()
    delays = [float(d) for d in arguments.delays.split(",")]
    best = {}
    for _ in range(arguments.rounds):
        for delay in delays:
            for method in METHODS:
                found = measure(arguments, method, delay)
                best[method, delay] = min(found, best.get((method, delay), found))
    print("| latency, ms | " + " | ".join(METHODS) + " |\n|" + "--:|" * (len(METHODS) + 1))
    for delay in delays:
        cells = (f"{ms:.2f} ({hidden:.0%})" for ms, _, hidden in (best[m, delay] for m in METHODS))
        print(f"| {delay:g} | " + " | ".join(cells) + " |")
    if arguments.plot:
        title = f"{arguments.problem}, {arguments.ranks} ranks"
        draw(arguments.plot, title, ("emulated latency of a reduction, ms", "ms per iteration"),
             {m: (delays, [best[m, d][0] for d in delays]) for m in METHODS})
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump([{"method": m, "latency_ms": d, "ms": ms, "lost_ms": lost, "hidden_fraction": hidden}
                       for (m, d), (ms, lost, hidden) in best.items()], file, indent=1)


if __name__ == "__main__":
    main()
