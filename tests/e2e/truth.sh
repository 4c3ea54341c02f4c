#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Context switches and page faults are within 1 % of what `perf stat -a` counts over the same interval.
. "$(dirname "$0")/lib.sh"
need curl jq perf /usr/bin/python3
perf stat -a -x, -e context-switches true 2>/dev/null || skip "perf stat -a does not work here"

cat >"$scratch/truth.yaml" <<'END'
web: {min_interval: 0s}
collectors:
  cpu:
    groups:
      - {name: truth, events: "{context-switches,page-faults,minor-faults}"}
END
start_daemon --config.file="$scratch/truth.yaml"

# Maps and touches fresh pages, one fault each, for five seconds.
cat >"$scratch/faults.py" <<'END'
import mmap, time
size = 16 << 20
end = time.monotonic() + 5
while time.monotonic() < end:
    area = mmap.mmap(-1, size)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(0, size, 4096):
        area[page] = 1
    area.close()
END
# perf counts while the command runs, which reads our counters first and last. The load is inside, so that what happens
# between perf's reading and ours is next to nothing.
cat >"$scratch/interval" <<END
curl -s '$url/api/v1/counters?collector=cpu' >$scratch/before
/usr/bin/python3 $scratch/faults.py &
perf bench sched pipe -l 500000
wait
curl -s '$url/api/v1/counters?collector=cpu' >$scratch/after
END
perf stat -a -x, -o "$scratch/perf" -e context-switches,page-faults,minor-faults sh "$scratch/interval" >/dev/null

total() {
    jq "[.counters[] | select(.event == \"$1\") | .value] | add" "$2"
}
for event in context-switches page-faults minor-faults; do
    name=${event//-/_}
    ours=$(($(total "$name" "$scratch/after") - $(total "$name" "$scratch/before")))
    perfs=$(awk -F, -v event=$event '$3 == event { print $1 }' "$scratch/perf")
    compares "there are many $event" "$perfs > 100000"
    compares "$event are within 1 % of perf stat" "$ours > 0.99 * $perfs && $ours < 1.01 * $perfs"
done
states=$(jq -r '[.counters[] | .state] | unique | join(",")' "$scratch/after")
equals "all of them are counting" "$states" counting
holds "never scaled: the value is the raw count" jq -e '[.counters[] | .value == .raw] | all' "$scratch/after"
stop_daemon
finish
