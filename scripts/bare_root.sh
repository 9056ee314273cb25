#!/bin/sh
# Runs ./dev demo and ./dev test with the last commit in empty Debian systems.
#
# Each system is a folder made by debootstrap, with git and certificates and
# nothing else.  Needs debootstrap, and root to mount /proc and /dev there.  The
# empty systems are kept in LIMITREE_ROOTS, so that the second run downloads
# less; each run removes what the last one installed and built.
#
# usage: scripts/bare_root.sh [bookworm | trixie ...] [-- command ...]
#   default: both, and the commands below
set -eu
cd "$(dirname "$0")/.."

TOP=$PWD
ROOTS=${LIMITREE_ROOTS:-/var/tmp/limitree-roots}
DEFAULT='./dev demo && ./dev test house release python server node'

fail() {
  printf '%s\n' "bare_root: $*" >&2
  exit 1
}

# make_base <suite>: a system as debootstrap makes it, once.
make_base() {
  if [ -f "$ROOTS/$1.base/.made" ]; then return 0; fi
  rm -rf "$ROOTS/$1.base"
  printf '%s\n' "making an empty Debian system, $1"
  # The mirror of this machine; debootstrap knows one if there is none.
  mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' \
    /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
  # shellcheck disable=SC2086 # nothing if there is no mirror
  debootstrap --variant=minbase --include=git,ca-certificates \
    "$1" "$ROOTS/$1.base" $mirror >"$ROOTS/$1.log" 2>&1 ||
    fail "debootstrap: see $ROOTS/$1.log"
  touch "$ROOTS/$1.base/.made"
}

# make_root <suite>: a fresh copy, with what this machine needs to reach others.
make_root() {
  root=$ROOTS/$1
  leave "$root"
  rm -rf "$root"
  cp -a "$ROOTS/$1.base" "$root"
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  if [ -d /usr/local/share/ca-certificates ]; then
    cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
    chroot "$root" update-ca-certificates >/dev/null 2>&1
  fi
  git clone --quiet --no-local "$TOP" "$root/root/limitree"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount --make-rslave "$root/dev"
}

# leave <root>: unmounts everything there, before the folder is removed; a test
# that was interrupted leaves a network namespace mounted.
leave() {
  awk -v root="$1/" 'index($2, root) == 1 { print $2 }' /proc/mounts |
    sort -r | while read -r mounted; do
    umount -l "$mounted" 2>/dev/null || true
  done
}

# run_in <suite> <command>: without a terminal, and with nothing of this
# machine's environment but how it reaches others.
run_in() {
  root=$ROOTS/$1
  reach=$(env | grep -iE \
    '^(http|https|no)_proxy=|^(PIP_INDEX_URL|PIP_CERT|NODE_EXTRA_CA_CERTS)=' ||
    true)
  # shellcheck disable=SC2086 # one word for each variable
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true \
    $reach chroot "$root" /bin/sh -c "cd /root/limitree && $2" </dev/null
}

trap 'for one in "$ROOTS"/*; do leave "$one"; done' EXIT
trap 'exit 1' HUP INT TERM

suites=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  suites="$suites $1"
  shift
done
if [ $# -gt 0 ]; then shift; fi
command=${*:-$DEFAULT}

[ "$(id -u)" -eq 0 ] || fail "needs root"
command -v debootstrap >/dev/null || fail "needs debootstrap"
mkdir -p "$ROOTS"

failed=''
for suite in ${suites:-bookworm trixie}; do
  make_base "$suite"
  make_root "$suite"
  printf '\n%s\n' "---- $suite: $command"
  run_in "$suite" "$command" || failed="$failed $suite"
done
[ -z "$failed" ] || fail "failed in$failed"
printf '\n%s\n' "passed in${suites:- bookworm trixie}"
