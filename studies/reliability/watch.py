# SPDX-License-Identifier: BSD-3-Clause
"""The watchdog: programs in sessions of their own, of which nothing may be left, nor end by a signal."""

import collections
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from .. import run

Outcome = collections.namedtuple("Outcome", "code out err late left seconds")

# What a program that died says of it, or mpiexec, which has an exit code of its own then.
DEATH = re.compile(r"exited on signal \d+ \([^)]*\)|terminate called[^\n]*|Sanitizer: [^\n]*|Signal: [^\n]*|BAD TERMINATION[^\n]*|"
                   r"corrupted [^\n]*|free\(\)[^\n]*|malloc\(\)[^\n]*|double free[^\n]*")
# The frame of mpiexec's own main, behind the name of its process, where it is mpiexec that died (Open MPI 4.1 may, when it is told
# to end): not the program's doing.
OF_MPIEXEC = re.compile(r"^(\[\S+\]) \[ *\d+\] (?:\S*/)?(?:mpirun|mpiexec|orterun)\(", re.MULTILINE)


def of_session(session):
    """The processes of a session that run, or wait for ever."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, rest = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
            if int(rest[3]) == session and rest[0] not in "ZX":
                found.append(pid)
    return found


def signal_all(pids, what):
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, what)


class Watched:
    """A program that was started, in a folder of its own where MPI keeps its files."""

    def __init__(self, command, stdout=subprocess.PIPE, **environment):
        self.folder = tempfile.TemporaryDirectory()
        places = {"OMPI_MCA_orte_tmpdir_base": self.folder.name, "OMPI_MCA_btl_vader_backing_directory": self.folder.name,
                  "OMPI_MCA_orte_abort_on_non_zero_status": "1"}  # as users have it: mpiexec's exit code is the program's
        self.start = time.monotonic()
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=stdout,
                                        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
                                        env=run.environment(**places, **environment))

    def ranks(self, program):
        """The processes of it that run this program."""
        name = str(program).encode()
        return [pid for pid in of_session(self.process.pid) if name in self.command_of(pid).split(b"\0")[:2]]

    @staticmethod
    def command_of(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return b""

    def finish(self, limit):
        """Its Outcome; what is late, or left behind, is killed."""
        late = False
        try:
            out, err = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            late = True
        if late:
            signal_all(of_session(self.process.pid), signal.SIGKILL)
            out, err = self.process.communicate()
        seconds = time.monotonic() - self.start
        left = self.left_behind()
        self.folder.cleanup()
        return Outcome(self.process.returncode, out or "", err or "", late, left, seconds)

    def left_behind(self):
        """How many processes are there still, five seconds later."""
        for _ in range(50):
            if not (pids := of_session(self.process.pid)):
                return 0
            time.sleep(0.1)
        signal_all(pids, signal.SIGKILL)
        return len(pids)


def watched(command, limit, **more):
    return Watched(command, **more).finish(limit)


def without_mpiexec(err):
    """What was said without what mpiexec says of its own death, and whether that was there."""
    own = {found[1] for found in OF_MPIEXEC.finditer(err)}
    return "".join(line for line in err.splitlines(True) if line.partition(" ")[0].strip() not in own), bool(own)


def wrong(outcome, codes):
    """What no program may do, whatever it was given; empty: nothing of it."""
    if outcome.late:
        return f"no end after {outcome.seconds:.0f} s"
    if outcome.left:
        return f"{outcome.left} processes left behind"
    err, of_mpiexec = without_mpiexec(outcome.err)
    if death := DEATH.search(err):
        return f"died: {death[0]}"
    if outcome.code not in codes and not (of_mpiexec and outcome.code < 0):
        return f"exit code {outcome.code}"
    if outcome.code == 2 and "stretto: " not in outcome.err:
        return "exit code 2 without a word"
    return ""


def said(outcome):
    """The first line of what it complained of."""
    return next((line for line in outcome.err.splitlines() if "stretto: " in line), outcome.err.strip()[:200])
