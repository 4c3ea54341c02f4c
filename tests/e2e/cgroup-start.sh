#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cgroups whose work begins soon after they are made: their events before their counters are open are in the counts of
# their parent only. By default 60 cgroups for each delay, each with 500 page faults in 5 ms.
#
# usage: cgroup-start.sh [--full]     300 for each delay
. "$(dirname "$0")/lib.sh"
need curl jq cc /usr/bin/python3
. "$here/cgroup-lib.sh"

cgroups=60
[ "${1-}" != --full ] || cgroups=300
program=$scratch/cgroup-start
cc -O2 -o "$program" "$here/cgroup-start.c" || skip "cgroup-start.c cannot be compiled here"
mkdir "$parent/daemon" "$parent/bare" "$parent/try"
ulimit -n 4096 2>/dev/null # of the program that counts: one for each CPU and cgroup
if ! "$program" work 1 0 1 "$parent/try" >/dev/null 2>"$scratch/try"; then
    rmdir "$parent/try/"* 2>/dev/null
    skip "no process starts in a cgroup here: $(cat "$scratch/try")"
fi

# The built-in groups.
cgroup_config "$scratch/start.yaml" "include: [\"$below/daemon\", \"$below/daemon/*\"]" "linger: 1h" "max_cgroups: 2000"
start_daemon --config.file="$scratch/start.yaml"
/usr/bin/python3 "$here/cgroup-start.py" --program "$program" --hierarchy "$hierarchy" --below "$below" --url "$url" \
    --cgroups $cgroups --file "$scratch/figures" || fail "cgroup-start.py ends well"
of() {
    jq -r "$1" "$scratch/figures"
}
compares "the parent has all events of its children, within 0.1 %" \
    "$(of .parent) >= 0.999 * $(of .caused) && $(of .parent) <= 1.001 * $(of .caused)"
equals "no cgroup has more than it did" "$(of '[.rows[].too_many] | add')" 0
# On a busy machine every program is woken late, also the one that only opens counters: its median is the measure.
compares "work that begins at once is counted soon: median in ms, beside 3 times that of a bare program and 2 ms" \
    "$(of '.rows["0 ms"].first[1]') < 3 * $(of '.rows["0 ms, bare program"].first[1]') + 2"
compares "most of the work that begins after 5 ms is counted in full" "2 * $(of '.rows["5 ms"].full') > $cgroups"
stop_daemon
equals "it ends well" "$daemon_status" 0
finish
