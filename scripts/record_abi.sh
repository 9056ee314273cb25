#!/bin/sh
# Records the interface of the shared library in capi/abi/limitree.abi, against
# which later builds are compared.  docs/releasing.md says when to do that.
#
# usage: scripts/record_abi.sh [liblimitree.so [record]]
set -eu
cd "$(dirname "$0")/.."
library=${1-build/release/capi/liblimitree.so}
record=${2-capi/abi/limitree.abi}

# Types that are not in limitree.h, such as those behind the handles, are left
# out, and so are positions in files, which change with every comment.
public=$(mktemp -d)
trap 'rm -rf "$public"' EXIT
cp capi/limitree.h "$public"
abidw --exported-interfaces-only --headers-dir "$public" --drop-private-types \
  --no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed \
  --out-file "$record" "$library"
if ! grep -q '<abi-instr ' "$record"; then
  echo "record_abi.sh: $library has no debug information" >&2
  exit 1
fi
echo "$(grep -c '<elf-symbol ' "$record") functions in $record"
