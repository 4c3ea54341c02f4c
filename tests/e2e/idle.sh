#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Between scrapes neither the process nor its opener makes a system call at all, also with a connection open. Cgroups
# that come and go do wake it, and other tests make some meanwhile, so that collector is off here.
. "$(dirname "$0")/lib.sh"
need curl pgrep strace /usr/bin/python3

echo 'collectors: {cgroup: {enabled: false}}' >"$scratch/idle.yaml"
start_daemon --config.file="$scratch/idle.yaml"
cat >"$scratch/keep.py" <<'END'
import http.client, sys, time
connection = http.client.HTTPConnection(sys.argv[1])
connection.request("GET", "/metrics")
connection.getresponse().read()
print("answered", flush=True)
time.sleep(60)
END
/usr/bin/python3 "$scratch/keep.py" "${url#http://}" >"$scratch/kept" &
children+=("$!")
holds "a connection is open" eventually 10 test -s "$scratch/kept"
sleep 1

traced=(-p "$daemon_pid")
for opener in $(pgrep -P "$daemon_pid"); do
    traced+=(-p "$opener")
done
strace -f -ttt -o "$scratch/trace" "${traced[@]}" 2>/dev/null &
tracer=$!
children+=("$tracer")
# all_are_traced: each thread of each process.
all_are_traced() {
    local pid
    for pid in "$daemon_pid" $(pgrep -P "$daemon_pid"); do
        ! grep -qx 'TracerPid:[[:space:]]*0' "/proc/$pid/task"/*/status || return
    done
}
holds "all threads are traced" eventually 10 all_are_traced
sleep 1
attached=$(date +%s.%N)
sleep 10
last=$(date +%s.%N)
equals "it answers still" "$(status_of /metrics)" 200
kill -TERM "$tracer"
wait "$tracer" 2>/dev/null
compares "which strace has seen" "$(awk -v from="$last" '$2 > from' "$scratch/trace" | wc -l) > 3"
# Attaching interrupts the wait for events, which is then called again: only later calls count.
calls=$(awk -v from="$attached" -v to="$last" '$2 > from && $2 < to' "$scratch/trace")
equals "no system call in 10 s between scrapes" "$calls" ""
stop_daemon
finish
