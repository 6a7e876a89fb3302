#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compare.py PROGRAM COMPILER EXPECTATIONS.json [--write]: instructions of hot loops, counted by callgrind, within a
tenth of what they were. Exits with 77 (skipped) where the compiler is another than the one they were written with."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

TOLERANCE = 0.1


def count(program):
    """Instructions for each nonzero, or each unknown and iteration, by name."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out")
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--combine-dumps=yes", "--dump-line=no",
             f"--callgrind-out-file={out}", program], capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"valgrind failed:\n{run.stdout}{run.stderr}")
        parts = re.findall(r"desc: Trigger: Client Request: (\S+)\n.*?^(?:summary|totals): (\d+)", out.read_text(),
                           re.DOTALL | re.MULTILINE)
    units = dict(line.rsplit(" ", 1) for line in run.stdout.splitlines())
    return {name: int(instructions) / float(units[name]) for name, instructions in parts}


def main():
    program, compiler, path = sys.argv[1:4]
    path = pathlib.Path(path)
    if sys.argv[4:] == ["--write"]:
        counts = {name: round(value, 3) for name, value in count(program).items()}
        path.write_text(json.dumps({"compiler": compiler, "instructions": counts}, indent=2) + "\n")
        return
    expected = json.loads(path.read_text())
    if compiler != expected["compiler"]:
        print(f"skipped: the counts are those of {expected['compiler']}, this is {compiler}")
        sys.exit(77)
    counts, failed = count(program), False
    for name in sorted(counts.keys() | expected["instructions"].keys()):
        now, before = counts.get(name), expected["instructions"].get(name)
        good = now is not None and before is not None and abs(now / before - 1) <= TOLERANCE
        failed |= not good
        print(f"{'' if good else 'FAILED: '}{name}: {now and round(now, 3)}, expected {before}")
    sys.exit(failed)


main()
