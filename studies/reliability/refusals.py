# SPDX-License-Identifier: BSD-3-Clause
"""What a random system may be refused for, exit code 2: each with what must be so of the case. Anything else is a fault."""

import re

from .systems import COMPLEX, GENERAL, HERMITIAN


def has(case, option, value=""):
    return str(case.words.get(option, "")).startswith(value) if option in case.words else False


def is_automatic(case):
    return "auto" in (*case.methods, case.words["precond"])


def is_unsymmetric(case):
    return case.kind in (GENERAL, COMPLEX)


def has_preconditioner(case):
    return case.words["precond"] not in ("none", "auto")


NOT_FINITE = "a number is not finite"
# What is said before numbers are read, and may be said of a system with one that is not finite.
BEFORE_READING = ("`auto` in single precision", "tasks on a device", "complex numbers as tasks or on a device")
# kind: (the words, whether the case is such a one)
KINDS = {
    NOT_FINITE: ("is not a finite number", lambda case: case.refused),
    "`auto` in single precision": ("--scalar single and auto do not go together",
                                   lambda case: has(case, "scalar", "single") and is_automatic(case)),
    "`auto` beside tasks or a device": ("what is chosen by its times is for the processor's threads",
                                        lambda case: is_automatic(case) and (has(case, "execution") or has(case, "device"))),
    "tasks on a device": ("--execution tasks is for the processor, not for", lambda case: has(case, "execution") and has(case, "device")),
    "tasks of the basic formulation": ("the basic formulation, a pass for each call, is for threads",
                                       lambda case: has(case, "execution") and has(case, "formulation", "basic")),
    "complex numbers as tasks or on a device": ("is for real systems, and this one is complex",
                                                lambda case: case.is_complex and (has(case, "execution") or has(case, "device"))),
    "`equilibrate` on a device": ("--prepare equilibrate is not for the device",
                                  lambda case: has(case, "prepare", "equilibrate") and has(case, "device")),
    "a preconditioner that a device has not": ("is not there on the device", lambda case: has_preconditioner(case) and has(case, "device")),
    "a preconditioner without its transpose": ("needs products with M⁻ᵀ", lambda case: "improved_bicgstab" in str(case.methods)),
    "a matrix that is not symmetric": ("needs a symmetric matrix, and this one is not", is_unsymmetric),
    "a block that is not symmetric": ("needs a symmetric matrix: the block of rank", is_unsymmetric),
    "a matrix that is not hermitian": ("needs a hermitian matrix, and A is", lambda case: case.kind == COMPLEX),
    "a preconditioner that is not symmetric": ("needs a (symmetric|hermitian) preconditioner",
                                               lambda case: has_preconditioner(case) and "insist" not in case.words),
    "`ilut` of complex numbers": ("ilut drops real and imaginary parts apart",
                                  lambda case: case.is_complex and "ilut" in case.words["precond"]),
    "a preconditioner for real numbers": ("is not for complex matrices", lambda case: case.is_complex and has_preconditioner(case)),
    "a diagonal that is not positive": ("needs a positive definite matrix, and the diagonal of A is not positive",
                                        lambda case: case.is_complex and "insist" not in case.words),
    "functions that do not divide the rows": (r"rows are not \d+ for each of some points",
                                              lambda case: "functions=" in case.words["precond"]),
    "an option of another choice": (r": option \w+ is of \w+=\w+, not of", has_preconditioner),
    "single precision not on threads": ("in single precision is for vectors in the processor's memory, on its threads",
                                        lambda case: has(case, "device") or has(case, "execution"))}


def kind_of(case, complaint):
    """Which of them it is; empty: none that fits. Where a number is not finite that is what is to be said, once it is read."""
    for kind, (words, is_so) in KINDS.items():
        if re.search(words, complaint):
            fits = is_so(case) and (not case.refused or kind in (NOT_FINITE, *BEFORE_READING))
            return kind if fits else ""
    return ""
