# SPDX-License-Identifier: BSD-3-Clause
"""python3 -m studies NAME [OPTIONS]: measures and writes docs/measured/NAME.md, its data and its pictures."""

import argparse
import importlib
import json
import os
import pathlib
import re
import shutil
import sys

from . import machine, run, text

NAMES = ("benchmarks", "zoo", "large_problems", "many_solves", "preconditioning", "cg_family", "bicgstab_family", "gmres_family", "groups", "growth", "latency",
         "short_solves", "long_solves", "hints", "choice", "scaling_cg", "scaling_gmres", "scaling_bicgstab", "scaling_beyond",
         "scaling_solutions", "petsc", "ice_sheet", "model", "validation", "tasks", "single", "bem", "campaign", "reproducible")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; --help shows what there is\n")


def dumped(value, depth=0):
    """JSON with a line for each record, for a change of one to be a change of one line."""
    if isinstance(value, dict) and depth < 4 and any(isinstance(each, (dict, list)) for each in value.values()):
        items = (f"{json.dumps(key, ensure_ascii=False)}: {dumped(each, depth + 1)}" for key, each in value.items())
        return "{\n" + ",\n".join(items) + "\n}"
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)


class Study:
    """A study that is run: its options, its programs, and its data, which `measure` fills and `save` keeps."""

    def __init__(self, name, options):
        self.name, self.options, self.data = name, options, {}
        self.module = importlib.import_module(f".{name}", __package__)
        options.build = options.build or pathlib.Path(getattr(self.module, "BUILD", "build/release"))
        self.is_alone = getattr(options, "case", None) is not None and not options.report  # one case: nothing that a page is of
        options.output = options.output or (pathlib.Path("build/studies") if options.quick else self.work() if self.is_alone else
                                            run.ROOT / "docs" / "measured")
        kept = None if options.quick or options.report else getattr(self.module, "kept", None)
        options.data = options.data or (kept(options) if kept else options.output / f"{name}.json")
        if not options.matrices and os.environ.get("STRETTO_MATRICES"):
            options.matrices = pathlib.Path(os.environ["STRETTO_MATRICES"])
        self.stretto = run.Stretto(options.stretto or os.environ.get("STRETTO") or options.build / "stretto",
                                   options.mpiexec or os.environ.get("MPIEXEC") or
                                   run.cache_variable(options.build, "MPIEXEC_EXECUTABLE") or "mpiexec")

    def work(self):
        """The folder of what it makes for itself, which is no part of a page."""
        folder = run.ROOT / "build" / "studies" / self.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def load(self):
        try:
            self.data = json.loads(self.options.data.read_text())
        except OSError:
            if self.options.report:
                raise run.Failed(f"{self.options.data}: no data to report; run the study first") from None
        except json.JSONDecodeError as error:
            raise run.Failed(f"{self.options.data}: {error}") from None

    def measure(self):
        """Until all is measured, or the time is up."""
        if not shutil.which(self.stretto.path):
            raise run.Failed(f"{self.stretto.path}: no program; build it, or name another by --stretto")
        self.options.output.mkdir(parents=True, exist_ok=True)
        if not hasattr(self.module, "PARTS"):
            return self.module.measure(self)
        for name in self.options.parts or self.module.PARTS:  # the others stay as they are
            self.say(name)
            self.data[name] = {"facts": self.facts(), **self.module.PARTS[name](self)}
            self.save()

    def facts(self):
        """What a measurement made now depends on."""
        return {**machine.describe(), "Stretto": self.stretto.about()}

    def files(self):
        """The problems that are in files."""
        if not self.options.matrices:
            raise run.Failed(f"{self.name} needs a folder of .mtx.gz files: --matrices FOLDER, or STRETTO_MATRICES")
        found = sorted(self.options.matrices.glob("*.mtx.gz"))
        if not found:
            raise run.Failed(f"{self.options.matrices}: no .mtx.gz files")
        return found

    def specification(self, problem):
        """kron:NAME,N with the path of the file; other problems as they are."""
        real = re.fullmatch(r"kron:(\w+),(\d+)", problem)
        if not real:
            return problem
        self.files()
        return f"kron:{self.options.matrices / real[1]}.mtx.gz,{real[2]}"

    def answer(self, ranks, name, *words):
        """What a driver says in JSON that is run once. mpiexec may hide that it failed."""
        code, out, err = run.call([self.stretto.mpiexec, "-n", ranks, self.driver(name), *words])
        if code or not out:
            raise run.Failed(f"{name} {' '.join(map(str, words))}: {err.strip()[-200:]}")
        return json.loads(out)

    def driver(self, name):
        """A program of the build of the peers."""
        path = self.options.build / "bench" / "peers" / name
        if not path.exists():
            raise run.Failed(f"{path}: no such driver; make bench-peers builds it, --build names its build")
        return path

    def say(self, what):
        print(f"{self.name}: {what}", file=sys.stderr, flush=True)

    def save(self):
        part = self.options.data.with_suffix(".part")
        part.write_text(dumped(self.data) + "\n")
        part.replace(self.options.data)

    def report(self):
        """Writes the page and its pictures; their names."""
        try:
            values, pictures = self.module.report(self.data)
        except KeyError as error:
            raise run.Failed(f"{self.options.data} has no {error}: not all is measured yet") from None
        files = {f"{self.name}.md": text.page(self.name, values), f"{self.name}.json": dumped(self.data) + "\n", **pictures}
        self.options.output.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (self.options.output / name).write_text(content)
        return [os.path.relpath(self.options.output / name) for name in files]


def arguments_of(argv):
    modules = {name: importlib.import_module(f".{name}", __package__) for name in NAMES}
    lines = "\n".join(f"  {name:17} {' '.join(module.__doc__.split()).partition('?')[0]}?" for name, module in modules.items())
    parser = Parser(prog="python3 -m studies", formatter_class=argparse.RawDescriptionHelpFormatter,
                    description=f"What is measured of Stretto, a page of docs/measured each. NAME is one of\n\n{lines}")
    parsers = parser.add_subparsers(dest="name", metavar="NAME", required=True, parser_class=Parser)
    for name, module in modules.items():
        own = parsers.add_parser(name, description=module.__doc__)
        own.add_argument("--report", action="store_true", help="measure nothing, write the page of the stored data")
        own.add_argument("--quick", action="store_true", help="a little, to see that all works; into build/studies")
        own.add_argument("--stretto", type=pathlib.Path, help="the program (STRETTO, or BUILD/stretto)")
        own.add_argument("--mpiexec", help="what starts ranks (MPIEXEC, or what BUILD was configured with)")
        own.add_argument("--build", type=pathlib.Path, help=f"folder of a build ({getattr(module, 'BUILD', 'build/release')})")
        own.add_argument("--matrices", type=pathlib.Path, help="folder of .mtx.gz files (STRETTO_MATRICES)")
        own.add_argument("--data", type=pathlib.Path, help="what was measured (NAME.json beside the page)")
        own.add_argument("--output", type=pathlib.Path, help="folder of the page and its pictures (docs/measured)")
        if parts := getattr(module, "PARTS", None):
            own.add_argument("--parts", nargs="+", choices=parts, metavar="PART", help=f"what to measure ({', '.join(parts)})")
        module.options(own)
    return parser.parse_args(argv)


def main(argv):
    options = arguments_of(argv)
    try:
        study = Study(options.name, options)
        if options.report or not (options.quick or study.is_alone):
            study.load()
        if not options.report and study.measure() is False:
            study.say(f"the time is up; run again to go on with {options.data}")
            return 0
        written = study.report()
    except (run.Failed, OSError) as error:
        print(f"studies {options.name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"studies {options.name}: interrupted", file=sys.stderr)
        return 130
    print(f"Written: {', '.join(written)}")
    failures = getattr(study.module, "failures", lambda data: [])(study.data)
    for line in [] if options.report else failures:
        print(line, file=sys.stderr)
    return 1 if failures and not options.report else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
