# SPDX-License-Identifier: BSD-3-Clause
"""What do pipelined conjugate gradients gain where an ice sheet flows? PETSc's SNES ex48, the application of Cornelis, Cools, Ghysels
and Vanroose 2019: Newton's method with the plug-in beside PETSc's own methods, and its linear systems simulated on 8 to 1024 nodes.
Takes Debian's libpetsc3.18-dev-examples, make petsc and make simulate. Systems and runs are kept in --keep."""

import math
import pathlib
import re
import shlex
import struct
import time

from . import machine, picture, run, simulated
from .petsc import example
from .simulated import CG, SHORT
from .text import NONE, listed, points, table

SIZES = ("100x100x50", "150x150x100", "200x200x150")  # points along x, y and z, two unknowns in each
CHEBYSHEV = "-ksp_pipelcg_lmin 0 -ksp_pipelcg_lmax 2"
OURS = ("cg", "pipelined_cg", "predict_and_recompute_cg", *simulated.DEEP)
TRUE_NORM = "-ksp_norm_type unpreconditioned"  # as Stretto's; pipelcg has the natural norm alone
SOLVERS = {"PETSc cg": f"-ksp_type cg {TRUE_NORM}", "PETSc pipecg": f"-ksp_type pipecg {TRUE_NORM}",
           **{f"PETSc pipelcg l={l}": f"-ksp_type pipelcg -ksp_pipelcg_pipel {l} {CHEBYSHEV}" for l in (1, 2, 3)},
           **{method: f"-ksp_type stretto -ksp_stretto_method {method}" for method in OURS}}
TOLERANCE = "1e-6"
DRY = ("--machine", "cori", "--dry", "--iterations", "24", "--precond", "matrix", "--exchanges", "memory")
WHOLE = ("--machine", "cori", "--to-solution", "--precond", "block_jacobi:ilu0", "--rtol", TOLERANCE)
MATRIX, VECTOR = 1211216, 1211214  # classes of objects in PETSc's files


def options(parser):
    simulated.options(parser)
    parser.set_defaults(keep=pathlib.Path("build/ice_sheet"))
    parser.add_argument("--size", default=SIZES[0], help="of the Newton solves (%(default)s)")
    parser.add_argument("--largest", choices=SIZES, default=SIZES[1], help="of the linear systems (%(default)s)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--nodes", default="8,64,256", help="of whole solves (%(default)s)")
    parser.add_argument("--steps", type=int, default=99, help="of Newton's method, at most")
    parser.add_argument("--delays", default="0,10,50", help="emulated milliseconds of a reduction (%(default)s)")
    parser.add_argument("--only", nargs="+", metavar="SOLVER", help="of Newton solves and delays, which are measured anew; others stay")


# The program, its runs, and the systems that it writes.

def program(study):
    return example(study.options.keep, "snes/tutorials/ex48.c")


def ex48(study, size, ranks, *words):
    """What it prints of Newton's method with these options."""
    x, y, z = size.split("x")
    command = [*([study.stretto.mpiexec, "-n", ranks] if ranks > 1 else []), program(study), "-M", x, "-N", y, "-P", z,
               "-pc_type", "bjacobi", "-ksp_rtol", TOLERANCE, "-dm_mat_type", "aij", "-snes_monitor", "-ksp_converged_reason",
               "-snes_max_it", min(study.options.steps, 50), *words]
    study.say(" ".join(map(str, command)))
    code, out, err = run.call(command)
    if code and "DIVERGED_MAX_IT" not in out:
        raise run.Failed(f"ex48: {(err or out).strip()[-300:]}")
    return out


def split(source, name):
    """A file of several objects, in a file each: source1.petsc, …"""
    parts = []
    with source.open("rb") as file:
        while head := file.read(4):
            [kind] = struct.unpack(">i", head)
            sizes = struct.unpack(">3i", file.read(12)) if kind == MATRIX else struct.unpack(">i", file.read(4))
            length = 16 + 4 * sizes[0] + 12 * sizes[2] if kind == MATRIX else 8 + 8 * sizes[0]
            file.seek(-4 * (len(sizes) + 1), 1)
            parts.append(source.with_name(f"{name}{len(parts) + 1}.petsc"))
            with parts[-1].open("wb") as part:
                while length:
                    block = file.read(min(length, 1 << 24))
                    part.write(block)
                    length -= len(block)
    source.unlink()
    return parts


def systems(study, size, steps):
    """The files of A and b, of at most so many Newton steps, by one rank, so that rows are numbered along z, then y, then x."""
    keep = study.options.keep / size
    if not list(keep.glob("A*.petsc")):
        keep.mkdir(parents=True, exist_ok=True)
        ex48(study, size, 1, "-ksp_type", "cg", "-snes_max_it", min(steps, 50), "-ksp_view_mat", f"binary:{keep}/A::append",
             "-ksp_view_rhs", f"binary:{keep}/b::append")
        for name in "Ab":
            split(keep / name, name)
    number = len(list(keep.glob("A*.petsc")))
    return [(keep / f"A{k}.petsc", keep / f"b{k}.petsc") for k in range(1, min(number, steps) + 1)]


def grid_of(size):
    """Cells along the axes as rows are numbered: z first, where columns of ice are."""
    return "x".join(reversed(size.split("x")))


# The parts.

def newton(study):
    """Whole Newton solves: iterations of each step, seconds in linear solves. What other sizes and solvers took stays."""
    a = study.options
    rows = {(row["size"], row["solver"]): row for row in study.data.get("newton", {}).get("rows", [])}
    library, on = run.ROOT / a.build / "libstretto_petsc.so", machine.line(study.facts())
    for name, words in SOLVERS.items():
        if a.only and name not in a.only:
            continue
        plug_in = ["-dll_append", library] if "stretto" in words else []
        out = ex48(study, a.size, a.ranks, *plug_in, *shlex.split(words), "-log_view")
        found = re.search(r"^KSPSolve +\d+ +[\d.]+ +(\S+)", out, re.MULTILINE)
        rows[a.size, name] = {"size": a.size, "solver": name, "on": on,
                              "iterations": [int(k) for k in re.findall(r"Linear solve .* iterations (\d+)", out)],
                              "converged": out.count("Linear solve converged"),
                              "norm": re.findall(r"SNES Function norm (\S+)", out)[-1], "seconds": float(found[1])}
    return {"ranks": a.ranks, "rows": [rows[size, name] for size in SIZES for name in SOLVERS if (size, name) in rows]}


def latency(study):
    """One system of the middle of the solve, with an emulated latency of reductions."""
    a, rows = study.options, []
    A, b = systems(study, a.size, 4)[-1]
    for delay in a.delays.split(","):
        for method in OURS:
            [found] = study.stretto.solve(A, [method], a.ranks, rhs=b, rtol=TOLERANCE, precond="block_jacobi:ilu0",
                                          emulate_latency=f"{delay}ms")
            rows.append({"delay": float(delay), "method": method, "seconds": found["seconds"]["solve"],
                         "iterations": found["iterations"], "status": found["status"]})
    return {"size": a.size, "ranks": a.ranks, "rows": rows}


class Simulations(simulated.Simulations):
    def __init__(self, study):
        self.study, self.a = study, study.options
        self.a.keep.mkdir(parents=True, exist_ok=True)


def most_nodes(size, ranks=16):
    """By columns: the ranks of a node are a power of two, and so are the parts along x and y."""
    x, y, _ = map(int, size.split("x"))
    return 2 ** int(math.log2(x)) * 2 ** int(math.log2(y)) // ranks


def scaling(study):
    """Fig. 2: dry runs."""
    runs, found = Simulations(study), {}
    for size in SIZES[:SIZES.index(study.options.largest) + 1]:
        [(A, _)] = systems(study, size, 1)
        for deal, most in (("columns", min(1024, most_nodes(size))), ("boxes", 1024)):
            at = runs.points(str(A), CG, f"8..{most}", *DRY, "--deal", deal, "--grid", grid_of(size))
            found[f"{size} {deal}"] = [{"nodes": n, **{m: at.us(n, m) for m in CG}} for n in at.nodes()]
    return {"us": found}


def solutions(study):
    """Whole Newton solves on the nodes of a cluster: every system of them. What other sizes and nodes took stays."""
    runs, a = Simulations(study), study.options
    rows, on = study.data.get("solutions", {}).get("rows", []), machine.line(study.facts())
    for nodes in map(int, a.nodes.split(",")):
        deal = "columns" if nodes <= most_nodes(a.size) else "boxes"
        new = []
        for step, (A, b) in enumerate(systems(study, a.size, a.steps), 1):
            words = ["simulate", "--problem", A, "--rhs", b, "--nodes", nodes, *WHOLE, "--deal", deal, "--grid", grid_of(a.size),
                     "--methods", *OURS]
            began = time.monotonic()
            found = runs.run(list(map(str, words)), nodes)
            study.say(f"{nodes} nodes, step {step}: {time.monotonic() - began:.0f} s")
            for point in found["points"] if found else []:
                new.append({"size": a.size, "nodes": nodes, "on": on, "deal": deal, "step": step, "method": point["method"],
                            "status": point["status"], "seconds": point["seconds_to_solution"], "iterations": point["iterations"],
                            "blocking": point["total"]["blocking_reductions"]})
        if new:
            rows = [row for row in rows if (row["size"], row["nodes"]) != (a.size, nodes)] + new
    return {"rows": sorted(rows, key=lambda row: (row["size"], row["nodes"], row["step"]))}


PARTS = {"newton": newton, "latency": latency, "scaling": scaling, "solutions": solutions}


# What follows reads the data alone.

def newton_table(rows):
    base = next((row for row in rows if row["solver"] == "PETSc cg"), {"on": None})
    return table(rows, {
        "solver": "{solver}", "iterations of each Newton step": lambda row: " ".join(map(str, row["iterations"])),
        "all": lambda row: str(sum(row["iterations"])),
        "not converged": lambda row: str(len(row["iterations"]) - row["converged"]),
        "s": "{seconds:.1f}", "of PETSc's cg": lambda row: f"{row['seconds'] / base['seconds']:.2f}" if row["on"] == base["on"] else NONE})


def newton_tables(part):
    """Each sheet with its table."""
    parts = []
    for size in dict.fromkeys(row["size"] for row in part["rows"]):
        rows = [row for row in part["rows"] if row["size"] == size]
        steps = max(len(row["iterations"]) for row in rows)
        parts.append(f"### {times_of(size)} points, {steps} Newton steps\n\n{newton_table(rows)}")
    return "\n\n".join(parts)


def latency_table(part):
    delays = sorted({row["delay"] for row in part["rows"]})
    by = {(row["delay"], row["method"]): row for row in part["rows"]}
    return table([{"method": m} for m in dict.fromkeys(row["method"] for row in part["rows"])],
                 {"method": "`{method}`", "iterations": lambda r: str(by[delays[0], r["method"]]["iterations"]),
                  **{f"{d:g} ms": lambda r, d=d: f"{by[d, r['method']]['seconds']:.1f}" for d in delays}})


def scaling_table(rows):
    base = rows[0]["cg"] if rows else 0
    return table(rows, {"nodes": "{nodes}", **{SHORT[m]: lambda row, m=m: f"{base / row[m]:.2f}" for m in CG}}, "Not simulated.")


def said_of_scaling(name, rows):
    peak, last = min(rows, key=lambda row: row["cg"]), rows[-1]
    best = min(CG[1:], key=lambda m: last[m])
    first = next((row["nodes"] for row in rows if min(row[m] for m in CG[1:]) < row["cg"]), None)
    most = f"{peak['nodes']}, the most there are here" if peak is last else str(peak["nodes"])
    return (f"{name}: CG is fastest on {most}; {SHORT[best]} is {last['cg'] / last[best]:.1f} times as fast as CG on "
            f"{last['nodes']}" + (f", and pipelines are faster from {first} nodes on." if first else "."))


def drawn(title, rows):
    base = rows[0]["cg"]
    named = {"ideal": ([(row["nodes"], row["nodes"] / rows[0]["nodes"]) for row in rows], "#6b7280", picture.IDEAL),
             **{SHORT[m]: ([(row["nodes"], base / row[m]) for row in rows], colour, None) for m, colour in zip(CG, picture.COLOURS)}}
    return picture.curves(title, ("nodes", f"speed-up over CG on {rows[0]['nodes']} nodes"), named, (2, 2))


def whole(rows):
    """By nodes and method: the sums over Newton's steps; nothing where one was not solved."""
    sums = {}
    for row in rows:
        at = sums.setdefault((row["nodes"], row["method"]), {"deal": row["deal"], "seconds": 0, "iterations": [], "blocking": 0})
        at["seconds"] += row["seconds"] or math.nan
        at["iterations"].append(row["iterations"])
        at["blocking"] += row["blocking"]
    return sums


def solutions_table(sums):
    rows = [{"nodes": n, "method": m, **at, "over": sums[n, "cg"]["seconds"] / at["seconds"]} for (n, m), at in sums.items()]
    return table(rows, {"nodes": "{nodes}", "Newton steps": lambda row: str(len(row["iterations"])), "dealt in": "{deal}",
                        "method": "`{method}`",
                        "iterations of each Newton step": lambda row: " ".join(map(str, row["iterations"])),
                        "blocking reductions": "{blocking}", "ms": lambda row: f"{1e3 * row['seconds']:.1f}",
                        "times as fast as cg": lambda row: f"{row['over']:.2f}"})


def said_of_solutions(sums):
    said = []
    for nodes in sorted({n for n, _ in sums}):
        best = min((m for n, m in sums if n == nodes and not math.isnan(sums[n, m]["seconds"])), key=lambda m: sums[nodes, m]["seconds"])
        steps = len(sums[nodes, best]["iterations"])
        ms = {method: f"{1e3 * sums[nodes, method]['seconds']:.1f} ms" for method in (best, "cg")}
        said.append(f"{nodes} nodes, {steps} Newton steps: `{best}` takes {ms[best]}, "
                    + ("the least." if best == "cg" else f"`cg` {ms['cg']}."))
    return points(said)


def solutions_of(rows):
    """Each sheet with its table."""
    parts = []
    for size in dict.fromkeys(row["size"] for row in rows):
        sums = whole(row for row in rows if row["size"] == size)
        parts.append(f"### {times_of(size)}\n\n"
                     f"{said_of_solutions(sums)}\n\n{solutions_table(sums)}")
    return "\n\n".join(parts) or "Not simulated yet."


# Parts whose rows may be measured one by one, and what a row belongs to.
APART = {"newton": lambda row: times_of(row["size"]), "solutions": lambda row: f"{times_of(row['size'])} on {row['nodes']} nodes"}


def times_of(size):
    return size.replace("x", " × ")


def facts(data):
    """What each part depends on."""
    by_line = {}
    for name, part in data.items():
        if name not in APART:
            by_line.setdefault(machine.line(part["facts"]), []).append(name)
            continue
        groups = {}
        for row in part["rows"]:
            groups.setdefault((row["on"], APART[name](row)), []).append(row)
        for (on, of), rows in groups.items():
            few = 2 * len(rows) < sum(APART[name](row) == of for row in part["rows"])
            by_line.setdefault(on, []).append(f"{name}, {of}" + (f" ({listed(row['solver'] for row in rows)})" if few else ""))
    return points(f"{listed(names)}: {line}" for line, names in by_line.items())


def report(data):
    us = data.get("scaling", {}).get("us", {})
    dealt = [(size, deal) for size in SIZES for deal in ("columns", "boxes") if f"{size} {deal}" in us]
    sizes = {*SIZES, *(part["size"] for part in data.values() if "size" in part)}
    times = {size: times_of(size) for size in sizes}
    shown = {name: how(data[name]) if name in data else "Not measured yet."
             for name, how in {"newton": newton_tables, "latency": latency_table}.items()}
    values = {**shown, "facts": facts(data),
              "solutions": solutions_of(data.get("solutions", {}).get("rows", [])),
              "said scaling": points(said_of_scaling(f"{times[size]}, {deal}", us[f"{size} {deal}"]) for size, deal in dealt),
              "scaling": "\n\n".join(f"### {times[size]}, dealt in {deal}\n\n{scaling_table(us[f'{size} {deal}'])}\n\n"
                                     f"![speed-up](ice_sheet_{size}_{deal}.svg)" for size, deal in dealt) or "Not simulated yet."}
    values["latency size"] = times[data.get("latency", {}).get("size", SIZES[0])]
    for name in ("newton", "latency"):
        values[f"{name} ranks"] = str(data.get(name, {}).get("ranks", 2))
    pictures = {f"ice_sheet_{size}_{deal}.svg": drawn(f"Ice sheet {times[size]}, {deal}, on Cori, simulated", us[f"{size} {deal}"])
                for size, deal in dealt}
    return values, pictures
