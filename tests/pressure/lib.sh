# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # what e2e/lib.sh has, and what is for the scripts
# Shared by the tests of pressure: right clients that scrape meanwhile, what they had, and how long it takes until all
# is as before. Read first by a script, which ends with `finish`. With --long a script plays for longer, or more of
# it.

pressure=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../e2e/lib.sh
. "$pressure/../e2e/lib.sh"
need curl jq /usr/bin/python3

# Commands that put right what a test changed, the last first, at the end whatever happens.
at_end=()
cleanup_pressure() {
    local i pid
    for ((i = ${#at_end[@]} - 1; i >= 0; i--)); do
        eval "${at_end[i]}"
    done
    for pid in "${children[@]}"; do
        kill -9 "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    cleanup
}
trap cleanup_pressure EXIT
# "long" by --long, for make check-pressure; otherwise "short".
length=short
[ "${1-}" != --long ] || length=long
# for_length SHORT LONG
for_length() {
    if [ $length = long ]; then echo "$2"; else echo "$1"; fi
}

now() {
    echo "${EPOCHREALTIME/,/.}"
}

# subtract A B
subtract() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a - b }'
}

# start_scraping [PATH]: a client that scrapes $url every 150 ms. Sets scraper_pid and scrapes, its log.
start_scraping() {
    scrapes=$(mktemp "$scratch/scrapes.XXXXXX")
    scraper_out=$scrapes.figures
    /usr/bin/python3 "$pressure/scraper.py" "$url" 150 "$scrapes" "${1-/metrics}" >"$scraper_out" 2>&1 &
    scraper_pid=$!
    children+=("$scraper_pid")
    eventually 5 test -s "$scrapes" || fail "the client scrapes" "$(cat "$scraper_out")"
}

stop_scraping() {
    kill -TERM "$scraper_pid"
    wait "$scraper_pid"
}

# figure NAME: of the last client.
figure() {
    awk -v name="$1" '$1 == name { print $2 }' "$scraper_out"
}

# served_rightly TITLE [SLOWEST-MS]: stops the client; each scrape of it was a right one, and not slower than that.
served_rightly() {
    local title=$1 most=${2-1000}
    stop_scraping
    compares "$title: scrapes" "$(figure scrapes) > 0"
    if [ "$(figure bad)" -eq 0 ]; then
        pass "$title: all of them are answered"
    else
        fail "$title: all of them are answered" "$(cat "$scraper_out")"
    fi
    if [ "$(figure fell)" -eq 0 ]; then
        pass "$title: no total falls"
    else
        fail "$title: no total falls" "$(cat "$scraper_out")"
    fi
    compares "$title: the slowest of them, ms" "$(figure slowest_ms) <= $most"
}

# back_within SECONDS TITLE COMMAND...: the command succeeds where it is begun that soon from now on.
back_within() {
    local seconds=$1 title=$2 begin try
    shift 2
    begin=$(now)
    for _ in $(seq $((seconds * 50))); do
        try=$(now)
        if "$@" >/dev/null 2>&1; then
            compares "$title: seconds until it is as before" "$(subtract "$try" "$begin") <= $seconds"
            return
        fi
        sleep 0.02
    done
    fail "$title: it is as before" "$* failed for $(subtract "$try" "$begin") s" "$(tail -n 5 "$daemon_log")"
}

# logged REGEX [N]: the daemon logged it, N times.
logged() {
    [ "$(grep -cE -e "$1" "$daemon_log")" -eq "${2-1}" ]
}

# says TITLE REGEX...: a line of the log has all of them, so that an operator knows what, where and what to do.
says() {
    local title=$1 lines regex
    lines=$(cat "$daemon_log")
    shift
    for regex; do
        lines=$(grep -E -e "$regex" <<<"$lines")
    done
    if [ -n "$lines" ]; then
        pass "$title is logged"
        printf '    %s\n' "$(head -n 1 <<<"$lines" | cut -c1-300)"
    else
        fail "$title is logged" "no line with: $*" "$(cat "$daemon_log")"
    fi
}

# metric SERIES: its value; "none" where there is no such series.
metric() {
    get /metrics | awk -v series="$1" '
        { name = $0; sub(/ [^ ]*$/, "", name) }
        name == series { print $NF; found = 1 }
        END { if (!found) print "none" }'
}

# set_sysctl NAME VALUE: until the end of the script, or restore_sysctls.
set_sysctl() {
    local file=/proc/sys/${1//.//} before
    before=$(cat "$file") || return
    at_end+=("echo '$before' >'$file'")
    saved_sysctls+=("$file=$before")
    echo "$2" >"$file"
}
saved_sysctls=()
restore_sysctls() {
    local saved
    for saved in "${saved_sysctls[@]}"; do
        echo "${saved#*=}" >"${saved%%=*}"
    done
    saved_sysctls=()
}

# controller_of NAME: the directory of a cgroup hierarchy with this controller, as "VERSION DIRECTORY"; empty: none.
controller_of() {
    if [ -d "/sys/fs/cgroup/$1" ] && grep -qE "^[0-9]+:([^:]*,)?$1(,[^:]*)?:" /proc/self/cgroup; then
        echo "1 /sys/fs/cgroup/$1"
    elif grep -qw "$1" /sys/fs/cgroup/cgroup.controllers 2>/dev/null &&
        echo "+$1" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
        echo "2 /sys/fs/cgroup"
    fi
}

# make_confinement CONTROLLER: a cgroup of the test's own for the daemon and its children, where
# start_daemon starts it. Sets confinement and confinement_version. The script is skipped where this machine has none.
make_confinement() {
    read -r confinement_version confinement < <(controller_of "$1")
    [ -n "${confinement-}" ] || skip "no cgroup hierarchy with the controller $1 is mounted here"
    confinement+=/perfcountd-pressure-$$-$1
    mkdir "$confinement" || skip "no cgroup can be made in ${confinement%/*}"
    at_end+=("remove_confinement '$confinement'")
    # shellcheck disable=SC2016 # of the inner shell
    wrapper=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$confinement")
}
remove_confinement() {
    local pid
    while read -r pid; do
        kill -9 "$pid" 2>/dev/null
    done <"$1/cgroup.procs"
    eventually 5 rmdir "$1"
}
