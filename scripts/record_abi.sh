#!/bin/sh
# Records the interface of the shared library in capi/abi/limitree.abi, against
# which later builds are compared.  docs/releasing.md says when to do that.
#
# usage: scripts/record_abi.sh [liblimitree.so]
set -eu
cd "$(dirname "$0")/.."
library=${1-build/release/capi/liblimitree.so}

mkdir -p capi/abi
abidw --no-corpus-path --no-comp-dir-path --headers-dir capi \
  --drop-private-types --out-file capi/abi/limitree.abi "$library"
echo "recorded $(grep -c '<elf-symbol ' capi/abi/limitree.abi) functions" \
  "in capi/abi/limitree.abi"
