#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A minute after the sampler's last client has left, its symbol tables are freed, and their memory is returned to the
# system.
# set: all
. "$(dirname "$0")/lib.sh"
need curl pgrep

anonymous() {
    get /metrics >/dev/null # the next response is not longer than this one
    awk '$1 == "Anonymous:" { print $2 }' "/proc/$daemon_pid/smaps_rollup"
}
symboliser() {
    child_named perfcountd-symb >/dev/null
}

cat >"$scratch/config.yaml" <<'END'
web: {min_interval: 0s, local_operators: true}
collectors: {cgroup: {enabled: false}}
sampler: {enabled: true, event: cpu-clock, frequency: 199}
END
start_daemon --config.file="$scratch/config.yaml"
before=$(anonymous)
holds "without a client, no symboliser runs" not symboliser
for path in /api/v1/samples /api/v1/folded /debug/pprof/profile /api/v1/perf.data; do
    get "$path?seconds=2" >"$scratch/answer-${path##*/}" &
    clients+=("$!")
done
holds "sampling starts a symboliser" eventually 60 symboliser
wait "${clients[@]}"
most=$(anonymous)
compares "sampling takes memory: $before kB before, $most kB after" "$most > $before"
holds "the symboliser ends after half a minute without work" eventually 120 not symboliser
given_back() {
    [ $((2 * ($(anonymous) - before))) -le $((most - before)) ]
}
holds "a minute later, at least half of the memory has been returned" eventually 120 given_back
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
finish
