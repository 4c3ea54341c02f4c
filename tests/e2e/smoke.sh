#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Starts the daemon, requests every route, reloads and stops. tests/e2e/valgrind.sh runs this as well.
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
    equals "compressed OpenMetrics is served" \
        "$(status_of /metrics -H 'Accept: application/openmetrics-text' -H 'Accept-Encoding: gzip')" 200
    equals "an unknown path is 404" "$(status_of /api/v1/nothing)" 404
    equals "an unsupported method is 405" "$(status_of /metrics -X DELETE)" 405
    equals "an invalid parameter is 400" "$(status_of '/api/v1/rates?seconds=x')" 400
    wait_for_answer '/api/v1/rates?seconds=60'
    exec {waiting}>&- # the client disconnects before the response
    printf '%s\n' 'web: {local_operators: true}' \
        "collectors: {cpu: {groups: [{name: round$round, events: '{page-faults,sched:sched_switch}'}]}}" \
        >"$scratch/perfcountd.yaml"
    equals "a reload succeeds" "$(status_of /-/reload -X POST)" 200
    equals "the new group is counted" \
        "$(get "/api/v1/counters?group=round$round&event=page_faults" | jq '.counters | length > 0')" true
done
echo 'nonsense' >"$scratch/perfcountd.yaml"
equals "an invalid file is rejected" "$(status_of /-/reload -X POST)" 400
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
lacks "the log has no error" 'ERROR|Sanitizer|runtime error|definitely lost|Invalid ' "$daemon_log"
finish
