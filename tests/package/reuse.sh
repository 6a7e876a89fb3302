#!/bin/sh
# reuse.sh BUILD COMPILER ARGUMENT…: what a compiler's launcher gives: an object of the library that BUILD has made is
# taken as it is; all else is compiled.
build=$1
shift
object='' before=''
for argument in "$@"; do
    [ "$before" = -o ] && object=$argument
    before=$argument
done
made=$build/CMakeFiles/stretto.dir/${object##*stretto.dir/}
case $object in
    *stretto.dir/*.o) [ -f "$made" ] && exec cp "$made" "$object" ;;
esac
exec "$@"
