#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""layers.py ROOT: a file of include/stretto or src includes only files of its own room and of rooms before it.

The order of rooms is that of the table under "## Rooms" in docs/architecture.md, said nowhere else. Headers directly in
include/stretto, which gather what programs use, belong to no room: no room may include them."""

import pathlib
import re
import sys

BASES = ("include/stretto", "src")


def order_of_rooms(root):
    """The first cells of the first table of the section, in their order."""
    text = (root / "docs/architecture.md").read_text()
    table = re.search(r"^## Rooms\n.*?^((?:\|[^\n]*\n)+)", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"^\| `(\w+)` \|", table[1], re.MULTILINE) if table else []


def room_of(path):
    """The room of a path relative to the root, None where it is in none."""
    for base in BASES:
        if path.is_relative_to(base):
            inside = path.relative_to(base).parts
            return inside[0] if len(inside) > 1 else None
    return None


def sources(root):
    return sorted(path.relative_to(root) for base in BASES for path in (root / base).rglob("*.[ch]pp"))


def included(root, path):
    """(line, file) for each file of the two bases that `path` includes."""
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        if found := re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line):
            for candidate in ((root / path).parent / found[1], root / "include" / found[1]):
                resolved = candidate.resolve()
                if resolved.is_file() and resolved.is_relative_to(root):
                    yield number, resolved.relative_to(root)
                    break


def violations(root):
    """One line for each thing that is not as it should be."""
    root = root.resolve()
    order = order_of_rooms(root)
    if not order:
        return ["docs/architecture.md: no table of rooms under '## Rooms'"]
    files = sources(root)
    there = {room for room in map(room_of, files) if room}
    found = [f"docs/architecture.md: the table of rooms lacks {room}" for room in sorted(there - set(order))]
    found += [f"docs/architecture.md: there is no room {room}" for room in order if room not in there]
    for path in files:
        room = room_of(path)
        if room not in order:
            continue
        for number, target in included(root, path):
            other = room_of(target)
            if other is not None and (other not in order or order.index(other) <= order.index(room)):
                continue
            where = f"{other}, which comes after {room}" if other else "what is above all rooms"
            found.append(f"{path}:{number}: includes {target} of {where}")
    return found


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "Every room uses only rooms before it.")
    sys.exit(bool(problems))
