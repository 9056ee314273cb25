#!/bin/sh
# Tries the packages in /srv/limitree/debs as those who install them would.
# Run by try_debs.sh, as root in an empty Debian system.
#
# usage: try_debs_inside.sh <install | use | serve | compile | remove>
set -eu
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

# apt <command ...>: its log has no bars of progress.
apt() { apt-get --yes -o Dpkg::Use-Pty=0 "$@"; }
apt_install() { apt install --no-install-recommends "$@"; }

# All that has the name, but for what was put here to try.
find_ours() {
  find / -xdev \( -path /srv -o -path /tmp \) -prune -o \
    -iname '*limitree*' -print
}

# contains <text> <part>
contains() {
  case $1 in
    *"$2"*) ;;
    *) fail "expected \"$2\" in: $1" ;;
  esac
}

# ---- without compilers ------------------------------------------------------

try_install() {
  apt update
  apt_install ./debs/liblimitree0_*.deb ./debs/limitree_*.deb \
    ./debs/limitree-service_*.deb
  ! command -v cc || fail "there is a compiler"
}

try_use() {
  version=$(dpkg-query --show --showformat '${Version}' limitree)
  contains "$(limitree --version)" "${version%%-*}"
  contains "$(limitree check limits.yaml)" trade
  contains "$(limitree try limits.yaml user alex trade --times 8)" '8  limited'
  pages=$(limitree --help |
    sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
  contains "$pages" serve
  for page in limitree $(printf 'limitree-%s ' $pages); do
    [ -f "/usr/share/man/man1/$page.1.gz" ] || fail "no man page: $page"
  done
}

# ---- the service, without systemd -------------------------------------------

# ask: a decision on a client whose address has a limit.
ask() {
  # shellcheck disable=SC2016 # for the other shell
  bash -c 'exec 3<>/dev/tcp/127.0.0.1/8080 &&
    printf "POST /json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" \
      >&3 &&
    printf "Content-Length: %d\r\n\r\n%s" ${#1} "$1" >&3 && cat <&3' ask \
    '{"domain": "try", "descriptors": [{"entries": [{"key": "client"}]}]}'
}

# ask_until <part of the answer>: for up to ten seconds.
ask_until() {
  for _ in $(seq 100); do
    answer=$(ask 2>&1 || true)
    case $answer in *"$1"*) return 0 ;; esac
    sleep 0.1
  done
  fail "no answer with \"$1\": $answer"
}

# As its user, with the words of its unit: systemd splits the variable, too.
try_serve() {
  wanted=/etc/systemd/system/multi-user.target.wants/limitree.service
  [ -L $wanted ] || fail "the service is not enabled"
  contains "$(getent passwd limitree)" nologin
  . /etc/limitree/environment
  eval "set -- $(sed -n 's/^ExecStart=//p' $wanted)"
  setpriv --reuid=limitree --regid=limitree --clear-groups "$@" &
  serve=$!
  trap 'kill -KILL $serve 2>/dev/null || true' EXIT
  ask_until '"overallCode":"OK"'
  printf '%s\n' 'domain: try' 'descriptors: [{key: client, rate_limit: ' \
    '  {unit: year, requests_per_unit: 3}}]' \
    >/etc/limitree/descriptors/try.yaml
  ask_until '"overallCode":"OVER_LIMIT"'
  kill -TERM $serve
  wait $serve || fail "the service ended with $?"
}

# ---- with compilers ---------------------------------------------------------

try_compile() {
  apt_install ./debs/liblimitree-dev_*.deb g++ cmake make pkg-config
  work=$(mktemp -d)
  shared=$(pkg-config --cflags --libs limitree)
  static=$(pkg-config --static --cflags --libs limitree |
    sed 's/-llimitree/-l:liblimitree.a/')
  # shellcheck disable=SC2086 # lists of words
  {
    cc install/main.c -o "$work/shared" $shared
    cc install/main.c -o "$work/static" $static
    c++ -std=c++20 install/main.cpp -o "$work/cpp" $shared
  }
  for program in shared static cpp; do "$work/$program"; done
  contains "$(ldd "$work/shared")" liblimitree.so.0
  ! ldd "$work/static" | grep liblimitree || fail "it is not static"

  cmake -S install/cmake_project -B "$work/cmake"
  cmake --build "$work/cmake"
  for program in with_shared with_static with_cpp; do
    "$work/cmake/$program"
  done
  rm -rf "$work"
}

# ---- away with it -----------------------------------------------------------

# The files of an administrator stay, and nothing else.
try_remove() {
  apt remove limitree-service
  [ -f /etc/limitree/environment ] || fail "remove took the configuration"
  apt purge limitree limitree-service liblimitree0 liblimitree-dev
  [ -f /etc/limitree/descriptors/try.yaml ] || fail "purge took a descriptor"
  rm -r /etc/limitree
  nothing_left

  # A second time, with an upgrade to the same version.
  packages="./debs/liblimitree0_*.deb ./debs/limitree_*.deb
    ./debs/limitree-service_*.deb"
  # shellcheck disable=SC2086 # a list of words
  {
    apt_install $packages
    apt_install --reinstall $packages
  }
  apt purge limitree limitree-service liblimitree0
  nothing_left
}

nothing_left() {
  ours=$(find_ours)
  [ -z "$ours" ] || fail "left behind: $ours"
  ! getent passwd limitree || fail "the user is left"
  ! ldconfig -p | grep limitree || fail "ldconfig knows the library"
}

case ${1-} in
  install | use | serve | compile | remove) ;;
  *) fail "no such part: ${1-}" ;;
esac
printf '\n==== %s\n' "$1"
"try_$1"
