#!/bin/sh
# Two processes share limits in a Redis of their own, which then dies and comes
# back.  ./dev demo-redis calls this; `limitree` must be on the PATH.
set -eu

folder=$(mktemp -d)
url=redis+unix://$folder/redis.sock
limits=examples/limits.yaml
trap 'stop KILL; rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM

# Writes every change to disk before it answers, so that nothing is forgotten
# when it dies.
start() {
  redis-server --port 0 --unixsocket "$folder/redis.sock" --dir "$folder" \
    --appendonly yes --appendfsync always --save '' \
    >"$folder/redis.log" 2>&1 &
  server=$!
  tries=0
  until redis-cli -s "$folder/redis.sock" ping >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ]; then
      cat "$folder/redis.log" >&2
      exit 1
    fi
    sleep 0.1
  done
}

stop() {
  if [ -n "${server-}" ]; then
    kill -s "$1" "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    server=
  fi
}

heading() { printf '\n%s\n' "$*"; }

# show <command ...>: the command as it would be typed, and its output.
show() {
  printf '$ %s\n' "$*" | sed "s|$url|\$STORE|g"
  "$@" 2>&1 || printf '(exit code %d)\n' $?
}

heading "1. A private redis-server, STORE=redis+unix://.../redis.sock"
start
show limitree ping --store "$url"

heading "2. Two processes at the same time: 6 trades for alex, whoever asks"
for process in 1 2; do
  limitree try "$limits" user alex trade --times 5 --store "$url" \
    >"$folder/process$process" &
  eval "process$process=\$!"
done
wait "$process1" "$process2"
for process in 1 2; do
  printf 'process %d\n' "$process"
  cat "$folder/process$process"
done
show limitree show "$limits" user alex trade --store "$url"

heading "3. Redis is killed: an error, in time"
stop KILL
show limitree try "$limits" user carol trade --store "$url"

heading "4. Or a decision without it, as on_store_error says"
show limitree try "$limits" user carol trade --times 2 --store "$url" \
  --set on_store_error=local

heading "5. Redis is back, and alex still owes what he owed"
start
show limitree show "$limits" user alex trade --store "$url"
