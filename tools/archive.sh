#!/usr/bin/env bash
# archive.sh: what is committed as dist/stretto-VERSION.tar.gz, which builds without git. The last line says where it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(git show HEAD:CMakeLists.txt | sed -n 's/^project(Stretto VERSION \([0-9.]*\).*/\1/p')
git diff --quiet HEAD || echo "archive.sh: what is not committed is left out" >&2
git show HEAD:CITATION.cff | grep -qx "version: $version" || { echo "archive.sh: CITATION.cff has another version than $version" >&2; exit 1; }
git show HEAD:packaging/package.py | grep -qF "version(\"$version\")" || { echo "archive.sh: packaging/package.py has another version than $version" >&2; exit 1; }
git show HEAD:CHANGELOG.md | grep -qF "## [$version]" || { echo "archive.sh: CHANGELOG.md says nothing of $version" >&2; exit 1; }
mkdir -p dist
git archive --prefix="stretto-$version/" -o "dist/stretto-$version.tar.gz" HEAD
echo "dist/stretto-$version.tar.gz"
