#!/bin/sh
# Installs the wheels and the packages for npm of this machine's platform in
# empty Debian systems, and decides there: without a compiler, without -dev
# packages, without the network, with the Python of the system and with each
# folder of <nodes>, which has node and npm.
#
# Prints a row for each interpreter; the rest is in build/log.
#
# usage: scripts/release/try_binaries.sh <dist> <nodes> <suite ...>
set -eu
cd "$(dirname "$0")/../.."
. scripts/debian_roots.sh

# try_python: in a system; the wheels are in /srv/limitree.  A mirror may be
# late with the lists of Debian testing, which does no harm here: nothing of it
# gets into a package.
try_python() {
  run_in "$1" "apt-get --option Acquire::Check-Valid-Until=false update &&
    DEBIAN_FRONTEND=noninteractive apt-get install --yes \
      --no-install-recommends python3 python3-venv"
  run_in "$1" "! command -v cc && python3 -m venv venv &&
    venv/bin/pip install --no-index --find-links /srv/limitree limitree"
  run_alone "$1" "venv/bin/python /srv/limitree/decide.py \
    /srv/limitree/limits.yaml" >"$row"
}

# try_node <root> <node>: the same with that version of Node.js.
try_node() {
  run_alone "$1" "rm -rf app && mkdir app && cd app && export \
    PATH=/srv/limitree/nodes/$2/node_modules/.bin:\$PATH &&
    npm init --yes >/dev/null && npm install --offline --ignore-scripts \
      --no-audit --no-fund /srv/limitree/npm/limitree-[0-9]*.tgz \
      /srv/limitree/npm/limitree-linux-x64-[0-9]*.tgz &&
    cp /srv/limitree/decide.mjs . && node decide.mjs \
      /srv/limitree/limits.yaml >/root/row"
  cp "$ROOTS/$1/root/row" "$row"
}

[ $# -ge 3 ] || fail "usage: <dist> <nodes> <suite ...>"
dist=$1
nodes=$2
shift 2
mkdir -p build/log
row=$(mktemp)
start_roots
failed=''
for suite in "$@"; do
  log=build/log/binaries-$suite.log
  : >"$log"
  make_root "$suite" "$suite.binaries"
  inside=$ROOTS/$suite.binaries/srv/limitree
  mkdir -p "$inside"
  cp -r "$dist"/*manylinux*x86_64*.whl "$dist/npm" examples/limits.yaml \
    scripts/release/decide.py scripts/release/decide.mjs "$inside/"
  cp -r "$nodes" "$inside/nodes"
  attempt "$suite" "its Python" try_python "$suite.binaries"
  for node in "$nodes"/*/; do
    attempt "$suite" "Node.js $(basename "$node")" try_node \
      "$suite.binaries" "$(basename "$node")"
  done
  leave "$ROOTS/$suite.binaries"
done
rm -f "$row"
[ -z "$failed" ] || fail "failed in$failed"
