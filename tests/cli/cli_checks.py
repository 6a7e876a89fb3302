"""Checks of tests/cli/test_*.sh that take arithmetic, JSON or a terminal: cli_checks.py CHECK ARGUMENT…"""

import csv
import json
import math
import os
import pty
import sys

NUMBER = (int, float)
FIELDS = {
    "stretto": str, "method": str, "options": str, "precond": str, "formulation": str, "problem": str,
    "rows": int, "nonzeros": int, "columns": int, "scalar": str, "ranks": int, "threads": int, "instruction_set": str, "device": str,
    "status": str, "converged": bool, "iterations": int, "resumed_after": int, "columns_detail": list, "relative_residual": NUMBER,
    "seconds": dict, "per_iteration": dict, "events": list,
    "prepare": str, "precond_bytes": NUMBER, "structure": dict, "multigrid": (dict, type(None)), "null_space": (dict, type(None)),
    "partition": dict, "storage": (dict, type(None)),
}
COLUMN = {"status": str, "iterations": int, "relative_residual": NUMBER, "recursive_residual": NUMBER}
SECONDS = {"setup": NUMBER, "solve": NUMBER, "by_kernel": dict}
PER_ITERATION = dict.fromkeys(
    ["applies", "preconditionings", "reductions", "hidden_reductions", "vector_reads", "vector_writes", "bytes"],
    NUMBER)


def read_json(path):
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_constant=refuse)


def numbers(path):
    """The lines of a Matrix Market file behind the banner and comments, split."""
    with open(path, encoding="utf-8") as file:
        banner = file.readline().lower().split()
        return banner, [line.split() for line in file if line.strip() and not line.startswith("%")]


def read_matrix(path):
    banner, (sizes, *entries) = numbers(path)
    matrix = [{} for _ in range(int(sizes[0]))]
    for i, j, value in entries:
        i, j = int(i) - 1, int(j) - 1
        matrix[i][j] = matrix[i].get(j, 0) + float(value)
        if banner[4] == "symmetric" and i != j:
            matrix[j][i] = matrix[j].get(i, 0) + float(value)
    return matrix


def read_array(path):
    """A list of columns."""
    banner, (sizes, *entries) = numbers(path)
    rows, columns = map(int, sizes)
    assert banner[2] == "array" and len(entries) == rows * columns, f"{path}: not a whole array"
    values = [float(entry[0]) for entry in entries]
    return [values[j * rows:(j + 1) * rows] for j in range(columns)]


def norm(vector):
    return math.sqrt(math.fsum(v * v for v in vector))


def has(fields, record):
    for name, kind in fields.items():
        assert name in record, f"no field {name} in {record}"
        value = record[name]
        assert isinstance(value, kind) and (kind is bool or not isinstance(value, bool)), f"{name} is {value!r}"


def holds(path, expression):
    r = read_json(path)
    assert eval(expression, {"r": r, "math": math}), f"{expression}\n{json.dumps(r, indent=1)}"


def fields(path):
    """Every field of the contract, of its type."""
    r = read_json(path)
    has(FIELDS, r)
    has(SECONDS, r["seconds"])
    has(PER_ITERATION, r["per_iteration"])
    assert r["seconds"]["by_kernel"] and all(isinstance(v, NUMBER) for v in r["seconds"]["by_kernel"].values())
    assert len(r["columns_detail"]) == r["columns"]
    for column in r["columns_detail"]:
        has(COLUMN, column)
    for event in r["events"]:
        has({"iteration": int, "text": str}, event)
    assert r["relative_residual"] == max(column["relative_residual"] for column in r["columns_detail"])


def residual(result, matrix, rhs, solution):
    """The residuals in the JSON are those of the solution, but for what the last bits of x make of it."""
    A, B, X = read_matrix(matrix), read_array(rhs), read_array(solution)
    details = read_json(result)["columns_detail"]
    assert len(B) == len(X) == len(details), "columns differ"
    for b, x, column in zip(B, X, details):
        r = [b[i] - math.fsum(a * x[j] for j, a in row.items()) for i, row in enumerate(A)]
        mine, theirs = norm(r) / norm(b), column["relative_residual"]
        last = 2**-52 * norm([math.fsum(abs(a * x[j]) for j, a in row.items()) for row in A]) / norm(b)
        assert math.isclose(mine, theirs, rel_tol=1e-3, abs_tol=last), f"{theirs}, but recomputed {mine}"


def same(one, other, tolerance):
    """Two arrays, relative in every column they both have."""
    pairs = list(zip(read_array(one), read_array(other)))
    for j, (x, y) in enumerate(pairs):
        assert len(x) == len(y), "rows differ"
        gap = norm([a - b for a, b in zip(x, y)]) / norm(x)
        assert gap <= float(tolerance), f"column {j + 1} differs by {gap}"


def ones(path):
    """Nothing but ones, to single precision."""
    wrong = [value for column in read_array(path) for value in column if abs(value - 1) > 1e-6]
    assert not wrong, f"{len(wrong)} values are not 1, for example {wrong[0]}"


def whole(path):
    """An array that was written to its end."""
    assert read_array(path)


def differ(path):
    """The columns of an array are all different."""
    columns = read_array(path)
    assert len({tuple(column) for column in columns}) == len(columns)


def history(path, result):
    """One row per iteration, one value per column; the last of each column is its recursive residual."""
    r = read_json(result)
    with open(path, newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["iteration"] + [f"column_{j + 1}" for j in range(r["columns"])], head
    assert [int(row[0]) for row in rows] == list(range(1, r["iterations"] + 1)), "not one row per iteration"
    for j, column in enumerate(r["columns_detail"]):
        last = float(rows[-1][j + 1])
        assert math.isclose(last, column["recursive_residual"], rel_tol=1e-4), f"{last} is not that of {column}"


def costs(path, listing, formulation):
    """The cost of an iteration as counted in a run is the one that `stretto list` announces."""
    r = read_json(path)
    method = next(m for m in read_json(listing)["methods"] if m["name"] == r["method"])
    want = method["per_iteration" if r["precond"] == "none" else "per_iteration_preconditioned"]
    for name in PER_ITERATION.keys() - {"bytes"}:
        expected = want[name][formulation] if isinstance(want[name], dict) else want[name]
        assert r["per_iteration"][name] == expected, f"{name}: {r['per_iteration'][name]}, listed {expected}"


def trace(path, result, ranks):
    """Chrome's trace format: kernels nest, reductions and exchanges are in flight beside them, none is missing."""
    events = read_json(path)["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert all(e["ph"] in "XM" and {"name", "pid", "tid"} <= e.keys() for e in events), "a strange event"
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans), "a span before the beginning"
    assert {e["pid"] for e in spans} == set(range(int(ranks))), "not every rank"
    assert not {e["tid"] for e in spans} & {e["pid"] for e in spans}, "Perfetto takes such a thread for the main one"
    owners = {(e["tid"], e["pid"]) for e in spans}
    assert len(owners) == len({tid for tid, _ in owners}), "threads of two ranks have the same number"
    runs = read_json(result)
    for rank in range(int(ranks)):
        tracks = {e["tid"]: e["args"]["name"] for e in events
                  if e["name"] == "thread_name" and e["pid"] == rank}
        def on(name):
            return [e for e in spans if e["pid"] == rank and tracks[e["tid"]] == name]
        assert [e["name"] for e in on("method")][0] == runs[0]["method"]
        open_until = []
        for e in sorted(on("kernels"), key=lambda e: (e["ts"], -e["dur"])):
            while open_until and open_until[-1] <= e["ts"] + 0.002:
                open_until.pop()
            assert not open_until or e["ts"] + e["dur"] <= open_until[-1] + 0.002, f"{e} does not nest"
            open_until.append(e["ts"] + e["dur"])
        sums = on("reduction in flight")
        started = sum(run["total"]["reductions"] for run in runs)
        # Those of the norms of b come before a solve has begun.
        assert started - len(runs) <= len(sums) <= started, f"{len(sums)} reductions of {started}"
        for track in {e["tid"] for e in sums}:
            mine = sorted((e for e in sums if e["tid"] == track), key=lambda e: e["ts"])
            assert all(a["ts"] + a["dur"] <= b["ts"] + 0.002 for a, b in zip(mine, mine[1:])), "spans of a track meet"
        def meet(a, b):
            return a["ts"] < b["ts"] + b["dur"] and b["ts"] < a["ts"] + a["dur"]
        products = [e for e in on("kernels") if e["name"] == "apply"]
        hidden = sum(any(meet(s, p) for p in products) for s in sums)
        assert hidden >= 0.9 * sum(run["total"]["hidden_reductions"] for run in runs), f"{hidden} meet a product"
        assert any(meet(a, b) for a, b in zip(sums, sums[1:])), "no two reductions are in flight at once"
        exchanges = on("halo exchange in flight")
        assert bool(exchanges) == (int(ranks) > 1), f"{len(exchanges)} exchanges"


def in_flight(path, expected):
    """So many reductions of a rank at once, at most, in a trace of a run that has started."""
    events = read_json(path)["traceEvents"]
    sums = sorted((e for e in events if e["ph"] == "X" and e["pid"] == 0 and e["name"] == "reduction"), key=lambda e: e["ts"])
    sums = sums[len(sums) // 2:]
    most = max(sum(s["ts"] <= e["ts"] < s["ts"] + s["dur"] - 0.002 for s in sums) for e in sums)
    assert most == int(expected), f"{most} reductions in flight at once, of {len(sums)}"


def points_of(path):
    return read_json(path)["points"]


def simulated(simulation, method, result, history):
    """A simulated solve went as the one with MPI."""
    point = next(p for p in points_of(simulation) if p["method"] == method)
    run = read_json(result)
    with open(history, encoding="utf-8") as file:
        residuals = [float(row[-1]) for row in list(csv.reader(file))[1:]]
    assert point["status"] == run["status"] == "converged", f"{point['status']}, {run['status']}"
    assert len(point["history"]) == len(residuals), f"{len(point['history'])} iterations, {len(residuals)} with MPI"
    # Sums of ranks differ in their order; what that does grows from one iteration to the next.
    for k, (a, b) in enumerate(zip(point["history"], residuals)):
        assert math.isclose(a, b, rel_tol=1e-6), f"iteration {k + 1}: {a}, {b} with MPI"


def backends(first, second, third, fourth):
    """The same numbers to the last bit where sums have one order; times as close as contention lets them be."""
    def agree(one, other, methods, tolerance):
        for p, q in list(zip(points_of(one), points_of(other), strict=True))[:methods]:
            assert math.isclose(p["relative_residual"], q["relative_residual"], rel_tol=1e-9), f"{one}, {other}: residuals"
            assert math.isclose(p["seconds_per_iteration"], q["seconds_per_iteration"], rel_tol=tolerance), \
                f"{p['method']}: {p['seconds_per_iteration']} in {one}, {q['seconds_per_iteration']} in {other}"
    agree(first, second, 1, 0.02)  # cg waits at once: progress or not is the same
    agree(second, third, None, 0.1)
    agree(third, fourth, None, 0.1)


def faster(first, second):
    """The first method is: others may hide what differs."""
    p, q = points_of(first)[0], points_of(second)[0]
    assert p["seconds_per_iteration"] < q["seconds_per_iteration"], f"{p['method']} is not"


def same_residuals(first, second):
    for p, q in zip(points_of(first), points_of(second), strict=True):
        assert p["history"] == q["history"] and p["history"], f"{p['method']}: residuals differ"


def as_long_each(one, other):
    """Two runs of different lengths take the same time an iteration."""
    for a, b in zip(read_json(one)["points"], read_json(other)["points"]):
        s, t = a["seconds_per_iteration"], b["seconds_per_iteration"]
        assert abs(s / t - 1) < 1e-3, f"{a['method']}: {s} in {a['iterations']} iterations, {t} in {b['iterations']}"


def costs_as(dry, real):
    for p, q in zip(points_of(dry), points_of(real), strict=True):
        assert math.isclose(p["seconds_per_iteration"], q["seconds_per_iteration"], rel_tol=0.01), \
            f"{p['method']}: {p['seconds_per_iteration']} dry, {q['seconds_per_iteration']} with numerics"


def same_times(first, second):
    """Virtual times to the last digit."""
    def times(path):
        return [{key: value for key, value in p.items() if key != "simulated_in"} for p in points_of(path)]
    assert times(first) == times(second), "times differ"


def same_solves(first, second):
    """What a solve took and its virtual time; parts of it by the rank that each took longest on."""
    for p, q in zip(points_of(first), points_of(second), strict=True):
        assert p["status"] == "converged", f"{p['method']}: {p['status']}"
        for key in ("method", "status", "iterations", "total", "rows_of_a_rank", "neighbours"):
            assert p[key] == q[key], f"{p['method']}: {key} {p[key]} and {q[key]}"
        assert math.isclose(p["seconds_to_solution"], q["seconds_to_solution"], rel_tol=1e-8), \
            f"{p['method']}: {p['seconds_to_solution']} and {q['seconds_to_solution']} seconds"
        for part, other in zip(p["parts"], q["parts"], strict=True):
            counts = [{key: value for key, value in each.items() if key != "seconds"} for each in (part, other)]
            assert counts[0] == counts[1], f"{p['method']}: {counts[0]} and {counts[1]}"
            assert abs(part["seconds"] - other["seconds"]) <= 0.05 * p["seconds"], f"{p['method']}: {part} and {other}"


def on_terminal(*command):
    """Runs a command on a pseudo-terminal and prints what came there; its exit code."""
    code = os.waitstatus_to_exitcode(pty.spawn(command, stdin_read=lambda _: b""))
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    try:
        globals()[sys.argv[1]](*sys.argv[2:])
    except (AssertionError, ValueError, OSError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
