#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A minute after the sampler's last client its tables are gone, and their memory is the system's again.
. "$(dirname "$0")/lib.sh"
need curl pgrep

anonymous() {
    get /metrics >/dev/null # an answer is no longer than this one
    awk '$1 == "Anonymous:" { print $2 }' "/proc/$daemon_pid/smaps_rollup"
}
symboliser() {
    pgrep -P "$daemon_pid" -x perfcountd-symb >/dev/null
}

cat >"$scratch/config.yaml" <<'END'
web: {min_interval: 0s, local_operators: true}
collectors: {cgroup: {enabled: false}}
sampler: {enabled: true, event: cpu-clock, frequency: 199}
END
start_daemon --config.file="$scratch/config.yaml"
before=$(anonymous)
holds "no symboliser runs without a client" not symboliser
for path in /api/v1/samples /api/v1/folded /debug/pprof/profile /api/v1/perf.data; do
    get "$path?seconds=2" >"$scratch/answer" &
    clients+=("$!")
done
holds "samples have a symboliser" eventually 3 symboliser
wait "${clients[@]}"
most=$(anonymous)
compares "samples take memory: $before kB without, $most kB with" "$most - $before >= 300"
sleep 30
holds "it ends after half a minute without work" eventually 10 not symboliser
sleep 25
after=$most
given_back() {
    after=$(anonymous)
    [ $((2 * (after - before))) -le $((most - before)) ]
}
holds "a minute later, what they took is given back, at least half of it" eventually 10 given_back
echo "    $after kB then"
stop_daemon
equals "it ends" "$daemon_status" 0
finish
