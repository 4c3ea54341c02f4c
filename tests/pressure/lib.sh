# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # what e2e/lib.sh has, and what is for the scripts
# Shared by the tests of pressure: a right client that scrapes meanwhile, and limits that are put right at the end.

pressure=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../e2e/lib.sh
. "$pressure/../e2e/lib.sh"
need curl jq /usr/bin/python3

# Commands that put right what a test changed, run at the end while the children are there no more.
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

# start_scraping [OPTIONS...]: see scraper.py.
start_scraping() {
    scrapes=$(mktemp "$scratch/scrapes.XXXXXX")
    /usr/bin/python3 "$pressure/scraper.py" "$url" "$scrapes" "$@" >"$scrapes.out" 2>&1 &
    scraper_pid=$!
    children+=("$scraper_pid")
    holds "the client scrapes" eventually 60 grep -q . "$scrapes"
}

# served_rightly TITLE: stops the client, which had no complaint.
served_rightly() {
    local status=0
    kill -TERM "$scraper_pid"
    wait "$scraper_pid" || status=$?
    if [ $status -eq 0 ]; then
        pass "$1: every scrape is answered, and no total falls: $(head -n 1 "$scrapes.out")"
    else
        fail "$1: every scrape is answered, and no total falls" "$(cat "$scrapes.out")"
    fi
}

# back TITLE COMMAND...: all is as before, once the pressure has gone.
back() {
    holds "$1: it is as before" eventually 60 "${@:2}"
}

# ends_well TITLE
ends_well() {
    stop_daemon
    equals "$1: it ends well" "$daemon_status" 0
}

# says TITLE REGEX...: a line of the log has all of them, so that an operator knows what, where and what to do.
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

# metric SERIES: its value; "none" where there is no such series.
metric() {
    get /metrics | awk -v series="$1" '
        { name = $0; sub(/ [^ ]*$/, "", name) }
        name == series { print $NF; found = 1 }
        END { if (!found) print "none" }'
}

# open_files: descriptors of the daemon.
open_files() {
    find "/proc/$daemon_pid/fd" -mindepth 1 | wc -l
}

# make_cgroup: in v2, where all others of the test are. Sets hierarchy and below.
make_cgroup() {
    hierarchy=/sys/fs/cgroup
    [ ! -d $hierarchy/unified ] || hierarchy=$hierarchy/unified
    below=/perfcountd-pressure-$$
    at_end+=("find '$hierarchy$below' -depth -type d -delete")
    mkdir "$hierarchy$below"
}

# make_confinement CONTROLLER: a cgroup of the test's own, where start_daemon starts the daemon. Sets confinement and
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
    # shellcheck disable=SC2016 # of the inner shell
    wrapper=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$confinement")
}
