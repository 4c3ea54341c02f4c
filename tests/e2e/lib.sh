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
# A configuration without cgroups, with which a daemon starts in half the time: for what has to do with none of them.
light=$scratch/light.yaml
echo 'collectors: {cgroup: {enabled: false}}' >"$light"

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
    eventually 60 listening_or_dead
    url=$(sed -n 's|.*listening on \(https\{0,1\}://[^ "]*\)/.*|\1|p' "$daemon_log" | head -n 1)
    if ! running "$daemon_pid" || { [ -n "$url" ] && ! eventually 60 curl -sf "${client[@]}" "$url/-/ready"; }; then
        fail "the daemon starts" "$(cat "$daemon_log")"
        finish
    fi
}

# stop_daemon: SIGTERM. Sets daemon_status, 137 where it had to be killed.
stop_daemon() {
    kill -TERM "$daemon_pid"
    eventually 60 not running "$daemon_pid" || kill -9 "$daemon_pid"
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

# child_named NAME: the process id of that child of the daemon.
child_named() {
    pgrep -P "$daemon_pid" -x "$1"
}

# perf_fds: how many events the daemon has open.
perf_fds() {
    find "/proc/$daemon_pid/fd" -lname '*perf_event*' 2>/dev/null | wc -l
}
fds_are() {
    [ "$(perf_fds)" -eq "$1" ]
}

# samples_in FILE: how many a stream has. has_samples FILE NUMBER: as many, or more.
samples_in() {
    grep -c '"type":"sample"' "$1"
}
has_samples() {
    [ "$(samples_in "$1")" -ge "$2" ]
}

# sample_until NUMBER FILE PATH: a stream into the file, until there are that many samples.
sample_until() {
    : >"$2"
    curl -sN --globoff "$url$3" >"$2" &
    children+=("$!")
    holds "$3: there are $1 samples" eventually 60 has_samples "$2" "$1"
    kill "${children[-1]}"
    wait "${children[-1]}" 2>/dev/null
    sed -i '$d' "$2" # it may be cut
}

# end_of FILE FIELD: of the record that ends a stream of samples.
end_of() {
    tail -n 1 "$1" | jq -r "select(.type == \"end\") | .$2"
}

# log_has TEXT [TIMES]: that many lines of the daemon's log have it, or more.
log_has() {
    [ "$(grep -cF -- "$1" "$daemon_log")" -ge "${2-1}" ]
}

# threads_do: a line for each thread of the daemon and its children: its state, and how often it has run.
threads_do() {
    local pid
    for pid in "$daemon_pid" $(pgrep -P "$daemon_pid"); do
        awk '$1 == "State:" { state = $2 } /^voluntary_ctxt/ { n = $2 } /^nonvoluntary_ctxt/ { print state, n + $2 }' \
            "/proc/$pid/task/"*/status
    done
}
all_threads_sleep() {
    ! threads_do | grep -qv '^S '
}
# sleeps_through COMMAND...: while the command runs, no thread does: a system call would take one.
sleeps_through() {
    local before after
    eventually 60 all_threads_sleep || return
    before=$(threads_do)
    "$@"
    after=$(threads_do)
    [ "$before" = "$after" ] || { diff <(echo "$before") <(echo "$after"); false; }
}

# memory_of PID: resident kilobytes.
memory_of() {
    awk '$1 == "VmRSS:" { print $2 }' "/proc/$1/status"
}

# Of N samples, a share of 70 % has a standard deviation of 45.8 / sqrt(N) points. Five of them are 3 points with $enough
# samples, and where other programs or a host take the CPU, fewer samples say less.
# shellcheck disable=SC2034 # the tests'
enough=5830

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

# within_points TITLE "SHARE SAMPLES" [OF]: of what the program had by its own clock, which is $truth, or of another share
# of about as many samples.
# shellcheck disable=SC2154 # the test's
within_points() {
    local n=${2#* } difference="(${2% *} - ${3-$truth})"
    compares "$1: samples of the program" "$n >= 30"
    compares "$1: the share of one function is within five standard deviations" \
        "$difference ^ 2 * $n <= ${3+2 * }(5 * 45.8) ^ 2"
}

# requests_are_read: nothing that clients have sent to the daemon's TCP port waits to be read.
requests_are_read() {
    awk -v port="$(printf ':%04X$' "${url##*:}")" '
        $2 ~ port && $4 == "01" && $5 !~ /:0+$/ { unread = 1 }
        END { exit unread }' /proc/net/tcp
}
# clients_are_gone: the daemon has closed its ends of all connections to its TCP port.
clients_are_gone() {
    ! find "/proc/$daemon_pid/fd" -lname 'socket:*' -printf '%l\n' | grep -qFf \
        <(awk -v port="$(printf ':%04X$' "${url##*:}")" '
            $2 ~ port && $4 != "0A" { print "socket:[" $10 "]" }' /proc/net/tcp)
}
# wait_for_answer PATH: a client whose request the daemon has read. Sets waiting, its descriptor.
wait_for_answer() {
    exec {waiting}<>"/dev/tcp/127.0.0.1/${url##*:}"
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' "$1" >&"$waiting"
    holds "$1 is asked for" eventually 60 requests_are_read
}

# sum_of METRIC-REGEX: the values of all series that match, added up.
sum_of() {
    get /metrics | awk -v pattern="^$1[{ ]" '$0 ~ pattern { sum += $NF } END { printf "%.9g\n", sum }'
}
