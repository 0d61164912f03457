#!/bin/bash
# Installs each package into a minimal Debian 12 as its users do, tries it there, removes it, and looks for what stays behind.
# The .deb goes in by apt, the .rpm by Debian's rpm, the tarball by tar. The Debian is a copy of one that mmdebstrap makes once;
# nothing is mounted. Needs root. Installs what is missing: mmdebstrap (Debian).
# usage: tests/install/run.sh DIRECTORY     the packages that scripts/package made
#        tests/install/run.sh --set-up      makes the Debian, and tries nothing
set -euo pipefail
cd "$(dirname "$0")/../.."
die() { echo "tests/install: $*" >&2; exit 1; }
[ $# = 1 ] || die "usage: tests/install/run.sh DIRECTORY, or --set-up"
[ "$(id -u)" = 0 ] || die "needs root: it installs packages into another root directory"

SUITE=bookworm
# Readers of what the packages bring: manual pages and the completions of three shells.
INCLUDED=rpm,man-db,bash-completion,zsh,fish
cache=${XDG_CACHE_HOME:-$HOME/.cache}/manometer-test
mkdir -p "$cache"
debian=$cache/$SUITE-$(cksum <<<"$INCLUDED" | cut -d' ' -f1).tar

# Parallel runs take turns here, so that it is made once.
exec 9>"$cache/lock-install"
flock 9
if [ ! -f "$debian" ]; then
    if ! command -v mmdebstrap >/dev/null; then
        echo "installing mmdebstrap"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends \
            mmdebstrap >"$cache/apt-install.log" 2>&1 || { tail "$cache/apt-install.log" >&2; die "apt-get failed"; }
    fi
    echo "making a minimal Debian ($SUITE)"
    # From where this machine has its own packages, if it is a Debian of that name.
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $SUITE" 'Label: Debian' 'Created-By: Packages' | sort -u | head -n 1)
    rm -rf "$debian.new"
    # The format is named: mmdebstrap would make a directory of a name that does not end in .tar.
    mmdebstrap --quiet --format=tar --variant=minbase --dpkgopt=force-unsafe-io --include="$INCLUDED" "$SUITE" "$debian.new" \
        "${mirror:-http://deb.debian.org/debian}" 2>"$cache/mmdebstrap.log" ||
        { rm -rf "$debian.new"; tail "$cache/mmdebstrap.log" >&2; die "mmdebstrap failed"; }
    rm -rf "$debian"
    mv "$debian.new" "$debian"
fi
flock -u 9
exec 9>&-
[ "$1" != --set-up ] || exit 0

only() {
    [ $# = 1 ] && [ -e "$1" ] || die "$packages: not one package but: $*; next: make package"
    realpath "$1"
}
packages=$1
deb=$(only "$packages"/*.deb)
rpm=$(only "$packages"/*.rpm)
tarball=$(only "$packages"/*.tar.gz)

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
# Commands within the root in turn see nothing of this shell but where programs are.
inside() {
    env -i PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        "$(command -v chroot)" "$root" "$@"
}
as_user() {
    env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/tmp/user LANG=C.UTF-8 \
        "$(command -v chroot)" --userspec=1000:1000 "$root" "$@"
}
quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "$kind: failed: $*"; }
}
# All that is there, but what package managers and readers write about themselves. The empty directory of Debian's fish goes with
# the .rpm, because rpm does not know that it has another owner.
content() {
    find "$root" -xdev \( -path "$root/var/lib/dpkg" -o -path "$root/var/lib/apt" -o -path "$root/var/lib/rpm" \
        -o -path "$root/root/.rpmdb" -o -path "$root/var/cache" -o -path "$root/var/log" -o -path "$root/tmp" \
        -o -path "$root/usr/share/fish/vendor_completions.d" -empty \) -prune \
        -o -printf '%P %y %l\n' | sort
}

# One Debian for all: each leaves it as it was, or the next is not tried.
root=$work/root
mkdir "$root"
tar -C "$root" -xf "$debian"
begin() {
    kind=${1##*/}
    rm -rf "$root/tmp/user"
    install -d -o 1000 -g 1000 "$root/tmp/user"
    cp "$1" "$root/tmp/"
    content >"$work/before"
}

# What a user does: looks at the version and the manual, completes a command, and has the demonstration run.
try() {
    local said functions=
    said=$(as_user manometer --version) || die "$kind: manometer --version fails"
    [ "$said" = "manometer $version" ] || die "$kind: the version is $said and not $version"
    for page in manometer manometer-check manometer-run; do
        as_user man "$page" 2>"$work/log" | grep -q '^NAME' || { cat "$work/log" >&2; die "$kind: man $page shows nothing"; }
    done
    said=$(as_user bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader manometer; complete -p manometer')
    [[ $said == *_manometer* ]] || die "$kind: bash completes nothing: $said"
    # Debian's own zsh does not look where others do.
    [[ $kind != *.rpm ]] || functions='fpath+=/usr/share/zsh/site-functions; '
    said=$(as_user zsh -fc "$functions"'autoload -Uz compinit; compinit -D -u; print -- $_comps[manometer]')
    [ "$said" = _manometer ] || die "$kind: zsh completes nothing: $said"
    # Without the variable, which login sessions set, this version of fish does not look in /usr/local.
    said=$(as_user env XDG_DATA_DIRS=/usr/local/share:/usr/share fish -c 'complete -C "manometer calib"')
    [[ $said == calibrate* ]] || die "$kind: fish completes nothing: $said"
    # Small pieces: some of each kind end within a second on a busy machine, too.
    as_user manometer check --demo --duration 1s --dataset 64MiB --workers 1 --lanes 4 --block-size 64KiB --object-size 1MiB \
        --output csv >"$work/demo.csv" 2>"$work/log" ||
        { cat "$work/demo.csv" "$work/log" >&2; die "$kind: check --demo fails"; }
    [ "$(grep -c ',SUCCESS,' "$work/demo.csv")" = 4 ] || { cat "$work/demo.csv" >&2; die "$kind: check --demo did not succeed"; }
}

# After the removal nothing is there that was not before, and nothing is gone.
finish() {
    content >"$work/after"
    diff "$work/before" "$work/after" >"$work/log" || { cat "$work/log" >&2; die "$kind: its removal leaves another Debian behind"; }
    echo "tests/install: $kind: installs, works and goes"
}

version=$(dpkg-deb --field "$deb" Version)

begin "$deb"
quietly inside apt-get install -q -y --no-install-recommends "/tmp/${deb##*/}"
quietly inside dpkg --verify manometer
try
quietly inside apt-get purge -q -y manometer
finish

begin "$rpm"
quietly inside rpm --install "/tmp/${rpm##*/}"
quietly inside rpm --verify manometer
try
quietly inside rpm --erase manometer
finish

begin "$tarball"
quietly inside tar -xzf "/tmp/${tarball##*/}" -C /usr/local --strip-components=1
try
# A tarball knows no removal: its list of contents is what a user has.
tar -tzf "$tarball" | cut -d/ -f2- | sort -r | while read -r path; do
    case $path in
    '') ;;
    */) grep -qxF "usr/local/${path%/} d " "$work/before" || rmdir "$root/usr/local/$path" ;;
    *) rm "$root/usr/local/$path" ;;
    esac
done
finish
