# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of e2e/lib.sh, and variables that the scripts use
# Shared by the pressure tests: an ordinary client that scrapes during each test, and limits that are restored at the
# end.

pressure=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../e2e/lib.sh
. "$pressure/../e2e/lib.sh"
need curl jq /usr/bin/python3

# Commands that restore what a test changed. They run at the end, after the children have ended.
at_end=()
cleanup_pressure() {
    local i pid
    for pid in "${children[@]}"; do
        kill -9 "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    for ((i = ${#at_end[@]} - 1; i >= 0; i--)); do
        eval "${at_end[i]}"
    done
    cleanup
}
trap cleanup_pressure EXIT

# start_scraping [OPTIONS...]: starts scraper.py with these options.
start_scraping() {
    scrapes=$(mktemp "$scratch/scrapes.XXXXXX")
    /usr/bin/python3 "$pressure/scraper.py" "$url" "$scrapes" "$@" >"$scrapes.out" 2>&1 &
    scraper_pid=$!
    children+=("$scraper_pid")
    holds "the client scrapes" eventually 60 grep -q . "$scrapes"
}

# served_rightly TITLE: stops the client, and checks that it found nothing wrong.
served_rightly() {
    local status=0
    kill -TERM "$scraper_pid"
    wait "$scraper_pid" || status=$?
    if [ $status -eq 0 ]; then
        pass "$1: every scrape is answered, and no total decreases: $(head -n 1 "$scrapes.out")"
    else
        fail "$1: every scrape is answered, and no total decreases" "$(cat "$scrapes.out")"
    fi
}

# back TITLE COMMAND...: checks that everything recovers once the pressure is removed.
back() {
    holds "$1: recovered" eventually 60 "${@:2}"
}

# ends_well TITLE: stops the daemon and checks its exit status.
ends_well() {
    stop_daemon
    equals "$1: the daemon exits cleanly" "$daemon_status" 0
}

# says WHAT REGEX...: checks that one line of the log matches all of these, so that an operator knows what failed,
# where, and what to do.
says() {
    holds "$1 is logged" eventually 60 has_line "${@:2}"
}
has_line() {
    local lines regex
    lines=$(cat "$daemon_log")
    for regex; do
        lines=$(grep -E -e "$regex" <<<"$lines") || return
    done
}

# metric SERIES: prints the value of the series, or "none" if it does not exist.
metric() {
    get /metrics | awk -v series="$1" '
        { name = $0; sub(/ [^ ]*$/, "", name) }
        name == series { print $NF; found = 1 }
        END { if (!found) print "none" }'
}

# open_files: prints how many descriptors the daemon has open.
open_files() {
    find "/proc/$daemon_pid/fd" -mindepth 1 | wc -l
}

# make_cgroup: creates a v2 cgroup as the parent of the test's cgroups. Sets hierarchy and below.
make_cgroup() {
    hierarchy=/sys/fs/cgroup
    [ ! -d $hierarchy/unified ] || hierarchy=$hierarchy/unified
    below=/perfcountd-pressure-$$
    at_end+=("find '$hierarchy$below' -depth -type d -delete")
    mkdir "$hierarchy$below"
}

# make_confinement CONTROLLER: creates a cgroup in which start_daemon starts the daemon. Sets confinement and
# confinement_version.
make_confinement() {
    if [ -d "/sys/fs/cgroup/$1" ]; then
        confinement_version=1 confinement=/sys/fs/cgroup/$1
    else
        confinement_version=2 confinement=/sys/fs/cgroup
        echo "+$1" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || skip "the cgroup controller $1"
    fi
    confinement+=/perfcountd-pressure-$$-$1
    mkdir "$confinement" || exit 1
    at_end+=("eventually 60 rmdir '$confinement'")
    # shellcheck disable=SC2016 # the inner shell expands it
    wrapper=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$confinement")
}
