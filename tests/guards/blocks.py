#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""blocks.py ROOT COMPILER OPTION…: every ```cpp block of README.md and docs compiles (-fsyntax-only), all of them in one source.

A block is the inside of a function: what it takes as given are the parameters of its frame, below. It may declare them itself, for it
has a scope of its own. A comment on the line before a block, <!-- frame: NAME -->, names another frame than its page has."""

import pathlib
import re
import subprocess
import sys
import textwrap

HEAD = """#include <complex>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>
#include <stretto/stretto.hpp>
#include <stretto/methods/parts/resume.hpp>
"""
NAMES = "using stretto::Entry, stretto::Global, stretto::Index, stretto::LinearSystem, stretto::MultiVector;\n"

# What is there before a block: parameters, and of the inside of a method what comes before its loop.
FRAMES = {
    "program": ("stretto::MpiComm& comm, LinearSystem& system, std::vector<std::vector<double>>& right_hand_sides, "
                "std::vector<double>& b, std::vector<double>& x, bool again", ""),
    "operator": ("stretto::MpiComm& comm, const stretto::CsrMatrix<double>& A, const std::vector<double>& inverse, "
                 "std::vector<double>& b, std::vector<double>& x", ""),
    "steps": ("stretto::MpiComm& comm, Global rows, std::vector<Entry<double>> step_matrix(double), "
              "std::vector<double> values_of(const std::vector<Entry<double>>&), double tau, int steps, bool new_step_length, "
              "std::vector<double>& now, std::vector<double>& next", ""),
    "prepared": ("stretto::MpiComm& comm, int columns, std::vector<double>& b, std::vector<double>& x", ""),
    "complex": ("stretto::MpiComm& comm, const stretto::Partition& partition, stretto::LocalRows<std::complex<double>>& rows, int columns, "
                "MultiVector<const std::complex<double>> b, MultiVector<std::complex<double>> x", ""),
    "method": ("stretto::Space<double>& V, const stretto::LinearMap<double>& A, const stretto::LinearMap<double>& M, "
               "MultiVector<double> x, stretto::Verdict<double>& stop",
               "auto [r, p, s, w, z, n, u, m, q] = stretto::vectors<9>(V);\n"
               "auto alpha = V.scalars(), beta = V.scalars(), gamma_old = V.scalars();\n"
               "auto dots = V.start(dot(r, u), dot(w, u), dot(r, r));\n"
               "for (int k = 0;; ++k)"),
}
# Of the blocks of a page, in their order; all others are of a program.
PAGES = {
    "README.md": ["program", "method"],
    "docs/howto/own_preconditioner.md": ["operator"],
    "docs/howto/time_steps.md": ["steps"],
    "docs/preparation.md": ["prepared"],
    "docs/scalars.md": ["complex"],
}
BLOCK = re.compile(r"^(?:<!-- frame: (\w+) -->\n+)?([ ]*)```cpp\n(.*?)^\2```$", re.DOTALL | re.MULTILINE)


def blocks(root):
    """(page, line of the first line of code, frame, code) of each block."""
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        name, text = page.relative_to(root).as_posix(), page.read_text()
        of_page = PAGES.get(name, [])
        for i, found in enumerate(BLOCK.finditer(text)):
            frame = found[1] or (of_page[i] if i < len(of_page) else "program")
            yield name, text.count("\n", 0, found.start(3)) + 1, frame, textwrap.dedent(found[3])


def source(found):
    """All blocks as one source, whose compiler speaks of lines of the pages. Their #include go before the first."""
    functions, includes = [], []
    for i, (page, line, frame, code) in enumerate(found):
        includes += re.findall(r"^#include .*$", code, re.MULTILINE)
        parameters, before = FRAMES[frame]
        code = re.sub(r"^#include .*$", "", code, flags=re.MULTILINE)
        functions.append(f"void block_{i}({parameters}) {{\n{before}{{\n#line {line} \"{page}\"\n{code}}}\n}}\n")
    return HEAD + "".join(f"{line}\n" for line in includes) + NAMES + "".join(functions)


def main():
    root, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    found = list(blocks(root))
    if len(found) < 8:
        sys.exit(f"only {len(found)} blocks of C++ in the pages")
    done = subprocess.run([*compiler, "-fsyntax-only", "-x", "c++", "-"], input=source(found), text=True)
    print(f"{len(found)} blocks of C++ in {len({page for page, *_ in found})} pages")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
