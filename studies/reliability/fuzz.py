# SPDX-License-Identifier: BSD-3-Clause
"""Readers of files and options, given what libFuzzer makes of a corpus that is kept."""

import os
import pathlib
import re
import shutil
import tarfile
import tempfile
import time

from .. import run
from . import watch

FOLDER = run.ROOT / "tests" / "fuzz"
FOUND = FOLDER / "found.tar.xz"  # inputs of earlier runs that reach what no other reaches, a folder for each reader
READERS = ("matrix", "complex", "vectors", "petsc", "mesh", "machine", "spec", "latency", "nodes", "checkpoint", "points")
SOURCES = ("tests/fuzz/readers.cpp", "src/io/matrix_market_lines.cpp", "src/io/matrix_market_read.cpp", "src/io/petsc_binary.cpp",
           "src/sparse/assemble.cpp", "src/comm/comm.cpp", "src/comm/latency_comm.cpp", "src/comm/messages.cpp", "src/core/names.cpp",
           "src/comm/collective.cpp", "src/core/parallel.cpp", "src/core/spec.cpp", "src/bem/mesh.cpp", "src/bem/read.cpp",
           "src/hmatrix/cluster_tree.cpp", "src/hmatrix/kernels.cpp", "src/io/checkpoint_file.cpp", "apps/cli/simulated_machine.cpp",
           "apps/cli/model_machine.cpp")
FLAGS = ("-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined")
MEMORY = 2048  # MiB that a reader may take for a file of at most 4 KiB
SLOWEST = 10  # seconds
MERGE = 1800  # seconds


def compiler():
    found = next(filter(None, map(shutil.which, ("clang++-19", "clang++-18", "clang++-17", "clang++-16", "clang++"))), None)
    if not found:
        raise run.Failed("fuzz: no clang++ (apt-get install clang-19 libclang-rt-19-dev)")
    return found


def build(study):
    """The harness, compiled anew where a source is newer."""
    program = study.work() / "readers"
    sources = [run.ROOT / source for source in SOURCES]
    newest = max(path.stat().st_mtime for folder in ("include", "src", "apps/cli", "tests/fuzz")
                 for path in (run.ROOT / folder).rglob("*.[ch]pp"))
    if not program.exists() or program.stat().st_mtime < newest:
        study.say(f"compiles {len(sources)} sources with {compiler()}")
        words = ["env", f"OMPI_CXX={compiler()}", f"MPICH_CXX={compiler()}", "mpicxx", *FLAGS, f"-I{run.ROOT / 'include'}",
                 f"-I{run.ROOT / 'apps/cli'}", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", *sources, "-o", program, "-lfmt", "-lz",
                 "-lpthread"]
        code, _, err = run.call(words)
        if code:
            raise run.Failed(f"fuzz: {err.strip()[-500:]}")
    return program


def read(program, reader, limit, *words):
    """The harness with libFuzzer's words, for so many seconds at most; the files it writes for its readers are in memory."""
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        # What MPI leaves at the end is not the readers'.
        return watch.watched([program, f"--reader={reader}", *words], limit,
                             ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=0", TMPDIR=folder)


def fuzz(study, program, reader, seconds):
    """One reader for so long; what it came to."""
    grown = study.work() / "fuzz" / reader
    found = grown.with_suffix(".found")
    for folder in (grown, found):
        folder.mkdir(parents=True, exist_ok=True)
    outcome = read(program, reader, seconds + 120, f"-max_total_time={seconds:.0f}", f"-rss_limit_mb={MEMORY}", f"-timeout={SLOWEST}",
                   "-malloc_limit_mb=1024", f"-seed={study.options.seed}", f"-artifact_prefix={found}/", "-print_final_stats=1",
                   "-max_len=4096", grown, FOLDER / "corpus" / reader)
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", outcome.err)
    covered = re.findall(r"cov: (\d+)", outcome.err)
    row = {"reader": reader, "seconds": seconds, "runs": int(executed[1]) if executed else 0, "covered": int(covered[-1]) if covered else 0,
           "corpus": sum(1 for _ in grown.iterdir()), "wrong": ""}
    if outcome.code:
        reason = re.search(r"ERROR: (.*)|runtime error: (.*)|SUMMARY: (.*)", outcome.err)
        row["wrong"] = (reason[0] if reason else outcome.err.strip()[-200:])[:200]
        places = re.findall(r"(/\S+/(?:src|include|apps)/\S+:\d+)", outcome.err)
        row["wrong"] += f" at {os.path.relpath(places[0], run.ROOT)}" if places else ""
    return row, sorted(found.iterdir())


def keep(study, program):
    """What this run and earlier ones found, without what reaches nothing new, into the archive that the repository has."""
    with tempfile.TemporaryDirectory() as name:
        whole = pathlib.Path(name) / FOUND.name  # what is there stays until all of it is made
        with tarfile.open(whole, "w:xz", preset=9) as archive:
            for reader in READERS:
                for path in least(study, program, reader, pathlib.Path(name) / reader):
                    archive.add(path, f"{reader}/{path.name}", filter=without_owner)
        shutil.move(whole, FOUND)


def least(study, program, reader, folder):
    """The fewest inputs that reach all that is reached, put into the folder: those that are no seeds."""
    folder.mkdir()
    seeds = FOLDER / "corpus" / reader
    outcome = read(program, reader, MERGE, "-merge=1", folder, seeds, study.work() / "fuzz" / reader)
    if wrong := watch.wrong(outcome, (0,)):
        raise run.Failed(f"fuzz: {reader}, to keep what was found: {wrong}")
    known = {path.read_bytes() for path in seeds.iterdir()}
    return [path for path in sorted(folder.iterdir()) if path.read_bytes() not in known]


def without_owner(entry):
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def measure(study, minutes):
    program, start, rows, failures = build(study), time.monotonic(), [], []
    if FOUND.exists():
        with tarfile.open(FOUND) as archive:
            archive.extractall(study.work() / "fuzz")
    for reader in READERS:
        row, inputs = fuzz(study, program, reader, max(1, 60 * minutes / len(READERS)))
        rows.append(row)
        study.say(f"{reader}: {row['runs']} runs{', WRONG: ' + row['wrong'] if row['wrong'] else ''}")
        if row["wrong"]:
            repeat = f"{os.path.relpath(program)} --reader={reader} {os.path.relpath(inputs[-1])}" if inputs else ""
            failures.append({"what": f"{reader}: {row['wrong']}", "repeat": repeat})
    if study.options.keep:
        keep(study, program)
    return {"minutes": (time.monotonic() - start) / 60, "compiler": pathlib.Path(compiler()).name, "readers": rows, "failures": failures}
