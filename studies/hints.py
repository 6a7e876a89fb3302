# SPDX-License-Identifier: BSD-3-Clause
"""Does a stranger come to a solution by typing what `stretto solve` says? Real matrices and classes of generated ones, from
several first commands, each `next:` followed as it stands."""

import math
import pathlib
import random
import shlex
import tempfile

from . import machine, run
from .text import points, table

MOST = 3  # steps after the first command
STARTS = {"no option": [], "bicgstab": ["--method", "bicgstab"],
          "gmres, ilu0": ["--method", "gmres", "--precond", "block_jacobi:ilu0"],
          "pipelined_cg, jacobi": ["--method", "pipelined_cg", "--precond", "jacobi"]}
GENERATED = ("poisson3d:40", "aniso2d:120", "jump2d:120,contrast=1e6", "jump3d:30", "convdiff2d:120,peclet=1",
             "convdiff2d:120,peclet=100", "convdiff2d:120,peclet=5000", "neumann2d:80", "neumann3d:25")
SMALL = ("poisson3d:12", "convdiff2d:20,peclet=50", "saddle:8", "circuit:200", "helmholtz:20", "neumann_flow:12", "plate:20")
# What an expert might type, where hints lead nowhere.
METHODS = ("bicgstab", "gmres", "gmres:m=200", "minres")
PRECONDS = ("none", "jacobi", "block_jacobi:ilu0", "block_jacobi:ilut", "block_jacobi:ilut,fill=50,drop=1e-5", "block_jacobi:lu",
            "additive_schwarz:lu,overlap=3", "chebyshev", "amg")


def saddle(n):
    """Stokes-like: [H Bᵀ; B 0], H a Laplacian on n × n points, B the divergence of pairs of neighbours."""
    entries, points_ = {}, n * n
    for i in range(n):
        for j in range(n):
            row = i * n + j
            entries[row, row] = 4.0
            for k, l in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= k < n and 0 <= l < n:
                    entries[row, k * n + l] = -1.0
    rows = points_
    for i in range(0, n - 1, 2):
        for j in range(0, n - 1):
            for column, value in ((i * n + j, 1.0), (i * n + j + 1, -1.0), ((i + 1) * n + j, 0.5)):
                entries[rows, column] = entries[column, rows] = value
            rows += 1
    return rows, entries, True


def elasticity(n):
    """Plane strain, bilinear squares, n × n of them, clamped on one side, Poisson's ratio 0.4."""
    young, poisson = 1.0, 0.4
    lame, shear = young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))
    gauss = 1 / math.sqrt(3)
    corners = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    element = [[0.0] * 8 for _ in range(8)]
    for s in (-gauss, gauss):
        for t in (-gauss, gauss):
            strain = [[0.0] * 8 for _ in range(3)]
            for c, (a, b) in enumerate(corners):
                dx, dy = a * (1 + b * t) / 2, b * (1 + a * s) / 2
                strain[0][2 * c], strain[1][2 * c + 1], strain[2][2 * c], strain[2][2 * c + 1] = dx, dy, dy, dx
            stress = [[(lame + 2 * shear) * strain[0][k] + lame * strain[1][k] for k in range(8)],
                      [lame * strain[0][k] + (lame + 2 * shear) * strain[1][k] for k in range(8)],
                      [shear * strain[2][k] for k in range(8)]]
            for k in range(8):
                for l in range(8):
                    element[k][l] += sum(strain[m][k] * stress[m][l] for m in range(3)) / 4
    entries = {}
    number = lambda i, j, d: 2 * ((i - 1) * (n + 1) + j) + d if i > 0 else None
    for i in range(n):
        for j in range(n):
            unknowns = [number(i + (a + 1) // 2, j + (b + 1) // 2, d) for a, b in corners for d in (0, 1)]
            for k, row in enumerate(unknowns):
                for l, column in enumerate(unknowns):
                    if row is not None and column is not None:
                        entries[row, column] = entries.get((row, column), 0.0) + element[k][l]
    return 2 * n * (n + 1), entries, True


def helmholtz(n):
    """−Δu − k²u on n × n points, k for ten points a wave: symmetric, with eigenvalues on both sides of zero."""
    entries, shift = {}, (2 * math.pi / 10) ** 2
    for i in range(n):
        for j in range(n):
            row = i * n + j
            entries[row, row] = 4.0 - shift
            for k, l in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= k < n and 0 <= l < n:
                    entries[row, k * n + l] = -1.0
    return n * n, entries, True


def circuit(n):
    """Nodes of a random network: conductances over six decades, hubs, controlled sources, a capacitance to ground here and there."""
    dice = random.Random(1)
    entries = {(i, i): 10 ** dice.uniform(-9, -6) for i in range(n)}

    def add(i, j, value):
        entries[i, j] = entries.get((i, j), 0.0) + value

    for i in range(1, n):
        for _ in range(dice.choice((1, 1, 2, 3))):
            j = int(i * dice.random() ** 3) if dice.random() < 0.3 else max(0, i - dice.randint(1, 20))
            conductance = 10 ** dice.uniform(-6, 0)
            for row, column, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                if i != j:
                    add(row, column, sign * conductance)
        if dice.random() < 0.1:
            add(i, dice.randrange(n), 10 ** dice.uniform(-4, -1))
    return n, entries, False


def neumann_flow(n):
    """−Δu + w·∇u on n × n cells, no flux through the boundary, w a vortex, upwind: A·1 = 0 and 1ᵀA is not, so that nobody knows the range."""
    entries, cell = {}, 1 / n
    for i in range(n):
        for j in range(n):
            row, x, y = i * n + j, (i + 0.5) * cell, (j + 0.5) * cell
            u = 50 * math.sin(math.pi * x) * (math.cos(math.pi * y) + 0.3)
            v = -50 * math.cos(math.pi * x) * math.sin(math.pi * y)
            for k, l, against in ((i - 1, j, u), (i + 1, j, -u), (i, j - 1, v), (i, j + 1, -v)):
                if 0 <= k < n and 0 <= l < n:
                    entries[row, k * n + l] = -(1 + max(against, 0) * cell)
                    entries[row, row] = entries.get((row, row), 0.0) + 1 + max(against, 0) * cell
    return n * n, entries, False


def plate(n):
    """Δ²u on n × n points of a plate that rests on its edges: thirteen points, condition number n⁴."""
    line = [[2.0 if i == j else -1.0 if abs(i - j) == 1 else 0.0 for j in range(n)] for i in range(n)]
    twice = [[sum(line[i][k] * line[k][j] for k in range(max(0, i - 1), min(n, i + 2))) for j in range(n)] for i in range(n)]
    entries = {}
    for i in range(n):
        for j in range(n):
            for k in range(max(0, i - 2), min(n, i + 3)):
                for l in range(max(0, j - 2), min(n, j + 3)):
                    value = twice[i][k] * (j == l) + 2 * line[i][k] * line[j][l] + (i == k) * twice[j][l]
                    if value:
                        entries[i * n + j, k * n + l] = value
    return n * n, entries, True


MADE = {"saddle": saddle, "elasticity": elasticity, "helmholtz": helmholtz, "circuit": circuit, "neumann_flow": neumann_flow,
        "plate": plate}


def problem(name, folder):
    """What to name to the program: a file is made where the class is ours."""
    kind, _, size = name.partition(":")
    if kind not in MADE:
        return name
    path = pathlib.Path(folder) / f"{kind}_{size}.mtx"
    if not path.exists():
        rows, entries, symmetric = MADE[kind](int(size))
        kept = [(i, j, v) for (i, j), v in sorted(entries.items()) if v and (j <= i or not symmetric)]
        path.write_text(f"%%MatrixMarket matrix coordinate real {'symmetric' if symmetric else 'general'}\n{rows} {rows} {len(kept)}\n"
                        + "".join(f"{i + 1} {j + 1} {v!r}\n" for i, j, v in kept))
    return path


def options(parser):
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--timeout", type=int, default=120, help="seconds for an answer")


def solve(study, words, ranks):
    """A result, or why there is none."""
    try:
        return study.stretto.json(*words, ranks=ranks, timeout=study.options.timeout)
    except run.Failed as error:
        return {"converged": False, "status": "refused", "next": [], "events": [], "text": str(error)}


def answered(found):
    """Of a singular system whose b is out of range there is no other answer than the least-squares solution."""
    return found["converged"] or found["status"] == "least_squares"


def follow(study, file, ranks, start):
    """Types the first command, then the first of what is said next, until solved or nothing is said: the options of each and how it ended."""
    words, on, steps = ["solve", file, *start], ranks, []
    for _ in range(MOST + 1):
        found = solve(study, words, on)
        choice = found.get("choice") or {}
        typed = " ".join(map(str, words[2:])) or f"(chosen: {choice.get('method')}, {choice.get('precond')})"
        steps.append({"typed": typed, "ranks": on, "status": found["status"], "iterations": found.get("iterations", 0)})
        if answered(found) or not found["next"]:
            break
        line = shlex.split(found["next"][0]["command"])
        on = int(line[2]) if line[0] == "mpirun" else 1
        words = line[next(k for k, word in enumerate(line) if word.endswith("stretto")) + 1:]
    return {"steps": steps, "solved": answered(found)}


def expert(study, file, ranks):
    """The first of all combinations that solves; None: none does."""
    for prepare in (None, "equilibrate"):
        for precond in PRECONDS:
            for method in METHODS:
                words = ["solve", file, "--method", method, "--precond", precond, *(["--prepare", prepare] if prepare else [])]
                if solve(study, words, ranks)["converged"]:
                    return " ".join(map(str, words[2:]))
    return None


def measure(study):
    a = study.options
    if a.quick:
        a.ranks, names = [1, 2], SMALL
    else:
        names = [*GENERATED, "saddle:64", "elasticity:40", "helmholtz:60", "helmholtz:150", "circuit:4000", "neumann_flow:60", "plate:200"]
        names += [str(path) for path in study.files()] if a.matrices else []
    study.data |= {"facts": study.facts(), "records": []}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            file = problem(name, folder)
            for ranks in a.ranks:
                for start, words in STARTS.items():
                    found = follow(study, file, ranks, words)
                    refused = words and found["steps"][0]["status"] == "refused"
                    record = {"problem": pathlib.Path(name).name, "ranks": ranks, "start": start, **found,
                              "expert": None if found["solved"] or refused else expert(study, file, ranks)}
                    study.data["records"].append(record)
            study.save()
            study.say(name)


# What follows reads the data alone.

def failures(data):
    """Where hints did not lead to a solution that there is."""
    return [f"{each['problem']}, {each['ranks']} ranks, from {each['start']}: "
            + "; ".join(f"{step['typed']} ({step['status']})" for step in each["steps"])
            + f"; but: {each['expert']}" for each in data["records"] if not each["solved"] and each["expert"]]


def report(data):
    taken = [each for each in data["records"] if each["start"] == "no option" or each["steps"][0]["status"] != "refused"]
    rows = []
    for start in STARTS:
        here = [each for each in taken if each["start"] == start]
        row = {"start": start, "cases": len(here)}
        row |= {f"s{n}": sum(each["solved"] and len(each["steps"]) == n + 1 for each in here) for n in range(MOST + 1)}
        rows.append(row | {"not": sum(not each["solved"] for each in here)})
    columns = {"first command": "{start}", "cases": "{cases}", "solved at once": "{s0}", "after one step": "{s1}",
               "two": "{s2}", "three": "{s3}", "not": "{not}"}
    names = list(dict.fromkeys(each["problem"] for each in data["records"]))
    first = [{"problem": name, **{f"on{each['ranks']}": f"{each['steps'][-1]['typed']} ({each['steps'][-1]['iterations']})"
                                  if each["solved"] else f"not: {each['steps'][-1]['status']}"
                                  for each in data["records"] if each["problem"] == name and each["start"] == "no option"}}
             for name in names]
    ranks = sorted({each["ranks"] for each in data["records"]})
    missed = failures(data)
    none = sorted({each["problem"] for each in taken if not each["solved"] and not each["expert"]})
    return {"facts": machine.line(data["facts"]), "table": table(rows, columns),
            "first": table(first, {"problem": "{problem}", **{f"on {n} rank{'s' if n > 1 else ''}": f"{{on{n}}}" for n in ranks}}),
            "missed": f"Not so here:\n\n{points(missed)}" if missed else "It did everywhere.",
            "none": f"Nothing that was tried solves {', '.join(none)}." if none else "", "most": f"{MOST}"}, {}
