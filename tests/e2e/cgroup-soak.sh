#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cgroups come and go by the hundreds while the daemon is scraped at 10 Hz: nothing leaks, no scrape fails, no total
# falls, and the events of programs that start once a scrape has their cgroup are counted.
#
# usage: [ENGINE=bpf] cgroup-soak.sh [--full]     300 cgroups in 10 s; with --full 2,000 in 60 s, with bpf 4,000
. "$(dirname "$0")/lib.sh"
need curl jq cc /usr/bin/python3
. "$here/cgroup-lib.sh"

cgroups=300 seconds=10
[ "${1-}" != --full ] || cgroups=2000 seconds=60
[ "${1-}" != --full ] || [ "$engine" != bpf ] || cgroups=4000
linger=2
config=$scratch/soak.yaml
cgroup_config "$config" "include: [\"$below\", \"$below/*\"]" "linger: ${linger}s" 'max_cgroups: 1000' \
    'groups: [{name: f, events: "{task-clock,context-switches,minor-faults,major-faults}"}]'
start_daemon --config.file="$config"

anonymous() {
    awk '$1 == "Anonymous:" { print $2 }' "/proc/$daemon_pid/smaps_rollup"
}
# figures: the daemon's figures once nothing lingers, the kernel has let go of the removed cgroups, and the root and the
# parent alone have watches. On a busy machine that may need another look.
figures() {
    for _ in $(seq 100); do
        watches=$(inotify_watches "$daemon_pid")
        [ "$(cgroups_in watched) $(cgroups_in lingering) $(dying) $watches" != "1 0 0 2" ] || break
        sleep 0.1
    done
    # The least of some looks: the connection of a client that has gone is one for a moment.
    descriptors=$(for _ in 1 2 3 4 5 6 7 8 9 10; do
        open_files "$daemon_pid"
        sleep 0.05
    done | sort -n | head -n 1)
    jq -n '$ARGS.named' --argjson descriptors "$descriptors" \
        --argjson watches "$watches" --argjson anonymous "$(anonymous)" \
        --argjson dying "$(dying)" --argjson watched "$(cgroups_in watched)" \
        --argjson lingering "$(cgroups_in lingering)" --argjson series "$(get /metrics | grep -vc '^#')"
}
churn() {
    /usr/bin/python3 "$here/cgroup-soak.py" --load "$load" --root "$hierarchy" --below "$below" --url "$url" \
        --cgroups "$1" --seconds "$2" --linger "$linger" --name "$3"
}

# The same rate as later, so that the daemon has the memory for as many cgroups at once.
churn $((cgroups / 4)) $((seconds / 4)) warm >"$scratch/warm"
figures >"$scratch/before"
churn $cgroups $seconds soak >"$scratch/soak"
figures >"$scratch/after"
jq -c . "$scratch/before" "$scratch/after" "$scratch/soak"

# of NAME [FILE]
of() {
    jq -r ".$1" "$scratch/${2-soak}"
}
compares "all cgroups were created, those that came back twice" "$(of created) > $cgroups"
equals "and all removed" "$(of removed)" "$(of created)"
equals "scrapes had each of them" "$(of unseen)" 0
compares "as a rule the first that began after its creation, or the second" "$(of seen_after) <= 2"
compares "scrapes came at 10 Hz, or at half that on a busy machine" "$(of scrapes) > 5 * $(of seconds)"
equals "no scrape failed" "$(of failed_scrapes)" 0
equals "no total fell" "$(of fell)" 0
equals "no collector failed" "$(of failed_collectors)" 0
compares "the sum over the cgroups is the load, within 1 %" \
    "$(of counted) > 0.99 * $(of caused) && $(of counted) < 1.01 * $(of caused)"
compares "their parent has it, too" \
    "$(of counted_by_parent) > 0.99 * $(of caused) && $(of counted_by_parent) < 1.01 * $(of caused)"
equals "one that came back within linger went on from its total" "$(of fresh_returns)" 0
equals "one that came back after it started at 0" "$(of stale_returns)" 0
compares "there were both kinds" "$(of returns_within) + $(of returns_too_late) > 0 && $(of returns_after) > 0"
for figure in descriptors watches dying watched lingering series; do
    equals "as before: $figure" "$(of $figure after)" "$(of $figure before)"
done
if [ -n "${SANITIZED-}" ]; then
    left_out "a sanitizer keeps what was freed: memory"
else
    # The heap keeps its memory for the most cgroups at a time, and a busy machine lets more of them linger.
    compares "as before: memory, within 256 kB" "$(of anonymous after) <= $(of anonymous before) + 256"
fi
stop_daemon
equals "it ends well" "$daemon_status" 0
finish
