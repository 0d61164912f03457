#!/bin/bash
# Measures a load of `manometer serve` PAIRS (64) times alone and beside hostile clients: mutated and huge bodies, slow
# connections, 200 readers of events. Prints how each figure changed, with its confidence interval over the pairs, and the
# service's peak memory. Exits with 0 if every figure stays within the interval of a single run, 1 if one does not or memory
# grew by more than 160 MiB, 2 if the pairs cannot tell. Uses the release binary, or the one that MANOMETER names.
# usage: tests/hostile/run.sh [PAIRS]
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${MANOMETER:-}" ]; then
    cargo build --locked --release --package manometer
    MANOMETER=${CARGO_TARGET_DIR:-target}/release/manometer
fi
export MANOMETER PYTHONPATH=clients/python PYTHONDONTWRITEBYTECODE=1
exec python3 tests/hostile/beside.py "${1:-64}"
