#!/bin/bash
# Runs experiments over the pods of a real Kubernetes: API server, controller manager, scheduler, etcd, and two nodes with
# a kubelet and a containerd each, all in namespaces of their own (mounts, processes, network), so that nothing stays.
# Installs what is missing from Debian, builds Kubernetes from the Go proxy (5 minutes on two cores; kept below target/),
# kubectl too where there is none, and needs root.
# usage: tests/kubernetes/run.sh [PATTERN...]     only scenarios whose name contains a PATTERN
#
# MANOMETER_ROOTFS names the root directory of the image if `make container` has made it already.
set -euo pipefail
cd "$(dirname "$0")/../.."

VERSION=1.34.4
PACKAGES=(etcd-server containerd runc containernetworking-plugins conntrack ethtool socat iptables iproute2 util-linux buildah)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
programs=$target/kubernetes/v$VERSION
mkdir -p "$programs"

die() { echo "tests/kubernetes: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "needs root: it makes namespaces and installs packages"
command -v go >/dev/null || die "Go is needed to build Kubernetes"

# Parallel runs take turns here.
exec 9>"$target/kubernetes/lock"
flock 9
missing=()
for package in "${PACKAGES[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
    echo "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends \
        "${missing[@]}" >"$target/kubernetes/apt.log" 2>&1 || { tail "$target/kubernetes/apt.log" >&2; die "apt-get failed"; }
fi
wanted=(kube-apiserver kube-scheduler kube-controller-manager kubelet)
command -v kubectl >/dev/null || wanted+=(kubectl)
tests/kubernetes/build.sh "$VERSION" "$programs" "${wanted[@]}"
export PATH=$PATH:$programs
# The image as users build it. Nothing is proven here about optimised code, so no time is spent on it.
rootfs=${MANOMETER_ROOTFS:-}
if [ -z "$rootfs" ]; then
    MANOMETER_PROFILE=dev scripts/container >"$target/kubernetes/container.log" 2>&1 ||
        { tail "$target/kubernetes/container.log" >&2; die "the image's content could not be built"; }
    rootfs=$target/container/rootfs
fi
flock -u 9
exec 9>&-

# Node files must lie where other users may look, and sockets need short paths.
work=$(mktemp -d /tmp/manometer-kubernetes.XXXXXX)
chmod 755 "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
tests/kubernetes/image.sh "$rootfs" "$work"

# The first process's end is the end of all others, and of all mounts and interfaces.
PYTHONPATH=tests/kubernetes:tests/real PYTHONDONTWRITEBYTECODE=1 \
    unshare --mount --pid --fork --kill-child --mount-proc --net --ipc --uts -- \
    python3 -m cluster --programs "$programs" --manometer "$rootfs/manometer" --work "$work" "$@"
