# SPDX-License-Identifier: BSD-3-Clause
"""Progress bars: tqdm's, in terminals and notebooks, where it is installed."""

import contextlib
import math
import sys


class _Line:
    """A line on a terminal, without tqdm."""

    def __init__(self, total, desc, **_):
        self.total, self.desc, self.n, self.postfix = total, desc, 0.0, ""

    def set_postfix_str(self, text):
        self.postfix = text

    def refresh(self):
        if sys.stderr.isatty():
            print(f"\r{self.desc}: {100 * self.n / self.total:3.0f} % {self.postfix}\x1b[K", end="", file=sys.stderr, flush=True)

    def close(self):
        if sys.stderr.isatty():
            print(file=sys.stderr)


def _bar(**options):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(**options)
    return tqdm(bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining} {postfix}", mininterval=0.2, **options)


@contextlib.contextmanager
def told(progress, communicator, what, rtol=None, callback=None):
    """A function for the library to call, with the relative residual of each iteration or, where `rtol` is None, with the fraction
    that is done: `callback`, a bar, or both. None where there is nobody to tell."""
    if callable(progress):
        yield progress
        return
    if not progress or communicator.rank != 0:
        yield callback
        return
    decades = 1.0 if rtol is None else max(1.0, -math.log10(rtol)) if rtol > 0 else 16.0
    bar = _bar(total=decades, desc=what)
    iterations = -1

    def monitor(number):
        nonlocal iterations
        if rtol is None:
            bar.n = number
        else:
            iterations += 1
            bar.n = min(decades, max(bar.n, -math.log10(number) if number > 0 else decades))
            bar.set_postfix_str(f"iteration {iterations}, residual {number:.1e}", **({} if isinstance(bar, _Line) else {"refresh": False}))
        bar.update(0) if hasattr(bar, "update") else bar.refresh()
        return callback(number) if callback else None

    try:
        yield monitor
    finally:
        if rtol is None:
            bar.n = decades
        bar.refresh()
        bar.close()
