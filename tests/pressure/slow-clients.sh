#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# While the sampler is flooded, a client of each kind of stream, and one that scrapes, do not read their responses. They
# lose records, are told how many, and delay no other client.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/perfcountd.yaml" <<'END'
web: {min_interval: 0s, limits: {response_timeout: 60s}}
collectors:
  cgroup: {enabled: false}
  cpu: {groups: [{name: s, events: "{context-switches,minor-faults}"}]}
sampler: {enabled: true, event: cpu-clock, allow: local, max_clients: 8, max_seconds: 600}
END
# Each client sends a request and reads a few bytes, and the statuses are printed. After a line on standard input, the
# first client reads the rest of its response, and prints how its stream ended.
cat >"$scratch/slow.py" <<'END'
import json, socket, sys

def connect(path):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    s.connect(("127.0.0.1", int(sys.argv[1])))
    s.sendall(b"GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n" % path.encode())
    return s, s.recv(12)

clients = [connect(path) for path in sys.argv[2:]]
print(*(answer[9:12].decode() for _, answer in clients), flush=True)
sys.stdin.readline()
text = b""
while part := clients[0][0].recv(1 << 20):
    text += part
last = json.loads(text.strip().rpartition(b"\n")[2])
print(last["type"], last["dropped"] > 0)
END

start_daemon --config.file="$scratch/perfcountd.yaml"
start_scraping
# A program to sample on each CPU, at the lowest priority.
for _ in 1 2; do
    nice -n 19 sh -c 'while :; do :; done' &
    children+=($!)
done
query="seconds=5&frequency=10000"
mkfifo "$scratch/go"
/usr/bin/python3 "$scratch/slow.py" "${url##*:}" "/api/v1/samples?$query" "/api/v1/perf.data?$query" \
    "/debug/pprof/profile?seconds=1" "/api/v1/folded?seconds=1" /metrics <"$scratch/go" >"$scratch/slow" &
slow=$!
children+=("$slow")
exec 7>"$scratch/go"
holds "the slow clients get a response" eventually 60 grep -qx '200 200 200 200 200' "$scratch/slow"
# This client keeps reading until the slow ones have missed seconds of the flood.
get "/api/v1/samples?seconds=6&frequency=1000" >"$scratch/right"
equals "a client that reads loses no records" \
    "$(tail -n 1 "$scratch/right" | jq -c '[.type, .reason, .dropped]')" '["end","seconds",0]'
compares "a client that reads gets records" "$(wc -l <"$scratch/right") > 1"
echo >&7
wait "$slow"
equals "the end record tells a slow client that it has lost records" "$(tail -n 1 "$scratch/slow")" "end True"
no_streams() {
    [ "$(get /api/v1/status | jq .descriptors.sampling)" -eq 0 ]
}
back "slow clients" no_streams
served_rightly "slow clients"
ends_well "slow clients"
finish
