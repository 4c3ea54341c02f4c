#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No descriptors while the daemon runs: its limit at the lowest (EMFILE), and a machine that has no more files
# (ENFILE, which strace plays, so that no other process has it). Clients that are connected are served; all is as
# before at the end.
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
open_files() {
    find "/proc/$daemon_pid/fd" -mindepth 1 | wc -l
}
# counts_group NAME
counts_group() {
    get /metrics --max-time 2 | grep -q "^perf_cpu_context_switches_total{.*group=\"$1\"}"
}
is_served() {
    [ "$(status_of /-/ready --max-time 2)" = 200 ]
}
samples() {
    get '/api/v1/samples?seconds=0.2' --max-time 5 | grep -q '"type":"end","reason":"seconds"'
}
# pressed ERROR REMEDY: what is the same while there are no descriptors, whatever took them.
pressed() {
    local waiting
    # This one waits in the queue of the socket until there is a descriptor for it.
    get /-/ready --max-time 20 -o /dev/null &
    waiting=$!
    sleep "$(for_length 1 5)"
    says "$1: that clients wait" 'wait to be accepted' "$1" "$2"
    equals "$1: it is logged once" "$(grep -c 'wait to be accepted' "$daemon_log")" 1
    equals "$1: it does not spin" "$(awk '{ print ($14 + $15 > '"$ticks"' + 100) }' "/proc/$daemon_pid/stat")" 0
    waiters+=("$waiting")
}
ticks_now() {
    ticks=$(awk '{ print $14 + $15 }' "/proc/$daemon_pid/stat")
}
waiters=()

# --- EMFILE

configure first
start_daemon --no-opener --config.file="$config" # so that the limit of a running daemon may be set here
before=$(ulimit -Hn)
start_scraping
sleep 0.5
ticks_now
prlimit --pid "$daemon_pid" --nofile="$(open_files):"
pressed EMFILE 'LimitNOFILE='
configure first second
kill -HUP "$daemon_pid"
eventually 5 logged 'configuration reloaded|stays in use'
prlimit --pid "$daemon_pid" --nofile="$before:"
back_within 1 "EMFILE: a client is accepted" is_served
wait "${waiters[@]}"
equals "EMFILE: the client that waited is served" $? 0
back_within 1 "EMFILE: a stream" samples
kill -HUP "$daemon_pid" # what the reload could not take is taken by the next one
eventually 5 logged 'configuration reloaded' "$(($(grep -c 'configuration reloaded' "$daemon_log") + 1))"
back_within 1 "EMFILE: the new group counts" counts_group second
served_rightly EMFILE
stop_daemon
equals "EMFILE: it ends well" "$daemon_status" 0

# --- ENFILE

# inject PID CALLS: they fail with ENFILE until strace ends.
inject() {
    strace -f -o /dev/null -e "trace=$2" -e "inject=$2:error=ENFILE" -p "$1" 2>"$scratch/strace.$1" &
    tracers+=($!)
    children+=($!)
    eventually 5 grep -q attached "$scratch/strace.$1"
}
tracers=()
calls=accept4,socket,socketpair,openat,timerfd_create,eventfd2,epoll_create1,inotify_init1,memfd_create
configure first
start_daemon --config.file="$config"
start_scraping
sleep 0.5
opener=$(get /api/v1/status | jq -r '.opener.pid // empty')
ticks_now
inject "$daemon_pid" $calls,pipe2
[ -z "$opener" ] || inject "$opener" perf_event_open,$calls
pressed ENFILE 'fs.file-max'
kill -HUP "$daemon_pid"
holds "ENFILE: a reload fails, and the old configuration stays" eventually 5 logged 'stays in use'
says "ENFILE: why" 'Too many open files in system; the old configuration stays in use'
kill -TERM "${tracers[@]}"
wait "${tracers[@]}" 2>/dev/null
back_within 1 "ENFILE: a client is accepted" is_served
wait "${waiters[-1]}"
equals "ENFILE: the client that waited is served" $? 0
back_within 1 "ENFILE: a stream" samples
back_within 1 "ENFILE: the groups count" counts_group first
served_rightly ENFILE
stop_daemon
equals "ENFILE: it ends well" "$daemon_status" 0
finish
