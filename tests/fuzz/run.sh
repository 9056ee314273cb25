#!/bin/sh
# Runs a fuzzer for LIMITREE_FUZZ_SECONDS (1) on a copy of its corpus: what it
# adds is thrown away, but an input that breaks something is kept beside it.
#
# usage: run.sh <fuzzer> <folder with inputs> ...
set -eu
fuzzer=$1
shift

corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
trap 'exit 1' INT TERM
for folder in "$@"; do
  if [ -d "$folder" ]; then
    find "$folder" -type f -size -64k -exec cp {} "$corpus" \;
  fi
done

status=0
"$fuzzer" -max_total_time="${LIMITREE_FUZZ_SECONDS-1}" -timeout=10 \
  -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$fuzzer-" \
  "$corpus" >"$fuzzer.log" 2>&1 || status=$?
tail -n 60 "$fuzzer.log"
exit "$status"
