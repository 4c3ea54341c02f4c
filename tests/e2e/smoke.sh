#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Start, every route once, reload, stop. This is what runs on an instrumented binary, too.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq

printf 'web: {min_interval: 0s, local_operators: true}\n' >"$scratch/perfcountd.yaml"
start_daemon --config.file="$scratch/perfcountd.yaml"
for round in 1 2; do
    for path in / /metrics '/metrics?collect[]=cpu' /-/healthy /-/ready /api/v1/counters '/api/v1/counters?cpu=0' \
        /api/v1/pmus /api/v1/events /api/v1/metrics /api/v1/status /api/v1/config '/api/v1/rates?seconds=0.05'; do
        equals "GET $path, round $round" "$(status_of "$path")" 200
        equals "HEAD $path, round $round" "$(status_of "$path" -I)" 200
    done
    equals "OpenMetrics, compressed" \
        "$(status_of /metrics -H 'Accept: application/openmetrics-text' -H 'Accept-Encoding: gzip')" 200
    equals "not found" "$(status_of /api/v1/nothing)" 404
    equals "not allowed" "$(status_of /metrics -X DELETE)" 405
    equals "not understood" "$(status_of '/api/v1/rates?seconds=x')" 400
    wait_for_answer '/api/v1/rates?seconds=60'
    exec {waiting}>&- # a client that goes before its answer
    printf '%s\n' 'web: {local_operators: true}' \
        "collectors: {cpu: {groups: [{name: round$round, events: '{page-faults,sched:sched_switch}'}]}}" \
        >"$scratch/perfcountd.yaml"
    equals "POST /-/reload" "$(status_of /-/reload -X POST)" 200
    equals "the new group is there" \
        "$(get "/api/v1/counters?group=round$round&event=page_faults" | jq '.counters | length > 0')" true
done
echo 'nonsense' >"$scratch/perfcountd.yaml"
equals "a bad file is refused" "$(status_of /-/reload -X POST)" 400
stop_daemon
equals "it ends well" "$daemon_status" 0
lacks "and says nothing of errors" 'ERROR|Sanitizer|runtime error|definitely lost|Invalid ' "$daemon_log"
finish
