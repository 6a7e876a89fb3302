# SPDX-License-Identifier: BSD-3-Clause
"""The unit tests under valgrind's memcheck, those of what is concurrent with ThreadSanitizer and again and again."""

import os
import pathlib
import random
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

from .. import run
from . import watch

# Threads of a rank, graphs of tasks, progress threads, messages: program and what of it is run.
CONCURRENT = {"tasks/test_task_graph": "*", "tasks/test_task_solves": "*", "unit/test_parallel": "*", "unit/test_messages": "*",
              "unit/test_overlap": "*InProgressModes*:ProgressModes.EndWhateverIsInFlight:Pieces.*:EmulatedLatency.ChangesNoBit"}
# What takes minutes under valgrind, and tells nothing that the others do not.
TOO_LONG = ("test_long_solves", "test_hmatrix", "test_bem", "test_scattering", "test_complex_hmatrix", "test_dense_system")
# What of it is repeated: what differs is in methods that do different things while a sum is in flight.
REPEATED = {"tasks/test_task_solves": "*Late/*cg:*Late/bicgstab",
            "unit/test_overlap": "*InProgressModes*/pipelined_cg:*InProgressModes*/gmres:ProgressModes.EndWhateverIsInFlight:Pieces.*"}
# What of it has messages. The rest is the same on one rank, and takes long where more threads spin than there are cores.
ON_SEVERAL = {"tasks/test_task_graph": "*.StartSumsInTheOrderOfSubmission/*:*.RecordWhatThreadsDo/*"}
REPETITIONS = 1000
AT_ONCE = 25
TURN = 5  # seconds, about, for a program before it is another one's turn
NO_FORKS = "-*Forked"  # a forked process leaves its parent's threads as they are: lost, for valgrind
OF_TIMES = "Probe.IsShort"  # which valgrind multiplies by fifty
LONGEST = 120  # minutes for one program under valgrind
CHATTY = re.compile(r"^==\d+== ?")


def program_of(folder, name):
    path = folder / "tests" / name
    return path if path.exists() else None


def ran(outcome):
    """How many tests passed, and the first word of what did not, or that there was none."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", outcome.out)  # mpiexec has a terminal for it
    passed = sum(map(int, re.findall(r"\[  PASSED  \] (\d+) test", plain)))
    failed = re.search(r"\[  FAILED  \] (\S+)", plain)
    none = not re.search(r"\] [1-9]\d* tests? from", plain)
    return passed, failed[1] if failed else "no test ran" if none else ""


def concurrent(folder):
    """The programs of a build that are there."""
    found = {name: (path, what) for name, what in CONCURRENT.items() if (path := program_of(folder, name))}
    if not found:
        raise run.Failed(f"{folder}/tests has none of the concurrency tests")
    return found


def repetitions(study, minutes):
    """All of them in turn, some at a time, until each has had its thousand or the time is up."""
    start, failures = time.monotonic(), []
    rows = [{"program": name, "ranks": ranks, "repetitions": 0, "seconds": 0.0}
            for name in concurrent(study.options.build) for ranks in (1, 2)]
    programs, wanted = concurrent(study.options.build), REPETITIONS if not study.options.quick else AT_ONCE
    while time.monotonic() < start + 60 * minutes and (left := [row for row in rows if row["repetitions"] < wanted]):
        row = min(left, key=lambda each: each["seconds"])
        path, what = programs[row["program"]]
        what = REPEATED.get(row["program"], what)
        what = ON_SEVERAL.get(row["program"], what) if row["ranks"] > 1 else what
        each = row["seconds"] / row["repetitions"] if row["repetitions"] else TURN
        count = max(1, min(AT_ONCE, wanted - row["repetitions"], round(TURN / each)))
        # An order that is the same on all ranks: a seed of their own would be the time.
        words = [f"--gtest_repeat={count}", f"--gtest_filter={what}", "--gtest_brief=1", "--gtest_shuffle",
                 f"--gtest_random_seed={1 + row['repetitions']}"]
        outcome = watch.watched([study.stretto.mpiexec, "-n", row["ranks"], path, *words], 600)
        row["seconds"] += outcome.seconds
        row["repetitions"] += count
        if wrong := watch.wrong(outcome, (0,)) or ran(outcome)[1]:
            failures.append({"what": f"{row['program']} on {row['ranks']} ranks: {wrong}",
                             "repeat": f"{study.stretto.mpiexec} -n {row['ranks']} {os.path.relpath(path)} {' '.join(words)}"})
            study.say(f"WRONG: {failures[-1]['what']}")
    return {"minutes": (time.monotonic() - start) / 60, "rows": rows, "failures": failures}


def threads(study, minutes):
    """Once each in a build with ThreadSanitizer. OpenMP has nothing to do with it: threads are the library's own, or TBB's."""
    start, rows, failures = time.monotonic(), [], []
    programs = concurrent(study.options.tsan)
    words = f"suppressions={run.ROOT / 'tools/tsan.supp'} ignore_noninstrumented_modules=1 exitcode=66"
    for name, (path, what) in programs.items():
        for ranks in (1, 2):
            if time.monotonic() > start + 60 * minutes:
                rows.append({"program": name, "ranks": ranks, "passed": None, "races": None, "seconds": None})
                continue
            of = REPEATED.get(name, what) if ranks > 1 else what  # two of all threads and their shadows take half an hour
            outcome = watch.watched([study.stretto.mpiexec, "-n", ranks, path, f"--gtest_filter={of}{NO_FORKS}"], 60 * minutes + 60,
                                    TSAN_OPTIONS=words)
            passed, failed = ran(outcome)
            races = len(re.findall(r"WARNING: ThreadSanitizer", outcome.err))
            wrong = f"{races} races" if races else watch.wrong(outcome, (0,)) or failed
            rows.append({"program": name, "ranks": ranks, "passed": passed, "races": races, "seconds": outcome.seconds})
            if wrong:
                where = re.findall(r"#\d+ (\S+) .*?((?:src|include|tests)/\S+:\d+)", outcome.err)
                failures.append({"what": f"{name} on {ranks} ranks: {wrong}{' in ' + ' '.join(where[0]) if where else ''}",
                                 "repeat": f"TSAN_OPTIONS='{words}' {study.stretto.mpiexec} -n {ranks} {os.path.relpath(path)} '--gtest_filter={of}{NO_FORKS}'"})
                study.say(f"WRONG: {failures[-1]['what']}")
    return {"minutes": (time.monotonic() - start) / 60, "rows": rows, "failures": failures}


def complaints(log):
    """What memcheck says, apart from what is of MPI and other libraries alone: each with the first place that is ours."""
    for block in re.split(r"\n==\d+== \n", log):
        text = CHATTY.sub("", block)
        kind = re.search(r"==\d+== (Invalid \w+|Conditional jump|Use of uninit|"
                         r"[\d,]+ (?:\([^)]*\) )?bytes in [\d,]+ blocks are definitely lost|Mismatched free|Source and destination overlap|Syscall param)", block)
        ours = re.search(r"(stretto::[\w:~<>]+)", text)
        if kind and ours and "Syscall" not in kind[1]:
            what = re.sub(r"[\d,]+ (?:.[^)]*. )?bytes in [\d,]+ blocks", "bytes", kind[1])
            yield f"{what} in {ours[1][:80]}"


def memcheck(study, minutes):
    """All unit tests but the longest, in an order that is the seed's, so that short runs reach others each time."""
    if not shutil.which("valgrind"):
        raise run.Failed("memcheck: no valgrind")
    start, rows, failures = time.monotonic(), [], []
    folder = study.options.memcheck / "tests" / "unit"
    programs = [path for path in sorted(folder.glob("test_*")) if os.access(path, os.X_OK) and path.is_file() and path.name not in TOO_LONG]
    if not programs:
        raise run.Failed(f"{folder}: no tests; make campaign builds them for a processor that valgrind knows")
    random.Random(study.options.seed).shuffle(programs)
    of_mpi = [f"--suppressions={path}" for path in map(pathlib.Path, ("/usr/share/openmpi/openmpi-valgrind.supp",)) if path.exists()]

    def looked_at(path):
        if time.monotonic() > start + 60 * minutes:
            rows.append({"program": path.name, "passed": None, "complaints": None, "seconds": None})
            return
        outcome = watch.watched(["valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--num-callers=30", *of_mpi, path,
                                 "--gtest_brief=1", f"--gtest_filter={NO_FORKS}:{OF_TIMES}"], 60 * LONGEST)
        passed, failed = ran(outcome)
        found = sorted(set(complaints(outcome.err)))
        rows.append({"program": path.name, "passed": passed, "complaints": len(found), "seconds": outcome.seconds})
        wrong = found or [each for each in (watch.wrong(outcome, (0,)) or failed,) if each]
        for each in wrong:
            failures.append({"what": f"{path.name}: {each}", "repeat": f"valgrind --leak-check=full {os.path.relpath(path)}"})
            study.say(f"WRONG: {path.name}: {each}")

    with ThreadPoolExecutor(study.options.jobs) as pool:
        list(pool.map(looked_at, programs))
    return {"minutes": (time.monotonic() - start) / 60, "rows": sorted(rows, key=lambda row: row["program"]), "failures": failures}
