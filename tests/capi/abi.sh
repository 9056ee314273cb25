#!/bin/sh
# Compares the shared library with the recorded interface of its ABI number.
#
# Functions may have come; any other difference, in a function or in a type it
# takes, fails.  If the difference is meant, docs/releasing.md says what to do.
#
# usage: abi.sh <liblimitree.so> <folder of limitree.h> <recorded dump>
set -eu
library=$1 headers=$2 recorded=$3

dump=$(mktemp)
trap 'rm -f "$dump"' EXIT
abidw --no-corpus-path --no-comp-dir-path --headers-dir "$headers" \
  --drop-private-types --out-file "$dump" "$library"
abidiff --no-added-syms --harmless "$recorded" "$dump"
