#!/bin/bash
# Checks manometer against real servers: nfs-ganesha, GlusterFS, Ceph, versitygw, MinIO, memcached, tgt, PostgreSQL, Graphite,
# Prometheus, and other people's clients and fio.
# Loop devices and small file systems stand in for disks that fail, are full, or belong to somebody.
# Fleets run over ssh and Slurm between network namespaces.
# Installs what is missing (Debian packages; versitygw and MinIO from the Go proxy; boto3, fio-plot, mypy and schemathesis from PyPI) and needs
# root, for packages and for the private mounts and network namespaces its servers run in.
# Scenarios run side by side, those that measure beside their like or alone. One that fails is run once more at the end, unless it depends on
# nothing but the program; three such failures fail the run.
# usage: tests/real/run.sh [PATTERN...]     only scenarios whose name contains a PATTERN
#        tests/real/run.sh --set-up         installs what is missing, and runs nothing
#        MANOMETER_REPEAT=10 tests/real/run.sh verdict     each so often, and how often it held
set -euo pipefail
cd "$(dirname "$0")/../.."

VERSITYGW=v1.8.0
# Its module has no tagged versions. Run as a program only: it is under the AGPL.
MINIO=v0.0.0-20260212201848-7aac2a2c5b7c
PACKAGES=(nfs-ganesha nfs-ganesha-vfs glusterfs-server glusterfs-client ceph-mon ceph-mgr ceph-osd ceph-common radosgw
    libnfs-utils rpcbind iproute2 util-linux openssl
    e2fsprogs xfsprogs btrfs-progs dosfstools fdisk lvm2 fio iperf3 iptables
    binutils memcached tgt libiscsi-bin openssh-client openssh-server faketime slurm-wlm slurm-wlm-basic-plugins munge
    dbus-daemon dbus-bin graphite-carbon graphite-web prometheus postgresql)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/manometer-test
mkdir -p "$cache"

die() { echo "tests/real: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "needs root: it mounts, makes network namespaces and installs packages"

# Parallel runs take turns here, so that they install once and do not trip over each other.
exec 9>"$cache/lock"
flock 9
missing=()
for package in "${PACKAGES[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
    echo "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq \
        --no-install-recommends "${missing[@]}" >"$cache/apt.log" 2>&1 || { tail "$cache/apt.log" >&2; die "apt-get failed"; }
fi
# Builds a program from the Go proxy once: name, version, package.
build() {
    [ ! -x "$cache/$1-$2/$1" ] || return 0
    command -v go >/dev/null || die "Go is needed to build $1"
    echo "building $1 $2"
    GOBIN="$cache/$1-$2" go install "$3@$2"
}
build versitygw "$VERSITYGW" github.com/versity/versitygw/cmd/versitygw
build minio "$MINIO" github.com/minio/minio
python=$cache/venv/bin/python3
if ! cmp -s tests/real/requirements.txt "$cache/venv/requirements.txt"; then
    rm -rf "$cache/venv"
    python3 -m venv "$cache/venv"
    "$python" -m pip install --quiet --disable-pip-version-check -r tests/real/requirements.txt
    cp tests/real/requirements.txt "$cache/venv/requirements.txt"
fi
# The scenarios with Go clients have a deadline, which compiling for the first time would miss.
for module in go kubernetes; do
    (cd "interop/$module" && go build -buildvcs=false -mod=readonly -o "$cache/interop-$module/" ./...)
done
flock -u 9
exec 9>&-
if [ "${1:-}" = --set-up ]; then
    exit 0
fi

if [ -z "${MANOMETER:-}" ]; then
    MANOMETER=$(scripts/test-binary)
fi
if (($# == 0)); then
    # shellcheck disable=SC2207 # two words
    features=(--locked --workspace $(scripts/dashboard-feature))
    # The job files of tests/fio do what is written in them, under Debian's fio too.
    MANOMETER_FIO=fio cargo xtask test --only '-p manometer --test fio_jobs' "${features[@]}"
    # The tests of the results and of schedules on PostgreSQL, and services that share it.
    tests/real/postgres.sh cargo xtask test --only '-p store --test records' --only '-p store --test fleet' \
        --only '-p store --test properties' --only '-p manometer --test serve_database' \
        --only '-p manometer --test serve_schedules' "${features[@]}"
fi
# Fleets copy it to many hosts, which need no line tables.
small=$(mktemp -d)
trap 'rm -rf "$small"' EXIT
strip -o "$small/manometer" "$MANOMETER"
MANOMETER=$small/manometer
export PYTHONPATH=tests/real PYTHONDONTWRITEBYTECODE=1
"$python" -m lab --manometer "$MANOMETER" --versitygw "$cache/versitygw-$VERSITYGW/versitygw" \
    --minio "$cache/minio-$MINIO/minio" "$@"
