#!/bin/sh
# Formats the C and C++ sources, or with --check says what is not formatted.
#
# Usage: format.sh [--check]
#
# Only clang-format 14 counts, because other versions break lines differently.
# If it is missing the script returns 77, which the tests report as skipped.
set -eu
cd "$(dirname "$0")/.."

case $#:${1-} in
  0: | 1:--check) ;;
  1:--help | 1:-h)
    sed -n '2,/^set/s/^# \{0,1\}//p' scripts/format.sh
    exit 0
    ;;
  *)
    echo "format.sh: unknown argument: $*; there is --check" >&2
    exit 2
    ;;
esac

for tool in clang-format-14 clang-format none; do
  if "$tool" --version 2>/dev/null | grep -q 'version 14\.'; then
    break
  fi
done
if [ "$tool" = none ]; then
  echo "clang-format 14 is not installed" >&2
  exit 77
fi

if [ "${1-}" = --check ]; then
  set -- --dry-run -Werror
else
  set -- -i
fi
# An unpacked archive has no list of files in git.
if ! files=$(git ls-files --cached --others --exclude-standard 2>/dev/null)
then
  files=$(find bench bindings capi core examples io server tests -type f)
fi
printf '%s\n' "$files" | grep -E '\.(c|h|cpp|hpp)$' | grep -v '^tests/data/' |
  while read -r file; do
    if [ -f "$file" ]; then printf '%s\n' "$file"; fi
  done | xargs "$tool" --style=file "$@"
