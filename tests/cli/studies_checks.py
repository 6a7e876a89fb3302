"""Checks of what the studies share: called by tests/cli/test_studies.sh."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from studies import machine, picture, run, text


def tables():
    rows = [{"name": "a", "x": 0.5, "n": [1, 2]}, {"name": "b", "x": None, "n": [3, 4]}]
    columns = {"name": "`{name}`", "part": "{x:%}", "both": "{n[0]} + {n[1]:.1f}", "own": lambda row: row["name"].upper()}
    assert text.table(rows, columns) == ("| name | part | both | own |\n| :-- | --: | --: | :-- |\n"
                                         "| `a` | 50 % | 1 + 2.0 | A |\n| `b` | – | 3 + 4.0 | B |")
    assert text.table([], columns) == "Not measured."
    assert text.listed("abc") == "a, b and c" and text.listed("a") == "a" and text.listed("") == "none"
    assert text.spread([1, 2.345]) == "1.00 to 2.35" and text.spread([1, 1]) == "1.00"
    assert text.bold("1", True) == "**1**" and text.bold(text.NONE, True) == text.NONE


def wrapped():
    long = "word " * 40 + "16 + 4 " * 30
    for block in (long, "- " + long):
        lines = text.wrapped(block).split("\n")
        assert all(len(line) <= text.WIDTH for line in lines) and len(lines) > 1, lines
        assert not any(re.match(r"\s*\+ ", line) for line in lines), lines
    assert text.wrapped("- one\n  more\n- two") == "- one more\n- two"
    for block in ("| a |\n| b |", "    code  here", "## Heading", "![x](y.svg)"):
        assert text.wrapped(block) == block


def machines():
    facts = machine.describe()
    assert {"date", "processor", "memory", "system"} <= facts.keys() and all(facts.values()), facts
    assert machine.line({"a": "1", "b": "2"}) == "a: 1; b: 2"


def runs():
    assert run.call([sys.executable, "-c", "print(input())"], text="words\n")[:2] == (0, "words\n")
    assert run.call([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)[0] == run.LATE
    assert list(run.words_of({"max_it": 5, "none": None, "methods": ["a", "b"], "dry": True})) == [
        "--max-it", "5", "--methods", "a", "b", "--dry"]
    assert run.with_options("gmres:m=5", {"orth": "cgs"}) == "gmres:m=5,orth=cgs"
    try:
        run.call(["./no-such-program"])
    except run.Failed as error:
        assert "no-such-program" in str(error)
    else:
        raise AssertionError("a program that is not there was run")


def pictures():
    places = picture.apart([10, 11, 90], 15, 0, 100)
    assert places == [10, 25, 90], places
    assert picture.apart([99, 99], 15, 0, 100) == [85, 100]
    svg = picture.curves("a & b", ("x", "y, ms"), {"one": ([(1, 2.0), (1000, 3.0)], "#000000", None)}, (10, 0))
    assert svg.startswith("<svg") and "a &amp; b" in svg and "y, ms" in svg


def anchor(heading):
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).replace(" ", "-")


def links():
    """Every link to a file of the repository, and to a heading of it."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    anchors = {page.resolve(): {anchor(each) for each in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)} for page in pages}
    broken = []
    for page in pages:
        prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", prose):
            path, _, heading = link.partition("#")
            if re.match(r"\w+:", link):
                continue
            there = (page.parent / path).resolve() if path else page.resolve()
            if not there.exists() or heading and there in anchors and heading not in anchors[there]:
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert not broken, "\n".join(broken)


for one in (tables, wrapped, machines, runs, pictures, links):
    one()
