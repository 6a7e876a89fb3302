# SPDX-License-Identifier: BSD-3-Clause
"""The one writer of tables, lists and pages, in Markdown."""

import pathlib
import re
import string
import textwrap

NONE = "–"
WIDTH = 120
PLACE = r"\{\{([^{}]+)\}\}"


class Cell(string.Formatter):
    """Format strings over a record. A value that is None makes the whole cell a stroke; `{x:%}` is 100 x with a space and %."""

    def format_field(self, value, spec):
        if value is None:
            raise LookupError
        return f"{100 * value:.{spec[1:-1] or 0}f} %" if spec.endswith("%") else format(value, spec)

    def __call__(self, spec, record):
        try:
            return self.vformat(spec, (), record)
        except LookupError:
            return NONE


cell = Cell()


def table(records, columns, none="Not measured."):
    """`columns`: title to what stands there, a format string over the record or a function of it. Columns of numbers are
    aligned to the right."""
    if not records:
        return none
    rows = [[how(record) if callable(how) else cell(how, record) for how in columns.values()] for record in records]
    numbers = [all(re.match(rf"[*(+-]*\d|{NONE}|$", row[k]) for row in rows) for k in range(len(columns))]
    lines = [list(columns), ["--:" if right else ":--" for right in numbers], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bold(text, when=True):
    return f"**{text}**" if when and text != NONE else text


def points(texts):
    return "\n".join(f"- {text}" for text in texts)


def plural(number, word):
    return f"{number} {word}{'s' * (number != 1)}"


def listed(words, last="and"):
    """a, b and c"""
    words = list(words)
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else "none"


def spread(values, digits=2):
    """From the smallest to the largest of the values, once where they are one."""
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def wrapped(block):
    """A paragraph, or each point of a list, in lines of at most WIDTH; tables, code, pictures and headings as they are."""
    if re.match(r"[|#<!]|    |```", block):
        return block
    parts = re.split(r"\n(?=- )", block) if block.startswith("- ") else [block]
    return "\n".join(filled(part) for part in parts)


def filled(part):
    # What would begin a list or a heading at the start of a line stays with the word before.
    text = re.sub(r" (?=(?:[-+*>#]+|\d+[.)]) )", "\0", " ".join(part.split()))
    lines = textwrap.fill(text.removeprefix("-\0").removeprefix("- "), WIDTH, break_long_words=False, break_on_hyphens=False,
                          initial_indent="- " * part.startswith("- "), subsequent_indent="  " * part.startswith("- "))
    return lines.replace("\0", " ")


def page(name, values):
    """The page of a study: its text in pages/NAME.md, with the values at the places `{{name}}`."""
    template = (pathlib.Path(__file__).parent / "pages" / f"{name}.md").read_text()
    used = set(re.findall(PLACE, template))
    if used != set(values):
        raise KeyError(f"{name}: {', '.join(sorted(used ^ set(values)))} only in the text or only in the data")
    title, _, rest = template.partition("\n")
    rest = re.sub(PLACE, lambda place: values[place[1]], rest)
    blocks = [f"<!-- Written by python3 -m studies {name}; do not edit. -->", *re.split(r"\n{2,}", rest.strip()),
              (f"*Written by `python3 -m studies {name} --report` from [{name}.json]({name}.json); without `--report` it is "
               "measured again first.*")]
    return "\n\n".join([title, *(wrapped(block) for block in blocks if block.strip())]) + "\n"
