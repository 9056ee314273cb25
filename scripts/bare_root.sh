#!/bin/sh
# Runs ./dev demo and ./dev test with the last commit in empty Debian systems.
#
# scripts/debian_roots.sh makes them; each run removes what the last one
# installed and built.
#
# usage: scripts/bare_root.sh [bookworm | trixie ...] [-- command ...]
#   default: both, and the commands below
set -eu
cd "$(dirname "$0")/.."
. scripts/debian_roots.sh

DEFAULT='./dev demo && ./dev test gcc'

suites=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  suites="$suites $1"
  shift
done
if [ $# -gt 0 ]; then shift; fi
command=${*:-$DEFAULT}

start_roots
failed=''
for suite in ${suites:-bookworm trixie}; do
  make_root "$suite" "$suite"
  git clone --quiet --no-local . "$ROOTS/$suite/root/limitree"
  printf '\n%s\n' "---- $suite: $command"
  run_in "$suite" "cd limitree && $command" || failed="$failed $suite"
done
[ -z "$failed" ] || fail "failed in$failed"
printf '\n%s\n' "passed in${suites:- bookworm trixie}"
