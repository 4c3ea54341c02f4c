#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# libpfm4 takes 2 to 3 MB, so it is not loaded before an event name needs it.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq

maps_libpfm() {
    grep -q 'libpfm\.so' "/proc/$daemon_pid/maps"
}

# with_event EVENT: writes a configuration with this event and one that every machine has.
with_event() {
    cat >"$scratch/perfcountd.yaml" <<EOF
web: {min_interval: 0s, local_operators: true}
collectors:
  cpu:
    groups:
      - {name: named, events: "$1"}
      - {name: software, events: "page-faults"}
EOF
}

failure() {
    get /api/v1/status | jq -r '[.failures[] | select(.group == "named") | .message][0]'
}

start_daemon
built=$(get /metrics | sed -n 's/^perfcountd_build_info{.*libpfm4="\([a-z]*\)".*/\1/p')
matches "the build information says whether libpfm4 is built in" "$built" '^(yes|no)$'
holds "the default configuration does not load libpfm4" not maps_libpfm
stop_daemon

with_event 'page-faults,sched:sched_switch,armv8_none/event=1/,cpu/event=0x3c/'
start_daemon --config.file="$scratch/perfcountd.yaml"
get /metrics >/dev/null
holds "sysfs events, tracepoints and missing PMUs do not load libpfm4" not maps_libpfm

with_event 'arm_none::L2D_CACHE_REFILL:u'
equals "a libpfm4 name for another machine is not a configuration error" "$(status_of /-/reload -X POST)" 200
holds "the other groups are served" test "$(sum_of perf_cpu_page_faults_total)" != 0
if [ "$built" = yes ]; then
    holds "a libpfm4 name loads libpfm4" maps_libpfm
    matches "the error is explained" "$(failure)" '^libpfm4 has no PMU "arm_none" for this machine'
else
    matches "the error says that libpfm4 is missing" \
        "$(failure)" 'libpfm4, which knows such names, is not built into this perfcountd'
fi

with_event 'page_fault'
equals "a misspelt event is a configuration error" "$(status_of /-/reload -X POST)" 400
matches "the error suggests the nearest name" "$(get /-/reload -X POST)" 'did you mean "page-faults"'
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
finish
