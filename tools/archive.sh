#!/usr/bin/env bash
# archive.sh: what is committed as dist/stretto-VERSION.tar.gz, which builds without git. The last line says where it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -n 's/^project(Stretto VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
grep -qx "version: $version" CITATION.cff || { echo "archive.sh: CITATION.cff has another version than $version" >&2; exit 1; }
mkdir -p dist
git archive --prefix="stretto-$version/" -o "dist/stretto-$version.tar.gz" HEAD
echo "dist/stretto-$version.tar.gz"
