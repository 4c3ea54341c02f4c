#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The daemon and its children have a quota of 5 % of a CPU. Clients that request documents, rates and samples have to
# wait, but are served, and a stream's end record says how many samples were lost.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "root, to create cgroups"
make_confinement cpu
# quota US: sets the quota in each 100,000 us; -1 for none.
quota() {
    case $confinement_version:$1 in
    1:*) echo "$1" >"$confinement/cpu.cfs_quota_us" ;;
    2:-1) echo max >"$confinement/cpu.max" ;;
    2:*) echo "$1 100000" >"$confinement/cpu.max" ;;
    esac
}
throttled() {
    [ "$(awk '$1 == "nr_throttled" { print $2 }' "$confinement/cpu.stat")" -gt 10 ]
}

cat >"$scratch/perfcountd.yaml" <<'END'
web: {min_interval: 0s, local_operators: true}
collectors:
  cgroup: {enabled: false}
  cpu: {groups: [{name: s, events: "{context-switches,minor-faults}"}]}
sampler: {enabled: true, event: cpu-clock, allow: local, max_clients: 8}
END
start_daemon --config.file="$scratch/perfcountd.yaml"
nice -n 19 sh -c 'while :; do :; done' & # a program to sample
children+=($!)
start_scraping
quota 5000
get "/api/v1/samples?seconds=4&period=200000" >"$scratch/samples" &
stream=$!
children+=("$stream")
refused=0
for path in /api/v1/counters '/api/v1/rates?seconds=0.2' /api/v1/status /api/v1/config; do
    [ "$(status_of "$path" --compressed)" = 200 ] || refused=$((refused + 1))
done
equals "documents and rates are served while the daemon is throttled" "$refused" 0
wait "$stream"
holds "the kernel throttled the daemon" eventually 60 throttled
quota -1
end=$(tail -n 1 "$scratch/samples")
equals "the stream ends normally" "$(jq -r .reason <<<"$end")" seconds
equals "the stream has as many records as its end record says" "$(jq .records <<<"$end")" \
    "$(jq -c 'select(.time and .type != "header" and .type != "end") | 1' "$scratch/samples" | wc -l)"
compares "the stream has records, or says that they were lost" "$(jq '.records + .lost + .dropped' <<<"$end") > 0"
served_rightly "5 % of a CPU"
ends_well "5 % of a CPU"
finish
