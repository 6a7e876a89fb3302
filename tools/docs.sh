#!/usr/bin/env bash
# docs.sh BUILD: the documentation as a site, in BUILD/../docs/html: the pages of docs, and a reference made of the headers, the Python
# package and the program in BUILD (make python builds both). PARTIAL=1 goes on where one of these is not there, and says so in its place.
# Warnings, as of links that lead nowhere, are errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$PWD/${1:?docs.sh BUILD}
out=$PWD/build/docs
python=${PYTHON:-python3}

missing=()
[[ -x $build/stretto ]] && export STRETTO_PROGRAM=$build/stretto || missing+=("the program")
compgen -G "$build/python/stretto/_core*.so" >/dev/null && export PYTHONPATH=$build/python || missing+=("the Python package")
if [[ -z ${PARTIAL:-} && -n ${missing[*]} ]]; then
    printf "docs.sh: %s is not in $build: make python builds it; PARTIAL=1 leaves out what is made of it\n" "${missing[@]}" >&2
    exit 1
fi

mkdir -p "$out"
if [[ ! -x $out/venv/bin/sphinx-build || site/requirements.txt -nt $out/venv/installed ]]; then
    "$python" -m venv --system-site-packages "$out/venv"
    "$out/venv/bin/python" -m pip install -q -r site/requirements.txt
    touch "$out/venv/installed"
fi

# Pages lie as in the repository, so that their links lead where they lead there.
rm -rf "$out/source"
mkdir -p "$out/source"
cp -r --preserve=timestamps docs examples CONTRIBUTING.md CHANGELOG.md site/. "$out/source"
for folder in tests share python studies include src plugins apps bench tools cmake packaging LICENSE; do
    ln -s "$PWD/$folder" "$out/source/$folder"
done

# An operator in single precision is of an operator, whose own is again one: Doxygen does not see the end of that.
doxygen - <<DOXYFILE
PROJECT_NAME = Stretto
INPUT = $PWD/include/stretto
FILE_PATTERNS = *.hpp
RECURSIVE = YES
EXCLUDE_SYMBOLS = stretto::detail stretto::OwnedOperator
STRIP_FROM_PATH = $PWD/include
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
OUTPUT_DIRECTORY = $out
WARN_IF_UNDOCUMENTED = NO
QUIET = YES
DOXYFILE

STRETTO_SOURCES=$PWD STRETTO_DOXYGEN=$out/xml "$out/venv/bin/sphinx-build" -q -W --keep-going -d "$out/doctrees" -b html "$out/source" "$out/html"
echo "docs.sh: $out/html/index.html"
