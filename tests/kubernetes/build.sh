#!/bin/bash
# Builds Kubernetes' own programs from the Go proxy: build.sh VERSION DIRECTORY PROGRAM...
# What is there already is kept; the compiler's cache is not.
set -euo pipefail
version=$1
programs=$2
shift 2
wanted=("$@")

todo=()
for program in "${wanted[@]}"; do
    [ -x "$programs/$program" ] || todo+=("$program")
done
((${#todo[@]})) || exit 0
echo "building Kubernetes $version: ${todo[*]}"

scratch=$(mktemp -d "$programs/build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
# Files of the module cache can be removed again.
export GOPATH=${GOPATH:-$scratch/go} GOCACHE=${GOCACHE:-$scratch/cache} GOFLAGS="-modcacherw -buildvcs=false" GOTMPDIR=$scratch
mkdir "$scratch/module"
cd "$scratch/module"
# Its staging modules are replaced by their published twins, v1.X.Y by v0.X.Y.
printf 'module manometer/kubernetes\n\ngo 1.24.0\n' >go.mod
go mod download "k8s.io/kubernetes@v$version" 2>/dev/null
source=$(go env GOMODCACHE)/k8s.io/kubernetes@v$version
cp "$source/go.sum" .
{
    printf 'module manometer/kubernetes\n\ngo 1.24.0\n\ngodebug default=go1.24\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' "$version"
    sed -n "s#^\s*\(k8s.io/[a-z-]*\) => ./staging.*#\t\1 => \1 v0.${version#1.}#p" "$source/go.mod"
    echo ")"
} >go.mod
{
    printf '//go:build tools\n\npackage kubernetes\n\nimport (\n'
    printf '\t_ "k8s.io/kubernetes/cmd/%s"\n' "${wanted[@]}"
    echo ")"
} >tools.go
go mod tidy 2>/dev/null || go mod tidy
name=k8s.io/component-base/version
for program in "${todo[@]}"; do
    began=$SECONDS
    go build -o "$scratch/$program" \
        -ldflags "-s -w -X $name.gitVersion=v$version -X $name.gitMajor=1 -X $name.gitMinor=${version:2:2}" \
        "k8s.io/kubernetes/cmd/$program"
    mv "$scratch/$program" "$programs/$program"
    echo "  $program: $((SECONDS - began)) s"
done
