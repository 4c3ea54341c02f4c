# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Library of the end-to-end tests: runs a daemon on a port of its own, and provides checks that print what they
# expected.
#
# PERFCOUNTD is the path of the binary, by default one in build/. A script ends with `finish`, which exits with 0 if all
# checks passed and with 1 if not. A skipped script exits with 77.

set -u
export LC_ALL=C
umask 022 # daemons that run as other users must read the files of a test

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=../checks.sh
. "$root/tests/checks.sh"
find_daemon
PATH=$PATH:/usr/sbin:/sbin:$root/build/tools/usr/bin:$root/build/tools/usr/sbin
scratch=$(mktemp -d "${TMPDIR:-/tmp}/perfcountd-test.XXXXXX")
children=()   # killed when the script exits
wrapper=()    # command that start_daemon puts before the binary, such as valgrind
client=()     # curl's TLS options, such as --cacert
daemon_pid=0
# A configuration without the collector cgroup and without a history, for tests that need neither: the daemon starts in
# half the time, and sleeps between scrapes.
light=$scratch/light.yaml
printf '%s\n' 'collectors: {cgroup: {enabled: false}}' 'history: {enabled: false}' >"$light"

# group_of PID: prints the process group.
group_of() {
    sed -E 's/.*\) . [0-9]+ ([0-9]+) .*/\1/' "/proc/$1/stat" 2>/dev/null
}
cleanup() {
    local pid group
    group=$(group_of $$)
    for pid in "${children[@]}"; do
        # If the child has ended, this may be the PID of another test's process.
        [ "$(group_of "$pid")" != "$group" ] || kill -9 "$pid" 2>/dev/null
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

# need PROGRAM...: fails the script if a program is missing, rather than skipping it: a skipped test proves nothing.
need() {
    local program
    for program; do
        command -v "$program" >/dev/null && continue
        echo "NOT OK: $program is not installed; on Debian, ./quickstart test installs it" >&2
        exit 1
    done
}

running() {
    local state
    state=$(awk '$1 == "State:" { print $2 }' "/proc/$1/status" 2>/dev/null) && [ -n "$state" ] && [ "$state" != Z ]
}

# launch_daemon FLAGS...: starts the daemon and does not wait. Sets daemon_pid and daemon_log.
launch_daemon() {
    daemon_log=$(mktemp "$scratch/daemon.XXXXXX.log")
    "${wrapper[@]}" "$PERFCOUNTD" "$@" >"$daemon_log" 2>&1 </dev/null &
    daemon_pid=$!
    children+=("$daemon_pid")
}

listening_or_dead() {
    grep -q 'listening on ' "$daemon_log" || ! running "$daemon_pid"
}

# start_daemon FLAGS...: starts the daemon and waits until it is ready. It listens on a free port of 127.0.0.1 unless
# the flags set an address. Also sets url, without the trailing slash.
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

# stop_daemon: sends SIGTERM and waits. Sets daemon_status, which is 137 if the daemon had to be killed.
stop_daemon() {
    kill -TERM "$daemon_pid"
    eventually 60 not running "$daemon_pid" || kill -9 "$daemon_pid"
    wait "$daemon_pid"
    # shellcheck disable=SC2034 # the scripts use it
    daemon_status=$?
}

not() {
    ! "$@"
}

# get PATH [CURL-OPTIONS...]: prints the body of the response.
get() {
    curl -sS --globoff --max-time 90 "${client[@]}" "${@:2}" "$url$1"
}

# status_of PATH [CURL-OPTIONS...]: prints only the status code.
status_of() {
    curl -sS --globoff --max-time 90 -o /dev/null -w '%{http_code}' "${client[@]}" "${@:2}" "$url$1"
}

# child_named NAME: prints the process id of the daemon's child with this name.
child_named() {
    pgrep -P "$daemon_pid" -x "$1"
}

# perf_fds: prints how many perf events the daemon has open.
perf_fds() {
    find "/proc/$daemon_pid/fd" -lname '*perf_event*' 2>/dev/null | wc -l
}
fds_are() {
    [ "$(perf_fds)" -eq "$1" ]
}

# samples_in FILE: prints the number of samples in a stream. has_samples FILE NUMBER: succeeds if there are that many or
# more.
samples_in() {
    grep -c '"type":"sample"' "$1"
}
has_samples() {
    [ "$(samples_in "$1")" -ge "$2" ]
}

# sample_until NUMBER FILE PATH: writes a stream to the file until it contains this many samples.
sample_until() {
    : >"$2"
    curl -sN --globoff "$url$3" >"$2" &
    children+=("$!")
    holds "$3: there are $1 samples" eventually 60 has_samples "$2" "$1"
    kill "${children[-1]}"
    wait "${children[-1]}" 2>/dev/null
    sed -i '$d' "$2" # the last line may be incomplete
}

# end_of FILE FIELD: prints a field of a stream's end record.
end_of() {
    tail -n 1 "$1" | jq -r "select(.type == \"end\") | .$2"
}

# log_has TEXT [TIMES]: succeeds if at least TIMES lines of the daemon's log contain the text; 1 by default.
log_has() {
    [ "$(grep -cF -- "$1" "$daemon_log")" -ge "${2-1}" ]
}

# threads_do: prints the state and the number of context switches of each thread of the daemon and its children.
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
# sleeps_through COMMAND...: succeeds if no thread runs during the command. Even a single system call is noticed,
# because it takes a context switch.
sleeps_through() {
    local before after
    eventually 60 all_threads_sleep || return
    before=$(threads_do)
    "$@"
    after=$(threads_do)
    [ "$before" = "$after" ] || { diff <(echo "$before") <(echo "$after"); false; }
}

# has_cpu_time PID N: succeeds if the process has used N hundredths of a second of CPU time in user space.
has_cpu_time() {
    [ "$(awk '{ print $14 }' "/proc/$1/stat")" -ge "$2" ]
}

# memory_of PID: prints the resident set size in kB.
memory_of() {
    awk '$1 == "VmRSS:" { print $2 }' "/proc/$1/status"
}

# With N samples, a share of 70 % has a standard deviation of 45.8 / sqrt(N) percentage points; with $enough samples,
# five of them are 3 points. If other programs or the host take CPU time, there are fewer samples and the bound is
# wider.
# shellcheck disable=SC2034 # the tests use it
enough=5830

# cpu_seconds_of PROGRAM: prints how much CPU time tests/e2e/hot.c gets per second, which is less if other programs run.
cpu_seconds_of() {
    "$@" 2 | awk '{ ns += $1 } END { print ns / 2e9 }'
}

# share: reads lines "WEIGHT ... SYMBOL". Prints the first function's percentage of the total weight of both functions
# of tests/e2e/hot.c (0 if that is 0), and the total weight.
share() {
    awk '$NF == "hot_seventy" { a += $1 } $NF == "hot_thirty" { b += $1 }
        END { printf "%.2f %d\n", (a + b > 0 ? 100 * a / (a + b) : 0), a + b }'
}

# Each of these reads a file of its format, and prints lines "WEIGHT SYMBOL" for the functions of the process $program.
# shellcheck disable=SC2154 # the test sets it
script_weights() {
    perf script -i - -F comm,ip,sym -G <"$1" 2>"$scratch/complaints" |
        awk -v comm="$program" '$1 == comm { print 1, $NF }'
}
# shellcheck disable=SC2154
folded_weights() {
    awk -v comm="$program" 'index($0, comm ";") == 1 {
        count = $NF
        sub(/ [0-9]+$/, "")
        sub(/.*;/, "")
        print count, $0
    }' "$1"
}
# shellcheck disable=SC2154
protoc_weights() {
    gzip -dc "$1" | protoc --decode=perftools.profiles.Profile --proto_path="$root/tests/e2e" \
        "$root/tests/e2e/profile.proto" >"$scratch/profile" || return
    awk -f "$here/profile.awk" "$scratch/profile" >"$scratch/fields"
    awk -v comm="$program" '$1 == "leaf" && $2 == comm { print $3, $4 }' "$scratch/fields"
}

# within_points TITLE "SHARE SAMPLES" [OF]: checks that the share is within five standard deviations of $truth, which
# the program measured itself, or of OF, which was measured with about as many samples.
# shellcheck disable=SC2154 # the test sets it
within_points() {
    local n=${2#* } difference="(${2% *} - ${3-$truth})"
    compares "$1: samples of the program" "$n >= 30"
    compares "$1: the first function's share is within five standard deviations" \
        "$difference ^ 2 * $n <= ${3+2 * }(5 * 45.8) ^ 2"
}

# requests_are_read: succeeds if the daemon has read everything that clients have sent to its TCP port.
requests_are_read() {
    awk -v port="$(printf ':%04X$' "${url##*:}")" '
        $2 ~ port && $4 == "01" && $5 !~ /:0+$/ { unread = 1 }
        END { exit unread }' /proc/net/tcp
}
# clients_are_gone: succeeds if the daemon has closed all connections to its TCP port.
clients_are_gone() {
    ! find "/proc/$daemon_pid/fd" -lname 'socket:*' -printf '%l\n' | grep -qFf \
        <(awk -v port="$(printf ':%04X$' "${url##*:}")" '
            $2 ~ port && $4 != "0A" { print "socket:[" $10 "]" }' /proc/net/tcp)
}
# wait_for_answer PATH: sends a request, waits until the daemon has read it, and leaves the response unread. Sets
# waiting, the connection's descriptor.
wait_for_answer() {
    exec {waiting}<>"/dev/tcp/127.0.0.1/${url##*:}"
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' "$1" >&"$waiting"
    holds "the daemon has read the request for $1" eventually 60 requests_are_read
}

# sum_of METRIC-REGEX: prints the sum of all series that match.
sum_of() {
    get /metrics | awk -v pattern="^$1[{ ]" '$0 ~ pattern { sum += $NF } END { printf "%.9g\n", sum }'
}
