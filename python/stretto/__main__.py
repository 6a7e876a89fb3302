# SPDX-License-Identifier: BSD-3-Clause
"""python -m stretto: the command line."""

import os
import sys

from . import _mpi
from ._command import program


def main():
    found = program()
    if not found:
        sys.exit("stretto: the command line was not installed with this package: pip install . in the sources has it")
    os.execve(found, [found, *sys.argv[1:]], _mpi.environment())


if __name__ == "__main__":
    main()
