# Functions for scripts that run things in empty Debian systems; sourced.
#
# Each system is a folder made by debootstrap, with git and certificates and
# nothing else.  Needs debootstrap, and root to mount /proc and /dev there.  The
# empty systems are kept in LIMITREE_ROOTS, so that the second run downloads
# less.  A script that sources this calls `start_roots` first.
#
# shellcheck shell=sh

ROOTS=${LIMITREE_ROOTS:-/var/tmp/limitree-roots}

fail() {
  printf '%s\n' "$(basename "$0" .sh): $*" >&2
  exit 1
}

# start_roots: checks what is needed, and waits until no other run uses the same
# systems.
start_roots() {
  [ "$(id -u)" -eq 0 ] || fail "needs root"
  command -v debootstrap >/dev/null || fail "needs debootstrap"
  mkdir -p "$ROOTS"
  exec 9>"$ROOTS/.lock"
  if ! flock --nonblock 9; then
    printf '%s\n' "waiting for another run that uses $ROOTS" >&2
    flock 9
  fi
  leave_roots_at_end
}

# leave_roots_at_end: then nothing stays mounted that this shell has made; a
# subshell calls it for itself.
leave_roots_at_end() {
  made=''
  trap 'for one in $made; do leave "$one"; done' EXIT
  trap 'exit 1' HUP INT TERM
}

# make_base <suite>: a system as debootstrap makes it, once.
make_base() {
  if [ -f "$ROOTS/$1.base/.made" ]; then return 0; fi
  rm -rf "$ROOTS/$1.base"
  printf '%s\n' "making an empty Debian system, $1" >&2
  # The mirror of this machine; debootstrap knows one if there is none.
  mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' \
    /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)
  # shellcheck disable=SC2086 # nothing if there is no mirror
  debootstrap --variant=minbase --include=git,ca-certificates \
    "$1" "$ROOTS/$1.base" $mirror >"$ROOTS/$1.log" 2>&1 ||
    fail "debootstrap: see $ROOTS/$1.log"
  touch "$ROOTS/$1.base/.made"
}

# make_root <suite> <name>: a fresh copy of the suite's empty system, with what
# this machine needs to reach others.
make_root() {
  make_base "$1"
  root=$ROOTS/$2
  made="$made $root"
  leave "$root"
  rm -rf "$root"
  cp -a "$ROOTS/$1.base" "$root"
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  if [ -d /usr/local/share/ca-certificates ]; then
    cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
    chroot "$root" update-ca-certificates >/dev/null 2>&1
  fi
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

# run_in <name> <command>: in /root, without a terminal, and with nothing of
# this machine's environment but how it reaches others.  What it leaves running
# does not keep the lock.
run_in() {
  reach=$(env | grep -iE \
    '^(http|https|no)_proxy=|^(PIP_INDEX_URL|PIP_CERT|NODE_EXTRA_CA_CERTS)=' ||
    true)
  # shellcheck disable=SC2086 # one word for each variable
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true \
    $reach chroot "$ROOTS/$1" /bin/sh -c "cd /root && $2" </dev/null 9>&-
}

# run_alone <name> <command>: as run_in, with a network of its own that reaches
# only itself, so that every port is free.
run_alone() {
  unshare --net sh -c 'ip link set lo up && . scripts/debian_roots.sh &&
    run_in "$@"' run_alone "$@"
}

# attempt <suite> <what> <command ...>: prints a row, with the last line of the
# file $row if the command writes one there, or else with <what>.  Its output
# goes to $log; if it fails, the suite is added to $failed.
attempt() {
  suite=$1
  what=$2
  shift 2
  : >"$row"
  set +e
  (
    set -eu
    "$@"
  ) >>"$log" 2>&1
  result=$?
  set -e
  if [ $result -eq 0 ]; then
    if [ -s "$row" ]; then what=$(tail -n 1 "$row"); fi
    printf '%-9s ok      %s\n' "$suite" "$what"
  else
    failed="$failed $suite"
    printf '%-9s FAILED  %s; see %s\n' "$suite" "$what" "$log"
    tail -n 10 "$log"
  fi
}
