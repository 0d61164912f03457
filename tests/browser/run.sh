#!/bin/bash
# The truth test of reports: opens them in a headless browser and compares what they show with the JSON, with and
# without JavaScript; runs the notebook; uses the dashboard of a service as a person would. Installs what is missing: Chromium
# (Debian, needs root), playwright-core and axe-core (npm), for the notebook Jupyter, pandas, matplotlib and seaborn, for the printed pages pypdfium2 (PyPI).
# usage: tests/browser/run.sh [--pictures DIRECTORY]     DIRECTORY gets screenshots, for people to look at
#        tests/browser/run.sh --set-up                   installs what is missing, and runs nothing
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
die() { echo "tests/browser: $*" >&2; exit 1; }

pictures=
if [ "${1:-}" = --pictures ]; then
    pictures=${2:?--pictures wants a directory}
    mkdir -p "$pictures"
    pictures=$(cd "$pictures" && pwd)
elif [ "${1:-}" != --set-up ] && [ $# -gt 0 ]; then
    die "unknown argument $1"
fi

cache=${XDG_CACHE_HOME:-$HOME/.cache}/manometer-test
mkdir -p "$cache"
# Parallel runs take turns here, so that they install once and do not trip over each other.
exec 9>"$cache/lock-browser"
flock 9
chromium=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$chromium" ]; then
    [ "$(id -u)" = 0 ] || die "chromium is missing, and to install it needs root: apt-get install chromium"
    echo "installing chromium"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends \
        chromium fonts-dejavu-core >"$cache/apt-browser.log" 2>&1 || { tail "$cache/apt-browser.log" >&2; die "apt-get failed"; }
    chromium=$(command -v chromium)
fi
command -v node >/dev/null || die "Node.js is missing"
if ! cmp -s tests/browser/package-lock.json "$cache/browser/package-lock.json"; then
    rm -rf "$cache/browser"
    mkdir -p "$cache/browser"
    cp tests/browser/package.json tests/browser/package-lock.json "$cache/browser/"
    (cd "$cache/browser" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null) ||
        { rm -rf "$cache/browser"; die "npm ci failed"; }
fi
if ! cmp -s tests/browser/requirements.txt "$cache/notebook/requirements.txt"; then
    rm -rf "$cache/notebook"
    python3 -m venv "$cache/notebook"
    "$cache/notebook/bin/python3" -m pip install --quiet --disable-pip-version-check -r tests/browser/requirements.txt
    cp tests/browser/requirements.txt "$cache/notebook/requirements.txt"
fi
flock -u 9
exec 9>&-
if [ "${1:-}" = --set-up ]; then
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "${MANOMETER:-}" ]; then
    scripts/dashboard
    MANOMETER=$(scripts/test-binary)
fi
MANOMETER=$(realpath "$MANOMETER")

# Starts a check beside others, at most three at a time; what it prints is kept.
mkdir "$work/said"
begun=0
begin() {
    while (($(jobs -rp | wc -l) >= 3)); do
        wait -n || true
    done
    { set +e; SECONDS=0; (set -e; "$@"); echo "$?" >"$work/said/$begun.code"; echo "    $SECONDS s"; } >"$work/said/$begun" 2>&1 &
    begun=$((begun + 1))
}
# Waits until all have ended, and prints what each said; fails if one of them did.
all_ended() {
    local number bad=0
    wait
    for ((number = 0; number < begun; number++)); do
        cat "$work/said/$number"
        [ "$(cat "$work/said/$number.code")" = 0 ] || bad=$((bad + 1))
    done
    begun=0
    ((bad == 0)) || die "failed checks: $bad"
}

made_up_run() {
    echo "a made-up run with something of everything"
    mkdir "$work/fixture" "$work/fleet"
    "$(scripts/test-binary fixture_report)" "$work/fixture"
    mv "$work/fixture/fleet.ipynb" "$work/fleet/report.ipynb"
}

# Runs something twice and makes every document of it: directory, arguments of `manometer run`.
twice() {
    local place=$work/$1
    local results=$place/results.sqlite
    shift
    for _ in 1 2; do
        # A gate that fails is a result, too.
        "$MANOMETER" run "$@" --results "$results" >"$place/run.log" 2>&1 ||
            [ $? = 1 ] || { tail -20 "$place/run.log" >&2; die "manometer run failed"; }
    done
    "$MANOMETER" report last --results "$results" -o "$place/report.html"
    "$MANOMETER" export last --results "$results" --format json >"$place/export.json"
    "$MANOMETER" notebook last --results "$results" -o "$place/report.ipynb"
    "$MANOMETER" compare last~1 last --results "$results" -o "$place/comparison.html"
}

real_run() {
    echo "a real run: examples/experiments/demo-sim.yaml, twice"
    mkdir "$work/real"
    twice real "$root/examples/experiments/demo-sim.yaml"
}

run_of_agents() {
    echo "a fleet of three agents of this host, twice"
    mkdir "$work/agents"
    cat >"$work/agents/fleet.yaml" <<'YAML'
targets: {t: "null:"}
workloads: {w: {ops: read, queue_depth: 4, block_size: 64KiB}}
stages: {warm_up: 1s, measure: {at_least: 4s, at_most: 4s}}
steady: none
YAML
    twice agents "$work/agents/fleet.yaml" --local 3
}

export CHROMIUM=$chromium

dashboard() {
    echo "the dashboard of a service"
    tests/browser/dashboard.sh "$MANOMETER" "$cache/browser" "${pictures:+$pictures/dashboard}"
}

page() {
    NODE_PATH="$cache/browser/node_modules" node "$root/tests/browser/check.mjs" "$cache/browser" "$@"
}

# A report in the browser, and as it is printed there: directory, its JSON or -, title.
printed_report() {
    page report "$work/$1/report.html" "$2" "${pictures:+$pictures/$1}"
    "$cache/notebook/bin/python3" tests/browser/print_check.py "$work/$1/report.html.pdf" "$3" 8 ${pictures:+"$pictures/$1"}
}

documents() {
    echo "the documents of a service"
    : >"$work/serve.log"
    "$MANOMETER" serve --listen 127.0.0.1:0 --directory "$work/serve" 2>>"$work/serve.log" &
    service=$!
    trap 'kill "$service" 2>/dev/null || true' EXIT
    local url
    for _ in {1..300}; do
        url=$(sed -n 's|.*listening on \(http://.*\)|\1|p' "$work/serve.log")
        [ -z "$url" ] || break
        kill -0 "$service" 2>/dev/null || break
        sleep 0.1
    done
    [ -n "$url" ] || { cat "$work/serve.log" >&2; die "manometer serve does not listen"; }
    node "$root/tests/browser/docs.mjs" "$cache/browser" "$url" "$pictures"
    kill "$service"
    wait "$service" || true
}

notebook() {
    echo "the notebook of the $1 run"
    IPYTHONDIR=$work/$1/ipython JUPYTER_CONFIG_DIR=$work/$1/jupyter MPLCONFIGDIR=$work/matplotlib \
        "$cache/notebook/bin/python3" -m jupyter nbconvert --to notebook --execute --log-level=ERROR \
        --output executed.ipynb "$work/$1/report.ipynb" >"$work/$1/notebook.log" 2>&1 ||
        { tail -30 "$work/$1/notebook.log" >&2; die "the notebook of the $1 run does not execute"; }
    "$cache/notebook/bin/python3" tests/browser/notebook_check.py "$work/$1/executed.ipynb" "$1" ${pictures:+"$pictures/$1"}
}

begin made_up_run
begin real_run
begin run_of_agents
all_ended
# Alone, because its drawing is timed.
begin dashboard
all_ended
begin printed_report fixture - nvme-acceptance
begin printed_report real "$work/real/export.json" demo-sim
begin page report "$work/fixture/fleet.html" - "${pictures:+$pictures/fleet}"
begin page report "$work/agents/report.html" "$work/agents/export.json" ""
begin page comparison "$work/fixture/comparison.html" - "${pictures:+$pictures/comparison}"
begin page comparison "$work/fixture/fleet-comparison.html" - "${pictures:+$pictures/fleet-comparison}"
begin page comparison "$work/real/comparison.html" - ""
begin page comparison "$work/agents/comparison.html" - ""
begin documents
for kind in fixture real fleet agents; do
    begin notebook "$kind"
done
all_ended
echo "tests/browser: all passed"
