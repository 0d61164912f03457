#!/bin/bash
# Measures a load of `manometer serve` ROUNDS (60) times alone and beside hostile clients: mutated and huge bodies, slow
# connections, 200 readers of events. Prints how each figure changed, with its confidence interval over the rounds, and the
# service's peak memory. Exits with 0 if they change every figure by less than the interval of a single run; 1 if they change
# one by more or memory grew by more than 160 MiB; 2 if the rounds cannot tell. Uses the release binary, or the one that MANOMETER names.
# usage: tests/hostile/run.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${MANOMETER:-}" ]; then
    cargo build --locked --release --package manometer
    MANOMETER=${CARGO_TARGET_DIR:-target}/release/manometer
fi
export MANOMETER PYTHONPATH=clients/python PYTHONDONTWRITEBYTECODE=1
exec python3 tests/hostile/beside.py "${1:-60}"
