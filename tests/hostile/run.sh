#!/bin/bash
# Measures a load of `manometer serve` ROUNDS (48) times alone, beside hostile clients of another service, and beside
# hostile clients of its own: mutated and huge bodies, slow connections, 200 readers of events. The second tells what the
# clients cost the machine, the third what they do to the run. Prints how each figure changed, with its confidence interval
# over the rounds, and the service's peak memory. Exits with 0 if every figure stays within the interval of a single run, 3 if
# one does not, 2 if the rounds cannot tell, 1 if memory grew by more than 160 MiB or something failed. Uses the release
# binary, or the one that MANOMETER names.
# usage: tests/hostile/run.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${MANOMETER:-}" ]; then
    cargo build --locked --release --package manometer
    MANOMETER=${CARGO_TARGET_DIR:-target}/release/manometer
fi
export MANOMETER PYTHONPATH=clients/python PYTHONDONTWRITEBYTECODE=1
exec python3 tests/hostile/beside.py "${1:-48}"
