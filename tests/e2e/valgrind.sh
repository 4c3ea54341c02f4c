#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs commands and a daemon under valgrind, which must report no error and no leak.
# set: all
. "$(dirname "$0")/lib.sh"
need curl valgrind

wrapper=(valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds="definite,indirect"
    --errors-for-leak-kinds="definite,indirect")
# libbpf passes uninitialised bytes to bpf(2) and takes half a minute under valgrind. The sanitizers test the engine
# bpf.
echo 'collectors: {cgroup: {engine: perf}}' >"$scratch/perf.yaml"
for arguments in 'check-config' 'list-events --json' 'list-metrics --json' "plan --config.file=$scratch/perf.yaml" \
    "stat --interval=50ms --config.file=$scratch/perf.yaml" '--help'; do
    # shellcheck disable=SC2086 # words
    holds "perfcountd $arguments" "${wrapper[@]}" "$PERFCOUNTD" $arguments
done
echo 'collectors: {cpu: {groups: [{name: x, events: "{cycels}"}]}}' >"$scratch/bad.yaml"
"${wrapper[@]}" "$PERFCOUNTD" check-config "$scratch/bad.yaml" >"$scratch/output" 2>&1
equals "check-config rejects an invalid file under valgrind" "$?" 2

# The opener's filter would refuse system calls that valgrind makes itself.
echo 'web: {local_operators: true}' >>"$scratch/perf.yaml"
start_daemon --no-opener --config.file="$scratch/perf.yaml"
get /metrics -o /dev/null
get /metrics -o /dev/null -H 'Accept: application/openmetrics-text' -H 'Accept-Encoding: gzip'
for path in / /api/v1/counters /api/v1/pmus /api/v1/events /api/v1/metrics /api/v1/status \
    /api/v1/config '/api/v1/rates?seconds=0.1' \
    /nothing '/api/v1/counters?cpu=x'; do
    get "$path" -o /dev/null
done
equals "a reload succeeds" "$(get /-/reload -X POST)" reloaded
wait_for_answer '/api/v1/rates?seconds=60'
stop_daemon
equals "the daemon exits cleanly with a waiting client" "$daemon_status" 0
equals "valgrind reports nothing" "$(grep '^==' "$daemon_log")" ""
finish
