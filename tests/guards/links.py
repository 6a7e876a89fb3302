#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""links.py ROOT: every link of a page of the repository to a file or a heading in it leads somewhere. The texts in
studies/pages are read where they become pages, in docs/measured."""

import os
import pathlib
import re
import sys

CODE = re.compile(r"^(```.*?^```|(?: {4}|\t).*?$)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+)\)")


def anchors(text):
    """What headings are called in links, as GitHub makes it: small letters, no punctuation, - for blanks."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def pages(root):
    for folder, inside, files in os.walk(root):
        inside[:] = [name for name in inside if not name.startswith((".", "build"))]
        if pathlib.Path(folder) == root / "studies/pages":
            continue
        yield from (pathlib.Path(folder, name) for name in sorted(files) if name.endswith(".md"))


def violations(root):
    found = []
    for page in pages(root):
        for link in LINK.findall(CODE.sub("", page.read_text())):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if not target.exists():
                found.append(f"{page.relative_to(root)}: {link}: there is no such file")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                found.append(f"{page.relative_to(root)}: {link}: there is no such heading")
    return found


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(problems) or "Every link leads somewhere.")
    sys.exit(bool(problems))
