#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sweep.py PLUGIN MPIEXEC FOLDER [--folders …] [--only NAME…] [--least N]: the /*TEST blocks of PETSc's examples, each case
with PETSc's type and with the plug-in's method of the same kind. It counts those that end alike (suite.py says what that is)
and lists the others. Skipped (77) where the examples are not installed; 1 where fewer than --least end alike."""

import argparse
import collections
import itertools
import re
import shlex
import sys

import examples

FOLDERS = ["ksp/ksp/tutorials", "ksp/ksp/tests", "snes/tutorials", "snes/tests", "ts/tutorials"]
# What Debian's PETSc has, of what blocks ask for.
PRESENT = {"double", "!complex", "!single", "!__float128", "hypre", "mumps", "superlu", "superlu_dist", "suitesparse",
           "scalapack", "metis", "parmetis", "ptscotch", "c99", "!cuda", "!hip", "!kokkos_kernels", "!viennacl", "!sycl",
           "!defined(petsc_use_64bit_indices)", "defined(petsc_use_info)", "defined(petsc_use_log)", "!openmp", "!vecpascal"}
# Programs that choose no Krylov method by options, or whose solver has another purpose.
OTHER_TYPES = {"preonly", "richardson", "chebyshev", "lsqr", "none", "qcg", "nash", "stcg", "gltr", "bcgsl", "hpddm",
               "fetidp", "python", "tsirm", "cr", "pipecr", "lcd"}


def fields(block):
    """key → value of the lines of a block, with continued values joined."""
    found, key = {}, None
    for line in block:
        if match := re.match(r"\s*(\w+)\s*:\s*(.*)$", line):
            key = match[1]
            found[key] = (found.get(key, "") + " " + match[2]).strip()
        elif key and line.strip() and not line.strip().startswith("#"):
            found[key] += " " + line.strip()
    return found


def blocks(text):
    """(fields of the set, fields) of the tests that the comment at the foot of a source has."""
    match = re.search(r"/\*\s*TEST\s*\n(.*?)\n\s*TEST\s*\*/", text, re.DOTALL)
    tests, common, kind, lines, indent = [], {}, None, [], 0
    for line in [*(match[1].splitlines() if match else []), "end:"]:
        head = re.match(r"(\s*)(build|test|testset|end)\s*:\s*$", line)
        if not head:
            lines.append(line)
            continue
        if kind == "test":
            tests.append((common if indent > set_indent else {}, fields(lines)))
        elif kind == "testset":
            common, set_indent = fields(lines), indent
        elif kind == "build":
            build = fields(lines)
            if any(need not in PRESENT for need in requirements(build)):
                return []
        kind, lines, indent = head[2], [], len(head[1])
        if not tests and kind != "testset" and not common:
            set_indent = 1 << 20
    return tests


def requirements(found):
    return re.sub(r"\bdefined\(([^)]*)\)", r"defined(\1)", found.get("requires", "").lower()).split()


def expand(text):
    """The values that {{a b}} and {{a b}shared output} stand for, one after the other."""
    parts = re.split(r"\{\{([^}]*)\}[^}]*\}", text)
    choices = [[part] if i % 2 == 0 else shlex.split(part) for i, part in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def cases(source):
    """(name, ranks, arguments) of each case of a source that can run here."""
    for common, test in blocks(source.read_text(errors="replace")):
        needs = requirements(common) + requirements(test)
        if any(need not in PRESENT for need in needs) or "TODO" in test or "script" in test or "localrunfiles" in test:
            continue
        name = test.get("suffix", "1")
        text = f"{common.get('args', '')} {test.get('args', '')}"
        if "${" in text or "$" in text or "@" in text:
            continue
        for ranks in expand(test.get("nsize", common.get("nsize", "1"))):
            for arguments in expand(text):
                yield name, int(ranks), shlex.split(arguments)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("plugin", "mpiexec", "folder"):
        parser.add_argument(name)
    parser.add_argument("--folders", nargs="*", default=FOLDERS)
    parser.add_argument("--only", nargs="*", help="sources, as snes/tutorials/ex5.c")
    parser.add_argument("--ranks", type=int, default=4, help="cases of more are left out")
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--limit", type=float, default=60, help="seconds of a run (%(default)g)")
    given = parser.parse_args()
    try:
        programs = examples.Examples(given.folder, given.plugin, given.mpiexec, time_limit=given.limit)
    except examples.Missing as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    count = collections.Counter()
    for folder in given.folders:
        for source in sorted((programs.sources / folder).glob("ex*.c")):
            name = f"{folder}/{source.name}"
            if given.only and name not in given.only:
                continue
            for suffix, ranks, arguments in cases(source):
                if ranks > given.ranks:
                    continue
                outcome, remark = compare(programs, name, ranks, arguments)
                count[outcome] += 1
                if outcome != "other":
                    print(f"{outcome}: {name} {suffix} on {ranks}: {shlex.join(arguments)} {remark}", flush=True)
    print(f"{count['ok']} of {count['ok'] + count['FAILED']} end as with PETSc's own types; {count['other']} cases have no "
          "solve by a Krylov method of their own choice, or do not run with PETSc's")
    sys.exit(count["ok"] < given.least)


def compare(programs, name, ranks, arguments):
    asked = [*arguments, "-nox", "-ksp_converged_reason"]
    try:
        stock = programs.run(name, ranks, asked)
    except examples.Missing:
        return "other", ""
    if stock.code or not stock.reasons:
        return "other", ""
    prefixes = [prefix for prefix, *_ in stock.reasons]
    prefix = "" if "" in prefixes else prefixes[-1]  # the outermost ends last
    kind = examples.type_of(arguments, prefix)
    if kind in OTHER_TYPES:
        return "other", ""
    ours = programs.run(name, ranks, programs.with_plugin(asked, examples.METHODS.get(kind, "auto"), prefix)).of(prefix)
    if "its methods are for square ones" in ours.text:
        return "other", ""  # least squares
    found = examples.complaints(stock.of(prefix), ours)
    return ("FAILED" if found else "ok"), f"[{sum(ours.iterations)} iterations, PETSc's {sum(stock.of(prefix).iterations)}] " + \
        "; ".join(found)


if __name__ == "__main__":
    main()
