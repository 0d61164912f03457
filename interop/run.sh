#!/usr/bin/env bash
# Runs foreign clients against the simulated array: `interop/run.sh python`, `interop/run.sh go` or
# `interop/run.sh libnfs`; `interop/run.sh kubernetes` reads our manifests with Kubernetes' own types.
#
# `python` also runs our own client (clients/python) against `manometer serve`.
#
# Sets itself up under target/interop. Builds the program under test, unless MANOMETER names one.
# Ends with a code other than 0 when anything fails; nothing is skipped.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

usage() {
    echo "usage: interop/run.sh python|go|kubernetes|libnfs" >&2
    exit 2
}
[ $# -eq 1 ] || usage

target=${CARGO_TARGET_DIR:-$root/target}
work=$target/interop
mkdir -p "$work"

if [ -z "${MANOMETER:-}" ]; then
    MANOMETER=$(scripts/test-binary)
fi
export MANOMETER

run_python() {
    local venv=$work/venv stamp
    stamp=$(sha256sum interop/requirements.txt | cut -d' ' -f1)-$(python3 -c 'import sys; print(sys.version_info[:2])')
    # The stamp is written last: a venv whose creation was interrupted is created again.
    if [ "$(cat "$venv/stamp" 2>/dev/null)" != "$stamp" ]; then
        echo "interop: making a Python environment in $venv" >&2
        rm -rf "$venv"
        python3 -m venv "$venv" || {
            echo "interop: Python cannot make an environment; next: install its venv module (Debian: apt-get install python3-venv)" >&2
            exit 1
        }
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --requirement interop/requirements.txt
        printf '%s' "$stamp" >"$venv/stamp"
    fi
    exec "$venv/bin/python" -B -m pytest -q -W ignore -p no:cacheprovider --strict-markers interop/python clients/python/tests
}

need_go() {
    command -v go >/dev/null || {
        echo "interop: Go is not installed; next: install it (Debian: apt-get install golang-go) or run 'interop/run.sh python'" >&2
        exit 1
    }
}

run_go() {
    need_go
    (cd interop/go && go build -buildvcs=false -mod=readonly -o "$work/" ./...)
    exec python3 -B interop/go/run.py "$work/minio" "$work/awssdk"
}

# The manifests that the launcher applies (stored with its tests), and the examples.
run_kubernetes() {
    need_go
    (cd interop/kubernetes && go build -buildvcs=false -mod=readonly -o "$work/kubernetes" .)
    exec "$work/kubernetes" crates/fleet/tests/kubernetes/*.json examples/kubernetes/*.yaml
}

# In a network namespace of its own, where port 111 is free: the tools use no other portmapper. Needs root.
run_libnfs() {
    command -v nfs-ls >/dev/null || {
        echo "interop: nfs-ls is not installed; next: apt-get install libnfs-utils" >&2
        exit 1
    }
    exec unshare --net sh -c 'ip link set lo up && exec python3 -B interop/libnfs/run.py'
}

case $1 in
    python) run_python ;;
    go) run_go ;;
    kubernetes) run_kubernetes ;;
    libnfs) run_libnfs ;;
    *) usage ;;
esac
