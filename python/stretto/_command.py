# SPDX-License-Identifier: BSD-3-Clause
"""The command line from Python: what it says as JSON, with pictures."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

from . import _mpi
from ._core import InputError
from ._result import html_table

_HERE = pathlib.Path(__file__)


def program():
    """The path of the command line, or None."""
    beside = _HERE.parent / "stretto"
    return str(beside) if beside.is_file() else os.environ.get("STRETTO") or shutil.which("stretto")


def _words(options):
    for name, value in options.items():
        if value is not None and value is not False:
            yield f"--{name.replace('_', '-')}"
            if value is not True:
                yield from map(str, value) if isinstance(value, (list, tuple)) else [str(value)]


def command(name, *arguments, ranks=1, **options) -> dict:
    """Runs ``stretto NAME ARGUMENTS --option value … --json -`` and returns what it says.

    ranks: processes, started by what ``MPIEXEC`` names, else ``mpiexec``. Raises InputError with its words where it ends with 2,
    RuntimeError where it is not there.

    >>> import stretto
    >>> points = stretto.command("predict", "poisson2d:100", machine="cori", nodes="1..4", methods=["cg", "pipelined_cg"])["points"]
    >>> sorted({point["nodes"] for point in points})
    [1, 2, 4]
    """
    run = _run(name, [*map(str, arguments), *_words(options), "--json", "-"], ranks)
    if run.returncode not in (0, 1) or not run.stdout:
        raise InputError(_as_arguments(name, run.stderr))
    return json.loads(run.stdout)


def _run(name, words, ranks):
    found = program()
    if not found:
        raise RuntimeError("the command line was not installed with this package: pip install . in the sources has it, or STRETTO names it")
    start = []
    if ranks > 1:
        start = [*shlex.split(os.environ.get("MPIEXEC", "mpiexec")), "-n", str(ranks)]
        if not shutil.which(start[0]):
            raise RuntimeError(f"{start[0]}, which starts {ranks} processes, was not found: MPIEXEC names another")
    # The environment as it was before MPI began here: it would make these processes a part of this one's run.
    return subprocess.run([*start, found, name, *words], capture_output=True, text=True, env=_mpi.environment())


def _as_arguments(name, complaint):
    """What the command line complained of, in one line, with its options as Python's arguments."""
    told = complaint.strip().removeprefix("stretto: ")
    told = re.sub(r"(?<!stretto )--([a-z][a-z-]*)( (?=\S))?", lambda option: option[1].replace("-", "_") + ("=" if option[2] else ""), told)
    return re.sub(r"\nTry: .*", f" (python -m stretto {name} --help lists what there is)", told).replace("\n", " ")


class Machine:
    """A machine that is predicted for or simulated: one of share/machines, a JSON file, or this one, measured.

    Parameters
    ----------
    name : str or path
        ``cori``, ``tsubame2``, ``lomonosov``, ``lomonosov2``, or a file as `Machine.measure` or ``stretto machine`` writes it.

    Examples
    --------
    >>> import stretto
    >>> stretto.Machine("cori").with_(link_latency=3e-7).parameters["link_latency"]["value"]
    3e-07
    """

    def __init__(self, name):
        path = pathlib.Path(name)
        if not path.is_file():
            places = [_HERE.parent / "share" / "machines", *(p / "share" / "machines" for p in _HERE.resolve().parents[1:3])]
            path = next((p / f"{name}.json" for p in places if (p / f"{name}.json").is_file()), None)
            if path is None:
                raise InputError(f"there is no machine {name!r}: cori, tsubame2, lomonosov, lomonosov2 or a file")
        self._json = json.loads(path.read_text())

    @classmethod
    def measure(cls, ranks=1) -> Machine:
        """This one, measured in some seconds with so many processes; one process has no network."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "machine.json"
            run = _run("machine", [str(file)], ranks)
            if run.returncode != 0:
                raise InputError(_as_arguments("machine", run.stderr))
            return cls(file)

    @property
    def name(self) -> str:
        """As its file has it."""
        return self._json["name"]

    @property
    def parameters(self) -> dict:
        """name → {value, unit, source}."""
        return self._json["parameters"]

    def with_(self, **values) -> Machine:
        """The same with other values of parameters."""
        other = object.__new__(Machine)
        other._json = json.loads(json.dumps(self._json))
        for name, value in values.items():
            if name not in other.parameters:
                raise InputError(f"a machine has no parameter {name!r}; it has {', '.join(self.parameters)}")
            other.parameters[name] |= {"value": value, "source": "given"}
        return other

    def save(self, path) -> None:
        """Writes a file that ``--machine`` takes."""
        pathlib.Path(path).write_text(json.dumps(self._json, indent=2) + "\n")

    def __repr__(self):
        return f"<stretto.Machine: {self.name}>"

    def _repr_html_(self):
        return html_table([(name, f"{one['value']} {one['unit']} ({one['source']})") for name, one in self.parameters.items()])


def _for_machine(name, arguments, options):
    machine = options.get("machine")
    if not isinstance(machine, Machine):
        return command(name, *arguments, **options)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "machine.json"
        machine.save(file)
        return command(name, *arguments, **options | {"machine": file})


class Prediction(dict):
    """What `predict` returns: the JSON of ``stretto predict`` (docs/model.md), with `plot`."""

    def plot(self, ax=None, value="seconds_per_iteration"):
        """Seconds of an iteration (or ``speed_up``, ``over_classic``) of each method over nodes."""
        from ._plots import over_nodes
        label = {"seconds_per_iteration": "seconds per iteration", "speed_up": "speed-up over the classic method on one node",
                 "over_classic": "times as fast as the classic method"}.get(value, value)
        return over_nodes(self["points"], value, label, f"{self['options']['problem']} on {self['machine']['name']}", ax)

    def _repr_html_(self):
        nodes = list(dict.fromkeys(point["nodes"] for point in self["points"]))
        cells = {(point["method"], point["nodes"]): point["seconds_per_iteration"] for point in self["points"]}
        methods = list(dict.fromkeys(point["method"] for point in self["points"]))
        head = "<tr><th style='text-align:left'>µs per iteration</th>" + "".join(f"<th>{n} nodes</th>" for n in nodes) + "</tr>"
        return "<table>" + head + "".join(
            f"<tr><td style='text-align:left'>{method}</td>" + "".join(f"<td>{1e6 * cells[method, n]:.4g}</td>" for n in nodes) + "</tr>"
            for method in methods) + "</table>"


class Map(dict):
    """What `predict_map` returns: {unknowns: {nodes: method}}, with `plot`."""

    def __init__(self, found, title):
        super().__init__(found)
        self.title = title

    def plot(self, ax=None):
        """The quickest method over nodes and unknowns."""
        from ._plots import best_map
        return best_map(self, self.title, ax)


class Simulation(dict):
    """What `simulate` returns: the JSON of ``stretto simulate`` (docs/simulation.md), with `plot`."""

    def plot(self, ax=None, value="seconds_per_iteration"):
        """Seconds of an iteration of each method over nodes."""
        from ._plots import over_nodes
        return over_nodes(self["points"], value, value.replace("_", " "), "simulated", ax)


def predict(problem, **options) -> Prediction:
    """Times of iterations on other machines, as ``stretto predict`` has them (docs/model.md).

    machine= a name or a `Machine`; nodes="1..1024"; methods=[…]; columns=; precond=; ranks_per_node=; gamma=; …

    >>> import stretto
    >>> p = stretto.predict("poisson3d:100", machine="cori", nodes="1..64", methods=["cg", "pipelined_cg"])
    >>> p["best"]["cg"][-1]["method"]
    'pipelined_cg'
    """
    return Prediction(_for_machine("predict", [problem], options))


def _nodes(text):
    """The numbers that FIRST..LAST, each twice the one before, or a list names."""
    if not isinstance(text, str):
        return list(text)
    first, between, last = text.partition("..")
    if not between:
        return [int(n) for n in text.split(",")]
    return [int(first) << k for k in range(64) if int(first) << k <= int(last)]


def predict_map(problem, sizes, family="cg", nodes="1..1024", **options) -> Map:
    """The quickest method of a family for each size of a problem and each number of nodes: {unknowns: {nodes: method}}.

    problem: a generated one without its size, as "poisson3d"; sizes: of its sides; where ranks would have no rows, nothing is. Options
    as of `predict`.

    >>> import stretto
    >>> found = stretto.predict_map("poisson3d", [50, 200], machine="cori", nodes="1,256")
    >>> sorted(found) == [50**3, 200**3]
    True
    """
    found = {}
    for size in sizes:
        name = f"{problem}:{size}"
        first = predict(name, **options | {"nodes": 1})
        most = first["rows"] // first["options"]["ranks_per_node"]  # nodes whose ranks have rows
        p = predict(name, **options | {"nodes": ",".join(str(n) for n in _nodes(nodes) if n <= most)})
        if family not in p["best"]:
            raise InputError(f"there is no family {family!r} among what was predicted: {', '.join(p['best'])}")
        stretches = p["best"][family]
        found[p["rows"]] = {point["nodes"]: next(s["method"] for s in stretches if s["first"] <= point["nodes"] <= s["last"])
                            for point in p["points"]}
    return Map(found, f"{problem}, family {family}, {p['machine']['name']}")


def simulate(problem, **options) -> Simulation:
    """Solves on a simulated machine, as ``stretto simulate`` has them (docs/simulation.md): machine=, nodes=, methods=, …"""
    return Simulation(_for_machine("simulate", [], {"problem": problem} | options))


def overlap(ranks=2, **options) -> dict:
    """What communication costs here, and what of it can be hidden, as ``stretto overlap`` measures it with so many processes
    (docs/overlap.md)."""
    return command("overlap", ranks=ranks, **options)
