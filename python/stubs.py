# SPDX-License-Identifier: BSD-3-Clause
"""stubs.py CORE FOLDER: writes _functions.pyi, the types of the functions that the package makes from the library's table of methods,
and _core.pyi. CORE is the compiled module."""

import importlib.util
import pathlib
import sys

_HEAD = '''from collections.abc import Callable
from typing import Any, Literal, overload

from numpy import float64
from numpy.typing import ArrayLike, NDArray

'''
_COMMON = ("A: Any, b: {b}, x0: {b} | None = None, *, rtol: float = ..., atol: float = ..., maxiter: int | None = None, "
           "M: Any = None, callback: Callable[[float], Any] | None = None, comm: Any = None")


def _option(option):
    kind = f"Literal[{', '.join(map(repr, option['choices']))}]" if option["choices"] else "int" if option["integral"] else "float"
    return f"{option['name']}: {kind} = ..."


def main(core, folder):
    spec = importlib.util.spec_from_file_location("_core", core)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # What is an array to NumPy comes back as NumPy's, what is another library's as that library's.
    functions = [f"@overload\ndef {row['name']}({', '.join([_COMMON.format(b=b), *map(_option, row['options'])])}) -> tuple[{x}, int]: ...\n"
                 for row in module.methods() for b, x in (("ArrayLike", "NDArray[float64]"), ("Any", "Any"))]
    folder = pathlib.Path(folder)
    (folder / "_functions.pyi").write_text(_HEAD + "".join(functions))
    (folder / "_core.pyi").write_text('from typing import Any\n\n\nclass InputError(ValueError): ...\n\n\ndef __getattr__(name: str) -> Any: ...\n')


main(*sys.argv[1:])
