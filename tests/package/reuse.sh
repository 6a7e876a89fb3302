#!/bin/sh
# reuse.sh COMPILER ARGUMENT…: a compiler's launcher. An object of the library that is in STRETTO_OBJECTS is taken as it is;
# all else is compiled.
object='' before=''
for argument in "$@"; do
    [ "$before" = -o ] && object=$argument
    before=$argument
done
made=$STRETTO_OBJECTS/${object##*stretto.dir/}
case $object in
    *stretto.dir/*.o) [ -f "$made" ] && exec cp "$made" "$object" ;;
esac
exec "$@"
