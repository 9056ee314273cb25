#!/bin/sh
# Envoy asks `limitree serve` before it asks an application.  All three run for
# as long as this script does.  ./dev demo-envoy calls this; `limitree` and
# `envoy` must be on the PATH.
set -eu

folder=$(mktemp -d)
processes=''
trap 'stop; rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

stop() {
  for process in $processes; do
    kill -s KILL "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
}

heading() { printf '\n%s\n' "$*"; }

# start <name> <command ...>: in the background; its output goes to a log.
start() {
  log=$folder/$1.log
  shift
  "$@" >"$log" 2>&1 &
  processes="$! $processes"
}

# wait_for <command ...>: until it succeeds; shows the last log if it does not.
wait_for() {
  tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -gt 300 ]; then
      cat "$log" >&2
      exit 1
    fi
    sleep 0.1
  done
}

# put_port <as in the example> <the one in use>
put_port() { sed -i "s/port_value: $1}/port_value: $2}/" "$folder/envoy.yaml"; }

# ask <path>: the status and what the client is told of its limits.
ask() {
  printf '%s\n' "GET $1"
  curl --silent --include --noproxy '*' "http://$site$1" | tr -d '\r' |
    sed -n -e 's/^HTTP\/1.1 /  /p' -e 's/^x-ratelimit-/  &/p' \
      -e 's/^x-envoy-ratelimited/  &/p'
}

cp examples/envoy/envoy.yaml "$folder"

heading "1. limitree serve --descriptors examples/envoy/site.yaml"
start limitree limitree serve --descriptors examples/envoy/site.yaml \
  --listen 127.0.0.1:0
limitree=$!
wait_for grep -q 'listening on' "$log"
put_port 8081 "$(sed -n 's/.*listening on [^ ]*:\([0-9]*\) .*/\1/p' "$log")"
cat "$log"

heading "2. An application"
mkdir "$folder/site"
printf 'welcome\n' >"$folder/site/login"
start application python3 -u -m http.server 0 --bind 127.0.0.1 \
  --directory "$folder/site"
wait_for grep -q 'Serving HTTP' "$log"
put_port 8000 "$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$log")"
cat "$log"

heading "3. envoy --config-path examples/envoy/envoy.yaml, with free ports"
put_port 9901 0
put_port 10000 0
sed -i 's/address: 0.0.0.0,/address: 127.0.0.1,/' "$folder/envoy.yaml"
start envoy envoy --config-path "$folder/envoy.yaml" --concurrency 1 \
  --disable-hot-restart --log-level warning \
  --admin-address-path "$folder/admin"
wait_for test -s "$folder/admin"
admin=$(cat "$folder/admin")
wait_for curl --silent --fail --noproxy '*' "http://$admin/ready"
site=$(curl --silent --noproxy '*' "http://$admin/listeners" | sed 's/.*:://')
printf '%s\n' "Envoy is on $site"

heading "4. Five logins in an hour, and no more"
for _ in 1 2 3 4 5 6; do ask /login; done

heading "5. Everything else goes on"
ask /

heading "6. Without limitree, Envoy lets all requests pass"
kill -s KILL "$limitree"
wait "$limitree" 2>/dev/null || true
ask /login
