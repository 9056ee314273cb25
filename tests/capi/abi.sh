#!/bin/sh
# Compares the shared library with the recorded interface of its ABI number.
#
# New functions are allowed.  Any other difference fails, in a function or in a
# type that it takes.  If it is intended, docs/releasing.md says what to do.
#
# usage: abi.sh <liblimitree.so> <root of the sources>
set -eu
library=$1 root=$2

record=$(mktemp)
trap 'rm -f "$record"' EXIT
"$root/scripts/record_abi.sh" "$library" "$record"
abidiff --no-added-syms --harmless "$root/capi/abi/limitree.abi" "$record"
