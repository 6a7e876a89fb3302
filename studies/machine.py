# SPDX-License-Identifier: BSD-3-Clause
"""The one description of what a measurement depends on: the machine, and the programs."""

import datetime
import os
import pathlib
import platform
import re
import subprocess


def output_of(*command):
    """What a command prints, nothing where it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def of_file(path, pattern):
    """The first group of a pattern in a file, nothing where it is not there."""
    try:
        found = re.search(pattern, pathlib.Path(path).read_text())
    except OSError:
        found = None
    return found[1] if found else ""


def describe():
    """Date, processor, caches, memory and system: name to text."""
    lscpu = dict(re.findall(r"^ *([^:\n]+): +(.+)$", output_of("env", "LC_ALL=C", "lscpu"), re.MULTILINE))
    kind = f", family {lscpu['CPU family']} model {lscpu['Model']}" if {"CPU family", "Model"} <= lscpu.keys() else ""
    memory = of_file("/proc/meminfo", r"MemTotal: +(\d+)")
    pages = of_file("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]")
    try:
        system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        system = platform.system()
    facts = {
        "date": datetime.date.today().isoformat(),
        "processor": f"{lscpu.get('Model name', platform.machine())}{kind}, {os.cpu_count()} cores"
                     f"{', virtual machine' if 'Hypervisor vendor' in lscpu else ''}",
        "caches": ", ".join(f"{name} {lscpu[f'{name} cache']}" for name in ("L1d", "L2", "L3") if f"{name} cache" in lscpu),
        "memory": f"{int(memory) / 2**20:.0f} GiB" if memory else "",
        "system": f"{system}, Linux {platform.release().split('-')[0]}"
                  f"{f', transparent huge pages: {pages}' if pages else ''}",
    }
    return {name: text for name, text in facts.items() if text}


def revision():
    """Of the sources that this file stands among."""
    return output_of("git", "-C", str(pathlib.Path(__file__).parent), "describe", "--always", "--dirty", "--exclude", "*")


def line(facts):
    """All of it as one sentence's part."""
    return "; ".join(f"{name}: {text}" for name, text in facts.items()) or "when and where was not recorded"
