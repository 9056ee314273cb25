#!/bin/sh
# Compares the shared library with the recorded interface of its ABI number.
#
# Functions may have come; any other difference, in a function or in a type it
# takes, fails.  If the difference is meant, docs/releasing.md says what to do.
#
# usage: abi.sh <liblimitree.so> <root of the sources>
set -eu
library=$1 root=$2

record=$(mktemp)
trap 'rm -f "$record"' EXIT
"$root/scripts/record_abi.sh" "$library" "$record"
abidiff --no-added-syms --harmless "$root/capi/abi/limitree.abi" "$record"
