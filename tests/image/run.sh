#!/bin/bash
# Builds the container image with buildah from examples/container/Containerfile and the root directory that scripts/container
# left, runs it with podman as its documents show it (the demonstration, a fleet of two containers), and removes all of it.
# Images and containers are kept in a directory of the test's own. Needs root; installs what is missing: buildah, podman, runc.
# usage: tests/image/run.sh CONTEXT      target/container
#        tests/image/run.sh --set-up     installs what is missing, and runs nothing
set -euo pipefail
cd "$(dirname "$0")/../.."
die() { echo "tests/image: $*" >&2; exit 1; }
[ $# = 1 ] || die "usage: tests/image/run.sh CONTEXT, or --set-up"
[ "$(id -u)" = 0 ] || die "needs root: it runs containers on the host's network"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/manometer-test
mkdir -p "$cache"
missing=()
for wanted in buildah podman runc; do
    command -v "$wanted" >/dev/null || missing+=("$wanted")
done
if ((${#missing[@]})); then
    echo "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends \
        "${missing[@]}" >"$cache/apt-image.log" 2>&1 || { tail "$cache/apt-image.log" >&2; die "apt-get failed"; }
fi
[ "$1" != --set-up ] || exit 0
context=$1
[ -x "$context/rootfs/manometer" ] || die "$context has no rootfs/manometer; next: make container"

work=$(mktemp -d)
# No mount and no process of it is left, whatever happened.
clean_up() {
    podman "${store[@]}" rm --all --force --time 1 >/dev/null 2>&1 || true
    buildah "${store[@]}" rm --all >/dev/null 2>&1 || true
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT
store=(--root "$work/images" --runroot "$work/run" --storage-driver vfs)
# Also where limits cannot be raised and no systemd is there to make control groups.
cat >"$work/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=$(ulimit -Hn):$(ulimit -Hn)", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
export CONTAINERS_CONF=$work/containers.conf
image=localhost/manometer:test

buildah "${store[@]}" bud --isolation chroot --quiet --layers=false -t "$image" -f examples/container/Containerfile "$context" >/dev/null
echo "tests/image: built by buildah"

said=$(podman "${store[@]}" run --rm --network=host "$image" --version)
[ "$said" = "$("$context/rootfs/manometer" --version)" ] || die "the image says $said"
podman "${store[@]}" run --rm --network=host "$image" check --demo --duration 3s --dataset 64MiB --workers 1 --lanes 4 \
    --block-size 64KiB --object-size 1MiB --output csv >"$work/demo.csv" 2>"$work/log" ||
    { cat "$work/demo.csv" "$work/log" >&2; die "check --demo fails in a container"; }
[ "$(grep -c ',SUCCESS,' "$work/demo.csv")" = 4 ] || { cat "$work/demo.csv" >&2; die "check --demo did not succeed in a container"; }
echo "tests/image: the demonstration succeeds in a container"

# As docs/fleet-containers.md shows it: standing containers, and such as each run makes.
cat >"$work/fleet.yaml" <<'YAML'
targets: {t: "null:"}
workloads: {w: {ops: read, queue_depth: 4, block_size: 64KiB}}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
YAML
fleet() {
    "$context/rootfs/manometer" run "$work/fleet.yaml" --results "$work/results.sqlite" --output json "$@" \
        >"$work/run.json" 2>"$work/log" || { cat "$work/log" >&2; die "a fleet of containers fails: $*"; }
    python3 - "$work/run.json" <<'PYTHON' || { cat "$work/log" >&2; die "a fleet of containers has no result: $*"; }
import json, sys

cells = json.load(open(sys.argv[1]))["cells"]
assert [cell["state"] for cell in cells] == ["finished"], cells
assert cells[0]["result"]["total"]["ok"] > 0, cells
PYTHON
}
for i in 1 2; do
    podman "${store[@]}" run -d --rm --name "c$i" --network=host "$image" agent --idle 3600 >/dev/null
done
fleet --hosts "c[1-2]" --launcher-command "podman ${store[*]} exec -i {host} /manometer agent"
podman "${store[@]}" stop --time 5 c1 c2 >/dev/null
fleet --hosts a,b --launcher-command "podman ${store[*]} run -i --rm --name bench-{index} --network=host $image agent"
left=$(podman "${store[@]}" ps --all --quiet)
[ -z "$left" ] || die "containers are left: $left"
echo "tests/image: fleets of two containers work and leave none"
