# SPDX-License-Identifier: BSD-3-Clause
"""Does anything make a solve lie, abort, hang or leak? Random systems, injected faults, fuzzed readers, memcheck, ThreadSanitizer and
a thousand repetitions of what is concurrent. By make campaign."""

import pathlib

from . import machine
from .reliability import faults, fuzz, programs, solves
from .text import listed, plural, points, table

SHARES = {"solves": 0.4, "faults": 0.2, "fuzz": 0.15, "memcheck": 0.1, "threads": 0.05, "repetitions": 0.1}
MEASURES = {"solves": solves.measure, "faults": faults.measure, "fuzz": fuzz.measure, "memcheck": programs.memcheck,
            "threads": programs.threads, "repetitions": programs.repetitions}


def options(parser):
    parser.add_argument("--minutes", type=float, default=60, help="for all parts together (%(default)g)")
    parser.add_argument("--seed", type=int, default=1, help="of what is random (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first random case (%(default)s)")
    parser.add_argument("--case", type=int, help="this random case alone")
    parser.add_argument("--jobs", type=int, default=2, help="random systems, or programs under valgrind, at a time (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="what fuzzing finds, in tests/fuzz/found.tar.xz")
    parser.add_argument("--python", help="a Python with numpy, scipy and mpi4py")
    parser.add_argument("--tsan", type=pathlib.Path, default=pathlib.Path("build/tsan"), help="a build with ThreadSanitizer (%(default)s)")
    parser.add_argument("--memcheck", type=pathlib.Path, default=pathlib.Path("build/portable"),
                        help="a build for a processor that valgrind knows (%(default)s)")


def part(name):
    """A part in its share of the time of all that are asked for."""
    def measure(study):
        asked, minutes = study.options.parts or SHARES, min(study.options.minutes, 1 if study.options.quick else 1e9)
        return MEASURES[name](study, minutes * SHARES[name] / sum(SHARES[each] for each in asked))
    return measure


PARTS = {name: part(name) for name in SHARES}


def failures(data):
    return [f"{name}: {each['what']}\n  {each['repeat']}" for name in SHARES for each in data.get(name, {}).get("failures", [])]


# What follows reads the data alone.

def counted(counts):
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def summary(data):
    rows = []
    for name in SHARES:
        of = data.get(name)
        rows.append({"part": name, "minutes": of and of["minutes"], "what": amount(name, of) if of else "not run",
                     "wrong": of and len(of["failures"]), "facts": of and of["facts"]["Stretto"]})
    return table(rows, {"part": "{part}", "minutes": "{minutes:.0f}", "what was run": "{what}", "wrong": "{wrong}", "Stretto": "{facts}"})


def amount(name, of):
    if name == "solves":
        return f"{of['cases']} random systems, {of['solves']} solves"
    if name == "faults":
        return f"{sum(row['runs'] for row in of['kinds'])} faults"
    if name == "fuzz":
        return f"{sum(row['runs'] for row in of['readers'])} inputs to {len(of['readers'])} readers"
    if name == "repetitions":
        return f"{sum(row['repetitions'] for row in of['rows'])} repetitions of " \
               f"{plural(len({row['program'] for row in of['rows'] if row['repetitions']}), 'program')}"
    ran = [row for row in of["rows"] if row["passed"] is not None]
    return f"{sum(row['passed'] for row in ran)} tests of {plural(len({row['program'] for row in ran}), 'program')}"


def passed(row):
    return "not reached in the time" if row["passed"] is None else str(row["passed"])


def wrong(data):
    return points(f"**{name}**: {each['what']}: `{each['repeat']}`" for name in SHARES
                  for each in data.get(name, {}).get("failures", [])) or "Nothing."


def of_solves(of):
    if not of:
        return dict.fromkeys(("worst", "largest", "tallies", "refusals", "unseen"), "not run")
    rows = [{"what": what, "counts": counted(of.get(name, {}))} for what, name in (
        ("statuses, of columns", "statuses"), ("exit codes", "codes"), ("structures", "structures"), ("methods", "methods"),
        ("preconditioners", "preconditioners"), ("ranks", "ranks"), ("columns", "columns"), ("executions", "executions"),
        ("precisions", "precisions"), ("a second time, on other ranks", "again"))]
    refused = [{"kind": kind, "count": count} for kind, count in of["refusals"].items()]
    return {"worst": f"{of['worst']:.6f}", "largest": f"{of['largest_rows']}", "unseen": str(of.get("least_squares_unseen", "the")),
            "tallies": table(rows, {"of": "{what}", "how many": "{counts}"}),
            "refusals": table(refused, {"refused": "{kind}", "how many": "{count}"}, "None was refused.")}


def of_memcheck(of):
    """Of programs that are all alike, those that tell something."""
    if not of:
        return "Not run."
    ran = [row for row in of["rows"] if row["passed"] is not None]
    missing = [row["program"] for row in of["rows"] if row["passed"] is None]
    longest = listed([f"`{row['program']}` {row['seconds'] / 60:.0f}" for row in sorted(ran, key=lambda row: -row["seconds"])[:3]])
    text = (f"{amount('memcheck', of)}, {sum(row['complaints'] for row in ran)} complaints; {sum(row['seconds'] for row in ran) / 60:.0f} minutes "
            f"of one core, of which {longest}.")
    return text + (f" Not reached in the time: {', '.join(missing)}." if missing else "")


def report(data):
    none = {"kinds": [], "readers": [], "rows": []}
    kinds = [{**row, "codes": counted(row["codes"]), "unanswered": row.get("unanswered", 0)} for row in data.get("faults", none)["kinds"]]
    return {
        "summary": summary(data), "wrong": wrong(data), **of_solves(data.get("solves")),
        "faults": table(kinds, {"fault": "{kind}", "": "{what}", "runs": "{runs}", "wrong": "{wrong}", "without an answer of all": "{unanswered}", "exit codes": "{codes}"}),
        "readers": table(data.get("fuzz", none)["readers"], {
            "reader": "{reader}", "seconds": "{seconds:.0f}", "inputs": "{runs}", "edges reached": "{covered}", "wrong": "{wrong}"}),
        "memcheck": of_memcheck(data.get("memcheck")),
        "threads": table(data.get("threads", none)["rows"], {
            "program": "{program}", "ranks": "{ranks}", "tests passed": passed, "races": "{races}", "seconds": "{seconds:.0f}"}),
        "repetitions": table(data.get("repetitions", none)["rows"], {
            "program": "{program}", "ranks": "{ranks}", "repetitions": "{repetitions}", "seconds": "{seconds:.0f}"}),
        "facts": machine.line(next((data[name]["facts"] for name in SHARES if name in data), {}))}, {}
