#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A client of each stream, and of a scrape, that reads a byte a second while the sampler is flooded: it loses records,
# learns how many, and delays nobody; the daemon does not grow by it.
. "$(dirname "$0")/lib.sh"


config=$scratch/perfcountd.yaml
cat >"$config" <<'END'
web: {min_interval: 0s, limits: {response_timeout: 4s}}
collectors:
  cgroup: {enabled: false}
  cpu: {groups: [{name: s, events: "{context-switches,minor-faults}"}]}
sampler: {enabled: true, event: cpu-clock, allow: local, max_clients: 8, max_seconds: 600}
END
seconds=$(for_length 7 60)
start_daemon --config.file="$config"
port=${url##*:}
# How much memory a backlog and a profile may take for each client is bounded; 6 clients are here.
memory_before=$(memory_of "$daemon_pid")
start_scraping
# Something to sample on each CPU, at the lowest priority.
for _ in 1 2; do
    nice -n 19 sh -c 'while :; do :; done' &
    children+=($!)
done
query="seconds=$((seconds + 30))&frequency=4000"
/usr/bin/python3 "$pressure/slow-clients.py" "$port" "$seconds" "/api/v1/samples?$query" "/api/v1/perf.data?$query" \
    "/debug/pprof/profile?seconds=2&frequency=4000" "/api/v1/folded?seconds=2&frequency=4000" /metrics \
    >"$scratch/slow" &
slow=$!
children+=("$slow")
sleep 1
# One that reads as it comes, meanwhile.
get "/api/v1/samples?seconds=$((seconds - 2))&frequency=1000" >"$scratch/right"
equals "a client that reads has all: nothing is dropped for it" \
    "$(tail -n 1 "$scratch/right" | jq -c '[.type, .reason, .dropped]')" '["end","seconds",0]'
compares "its records" "$(wc -l <"$scratch/right") > 500"
wait "$slow"
sed 's/^/    /' "$scratch/slow"
equals "each slow client was answered" "$(awk '$2 == 200' "$scratch/slow" | wc -l)" 5
equals "the scrape of a byte a second, small enough for the socket, costs nothing; streams stay" \
    "$(awk '$1 ~ /samples|perf.data/ { print $4 }' "$scratch/slow" | sort -u)" open
compares "the daemon did not grow by more than their backlogs, kB" \
    "$(memory_of "$daemon_pid") - $memory_before < 40000"
no_streams() {
    [ "$(get /api/v1/status | jq .descriptors.sampling)" -eq 0 ]
}
back_within 1 "the slow clients are gone, and their rings closed" no_streams
served_rightly "slow clients" 1000

# A client that reads nothing for a while, then all: it learns what it lost.
cat >"$scratch/late.py" <<'END'
import json, socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
s.connect(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET /api/v1/samples?seconds=3&frequency=10000 HTTP/1.0\r\nHost: localhost\r\n\r\n")
time.sleep(2.5)
text = b""
while part := s.recv(1 << 20):
    text += part
last = json.loads(text.strip().rpartition(b"\n")[2])
print(last["type"], last["dropped"] > 0)
END
if [ $length = long ]; then
    equals "a client that is late learns at the end how many records it lost" \
        "$(/usr/bin/python3 "$scratch/late.py" "$port")" "end True"
fi
stop_daemon
equals "it ends well" "$daemon_status" 0
finish
