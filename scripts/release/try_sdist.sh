#!/bin/sh
# Installs the source package in empty Debian systems: without the libraries
# that it needs, without the network, and with everything.
#
# Prints a row for each; the rest is in build/log.
#
# usage: scripts/release/try_sdist.sh <limitree.tar.gz> <suite ...>
set -eu
cd "$(dirname "$0")/../.."
. scripts/debian_roots.sh

PACKAGES='g++ make pkg-config libyaml-dev libhiredis-dev libssl-dev python3-dev'

apt_install() {
  run_in "$1" "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get \
    install --yes --no-install-recommends $2"
}

# says <root> <how> <words> <command>: it fails, and says so in one line.
says() {
  if "$2" "$1" "$4" >"$out" 2>&1; then
    cat "$out"
    return 1
  fi
  cat "$out"
  [ "$(grep -c "limitree cannot be built" "$out")" -ge 1 ]
  grep "limitree cannot be built" "$out" | grep -q -- "$3"
  ! grep -q Traceback "$out"
}

without_libraries() {
  says "$1" run_in libhiredis-dev "venv/bin/pip install /root/$tarball"
}

without_network() {
  apt_install "$1" "$PACKAGES"
  says "$1" run_alone network "venv/bin/pip install --retries 0 /root/$tarball"
}

with_everything() {
  run_in "$1" "venv/bin/pip install /root/$tarball"
  run_alone "$1" "cp -r /srv/limitree try && cd try &&
    ../venv/bin/python decide.py limits.yaml"
}

[ $# -ge 2 ] || fail "usage: <limitree.tar.gz> <suite ...>"
file=$1
tarball=$(basename "$file")
shift
mkdir -p build/log
out=$(mktemp)
row=$(mktemp)
start_roots
failed=''
for suite in "$@"; do
  log=build/log/sdist-$suite.log
  : >"$log"
  make_root "$suite" "$suite.sdist"
  mkdir -p "$ROOTS/$suite.sdist/srv/limitree"
  cp examples/limits.yaml scripts/release/decide.py \
    "$ROOTS/$suite.sdist/srv/limitree/"
  cp "$file" "$ROOTS/$suite.sdist/root/"
  apt_install "$suite.sdist" "python3 python3-venv" >>"$log" 2>&1
  run_in "$suite.sdist" "python3 -m venv venv" >>"$log" 2>&1
  attempt "$suite" "without libraries it says what to install" \
    without_libraries "$suite.sdist"
  attempt "$suite" "without the network it says what is missing" \
    without_network "$suite.sdist"
  attempt "$suite" "with everything it builds, and decides" \
    with_everything "$suite.sdist"
  leave "$ROOTS/$suite.sdist"
done
rm -f "$out" "$row"
[ -z "$failed" ] || fail "failed in$failed"
