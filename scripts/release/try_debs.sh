#!/bin/sh
# Builds the packages for Debian with the last commit, each suite's in an empty
# system of that suite, and tries them in a second one without compilers: see
# try_debs_inside.sh.
#
# <folder>/<suite> gets the packages; if it has some already, they are tried
# instead.  Prints a row for each suite, and keeps the rest in
# build/log/debs-<suite>.log.
#
# usage: scripts/release/try_debs.sh [--twice] <folder> <suite ...>
#   --twice  builds in another folder, too, without a cache: the bytes must be
#            the same
set -eu
cd "$(dirname "$0")/../.."
. scripts/debian_roots.sh

# in_workshop <suite> <command>: in the system that has compilers.
in_workshop() { run_in "$1.workshop" "$2"; }

# get_source <suite> <folder>: a clone, below /root of the workshop.
get_source() {
  rm -rf "$ROOTS/$1.workshop/root/$2"
  git clone --quiet --no-local . "$ROOTS/$1.workshop/root/$2"
}

# build_debs <suite>: into $debs.
build_debs() {
  get_source "$1" limitree
  in_workshop "$1" "cd limitree && ./dev build debian"
  mkdir -p "$debs"
  cp "$ROOTS/$1.workshop/root/limitree/build/debian"/*.deb "$debs/"
}

# A longer path, and no object of the first time.
build_again() {
  get_source "$1" other/folder/limitree
  in_workshop "$1" \
    "cd other/folder/limitree && CCACHE_DISABLE=1 ./dev build debian"
  for deb in "$debs"/*.deb; do
    cmp "$deb" "$ROOTS/$1.workshop/root/other/folder/limitree/build/debian/$(
      basename "$deb")"
  done
}

# run_lintian <suite>: that of the suite, whose rules differ from others'.
run_lintian() {
  in_workshop "$1" "apt-get update && DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends lintian"
  rm -rf "$ROOTS/$1.workshop/root/debs"
  cp -r "$debs" "$ROOTS/$1.workshop/root/debs"
  in_workshop "$1" "lintian --fail-on none debs/*.deb" \
    >"build/log/lintian-$1.new"
  mv "build/log/lintian-$1.new" "build/log/lintian-$1.log"
  cat "build/log/lintian-$1.log"
  [ "$(count E "$1")" -eq 0 ]
}

# try_inside <suite>: alone, with a network of its own for the ports of the
# service after what needs that of the machine.
try_inside() {
  make_root "$1" "$1.debs"
  inside=$ROOTS/$1.debs/srv/limitree
  mkdir -p "$inside"
  cp -r "$debs" "$inside/debs"
  cp -r tests/install examples/limits.yaml scripts/release/try_debs_inside.sh \
    "$inside/"
  for part in install use serve compile remove; do
    if [ $part = serve ]; then
      run_alone "$1.debs" "sh /srv/limitree/try_debs_inside.sh $part"
    else
      run_in "$1.debs" "sh /srv/limitree/try_debs_inside.sh $part"
    fi
  done
}

# try_suite <suite>: everything.  Not to be called in a condition, which would
# let a failed command pass.
try_suite() {
  set -eu
  debs=$folder/$1
  make_root "$1" "$1.workshop"
  if ! ls "$debs"/*.deb >/dev/null 2>&1; then build_debs "$1"; fi
  if [ -n "$twice" ]; then build_again "$1"; fi
  run_lintian "$1"
  try_inside "$1"
}

# count <letter> <suite>: lines of lintian with that letter; "-" before it ran.
count() {
  if [ -f "build/log/lintian-$2.log" ]; then
    grep -c "^$1: " "build/log/lintian-$2.log" || true
  else
    echo -
  fi
}

# print_row <suite> <ok | FAILED>
print_row() {
  set -- "$1" "$2" "$folder/$1"/liblimitree-dev_*.deb
  version=$(dpkg-deb --field "$3" Version 2>/dev/null || echo -)
  size=$(cat "$folder/$1"/*.deb 2>/dev/null | wc -c)
  printf '%-9s %-16s %6s KiB   lintian %s errors, %s warnings   %s\n' "$1" \
    "$version" $((size / 1024)) "$(count E "$1")" "$(count W "$1")" "$2"
}

twice=''
if [ "${1-}" = --twice ]; then
  twice=yes
  shift
fi
[ $# -ge 2 ] || fail "usage: [--twice] <folder> <suite ...>"
mkdir -p "$1" build/log
folder=$(cd "$1" && pwd)
shift

start_roots
failed=''
for suite in "$@"; do
  log=build/log/debs-$suite.log
  rm -f "build/log/lintian-$suite.log"
  set +e
  (
    leave_roots_at_end
    try_suite "$suite"
  ) >"$log" 2>&1
  result=$?
  set -e
  if [ $result -eq 0 ]; then
    print_row "$suite" "ok${twice:+, same bytes twice}"
  else
    failed="$failed $suite"
    print_row "$suite" FAILED
    tail -n 20 "$log"
    printf '%s\n' "all of it: $log"
  fi
done
[ -z "$failed" ] || fail "failed in$failed"
