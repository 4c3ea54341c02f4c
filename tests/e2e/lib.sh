# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the end-to-end tests: a daemon on a port of its own, and checks that say what they expected.
#
# PERFCOUNTD names the binary. A script ends with `finish`: exit 0 if all checks held, 1 if not, 77 if it was skipped.

set -u
export LC_ALL=C
umask 022 # daemons of other users read what is made here

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=../checks.sh
. "$root/tests/checks.sh"
for candidate in "${PERFCOUNTD-}" "$root"/build/{plain/,run/,}perfcountd; do
    [ -n "$candidate" ] && [ -x "$candidate" ] && break
done
if [ ! -x "$candidate" ]; then
    echo "there is no perfcountd in build/: build it, or name it by PERFCOUNTD=/path" >&2
    exit 1
fi
PERFCOUNTD=$(realpath "$candidate")
PATH=$PATH:/usr/sbin:/sbin:$root/build/tools/usr/bin:$root/build/tools/usr/sbin
scratch=$(mktemp -d "${TMPDIR:-/tmp}/perfcountd-test.XXXXXX")
children=()   # ended with the script
wrapper=()    # start_daemon puts this before the binary, such as valgrind
client=()     # curl's options of TLS, such as --cacert
daemon_pid=0

cleanup() {
    local pid
    for pid in "${children[@]}"; do
        kill -9 "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

skip() {
    echo "skipped: $*"
    exit 77
}

# need PROGRAM...: without it the script fails, since it would prove nothing.
need() {
    local program
    for program; do
        command -v "$program" >/dev/null && continue
        echo "NOT OK: there is no $program here; ./quickstart test installs it on Debian" >&2
        exit 1
    done
}

running() {
    local state
    state=$(awk '$1 == "State:" { print $2 }' "/proc/$1/status" 2>/dev/null) && [ -n "$state" ] && [ "$state" != Z ]
}

# launch_daemon FLAGS...: starts it and waits for nothing. Sets daemon_pid and daemon_log.
launch_daemon() {
    daemon_log=$(mktemp "$scratch/daemon.XXXXXX.log")
    "${wrapper[@]}" "$PERFCOUNTD" "$@" >"$daemon_log" 2>&1 </dev/null &
    daemon_pid=$!
    children+=("$daemon_pid")
}

listening_or_dead() {
    grep -q 'listening on ' "$daemon_log" || ! running "$daemon_pid"
}

# start_daemon FLAGS...: on a free port of 127.0.0.1 unless the flags name an address. Sets also url, without the
# last slash.
start_daemon() {
    case " $* " in
    *' --web.listen-address'*) launch_daemon "$@" ;;
    *) launch_daemon "$@" --web.listen-address=127.0.0.1:0 ;;
    esac
    eventually 30 listening_or_dead
    url=$(sed -n 's|.*listening on \(https\{0,1\}://[^ "]*\)/.*|\1|p' "$daemon_log" | head -n 1)
    if ! running "$daemon_pid" || { [ -n "$url" ] && ! eventually 30 curl -sf "${client[@]}" "$url/-/ready"; }; then
        fail "the daemon starts" "$(cat "$daemon_log")"
        finish
    fi
}

# stop_daemon: SIGTERM, up to 30 s. Sets daemon_status, 137 where it had to be killed.
stop_daemon() {
    kill -TERM "$daemon_pid"
    eventually 30 not running "$daemon_pid" || kill -9 "$daemon_pid"
    wait "$daemon_pid"
    # shellcheck disable=SC2034 # for the scripts
    daemon_status=$?
}

not() {
    ! "$@"
}

# get PATH [CURL-OPTIONS...]: the body.
get() {
    curl -sS --globoff --max-time 90 "${client[@]}" "${@:2}" "$url$1"
}

# status_of PATH [CURL-OPTIONS...]: the status code alone.
status_of() {
    curl -sS --globoff --max-time 90 -o /dev/null -w '%{http_code}' "${client[@]}" "${@:2}" "$url$1"
}

# memory_of PID: resident kilobytes.
memory_of() {
    awk '$1 == "VmRSS:" { print $2 }' "/proc/$1/status"
}

# Of N samples, a share of 70 % has a standard deviation of 45.8 / sqrt(N) points. Five of them are less than 3 points
# from $enough samples on, and the difference of two such shares, from $enough_for_two on.
# shellcheck disable=SC2034 # the tests'
enough=5830 enough_for_two=11660

# cpu_seconds_of PROGRAM: how many seconds of a CPU tests/e2e/hot.c has in a second, where others want the CPUs too.
cpu_seconds_of() {
    "$@" 2 | awk '{ ns += $1 } END { print ns / 2e9 }'
}

# share: of lines "WEIGHT ... SYMBOL", how much the first function of tests/e2e/hot.c has of the weight of both, in
# percent (0 where there is next to none), and that weight.
share() {
    awk '$NF == "hot_seventy" { a += $1 } $NF == "hot_thirty" { b += $1 }
        END { printf "%.2f %d\n", (a + b > 0 ? 100 * a / (a + b) : 0), a + b }'
}

# within_points TITLE "SHARE SAMPLES": of what the program had by its own clock, which is $truth.
# shellcheck disable=SC2154 # the test's
within_points() {
    compares "$1: enough samples of the program" "${2#* } >= $enough"
    compares "$1: the share of one function is within 3 points" "${2% *} > $truth - 3 && ${2% *} < $truth + 3"
}

# sum_of METRIC-REGEX: the values of all series that match, added up.
sum_of() {
    get /metrics | awk -v pattern="^$1[{ ]" '$0 ~ pattern { sum += $NF } END { printf "%.9g\n", sum }'
}
