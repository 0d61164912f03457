#!/bin/bash
# Runs a command with a PostgreSQL server of its own (Debian's package postgresql) on a free port of the loopback address, with
# passwords by SCRAM. The command finds MANOMETER_TEST_DATABASE, the URL of a database whose user may create others, and
# MANOMETER_TEST_PASSWORD_FILE. The server and its files are removed afterwards.
# usage: tests/real/postgres.sh COMMAND...
set -euo pipefail
(($#)) || { echo "usage: $0 COMMAND..." >&2; exit 2; }
programs=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -1)
[ -n "$programs" ] || { echo "$0: PostgreSQL is not installed; next: tests/real/run.sh --set-up" >&2; exit 1; }
home=$(mktemp -d)
# Programs of PostgreSQL refuse to run as root.
as_user=()
if [ "$(id -u)" = 0 ]; then
    chown postgres: "$home"
    as_user=(setpriv --reuid postgres --regid postgres --clear-groups)
fi
stop() {
    (cd / && "${as_user[@]}" "$programs/pg_ctl" -D "$home/data" -m immediate stop >/dev/null 2>&1) || true
    rm -rf "$home"
}
trap stop EXIT
install -m 600 /dev/null "$home/password"
head -c 18 /dev/urandom | base64 >"$home/password"
[ "$(id -u)" != 0 ] || chown postgres: "$home/password"
(cd / && "${as_user[@]}" "$programs/initdb" -D "$home/data" -U manometer --auth=scram-sha-256 --pwfile="$home/password" \
    -E UTF8 --locale=C.UTF-8 >"$home/initdb.log" 2>&1) || { cat "$home/initdb.log" >&2; exit 1; }
# Little of the disk is used for the journal, and a test's data need not survive the machine.
for attempt in 1 2 3 4 5; do
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    settings="-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories=$home -c fsync=off"
    settings+=" -c min_wal_size=32MB -c max_wal_size=64MB"
    if (cd / && "${as_user[@]}" "$programs/pg_ctl" -D "$home/data" -w -t 60 -o "$settings" -l "$home/log" start >/dev/null); then
        break
    fi
    [ "$attempt" != 5 ] || { cat "$home/log" >&2; exit 1; }
done
export MANOMETER_TEST_DATABASE="postgres://manometer@127.0.0.1:$port/postgres"
export MANOMETER_TEST_PASSWORD_FILE="$home/password"
"$@"
