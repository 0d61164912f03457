#!/bin/bash
# Builds the images that the nodes get: image.sh ROOTFS WORK
# ROOTFS is what `make container` made; the images are left as WORK/*.tar.
set -euo pipefail
rootfs=$1
work=$2

# An image store of its own, and no helper programs: nothing is run while these images are built.
store=(--root "$work/images" --runroot "$work/images-run" --storage-driver vfs)
context=$work/context
mkdir -p "$context"
cp -a "$rootfs" "$context/rootfs"
build() {
    buildah "${store[@]}" bud --isolation chroot --quiet --layers=false -t "localhost/$1:test" -f "$2" "$context" >/dev/null
    buildah "${store[@]}" push --quiet "localhost/$1:test" "docker-archive:$work/$1.tar:localhost/$1:test"
}
build manometer examples/container/Containerfile
# What holds a pod's namespaces: our own program does nothing just as well.
printf 'FROM scratch\nCOPY rootfs/ /\nENTRYPOINT ["/manometer", "agent", "--idle", "1000000"]\n' >"$work/pause"
build pause "$work/pause"
rm -rf "$context" "$work/images" "$work/images-run"
