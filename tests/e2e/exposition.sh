#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks both exposition formats with promtool and the strict OpenMetrics parser.
# set: quick
# packages: python3-prometheus-client
. "$(dirname "$0")/lib.sh"
need curl promtool /usr/bin/python3

# Only the root cgroup is counted, since other tests' cgroups come and go between two scrapes.
echo 'collectors: {cgroup: {include: ["/"]}}' >"$scratch/root.yaml"
start_daemon --config.file="$scratch/root.yaml"
get /metrics >"$scratch/text"
get /metrics -H 'Accept: application/openmetrics-text; version=1.0.0' >"$scratch/openmetrics"

headers=$(get /metrics -D - -o /dev/null)
matches "the text format has its content type" "$headers" 'Content-Type: text/plain; version=0\.0\.4'
headers=$(get /metrics -D - -o /dev/null -H 'Accept: application/openmetrics-text; version=1.0.0,text/plain;q=0.5')
matches "OpenMetrics has its content type" "$headers" 'Content-Type: application/openmetrics-text; version=1\.0\.0'
headers=$(get /metrics -D - -o /dev/null -H 'Accept: application/openmetrics-text;q=0.1,text/plain;q=0.5')
matches "the larger q wins" "$headers" 'Content-Type: text/plain'
headers=$(get /metrics -D - -o /dev/null -H 'Accept: image/png')
matches "the text format is used if Accept has no supported format" "$headers" 'Content-Type: text/plain'

holds "promtool check metrics accepts the exposition" promtool check metrics <"$scratch/text"
equals "promtool reports no problem" "$(promtool check metrics <"$scratch/text" 2>&1)" ""

holds "the exposition has counters of this machine" grep -q '^perf_cpu_context_switches_total{.*} [0-9]' "$scratch/text"

series=$(grep -v '^#' "$scratch/text" | sed 's/ [^ ]*$//')
equals "no two series are equal" "$(sort <<<"$series" | uniq -d)" ""
families=$(awk '$1 == "#" && $2 == "TYPE" { print $3 }' "$scratch/text")
while read -r family; do
    holds "the manual has $family" grep -qw "$family" "$root/doc/perfcountd-metrics.7"
done < <(grep -vE '^perf_(cpu|pmu|cgroup)_.*_total$' <<<"$families")
equals "no metric is described twice" "$(sort <<<"$families" | uniq -d)" ""

cat >"$scratch/compare.py" <<'END'
import sys
from prometheus_client.openmetrics import parser as strict
from prometheus_client import parser as plain

def samples(families):
    return {(s.name, tuple(sorted(s.labels.items()))) for f in families for s in f.samples}

text = list(plain.text_string_to_metric_families(open(sys.argv[1]).read()))
openmetrics = list(strict.text_string_to_metric_families(open(sys.argv[2]).read()))
left = samples(text)
right = {s for s in samples(openmetrics) if not s[0].endswith("_created")}
if left != right:
    sys.exit("only in text: %r\nonly in OpenMetrics: %r" % (left - right, right - left))

def base(name):
    for suffix in ("_total", "_info"):
        name = name.removesuffix(suffix)
    return name

text_help = {base(f.name): f.documentation for f in text}
openmetrics_help = {base(f.name): f.documentation for f in openmetrics}
if text_help != openmetrics_help:
    sys.exit("HELP differs: %r" % (set(text_help.items()) ^ set(openmetrics_help.items())))
if any(not f.documentation for f in text):
    sys.exit("no HELP: %r" % [f.name for f in text if not f.documentation])
if len(left) < 20:
    sys.exit("there are only %d series" % len(left))
print("%d series" % len(left))
END
holds "a strict parser accepts OpenMetrics, which has the same samples and HELP as the text format" \
    /usr/bin/python3 "$scratch/compare.py" "$scratch/text" "$scratch/openmetrics"
equals "OpenMetrics ends with # EOF" "$(tail -n 1 "$scratch/openmetrics")" "# EOF"
holds "OpenMetrics has units" grep -q '^# UNIT perf_cpu_group_enabled_seconds seconds$' "$scratch/openmetrics"

# The daemon reads its counters only once a minute, so that two scrapes are equal to the last byte.
stop_daemon
echo 'web: {min_interval: 60s}' >"$scratch/once.yaml"
start_daemon --config.file="$scratch/once.yaml"
for accept in text/plain application/openmetrics-text; do
    get "/metrics?collect[]=cpu" -H "Accept: $accept" >"$scratch/plain"
    get "/metrics?collect[]=cpu" -H "Accept: $accept" -H 'Accept-Encoding: gzip' >"$scratch/gzip"
    equals "gzip is used on request, $accept" "$(od -An -tx1 -N2 "$scratch/gzip")" " 1f 8b"
    holds "the decompressed response equals the plain one, $accept" cmp "$scratch/plain" <(gzip -dc "$scratch/gzip")
done
get "/metrics?collect[]=cpu" -H 'Accept-Encoding: gzip;q=0' >"$scratch/refused"
holds "gzip;q=0 disables compression" cmp "$scratch/plain" \
    <(get "/metrics?collect[]=cpu" -H "Accept: $accept" -H 'Accept-Encoding: gzip;q=0, identity')
lacks "collect[] excludes other collectors" '^process_' "$scratch/refused"
holds "collect[] includes the requested collectors" grep -q '^perf_cpu_' "$scratch/refused"
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
finish
