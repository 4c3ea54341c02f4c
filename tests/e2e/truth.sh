#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Context switches and page faults of all CPUs agree with `perf stat -a`, whatever else runs: perf's count is at least
# what the daemon counts in an interval inside perf's, and at most what it counts in an interval around that. All counts
# include a load of known size.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq perf /usr/bin/python3
perf stat -a -x, -e context-switches true 2>/dev/null || skip "a perf stat -a that works"

cat >"$scratch/truth.yaml" <<'END'
web: {min_interval: 0s}
collectors: {cpu: {groups: [{name: truth, events: "{context-switches,page-faults,minor-faults}"}]}}
END
start_daemon --config.file="$scratch/truth.yaml"

cat >"$scratch/interval" <<END
curl -s '$url/api/v1/counters?collector=cpu' >$scratch/begin
/usr/bin/python3 $here/stat-load.py 0 200000 100000
curl -s '$url/api/v1/counters?collector=cpu' >$scratch/end
END
get '/api/v1/counters?collector=cpu' >"$scratch/before"
perf stat -a -x, -o "$scratch/perf" -e context-switches,page-faults,minor-faults sh "$scratch/interval" >/dev/null
get '/api/v1/counters?collector=cpu' >"$scratch/after"

# counted EVENT FROM TO: prints the difference of the counts in two documents.
counted() {
    jq -s "map([.counters[] | select(.event == \"$1\") | .value] | add) | .[1] - .[0]" "$scratch/$2" "$scratch/$3"
}
for event in context-switches page-faults minor-faults; do
    perfs=$(awk -F, -v event=$event '$3 == event { print $1 }' "$scratch/perf")
    within=$(counted "${event//-/_}" begin end)
    compares "$event includes the load" "$within >= 200000"
    compares "perf counts at least what the daemon counts within perf's interval: $event" "$within <= $perfs"
    compares "perf counts at most what the daemon counts around perf's interval: $event" \
        "$perfs <= $(counted "${event//-/_}" before after)"
done
equals "all events are counting" "$(jq -r '[.counters[] | .state] | unique | join(",")' "$scratch/after")" counting
holds "counts are never scaled: the value is the raw count" \
    jq -e '[.counters[] | .value == .raw] | all' "$scratch/after"
stop_daemon
finish
