# SPDX-License-Identifier: BSD-3-Clause
"""The documentation as a site (make docs): the pages of docs as they stand, and the reference made of the sources.

tools/docs.sh lays both beside each other, runs doxygen, and says where its XML is (STRETTO_DOXYGEN) and the program (STRETTO_PROGRAM, or
nothing where a part of the site is all that is wanted: then the page made of it says so).
"""
import importlib.util
import os
import re
import subprocess
import textwrap
from pathlib import Path

root = Path(os.environ["STRETTO_SOURCES"])
project = "Stretto"
version = release = re.search(r"project\(Stretto VERSION (\S+)", (root / "CMakeLists.txt").read_text()).group(1)
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "numpydoc", "sphinx_copybutton", "sphinx_design"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["tests", "src", "plugins", "apps", "bench", "studies", "tools", "include", "python", "cmake", "share",
                    "packaging"]
highlight_language = "none"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 5

breathe_projects = {"stretto": os.environ.get("STRETTO_DOXYGEN", "")}
breathe_default_project = "stretto"
breathe_default_members = ("members",)

autosummary_generate = False
autodoc_typehints = "none"
numpydoc_show_class_members = False
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"Stretto {version}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {"color-brand-primary": "#8a3b12", "color-brand-content": "#8a3b12"},
    "dark_css_variables": {"color-brand-primary": "#f0a878", "color-brand-content": "#f0a878"},
}


def left_out(what):
    """The text of a page that is made of what is not there."""
    return f"({what} was not built for this copy of the documentation, and is left out)"


def said(*arguments):
    """What the command line says to `arguments`."""
    program = os.environ.get("STRETTO_PROGRAM")
    if not program:
        return left_out("the program")
    text = subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout
    return "\n".join(textwrap.fill(line, 112, subsequent_indent=30 * " ") for line in text.splitlines())


def command_line():
    """The page of all commands, from their own help."""
    overview = said("--help")
    lines = ["# The command line", "", "Made of what `stretto --help` and the help of each command say.", "",
             "```text", overview.rstrip(), "```"]
    for name in re.findall(r"^  ([a-z]+)  +\S", overview.partition("Subcommands:")[2], re.M):
        lines += ["", f"## stretto {name}", "", "```text", said(name, "--help").rstrip(), "```"]
    lines += ["", "## What there is to choose from", "", "```text", said("list").rstrip(), "```", ""]
    return "\n".join(lines)


def pages_of_what_is_built(app):
    reference = Path(app.srcdir) / "reference"
    (reference / "command_line.md").write_text(command_line())
    if importlib.util.find_spec("stretto") is None:
        (reference / "python.md").write_text(f"# Python\n\n{left_out('the Python package')}\n")
    else:
        (reference / "python.md").touch()  # read anew: the package may be another, or was not there last time


def setup(app):
    app.connect("builder-inited", pages_of_what_is_built)
