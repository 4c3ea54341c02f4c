#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Commands and a daemon under valgrind: no error, no leak.
# set: all
. "$(dirname "$0")/lib.sh"
need curl valgrind

wrapper=(valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds="definite,indirect"
    --errors-for-leak-kinds="definite,indirect")
# Libbpf gives bpf(2) bytes that nobody has written, and takes half a minute here: the sanitizers have the engine bpf.
echo 'collectors: {cgroup: {engine: perf}}' >"$scratch/perf.yaml"
for arguments in 'check-config' 'list-events --json' 'list-metrics --json' "plan --config.file=$scratch/perf.yaml" \
    "stat --interval=50ms --config.file=$scratch/perf.yaml" '--help'; do
    # shellcheck disable=SC2086 # a list
    holds "perfcountd $arguments" "${wrapper[@]}" "$PERFCOUNTD" $arguments
done
echo 'collectors: {cpu: {groups: [{name: x, events: "{cycels}"}]}}' >"$scratch/bad.yaml"
"${wrapper[@]}" "$PERFCOUNTD" check-config "$scratch/bad.yaml" >"$scratch/output" 2>&1
equals "check-config of a bad file" "$?" 2

# Valgrind makes system calls of its own, which the opener's filter refuses.
echo 'web: {local_operators: true}' >>"$scratch/perf.yaml"
start_daemon --no-opener --config.file="$scratch/perf.yaml"
get /metrics -o /dev/null
get /metrics -o /dev/null -H 'Accept: application/openmetrics-text' -H 'Accept-Encoding: gzip'
for path in / /api/v1/counters /api/v1/pmus /api/v1/events /api/v1/metrics /api/v1/status \
    /api/v1/config '/api/v1/rates?seconds=0.1' \
    /nothing '/api/v1/counters?cpu=x'; do
    get "$path" -o /dev/null
done
equals "a reload" "$(get /-/reload -X POST)" reloaded
wait_for_answer '/api/v1/rates?seconds=60'
stop_daemon
equals "start, scrape, reload, stop with a waiting client" "$daemon_status" 0
equals "valgrind has nothing to say" "$(grep '^==' "$daemon_log")" ""
finish
