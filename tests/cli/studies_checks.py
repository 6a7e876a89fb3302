"""Checks of what the studies share: called by tests/cli/test_studies.sh."""

import pathlib
import re
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from studies import machine, picture, run, text
from studies.reliability import exact, faults, refusals, solves, watch


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


def outcome(code, err=""):
    return watch.Outcome(code, "", err, False, 0, 1.0)


def deaths():
    """That of mpiexec itself is forgiven, that of a rank never."""
    of_mpiexec = "[a:1] Signal: Segmentation fault (11)\n[a:1] [ 3] /usr/bin/mpiexec(+0x1f)[0x5]\n"
    of_rank = "[a:2] Signal: Segmentation fault (11)\n[a:2] [ 2] libstretto.so.0(solve+0x1)[0x7]\n"
    assert watch.wrong(outcome(-11, of_mpiexec), (0,)) == ""
    assert watch.wrong(outcome(-11, of_mpiexec + of_rank), (0,)).startswith("died")
    assert watch.wrong(outcome(-11), (0,)) == "exit code -11"


def healthy(**words):
    return types.SimpleNamespace(kind="symmetric", refused=False, methods=["cg"], words={"precond": "none"}, is_complex=False, **words)


def refused():
    case = healthy()
    assert refusals.kind_of(case, "cg needs a symmetric matrix, and this one is not: entries") == ""
    assert refusals.kind_of(case, 'b.mtx, line 4: "nan" is not a finite number') == ""
    case.refused, case.kind = True, "general"
    assert refusals.kind_of(case, 'b.mtx, line 4: "nan" is not a finite number') == refusals.NOT_FINITE
    assert refusals.kind_of(case, "cg needs a symmetric matrix, and this one is not: entries") == ""


def memory_faults():
    experiment = faults.Experiment.__new__(faults.Experiment)
    experiment.reference = outcome(0)
    nowhere = pathlib.Path("nowhere")
    assert experiment.memory_wrong(healthy(), outcome(2, "stretto: rank 0: out of memory\n"), nowhere) == []
    assert experiment.memory_wrong(healthy(), outcome(2, "stretto: something\n"), nowhere)


def python_faults():
    def wrong(kind, *seen):
        usual = {"where": "", "grown": [0, 0], "thrown": False, "converged": False, "finite": True, "x": [0.0] * 576}
        return list(faults.Experiment.wrong_in_python(kind, len(seen), [{**usual, **each} for each in seen]))
    assert wrong("callback", {}, {"thrown": True, "error": "Thrown: call 3"}) == []
    assert wrong("callback", {}, {"thrown": True})
    assert wrong("mpi", {"converged": True}) and wrong("mpi", {"converged": True}, {})
    assert wrong("leak", {"grown": [300 << 10, 0]})


def least_squares():
    """Of a chain without ground: b = (3, 0, 0), whose part in the range is (2, −1, −1)."""
    chain = exact.System(3, [(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0), (1, 2, -1.0), (2, 1, -1.0), (2, 2, 1.0)])
    found = solves.Found.__new__(solves.Found)
    found.case, found.wrong = types.SimpleNamespace(kind="symmetric", system=chain, rtol=1e-8, atol=0.0, is_complex=False), []
    constants = {"vectors": ["constants"], "range_known": True}
    found.look_at_part_in_range("good", constants, [3.0, 0.0, 0.0], [0.0, -2.0, -3.0])
    assert not found.wrong
    found.look_at_part_in_range("bad", constants, [3.0, 0.0, 0.0], [0.0, -2.0, -3.0001])
    assert found.wrong


for one in (deaths, refused, memory_faults, python_faults, least_squares, tables, wrapped, machines, runs, pictures, links):
    one()
