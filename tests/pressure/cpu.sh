#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A quota of 5 % of a CPU for the daemon and its children, while clients want documents, rates and samples: they wait,
# and are served; what a stream loses by it is said in its end.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "root, to make cgroups"
make_confinement cpu
# quota US: of each 100,000; -1 is none.
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
nice -n 19 sh -c 'while :; do :; done' & # something to sample
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
equals "documents and rates meanwhile: how many are refused" "$refused" 0
wait "$stream"
holds "the kernel held the daemon back" eventually 60 throttled
quota -1
end=$(tail -n 1 "$scratch/samples")
equals "the stream ends as it should" "$(jq -r .reason <<<"$end")" seconds
equals "it has as many records as it says" "$(jq .records <<<"$end")" \
    "$(jq -c 'select(.time and .type != "header" and .type != "end") | 1' "$scratch/samples" | wc -l)"
compares "and says how many it has lost: records and lost ones" "$(jq '.records + .lost + .dropped' <<<"$end") > 0"
served_rightly "5 % of a CPU"
ends_well "5 % of a CPU"
finish
