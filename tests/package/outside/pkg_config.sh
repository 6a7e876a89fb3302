#!/usr/bin/env bash
# pkg_config.sh PKG_CONFIG_PATH PROGRAM COMPILER RUN…: builds main.cpp against the installed Stretto and runs it.
set -euo pipefail
export PKG_CONFIG_PATH=$1
program=$2
read -ra compile <<<"$3"
shift 3
flags=$(pkg-config --cflags --libs stretto)
read -ra flags <<<"$flags"
"${compile[@]}" -std=c++20 "$(dirname "$0")/main.cpp" -o "$program" "${flags[@]}" \
    "-Wl,-rpath,$(pkg-config --variable=libdir stretto)"
exec "$@" "$program"
