#!/bin/bash
# Starts a service with a token on a free port and runs the tests of its dashboard in a headless browser.
# usage: tests/browser/dashboard.sh MANOMETER MODULES [PICTURES]     CHROMIUM names the browser; tests/browser/run.sh sets all that
set -euo pipefail
manometer=$1 modules=$2 pictures=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
service=
trap '[ -z "$service" ] || { kill "$service"; wait "$service"; } 2>/dev/null; rm -rf "$work"' EXIT

token=$(head -c 24 /dev/urandom | base64 | tr '+/' '-_')
printf '%s\n' "$token" >"$work/token"
"$manometer" serve --listen 127.0.0.1:0 --directory "$work/state" --token-file "$work/token" 2>"$work/log" &
service=$!
for _ in $(seq 600); do
    address=$(sed -n 's/.*listening on \(http:[^ ]*\).*/\1/p' "$work/log")
    [ -z "$address" ] || break
    kill -0 "$service" 2>/dev/null || break
    sleep 0.1
done
[ -n "$address" ] || { cat "$work/log" >&2; echo 'tests/browser: the service did not start' >&2; exit 1; }
node "$here/dashboard.mjs" "$modules" "$address" "$token" "$pictures" || { tail -20 "$work/log" >&2; exit 1; }
