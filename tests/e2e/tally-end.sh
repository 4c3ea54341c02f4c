#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The BPF program that counts cgroups ends with the process that loaded it, however that ends, and when nobody wants it
# any more. Takes root, and a kernel that takes the program.
. "$(dirname "$0")/lib.sh"
need curl python3 jq
[ "$(id -u)" -eq 0 ] || skip "only root loads programs"

configure() {
    printf 'web: {local_operators: true}\ncollectors: {cgroup: {engine: %s}}\n' "$1" >"$scratch/tally.yaml"
}
# programs_of PID: the ids of the BPF programs that the process has.
programs_of() {
    awk '$1 == "prog_id:" { print $2 }' "/proc/$1/fdinfo/"* 2>/dev/null | sort -un | tr '\n' ' '
}
# are_gone ID...
are_gone() {
    [ -z "$(python3 "$here/bpf-programs.py" "$@")" ]
}
# start FLAGS...: sets `holder`, the process with the programs, and `programs`.
start() {
    start_daemon "$@" --config.file="$scratch/tally.yaml"
    holder=$daemon_pid
    case " $* " in
    *' --no-opener '*) ;;
    *) holder=$(get /api/v1/status | jq .opener.pid) ;;
    esac
    read -ra programs <<<"$(programs_of "$holder")"
}
# two_are_there TITLE
two_are_there() {
    equals "$1: the two programs are there" "$(python3 "$here/bpf-programs.py" "${programs[@]}" | wc -l)" 2
}

configure auto
start --no-opener
reason=$(get /api/v1/status | jq -r '.cgroups.engine_reason // empty')
[ -z "$reason" ] || skip "$reason"

configure bpf
two_are_there "one process"
kill -9 "$daemon_pid"
holds "one process that is killed leaves none" eventually 10 are_gone "${programs[@]}"

start --no-opener
two_are_there "one process again"
stop_daemon
equals "it ends orderly" "$daemon_status" 0
holds "and leaves none" eventually 10 are_gone "${programs[@]}"

start
two_are_there "an opener"
equals "the daemon beside it has none" "$(programs_of "$daemon_pid")" ""
kill -9 "$daemon_pid"
holds "a daemon that is killed leaves none" eventually 10 are_gone "${programs[@]}"

start
two_are_there "an opener again"
kill -9 "$holder"
holds "an opener that is killed leaves none" eventually 10 are_gone "${programs[@]}"
holds "and the daemon outlives it" running "$daemon_pid"
stop_daemon

start
two_are_there "an opener once more"
configure perf
equals "a reload to the engine perf" "$(status_of /-/reload -X POST)" 200
holds "leaves none, while both processes go on" eventually 10 are_gone "${programs[@]}"
equals "the same opener" "$(get /api/v1/status | jq .opener.pid)" "$holder"
stop_daemon
finish
