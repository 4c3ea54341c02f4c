#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The HTTP side: its answers; and no client, slow, greedy or many, harms another.
. "$(dirname "$0")/lib.sh"
need curl jq /usr/bin/python3

start_daemon
pid=$daemon_pid

# --- answers

for path in / /metrics /-/healthy /-/ready /api/v1/counters /api/v1/pmus /api/v1/events /api/v1/metrics /api/v1/status \
    /api/v1/config '/api/v1/rates?seconds=0.05'; do
    equals "GET $path" "$(status_of "$path")" 200
done
for path in /api/v1/counters /api/v1/pmus /api/v1/events /api/v1/metrics /api/v1/status /api/v1/config \
    '/api/v1/rates?seconds=0.05'; do
    holds "$path is JSON" jq -e . <(get "$path")
done
holds "each derived metric has formulas, and says of each collector whether it is available or why not" jq -e '
    .metrics | length > 20 and all(.[]; (.formulas | length > 0) and (.available + .absent | length > 0)
        and all(.available[]; .groups | length > 0) and all(.absent[]; .reason and (.message | length > 10)))' \
    <(get /api/v1/metrics)
equals "a group of software events has a running_ratio" "$(get /api/v1/metrics | jq -r '.metrics[] |
    select(.name == "running_ratio") | .available[] | select(.collector == "cpu") | .groups[]' | sort -u | tail -n 1)" \
    software
equals "HEAD /api/v1/metrics" "$(status_of /api/v1/metrics -I)" 200
equals "POST /api/v1/metrics" "$(status_of /api/v1/metrics -X POST)" 405
equals "400: /api/v1/metrics?name=ipc" "$(status_of '/api/v1/metrics?name=ipc')" 400
get_length=$(get /-/healthy -D - -o /dev/null | tr -d '\r' | awk 'tolower($1) == "content-length:" { print $2 }')
head_length=$(get /-/healthy -I | tr -d '\r' | awk 'tolower($1) == "content-length:" { print $2 }')
equals "HEAD has the length of GET" "$head_length" "$get_length"
contains "a client that is no browser gets a list" "$(get /)" "$(printf '\nPOST /-/reload\n')"
page=$(get / -H 'Accept: text/html')
contains "the page says how, where it is not GET" "$page" '<dt>POST /-/reload</dt>'
contains "its links to streams have an end" "$page" '<a href="./api/v1/samples?seconds=1">'
equals "HEAD /metrics" "$(status_of /metrics -I)" 200

equals "an unknown path" "$(status_of /nothing)" 404
matches "is explained in plain text" "$(get /nothing -D -)" 'Content-Type: text/plain'
equals "an unknown path of the API" "$(get /api/v1/nothing | jq .status)" 404
equals "POST /metrics" "$(status_of /metrics -X POST)" 405
matches "says which methods are allowed" "$(get /metrics -X POST -D - -o /dev/null)" 'Allow: .*GET'
equals "GET /-/reload" "$(status_of /-/reload)" 405
matches "says POST" "$(get /-/reload -D - -o /dev/null)" 'Allow: .*POST'
equals "POST /api/v1/counters" "$(get /api/v1/counters -X POST | jq .status)" 405

# PATH, the parameter that the answer names
while read -r path parameter; do
    equals "400: $path" "$(status_of "$path")" 400
    matches "names $parameter" "$(get "$path")" "$parameter"
done <<'END'
/api/v1/counters?colour=red colour
/api/v1/counters?cpu=many cpu
/api/v1/rates?seconds=0 seconds
/api/v1/rates?seconds=61 seconds
/api/v1/rates?seconds=soon seconds
/api/v1/rates?seconds=nan seconds
/metrics?collect[]=weather collect
/metrics?colour=red colour
END
equals "a bad percent-encoding" "$(status_of '/api/v1/counters?cpu=%zz')" 400
equals "half a percent-encoding" "$(status_of '/api/v1/counters?cpu=%2')" 400
equals "a NUL in a parameter" "$(status_of '/api/v1/counters?cpu=%00')" 400
equals "invalid UTF-8 in a parameter" "$(status_of '/api/v1/counters?group=%ff')" 400
matches "an encoded parameter is understood" "$(status_of '/metrics?collect%5B%5D=%63pu')" 200

# events_of QUERY: which events there are.
events_of() {
    get "/api/v1/counters?$1" | jq -r '[.counters[].event] | unique | join(" ")'
}
equals "a filter chooses" "$(events_of event=minor_faults)" minor_faults
equals "an event as it is configured" "$(events_of event=Minor-Faults)" minor_faults
equals "filters repeat" "$(events_of 'event=minor_faults&event=major_faults')" "major_faults minor_faults"

# --- connections

# connects PATH...: for each request in turn, whether curl made a connection for it.
connects() {
    local path arguments=()
    for path in "$@"; do
        arguments+=(-o /dev/null "$url$path")
    done
    curl -s -w '%{num_connects}' "${arguments[@]}"
}
equals "the second scrape uses the connection of the first" "$(connects /metrics /metrics)" 10
equals "so it is after an error and after JSON" "$(connects /nothing /api/v1/counters /metrics)" 100
matches "HTTP/1.0 is answered" "$(get /-/healthy -0 -w '%{http_code}')" '200$'

# rates_wait: ten clients wait three seconds, and a scrape meanwhile does not.
waiters=()
for _ in 1 2 3 4 5 6 7 8 9 10; do
    get '/api/v1/rates?seconds=3' >"$scratch/rates.$_" &
    waiters+=("$!")
done
sleep 0.3
slowest=$(for _ in 1 2 3 4 5 6 7 8 9 10; do get /metrics -o /dev/null -w '%{time_total}\n'; done | sort -n | tail -n 1)
compares "nobody waits for somebody's /api/v1/rates" "$slowest < 2.5"
wait "${waiters[@]}"
waited=$(jq .seconds "$scratch/rates.1")
compares "it waits as long as it was asked to" "$waited >= 3 && $waited < 6"

codes=$(seq 64 | xargs -P 64 -I '{}' curl -s --max-time 30 -w '%{http_code}\n' -o /dev/null "$url/metrics" |
    sort | uniq -c)
matches "64 clients at once are answered" "$codes" '^ *64 200$'

# --- clients that mean harm

memory=$(memory_of "$pid")
cat >"$scratch/harm.py" <<'END'
"""harm.py HOST PORT: prints a line for each kind of harm, with what came of it."""
import socket, statistics, sys, time

address = (sys.argv[1], int(sys.argv[2]))

def exchange(data, seconds=20):
    """The first bytes of the answer, or b'' if the connection was closed, or None if nothing came."""
    s = socket.create_connection(address, timeout=seconds)
    try:
        s.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        pass
    try:
        return s.recv(64)
    except ConnectionResetError:
        return b""
    except TimeoutError:
        return None

def report(name, answer):
    refused = answer is not None and (answer == b"" or answer[9:10] == b"4")
    print("%s %s %r" % ("ok" if refused else "BAD", name, answer), flush=True)

tail = b" HTTP/1.1\r\nHost: x\r\n\r\n"
report("url-of-a-megabyte", exchange(b"GET /" + b"a" * (1 << 20) + tail))
report("million-parameters", exchange(b"GET /metrics?" + b"a=1&" * 1000000 + tail))
report("thousand-parameters", exchange(b"GET /metrics?" + b"&" .join(b"collect[]=x" for i in range(1000)) + tail))
report("megabyte-of-headers", exchange(b"GET /metrics HTTP/1.1\r\n" + b"X-Y: z\r\n" * 150000 + b"\r\n"))
report("no-http", exchange(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"))
report("body-of-a-gigabyte",
       exchange(b"POST /-/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n" + b"a" * 4000000))

# A byte a second, for as long as the daemon lets them: everyone else is served meanwhile.
slow = [socket.create_connection(address) for _ in range(20)]
for s in slow:
    s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
start = time.monotonic()
waits = []
while slow and time.monotonic() - start < 60:
    time.sleep(1)
    for s in list(slow):
        try:
            s.sendall(b"a")
            s.setblocking(False)
            closed = s.recv(1000) is not None
        except BlockingIOError:
            s.setblocking(True)
            continue
        except (BrokenPipeError, ConnectionResetError):
            closed = True
        if closed:
            slow.remove(s)
    before = time.monotonic()
    other = exchange(b"GET /-/healthy" + tail)
    waits.append(time.monotonic() - before)
    if other is None or b" 200 " not in other:
        print("BAD others-are-served %r" % other)
print("%s slow-clients-are-ended after %.0f s" % ("BAD" if slow else "ok", time.monotonic() - start))
# One may wait for the machine; none as long as a slow client is borne.
usual, worst = statistics.median(waits), max(waits)
print("%s others-do-not-wait %.3f s, at most %.3f s" % ("BAD" if usual > 0.5 or worst > 10 else "ok", usual, worst))

# Reads nothing of its answers: they fill the socket, and the daemon ends it or waits, but holds up nobody.
deaf = [socket.create_connection(address) for _ in range(10)]
for s in deaf:
    s.setblocking(False)
    try:
        for _ in range(2000):
            s.send((b"GET /metrics" + tail) * 10)
    except (BlockingIOError, BrokenPipeError, ConnectionResetError):
        pass
before = time.monotonic()
other = exchange(b"GET /-/healthy" + tail)
waited = time.monotonic() - before
served = other is not None and b" 200 " in other and waited < 5
print("%s deaf-clients-hold-up-nobody %.3f s %r" % ("ok" if served else "BAD", waited, other))
END
host=${url#http://}
while read -r state what; do
    equals "$what" "$state" ok
done < <(/usr/bin/python3 "$scratch/harm.py" "${host%:*}" "${host##*:}" 2>&1)
equals "the daemon lives" "$(status_of /metrics)" 200
equals "it is the same one" "$(running "$pid" && echo yes)" yes
if [ -z "${SANITIZED-}" ]; then
    compares "memory is flat: kB before and after" "$(memory_of "$pid") - $memory < 3000"
fi
stop_daemon
equals "it ends well" "$daemon_status" 0

# --- addresses

socket=$scratch/sockets/http.sock
mkdir "$scratch/sockets"
# Root's daemon becomes one of these, and removes its socket where its user may.
[ "$(id -u)" -ne 0 ] || chown perfcountd "$scratch/sockets" 2>/dev/null || chown nobody "$scratch/sockets"
chmod 711 "$scratch"
start_daemon --web.listen-address=127.0.0.1:0 --web.listen-address='[::1]:0' --web.listen-address="unix:$socket"
eventually 5 test -S "$socket"
equals "IPv4" "$(status_of /metrics)" 200
equals "a unix socket" "$(curl -s -o /dev/null -w '%{http_code}' --unix-socket "$socket" http://localhost/metrics)" 200
second=$(sed -n 's|.*listening on \(http://\[::1\][^ "]*\)/.*|\1|p' "$daemon_log")
if [ -e /proc/net/if_inet6 ]; then
    equals "IPv6" "$(curl -sg -o /dev/null -w '%{http_code}' "$second/metrics")" 200
else
    left_out "there is no IPv6 here"
fi
stop_daemon
holds "the unix socket is gone afterwards" not test -e "$socket"

start_daemon --web.telemetry-path=/elsewhere
equals "another telemetry path" "$(status_of /elsewhere)" 200
equals "the usual one is not there then" "$(status_of /metrics)" 404
stop_daemon
finish
