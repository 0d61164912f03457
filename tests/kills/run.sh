#!/bin/bash
# Kills `manometer check` and `manometer run` N times (1000) at random moments, cleans up after each, and compares
# the simulated array's state and all directories with those of before. SEED (1) chooses the moments.
# usage: tests/kills/run.sh [N] [SEED]
set -euo pipefail
cd "$(dirname "$0")/../.."
export MANOMETER_KILLS=${1:-1000} MANOMETER_KILLS_SEED=${2:-1}
exec cargo test --locked --package manometer --test kills -- --nocapture
