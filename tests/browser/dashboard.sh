#!/bin/bash
# Starts a service with a token on a free port, and a simulated array, and runs the tests of the dashboard in a headless browser.
# usage: tests/browser/dashboard.sh MANOMETER MODULES [PICTURES]     CHROMIUM names the browser; tests/browser/run.sh sets all that
set -euo pipefail
manometer=$1 modules=$2 pictures=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
service=
array=
trap '[ -z "$service$array" ] || { kill $service $array; wait $service $array; } 2>/dev/null; rm -rf "$work"' EXIT

token=$(head -c 24 /dev/urandom | base64 | tr '+/' '-_')
printf '%s\n' "$token" >"$work/token"
"$manometer" serve --listen 127.0.0.1:0 --directory "$work/state" --token-file "$work/token" --allow-local 2>"$work/log" &
service=$!
"$manometer" array --management 127.0.0.1:0 --data 127.0.1.1,subnet=subnet1 >"$work/array" 2>&1 &
array=$!
for _ in $(seq 600); do
    address=$(sed -n 's/.*listening on \(http:[^ ]*\).*/\1/p' "$work/log")
    [ -z "$address" ] || break
    kill -0 "$service" 2>/dev/null || break
    sleep 0.1
done
[ -n "$address" ] || { cat "$work/log" >&2; echo 'tests/browser: the service did not start' >&2; exit 1; }
for _ in $(seq 600); do
    ! grep -q '^data ' "$work/array" || break
    kill -0 "$array" 2>/dev/null || { cat "$work/array" >&2; echo 'tests/browser: the array did not start' >&2; exit 1; }
    sleep 0.1
done
node "$here/dashboard.mjs" "$modules" "$address" "$token" "$work/array" "$manometer" "$work/state" "$pictures" || { tail -20 "$work/log" >&2; exit 1; }
