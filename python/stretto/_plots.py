# SPDX-License-Identifier: BSD-3-Clause
"""Pictures, by matplotlib."""

import numpy as np

# As Trace of the library numbers them; reductions have a track for each that is in flight at once.
_KERNELS, _EXCHANGES, _REDUCTIONS, _TASKS = 1, 2, 5, 500
_COLORS = {"apply": "#4477aa", "precondition": "#228833", "vectors": "#ccbb44", "dots": "#66ccee", "reductions": "#ee6677",
           "halo": "#aa3377", "small": "#bbbbbb"}
_NAMES = {"apply": "product", "precondition": "preconditioner", "vectors": "vectors", "dots": "dot products",
          "reductions": "waiting for a reduction", "halo": "waiting for an exchange", "small": "small systems"}


def _axes(ax):
    """`ax`, else axes of the current figure that have nothing on them, else new ones."""
    import matplotlib.pyplot as plt
    if ax is None:
        ax = plt.gca()
        if ax.has_data():
            ax = plt.figure().gca()
    return ax


def residuals(result, ax=None):
    kept = [(values, style, what) for values, style, what in ((result.history, "-", "recursive"), (result.true_history, "--", "true"))
            if len(values)]
    if not kept:
        raise ValueError("no residuals were kept: solve with history=True, true_history=True")
    ax = _axes(ax)
    for values, style, what in kept:
        for j, column in enumerate(values.T):
            ax.semilogy(np.arange(1, len(column) + 1), column, style, label=what if j == 0 else None)
    ax.set(xlabel="iteration", ylabel="‖b − A x‖ / ‖b‖", title=result.method)
    ax.legend()
    return ax


def timeline(result, ax=None, iterations=2):
    spans = result._outcome.timeline
    if not spans:
        raise ValueError("no timeline was kept: solve with timeline=True")
    each = max(1, round(result.per_iteration["applies"]))
    starts = [begin for name, track, begin, _ in spans if track == _KERNELS and name == "apply"]
    middle = (len(starts) // each - iterations) // 2 * each
    first = starts[max(0, middle)] if starts else 0.0
    last = starts[middle + iterations * each] if starts and 0 <= middle and middle + iterations * each < len(starts) else max(s[3] for s in spans)
    ax = _axes(ax)
    shown = [(name, track, max(begin, first), min(end, last)) for name, track, begin, end in spans
             if track >= _KERNELS and end > first and begin < last]
    tracks = sorted({track for _, track, _, _ in shown})
    known = set()
    for name, track, begin, end in shown:
        color = _COLORS.get(name, "#ee6677" if track >= _REDUCTIONS else "#aa3377" if track == _EXCHANGES else "#999999")
        label = _NAMES.get(name, name) if track == _KERNELS else None
        ax.barh(tracks.index(track), 1e6 * (end - begin), left=1e6 * (begin - first), height=0.7, color=color,
                alpha=1.0 if track in (_KERNELS,) or track >= _TASKS else 0.5, linewidth=0, label=None if label in known else label)
        known.add(label)
    ax.set_yticks(range(len(tracks)), ["computing" if track == _KERNELS else "exchange in flight" if track == _EXCHANGES else
                                       f"tasks of thread {track - _TASKS}" if track >= _TASKS else
                                       "reduction in flight" if track >= _REDUCTIONS else "device" for track in tracks])
    ax.invert_yaxis()
    ax.set(xlabel="µs", xlim=(0, 1e6 * (last - first)),
           title=f"{result.method}: {iterations} iterations" if iterations > 1 else f"{result.method}: an iteration")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, frameon=False)
    return ax


def blocks(matrix, ax=None, ranks=True):
    from matplotlib import colormaps
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle
    ax = _axes(ax)
    found, n = matrix.blocks(), matrix.shape[0]
    highest = max([rank for *_, rank in found] + [1])
    color = colormaps["YlGnBu"]
    patches = [Rectangle((column, row), columns, rows) for row, rows, column, columns, _ in found]
    ax.add_collection(PatchCollection(patches, edgecolors="white", linewidths=0.3, facecolors=[
        "#762a3a" if rank < 0 else color(0.08 + 0.6 * rank / highest) for *_, rank in found]))
    if ranks:
        for row, rows, column, columns, rank in found:
            if rank >= 0 and min(rows, columns) >= n / 40:
                ax.text(column + columns / 2, row + rows / 2, str(rank), ha="center", va="center", fontsize=7, color="black")
    ax.set(xlim=(0, n), ylim=(n, 0), aspect="equal", xlabel="points, in the order of the clusters",
           title=f"{matrix.statistics['dense_blocks']} dense blocks (dark), {matrix.statistics['low_rank_blocks']} of low rank")
    return ax


def over_nodes(points, value, label, title, ax=None):
    """Lines of methods over nodes, as predict and simulate have them."""
    ax = _axes(ax)
    for k, method in enumerate(dict.fromkeys(point["method"] for point in points)):
        line = [(point["nodes"], point[value]) for point in points if point["method"] == method and point.get(value)]
        ax.loglog(*zip(*line), "o-^sv"[k % 5] if len(line) < 2 else ("o-", "s-", "^-", "v-", "D-")[k % 5], markersize=4, label=method)
    nodes = sorted({point["nodes"] for point in points})
    ax.set_xticks(nodes, nodes)
    ax.minorticks_off()
    ax.set(xlabel="nodes", ylabel=label, title=title)
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return ax


def best_map(best, title, ax=None):
    """A map of the best method: {rows: {nodes: method}}."""
    from matplotlib import colormaps
    from matplotlib.patches import Patch
    ax = _axes(ax)
    rows, nodes = sorted(best), sorted({n for line in best.values() for n in line})
    names = sorted({name for line in best.values() for name in line.values()})
    cells = np.array([[names.index(best[r][n]) if n in best[r] else -1 for n in nodes] for r in rows])
    colors = [colormaps["tab10"](k % 10) for k in range(len(names))]
    ax.imshow([[colors[k] if k >= 0 else (1, 1, 1, 0) for k in line] for line in cells], origin="lower", aspect="auto")
    ax.set_xticks(range(len(nodes)), nodes)
    ax.set_yticks(range(len(rows)), [f"{r:.2g}" for r in rows])
    ax.set(xlabel="nodes", ylabel="unknowns", title=title)
    ax.legend(handles=[Patch(color=color, label=name) for name, color in zip(names, colors)], loc="upper center",
              bbox_to_anchor=(0.5, -0.15), ncols=2, frameon=False)
    return ax
