#!/bin/sh
# Makes the file system of an image: `limitree serve` and what it needs, nothing
# else.
#
# Usage: image_root.sh <folder of a build> <new folder>
#
# server/package/Dockerfile puts it into an empty image.  A test runs it as a
# container would: as user 65534, on a root that is only read.
set -eu

fail() {
  echo "image_root.sh: $*" >&2
  exit 1
}

[ $# -eq 2 ] || fail "usage: image_root.sh <folder of a build> <new folder>"
build=$1
[ ! -e "$2" ] || fail "$2 exists already"
mkdir -p "$2"
root=$(cd "$2" && pwd)
authorities=/etc/ssl/certs/ca-certificates.crt
[ -r "$authorities" ] || fail "ca-certificates is missing"

for component in library command license; do
  DESTDIR=$root cmake --install "$build" --prefix /usr --strip \
    --component "$component" >/dev/null
done

# The libraries of the system, where the loader looks for them.
libraries=$(ldd "$root/usr/bin/limitree" | grep -o '/[^ ]*')
printf '%s\n' "$libraries" "$authorities" | grep -v "^$root" |
  xargs cp --dereference --parents --target-directory="$root"

# The name by which envoyproxy/ratelimit is started.
mkdir -p "$root/bin"
ln -s /usr/bin/limitree "$root/bin/ratelimit"

# Where runtimes of containers mount what each of them has, and a place for a
# Unix socket, which a volume should cover.
mkdir -p "$root/dev" "$root/proc" "$root/sys" "$root/run/limitree"
if [ "$(id -u)" -eq 0 ]; then chown 65534:65534 "$root/run/limitree"; fi
