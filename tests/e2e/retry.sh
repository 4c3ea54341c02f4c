#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An event that could not be opened for want of descriptors counts by itself once there are some, and is logged once.
. "$(dirname "$0")/lib.sh"
need curl prlimit strace

# group NAME: of 30 events, so that not both are opened, and clients still find a descriptor.
group() {
    local i
    printf '      - name: %s\n        events:\n' "$1"
    for ((i = 0; i < 30; i++)); do
        printf '          - {event: cs, name: %s_%d}\n' "$1" $i
    done
}
# configure GROUP...
configure() {
    printf 'web: {min_interval: 0s, local_operators: true}\n'
    printf 'collectors:\n  cgroup: {enabled: false}\n  self: {enabled: false}\n'
    printf '  cpu:\n    cpus: "0"\n    groups:\n'
    local name
    for name in "$@"; do
        group "$name"
    done
}
# allow DESCRIPTORS: the soft limit of the running daemon, which raised it to the hard one at its start.
allow() {
    prlimit --pid "$daemon_pid" --nofile="$1:"
}

# counted: how many of the events have a value.
counted() {
    get /metrics | grep -c '^perf_cpu_\(first\|second\)_[0-9]*_total{'
}
counts() {
    [ "$(counted)" -eq "$1" ]
}

configure first >"$scratch/retry.yaml"
start_daemon --no-opener --config.file="$scratch/retry.yaml"
allow 64
configure first second >"$scratch/retry.yaml"
equals "a reload for which descriptors do not suffice" "$(status_of /-/reload -X POST)" 200
equals "one group is opened, whole" "$(counted)" 30
equals "why the other is not can be seen" \
    "$(get /metrics | grep -c '^perfcountd_events_unavailable{.*group="second".*reason="EMFILE"} 1$')" 30
before=$(get /metrics | awk '/^perf_cpu_first_0_total/ { print $2 }')
sleep 4 # two tries
equals "failing tries are logged once" "$(grep -c EMFILE "$daemon_log")" 1
allow 1024
holds "with more descriptors the other counts by itself" eventually 10 counts 60
equals "nothing is missing" "$(get /metrics | grep -c '^perfcountd_events_unavailable')" 0
equals "and it is one group, by its name" "$(get /metrics | grep -c '^perf_cpu_second_.*group="second"')" 30
compares "totals went on" "$(get /metrics | awk '/^perf_cpu_first_0_total/ { print $2 }') >= $before"

strace -f -e trace=perf_event_open,epoll_wait,epoll_pwait2,timerfd_settime -o "$scratch/trace" -p "$daemon_pid" \
    2>/dev/null &
children+=("$!")
is_traced() {
    get /-/ready -o /dev/null
    test -s "$scratch/trace"
}
holds "its waiting is traced" eventually 10 is_traced
sleep 1
: >"$scratch/trace"
sleep 6
equals "then nothing wakes it" "$(cat "$scratch/trace")" ""
holds "and it is traced still" is_traced
stop_daemon
finish
