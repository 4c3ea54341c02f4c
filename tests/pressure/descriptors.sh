#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The running daemon runs out of descriptors: first because of its own limit (EMFILE), then because of the machine's
# (ENFILE, injected by strace, so that other processes are not affected). Connected clients are still served, and
# everything recovers in the end.
. "$(dirname "$0")/lib.sh"
need prlimit strace

config=$scratch/perfcountd.yaml
configure() {
    {
        printf 'web: {min_interval: 0s, local_operators: true}\n'
        printf 'sampler: {enabled: true, event: cpu-clock, allow: local}\n'
        printf 'collectors:\n  cgroup: {enabled: false}\n  cpu:\n    groups:\n'
        printf '      - {name: %s, events: "context-switches"}\n' "$@"
    } >"$config"
}
counts_group() {
    get /metrics | grep -q "^perf_cpu_context_switches_total{.*group=\"$1\"}"
}
samples() {
    get '/api/v1/samples?seconds=0.2' | grep -q '"type":"end","reason":"seconds"'
}
# pressed ERROR REMEDY: connects a client, which waits in the socket's backlog until a descriptor is free, and checks
# that the log says so.
pressed() {
    get /-/ready -f -o /dev/null &
    waiter=$!
    says "$1: that clients wait" 'waiting to be accepted' "$1" "$2"
    equals "$1: the failure is logged once" "$(grep -c 'waiting to be accepted' "$daemon_log")" 1
}
# relieved ERROR GROUP: checks that everything has recovered.
relieved() {
    local status=0
    wait "$waiter" || status=$?
    equals "$1: the waiting client is served" $status 0
    back "$1, sampling" samples
    back "$1, counting group $2" counts_group "$2"
    served_rightly "$1"
    ends_well "$1"
}

configure first
start_daemon --no-opener --config.file="$config" # lets this test set the limit of the running daemon
before=$(ulimit -Hn)
start_scraping
prlimit --pid "$daemon_pid" --nofile="$(open_files):"
pressed EMFILE 'LimitNOFILE='
configure first second
kill -HUP "$daemon_pid"
holds "EMFILE: the reload has finished" eventually 60 grep -qE 'configuration reloaded|stays in effect' "$daemon_log"
prlimit --pid "$daemon_pid" --nofile="$before:"
kill -HUP "$daemon_pid" # opens what the previous reload could not
relieved EMFILE second

# inject PID CALLS: makes these calls fail with ENFILE until strace ends.
inject() {
    strace -f -o /dev/null -e "trace=$2" -e "inject=$2:error=ENFILE" -p "$1" 2>"$scratch/strace.$1" &
    tracers+=($!)
    children+=($!)
    eventually 60 grep -q attached "$scratch/strace.$1"
}
tracers=()
calls=accept4,socket,socketpair,openat,timerfd_create,eventfd2,epoll_create1,inotify_init1,memfd_create
configure first
start_daemon --config.file="$config"
start_scraping
opener=$(get /api/v1/status | jq -r '.opener.pid // empty')
inject "$daemon_pid" $calls,pipe2
[ -z "$opener" ] || inject "$opener" perf_event_open,$calls
pressed ENFILE 'fs.file-max'
kill -HUP "$daemon_pid"
says "ENFILE: why a reload fails" 'Too many open files in system; the previous configuration stays in effect'
kill -TERM "${tracers[@]}"
wait "${tracers[@]}" 2>/dev/null
relieved ENFILE first
finish
