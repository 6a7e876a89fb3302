#!/usr/bin/env bash
# deb.sh [OPTION…]: Debian's packages of what is committed, made from its archive with the files of packaging/debian, into dist/deb.
# The options are dpkg-buildpackage's. The library's package has the version of its ABI in its name, as the library has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
archive=$(tools/archive.sh)
version=${archive#dist/stretto-} version=${version%.tar.gz}
abi=${version%.*}
date=$(git log -1 --format=%aD)

rm -rf build/deb dist/deb
mkdir -p build/deb dist/deb
cp "$archive" "build/deb/stretto_$version.orig.tar.gz"
tar -xf "$archive" -C build/deb
cd "build/deb/stretto-$version"
cp -r packaging/debian debian
sed -i "s/@ABI@/$abi/" debian/control
mv debian/libstretto.install "debian/libstretto$abi.install"
maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
cat > debian/changelog <<END
stretto ($version-1) unstable; urgency=medium

  * Version $version; CHANGELOG.md says what is new.

 -- $maintainer  $date
END
dpkg-buildpackage -us -uc "$@"
cd ..
find . -maxdepth 1 -type f -exec mv -t ../../dist/deb {} +
