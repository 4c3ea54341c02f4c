#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A real Prometheus scrapes the daemon every second, and PromQL gives the rate of a load that is known.
. "$(dirname "$0")/lib.sh"
# shellcheck source=prometheus-lib.sh
. "$here/prometheus-lib.sh"
need curl jq /usr/bin/python3 prometheus

# Sleeps 5000 times a second: each sleep is one context switch away and, on an idle CPU, one back.
cat >"$scratch/load.py" <<'END'
import os, time
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
start = time.monotonic()
while True:
    start += 0.0002
    time.sleep(max(0, start - time.monotonic()))
END
start_daemon
/usr/bin/python3 "$scratch/load.py" &
load=$!
children+=("$load")

cat >"$scratch/prometheus.yml" <<END
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: perfcountd
    static_configs: [{targets: ["${url#http://}"]}]
END
start_prometheus "$scratch/prometheus.yml"

enough_samples() {
    [ "$(value 'count_over_time(up{job="perfcountd"}[1m])')" -ge 14 ]
}
eventually 45 enough_samples

# The same ten seconds, as the load itself and as the kernel's own count of the process have it.
equals "the target is up" "$(value 'up{job="perfcountd"}')" 1
# A busy machine may be late for one.
compares "scrapes are good" "$(value 'avg_over_time(up{job="perfcountd"}[10s])') > 0.7"
switches() {
    awk '/ctxt_switches/ { sum += $2 } END { print sum }' "/proc/$load/status"
}
ticks=$(switches)
since=$(date +%s.%N)
rate_api=$(get '/api/v1/rates?seconds=10&event=context_switches' | jq '[.rates[].events.context_switches] | add')
now=$(date +%s.%N)
rate_prometheus=$(value 'sum(rate(perf_cpu_context_switches_total[10s]))')
rate_load=$(awk "BEGIN { print ($(switches) - $ticks) / ($now - $since) }")
echo "context switches per second: Prometheus $rate_prometheus, /api/v1/rates $rate_api, the load alone $rate_load"
compares "PromQL and /api/v1/rates agree within 10 %" \
    "$rate_prometheus > 0.9 * $rate_api && $rate_prometheus < 1.1 * $rate_api"
compares "the load is in the rate" "$rate_prometheus > 0.95 * $rate_load"
compares "the load runs as it should" "$rate_load > 500"

cpus=$(get /metrics | grep -c '^perf_cpu_context_switches_total{')
equals "a series for each CPU is stored" "$(value 'count(perf_cpu_context_switches_total)')" "$cpus"
for time in enabled running; do
    rate=$(value "avg(rate(perf_cpu_group_${time}_seconds_total{group=\"software\"}[10s]))")
    # By the clock of Prometheus, which has the time at which it began to ask. truth.sh is exact.
    compares "a CPU has one $time second a second" "$rate > 0.9 && $rate < 1.1"
done
equals "the collectors succeed" "$(value 'min(perfcountd_collector_success)')" 1
for metric in perf_cpu_context_switches_total perf_cpu_minor_faults_total perf_cpu_group_enabled_seconds_total; do
    equals "$metric never fell" "$(value "sum(resets(${metric}[1m]))")" 0
done
equals "Prometheus had nothing to complain of" "$(grep -v 'level=info' "$scratch/prometheus.log")" ""
stop_daemon
finish
