# SPDX-License-Identifier: BSD-3-Clause
"""Curves as a picture, by gnuplot or matplotlib."""

import json
import shutil
import subprocess
import sys


def draw(path, title, labels, curves, logarithmic=False):
    """`curves`: name to (x values, y values); `labels`: of x and y; `logarithmic`: in x. y begins at 0. Ends the program
    where neither library is there."""
    quoted = json.dumps
    if shutil.which("gnuplot"):
        kind = "svg" if path.endswith(".svg") else "pngcairo"
        script = (f"set terminal {kind} size 800,500\nset output {quoted(path)}\nset title {quoted(title)} noenhanced\n"
                  f"set key noenhanced left top\nset grid\n{'set logscale x' if logarithmic else ''}\nset yrange [0:*]\n"
                  f"set xlabel {quoted(labels[0])}\nset ylabel {quoted(labels[1])}\nplot " +
                  ", ".join(f"'-' with linespoints linewidth 1.5 title {quoted(name)}" for name in curves) + "\n")
        for xs, ys in curves.values():
            script += "".join(f"{x} {y}\n" for x, y in zip(xs, ys)) + "e\n"
        subprocess.run(["gnuplot"], input=script, text=True, check=True)
        return
    try:
        import matplotlib
    except ImportError:
        sys.exit(f"no {path}: that takes gnuplot or matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(8, 5))
    for name, (xs, ys) in curves.items():
        axes.plot(xs, ys, marker="o", label=name)
    axes.set(title=title, xlabel=labels[0], ylabel=labels[1], ylim=(0, None), xscale="log" if logarithmic else "linear")
    axes.grid(True)
    axes.legend()
    figure.savefig(path)
