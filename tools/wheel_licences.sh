#!/usr/bin/env bash
# wheel_licences.sh WHEEL: puts the licences of what auditwheel has put into a wheel beside that of Stretto, as Debian has them.
set -euo pipefail
wheel=$(realpath "${1:?wheel_licences.sh WHEEL}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-python3}
"$python" -m wheel unpack -d "$work" "$wheel" >/dev/null
cd "$work"/*/
licences=$(echo ./*.dist-info)/licenses
mkdir -p "$licences"
for library in *.libs/*; do
    name=$(basename "$library" | sed -E 's/-[0-9a-f]{8}\./\./')  # auditwheel has put a sum into it
    package=$(dpkg-query -S "*/$name" | head -n 1)
    package=${package%%:*}
    cp -L "/usr/share/doc/$package/copyright" "$licences/$package"
done
"$python" -m wheel pack -d "$(dirname "$wheel")" . >/dev/null
ls "$licences"
