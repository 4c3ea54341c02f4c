#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the HTTP server: responses, connections, addresses and limits. tests/e2e/bad-clients.sh covers malicious
# clients.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq

start_daemon

# --- responses; smoke.sh requests every path, and tests/unit/test-server.c covers the errors

for path in /api/v1/counters /api/v1/pmus /api/v1/events /api/v1/metrics /api/v1/status /api/v1/config \
    '/api/v1/rates?seconds=0.05'; do
    holds "$path is JSON" jq -e . <(get "$path")
done
holds "each derived metric has formulas, and for each collector either groups or the reason why it is absent" jq -e '
    .metrics | length > 20 and all(.[]; (.formulas | length > 0) and (.available + .absent | length > 0)
        and all(.available[]; .groups | length > 0) and all(.absent[]; .reason and (.message | length > 10)))' \
    <(get /api/v1/metrics)
equals "a group of software events has a running_ratio" "$(get /api/v1/metrics | jq -r '.metrics[] |
    select(.name == "running_ratio") | .available[] | select(.collector == "cpu") | .groups[]' | sort -u | tail -n 1)" \
    software
# length CURL-OPTIONS...: prints the Content-Length of a response.
length() {
    get /-/healthy "$@" | tr -d '\r' | awk 'tolower($1) == "content-length:" { print $2 }'
}
equals "HEAD and GET have the same Content-Length" "$(length -I)" "$(length -D - -o /dev/null)"
compares "Content-Length is the length of the body" "$(length -I) == $(get /-/healthy | wc -c)"
equals "rates over more than a minute are rejected" "$(status_of '/api/v1/rates?seconds=61')" 400
equals "an encoded parameter is decoded" "$(status_of '/metrics?collect%5B%5D=%63pu')" 200

# events_of QUERY: prints the names of the events in the response.
events_of() {
    get "/api/v1/counters?$1" | jq -r '[.counters[].event] | unique | join(" ")'
}
equals "a filter selects one event" "$(events_of event=minor_faults)" minor_faults
equals "a filter accepts the event as spelt in a configuration" "$(events_of event=Minor-Faults)" minor_faults
equals "a filter can be repeated" "$(events_of 'event=minor_faults&event=major_faults')" "major_faults minor_faults"

# --- connections

# connects PATH...: prints a digit for each request in turn: 1 if curl opened a connection for it, 0 if not.
connects() {
    local path arguments=()
    for path in "$@"; do
        arguments+=(-o /dev/null "$url$path")
    done
    curl -s -w '%{num_connects}' "${arguments[@]}"
}
equals "the second scrape reuses the first one's connection" "$(connects /metrics /metrics)" 10
equals "the connection is kept after an error and after JSON" "$(connects /nothing /api/v1/counters /metrics)" 100
matches "HTTP/1.0 is supported" "$(get /-/healthy -0 -w '%{http_code}')" '200$'

clients=()
for _ in 1 2 3 4 5 6 7 8 9 10; do
    wait_for_answer '/api/v1/rates?seconds=60'
    clients+=("$waiting")
done
equals "ten scrapes are answered" "$(for _ in 1 2 3 4 5 6 7 8 9 10; do status_of /metrics; done)" \
    "$(printf '200%.0s' {1..10})"
answered=0
for waiting in "${clients[@]}"; do
    ! read -r -t 0 -u "$waiting" || answered=$((answered + 1))
    exec {waiting}>&-
done
equals "meanwhile the ten clients still wait" $answered 0
compares "rates cover the time that the client requested" "$(get '/api/v1/rates?seconds=1' | jq .seconds) >= 1"

codes=$(seq 64 | xargs -P 64 -I '{}' curl -s -w '%{http_code}\n' -o /dev/null "$url/metrics" |
    sort | uniq -c)
matches "64 concurrent clients are served" "$codes" '^ *64 200$'

stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0

# --- addresses

socket=$scratch/sockets/http.sock
mkdir "$scratch/sockets"
# Started by root, the daemon changes to one of these users, who must be able to remove the socket.
[ "$(id -u)" -ne 0 ] || chown perfcountd "$scratch/sockets" 2>/dev/null || chown nobody "$scratch/sockets"
chmod 711 "$scratch"
start_daemon --web.listen-address=127.0.0.1:0 --web.listen-address='[::1]:0' --web.listen-address="unix:$socket"
eventually 60 test -S "$socket"
equals "the IPv4 address is served" "$(status_of /metrics)" 200
equals "the unix socket is served" \
    "$(curl -s -o /dev/null -w '%{http_code}' --unix-socket "$socket" http://localhost/metrics)" 200
second=$(sed -n 's|.*listening on \(http://\[::1\][^ "]*\)/.*|\1|p' "$daemon_log")
if [ -e /proc/net/if_inet6 ]; then
    equals "the IPv6 address is served" "$(curl -sg -o /dev/null -w '%{http_code}' "$second/metrics")" 200
else
    left_out "IPv6"
fi
stop_daemon
holds "the unix socket is removed at exit" not test -e "$socket"

start_daemon --web.telemetry-path=/elsewhere
equals "another telemetry path is served" "$(status_of /elsewhere)" 200
equals "with another telemetry path, the default path is not found" "$(status_of /metrics)" 404
stop_daemon

# --- web.limits, and a reload that changes them; tests/unit/test-server.c and test-connection.c cover the timeouts

# limited LIMITS: starts a daemon with these limits and waits until it has no client.
limited() {
    printf 'web: {limits: {%s}}\ncollectors: {cgroup: {enabled: false}}\n' "$1" >"$scratch/limits.yaml"
    start_daemon --config.file="$scratch/limits.yaml"
    holds "$1: no client is left" eventually 60 clients_are_gone
}
# no_room ADDRESS...: succeeds if the daemon serves none of these client addresses.
no_room() {
    local address
    for address; do
        [ "$(status_of /-/healthy --interface "$address" 2>"$scratch/curl.log")" = 000 ] || return
    done
}
# clients_wait NUMBER: opens this many connections, which then wait for a response. Sets clients, their descriptors.
clients_wait() {
    clients=()
    for _ in $(seq "$1"); do
        wait_for_answer '/api/v1/rates?seconds=60'
        clients+=("$waiting")
    done
}
clients_go() {
    for waiting in "${clients[@]}"; do
        exec {waiting}>&-
    done
}
limited 'connections_per_address: 2'
clients_wait 2
holds "a third connection from the same address is refused" no_room 127.0.0.1
equals "other addresses are served" "$(status_of /-/healthy --interface 127.0.0.2)" 200
sed -i 's/: 2}/: 4}/' "$scratch/limits.yaml"
kill -HUP "$daemon_pid"
holds "the daemon reloads" eventually 60 log_has 'configuration reloaded'
equals "the new limit takes effect" "$(get /api/v1/config | jq .web.limits.connections_per_address)" 4
clients_go
stop_daemon
limited 'connections: 3, connections_per_address: 100'
clients_wait 3
holds "the limit of three connections applies to all addresses together" no_room 127.0.0.1 127.0.0.2
clients_go
stop_daemon
# Columns: the limit, and two pairs of a header size and the expected status.
while read -r size smaller less larger more; do
    limited "header_size: $size"
    equals "$size: a header of $smaller" "$(status_of /metrics -H "X: $(printf "%${smaller}s" | tr ' ' a)")" "$less"
    equals "$size: a header of $larger" "$(status_of /metrics -H "X: $(printf "%${larger}s" | tr ' ' a)")" "$more"
    stop_daemon
done <<'END'
4096 1000 200 5000 431
65536 40000 200 70000 431
END
limited 'request_timeout: 1s, idle_timeout: 1s'
exec {waiting}<>"/dev/tcp/127.0.0.1/${url##*:}"
holds "request_timeout closes a silent connection" timeout 60 cat <&"$waiting"
exec {waiting}>&-
wait_for_answer /-/healthy
holds "idle_timeout closes an idle connection" timeout 60 cat <&"$waiting"
exec {waiting}>&-
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
finish
