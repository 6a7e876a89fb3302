# SPDX-License-Identifier: BSD-3-Clause
"""The one runner of programs: with ranks, within a time, JSON from what they print."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import threading

from . import machine

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Failed(Exception):
    """What cannot be measured, and why: one line."""


def environment(**more):
    """With what MPI needs on one machine, unless the caller has set it; statuses are for us, not for mpiexec, to judge."""
    lines = (ROOT / "tools" / "mpi.env").read_text().splitlines()
    ours = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return {**ours, "OMPI_MCA_orte_abort_on_non_zero_status": "0", **os.environ, **more}


STAYS_DEEP = ",drift=1,growth=1e300"  # options of a deep pipeline that is timed where it otherwise hands over at once

LATE = 124  # the exit code of what did not end in time


def call(command, timeout=None, text=None, grace=10):
    """(exit code, standard output, standard error). At the end of the time a program gets SIGINT, for it to say what it
    has, and later SIGKILL; its code is LATE then."""
    command = [str(word) for word in command]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE if text else subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True)
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from None
    try:
        out, err = process.communicate(text, timeout)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        killer = threading.Timer(grace, os.killpg, (process.pid, signal.SIGKILL))
        killer.start()
        out, err = process.communicate()
        killer.cancel()
        return LATE, out, err
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def words_of(options):
    """--name value for each; a list is given word by word, True is the name alone, None is left out."""
    for name, value in options.items():
        if value is not None and value is not False:
            yield f"--{name.replace('_', '-')}"
            if value is not True:
                yield from map(str, value) if isinstance(value, (list, tuple)) else [str(value)]


class Stretto:
    """The program, and what starts ranks of it."""

    def __init__(self, path, mpiexec):
        self.path, self.mpiexec = pathlib.Path(path), mpiexec

    def command(self, ranks, *words):
        return [*([self.mpiexec, "-n", ranks] if ranks > 1 else []), self.path, *words]

    def json(self, *words, ranks=1, timeout=None):
        """What a command says with --json. Not converged is an answer; anything else but 0 is a failure."""
        command = self.command(ranks, *words, "--json", "-")
        code, out, err = call(command, timeout)
        if code not in (0, 1, LATE) and "stretto:" not in err:  # MPI did not start: once more
            code, out, err = call(command, timeout)
        if code not in (0, 1) or not out:
            said = next((line for line in err.splitlines() if line.startswith("stretto:")), err.strip()[-200:] or "no word")
            raise Failed(f"{shlex.join(map(str, command))}: {said}")
        return json.loads(out)

    def solve(self, problem, methods, ranks=1, timeout=None, threads=1, **options):
        """The results of the methods, in their order."""
        words = ["solve", problem, *(f"--method={method}" for method in methods), "--threads", threads]
        found = self.json(*words, *words_of(options), ranks=ranks, timeout=timeout)
        return found if isinstance(found, list) else [found]

    def bench(self, family, ranks, **options):
        return self.json("bench", family, "--threads", 1, *words_of(options), ranks=ranks)

    def listed(self):
        return self.json("list")

    def about(self):
        """Its version, and that of these sources."""
        return f"{self.listed()['stretto']} ({machine.revision() or 'no revision'})"


def with_options(method, options):
    """NAME:key=value,… with further options."""
    for key, value in options.items():
        method += f"{',' if ':' in method else ':'}{key}={value}"
    return method


class Driver:
    """A program that holds a problem and waits for commands, JSON line by line (bench/peers)."""

    HUGE_PAGES = "glibc.malloc.hugetlb=1"

    def __init__(self, command, timeout, huge=False):
        self.timeout = timeout
        self.process = subprocess.Popen([str(word) for word in command], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                        env=environment(**({"GLIBC_TUNABLES": self.HUGE_PAGES} if huge else {})))
        self.about = self.answer()

    def answer(self):
        """The next line; what went wrong, where there is none."""
        limit = threading.Timer(self.timeout, os.killpg, (self.process.pid, signal.SIGKILL))
        limit.start()
        try:
            line = next((line for line in self.process.stdout if line.startswith("{")), None)
        finally:
            limit.cancel()
        return json.loads(line) if line else {
            "error": " ".join(self.process.stderr.read().split())[:200] or "ended without a word"}

    def has_ended(self):
        return self.process.poll() is not None

    def do(self, **command):
        if self.has_ended():
            return {"error": "its program has ended"}
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.process.wait()
        return self.answer()

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def cache_variable(build, name):
    """What a build was configured with."""
    return machine.of_file(build / "CMakeCache.txt", rf"(?m)^{name}:\w+=(.*)$")


def package_of(program, library):
    """Where the library of a program is from, as words to append."""
    path = re.search(rf"lib{library}\S* => (\S+)", machine.output_of("ldd", str(program)))
    package = path and machine.output_of("dpkg-query", "-S", os.path.realpath(path[1])).split(":")[0]
    if not package:
        return ", built from source"
    return f", Debian's {package} {machine.output_of('dpkg-query', '-W', '-f', '${Version}', package)}"
