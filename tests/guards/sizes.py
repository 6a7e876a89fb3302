#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""sizes.py ROOT [FOLDER…]: no file of more than 400 lines, no function of more than 80, in include, src and plugins (or FOLDERs).

A comment `// Long: REASON` allows more: among the first ten lines of a file, for the file; inside a function or right
above it, for the function. A function is counted from the first line of its head to its closing brace, with the lambdas
and classes that are inside."""

import pathlib
import re
import sys

MOST_IN_FILE = 400
MOST_IN_FUNCTION = 80
LONG = re.compile(r"//+\s*Long: \S")

# Comments, strings and character literals; a ' between digits separates them.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
NO_BODY = re.compile(r"\b(?:namespace|concept)\b|\bextern\s*\"|\brequires\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?\s*$")


def blank(match):
    """As many lines with nothing on them; of a string its quotes, which tell `extern "C"` from a declaration."""
    return ('""' if match[0][0] in '"R' else " ") + "\n" * match[0].count("\n")


def without_templates(head):
    """The head of a definition without `template <…>` in front of it."""
    while found := re.match(r"\s*template\s*<", head):
        depth, at = 1, found.end()
        while at < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[at:]
    return head


def outside_parentheses(text):
    """What of `text` is not inside of ( ) or [ ]."""
    kept, depth = [], 0
    for char in text:
        depth -= char in ")]"
        if depth <= 0:
            kept.append(char)
        depth += char in "(["
    return "".join(kept)


def top_level(head):
    """What `head` says outside of ( ), [ ] and < >."""
    plain = re.sub(r"operator\s*(?:\(\)|\[\]|[^\w\s(]+)|->", "operator", without_templates(head))
    top = outside_parentheses(plain)
    while (fewer := re.sub(r"<[^<>]*>", "", top)) != top:
        top = fewer
    return top


def is_class(head):
    return bool(re.search(r"\b(?:class|struct|union|enum)\b", top_level(head)))


def is_function(head, after):
    """Whether the brace behind `head`, whose closing brace is followed by `after`, opens the body of a function."""
    if NO_BODY.search(head) or is_class(head) or after in (",", "{", "("):
        return False  # what is followed by `,` or `{` is in a constructor's list of members
    top = top_level(head)
    if assigned := re.search(r"(?<![=!<>])=(?!=)(.*)", top, re.DOTALL):
        return assigned[1].lstrip().startswith("[")  # a lambda with a name
    return "()" in top


def functions(text):
    """(first line, last line, head) of every function that is not inside of another."""
    code = PREPROCESSOR.sub(blank, NO_CODE.sub(blank, text))
    closing, open_braces = {}, []
    for at, char in enumerate(code):
        if char == "{":
            open_braces.append(at)
        elif char == "}" and open_braces:
            closing[open_braces.pop()] = at
    start = at = parentheses = 0
    while at < len(code):
        char = code[at]
        if char == "{" and at in closing:
            end = closing[at]
            head = code[start:at]
            if parentheses == 0 and is_function(head, code[end + 1:].lstrip()[:1]):
                begin = start + len(head) - len(head.lstrip())
                yield code.count("\n", 0, begin) + 1, code.count("\n", 0, end) + 1, " ".join(head.split())
                at, start = end, end + 1
            elif parentheses == 0 and (is_class(head) or re.search(r'\bnamespace\b|\bextern\s*""', head)):
                start = at + 1
            else:
                at = end  # an initialiser or an expression: nothing in it is a definition
        elif char == "}" or char == ";" and parentheses == 0:
            start = at + 1
        elif char in "()":
            parentheses += 1 if char == "(" else -1
        elif char == ":" and re.fullmatch(r"\s*(?:public|private|protected)\s*", code[start:at]):
            start = at + 1
        at += 1


def name_of(head):
    """The name in the head of a function, as far as it can be told: what stands before its parameters."""
    found = re.search(r"([\w:~]+)\s*\(\)", top_level(head))
    return found[1] if found else head[-40:]


def long_ones(root, folders):
    """(key, message) for each file and function that is too long without a reason."""
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*.[ch]pp")):
        text = path.read_text()
        lines = text.splitlines()
        name = str(path.relative_to(root))
        if len(lines) > MOST_IN_FILE and not any(map(LONG.search, lines[:10])):
            yield name, f"{name}: {len(lines)} lines, more than {MOST_IN_FILE}"
        for first, last, head in functions(text):
            size = last - first + 1
            above = first - 2  # of lines, from 0: where a comment above ends
            while above >= 0 and lines[above].lstrip().startswith("//"):
                above -= 1
            if size > MOST_IN_FUNCTION and not any(map(LONG.search, lines[above + 1:last])):
                key = f"{name} {name_of(head)}"
                yield key, f"{name}:{first}: {name_of(head)}: {size} lines, more than {MOST_IN_FUNCTION}"


def violations(root, folders=("include", "src", "plugins")):
    """One line for each thing that is too long without a reason."""
    return [message for _, message in long_ones(root, folders)]


if __name__ == "__main__":
    problems = violations(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] or ("include", "src", "plugins"))
    print("\n".join(problems) or "No file and no function is too long without a reason.")
    sys.exit(bool(problems))
