#!/usr/bin/env bash
# setup.sh GROUP…: installs what the groups (build, openmpi, mpich, clang, check, peers, petsc, petsc-programs, simulate, python, docs,
# browser, deb, abi, campaign) take and this machine lacks, from Debian's packages. Does nothing, quickly, where all is there.
set -euo pipefail

packages=()
for group in "$@"; do
    case $group in
        build) packages+=(g++ cmake ninja-build ccache pkg-config zlib1g-dev libfmt-dev libcli11-dev
                          nlohmann-json3-dev libgtest-dev libbenchmark-dev libopenblas-openmp-dev liblapack-dev
                          libsuitesparse-dev libmetis-dev libtbb-dev python3 valgrind) ;;
        openmpi) packages+=(libopenmpi-dev openmpi-bin libhypre-dev) ;;
        mpich) packages+=(libmpich-dev mpich) ;;
        clang) packages+=(clang-19 libomp-19-dev) ;;
        peers) packages+=(libpetsc-real-dev libhypre-dev libhmat-oss-dev make python3-venv) ;;
        petsc) packages+=(libopenmpi-dev openmpi-bin libpetsc-real-dev) ;;
        petsc-programs) packages+=(libpetsc3.18-dev-examples python3-petsc4py fenicsx-performance-tests python3-dolfinx
                                  dolfinx-doc getdp) ;;
        simulate) packages+=(libsimgrid-dev) ;;
        python) packages+=(python3-dev python3-venv python3-numpy python3-scipy python3-mpi4py python3-pytest python3-matplotlib
                           python3-numba python3-tqdm python3-meshio) ;;
        docs) packages+=(doxygen python3-venv) ;;
        browser) packages+=(chromium fonts-dejavu-core) ;;
        campaign) packages+=(clang-19 libclang-rt-19-dev valgrind python3-numpy python3-scipy python3-mpi4py) ;;
        deb) packages+=(dpkg-dev debhelper fakeroot help2man lintian) ;;
        abi) packages+=(abigail-tools) ;;
        check) packages+=(clang-format-19 clang-tidy-19 shellcheck python3-venv) ;;
        *) echo "setup.sh: unknown group '$group' (build, openmpi, mpich, clang, check, peers, petsc, petsc-programs, simulate, python, docs, browser, deb, abi, campaign)" >&2; exit 2 ;;
    esac
done

if ! command -v dpkg-query >/dev/null; then
    echo "setup.sh: not a Debian system; going on as if these, or their like, were installed: ${packages[*]}" >&2
    exit 0
fi

# A package counts as there when Debian installed it, or when the command it brings comes from elsewhere.
declare -A installed=()
while read -r package status; do
    [[ $status == installed ]] && installed[$package]=1
done < <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
    case $package in
        ninja-build) command=ninja ;;
        lib* | *-dev | openmpi-bin | mpich) command= ;;
        *) command=$package ;;
    esac
    [[ -n ${installed[$package]:-} ]] || { [[ -n $command ]] && command -v "$command" >/dev/null; } || missing+=("$package")
done
((${#missing[@]})) || exit 0

install=(apt-get install -y --no-install-recommends "${missing[@]}")
if ((EUID == 0)); then
    as_root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 && -t 2 ]]; }; then
    as_root=(sudo)  # asks for the password on a terminal
else
    echo "Missing packages, and no way to become root here. Please run as root:" >&2
    echo "    apt-get update && ${install[*]}" >&2
    exit 2
fi
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}"
