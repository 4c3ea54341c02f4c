#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The limits of the configuration: a client that takes more than web.limits gives is ended, and a reload changes them.
. "$(dirname "$0")/lib.sh"
need curl jq /usr/bin/python3

# configure LIMITS: writes the configuration with these.
config=$scratch/limits.yaml
configure() {
    printf 'web: {listen: ["127.0.0.1:0"], limits: {%s}}\n' "$1" >"$config"
}

# start_limited LIMITS: the daemon, without a request that is counted.
start_limited() {
    configure "$1"
    start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0
    host=${url#http://}
}

cat >"$scratch/client.py" <<'END'
"""client.py HOST PORT TEST [ARGUMENT]: prints what came of it."""
import socket, sys, time

address = (sys.argv[1], int(sys.argv[2]))
request = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"

def connect(source=None):
    s = socket.create_connection(address, timeout=20, source_address=source)
    s.settimeout(20)
    return s

def served(s, data=request):
    """Whether this connection gets a 200."""
    try:
        s.sendall(data)
        return s.recv(4096).startswith(b"HTTP/1.1 200 ")
    except (BrokenPipeError, ConnectionResetError):
        return False

def until_closed(s):
    """Seconds until it is closed from there."""
    start = time.monotonic()
    try:
        while s.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return time.monotonic() - start

def several(n, sources):
    """Of `n` connections at once, how many are served."""
    open_ones = [connect((sources[i % len(sources)], 0)) for i in range(n)]
    return [served(s) for s in open_ones].count(True)

def silent():
    return "%.1f" % until_closed(connect())

def slow(interval=0.3):
    """A byte now and then."""
    s, start = connect(), time.monotonic()
    s.sendall(b"GET / HTTP/1.1\r\nX: ")
    s.settimeout(interval)
    while time.monotonic() - start < 20:
        try:
            s.sendall(b"a")
            if s.recv(4096) == b"":
                break
        except TimeoutError:
            continue
        except (BrokenPipeError, ConnectionResetError):
            break
    return "%.1f" % (time.monotonic() - start)

def idle():
    s = connect()
    return "%s %.1f" % (served(s), until_closed(s))

def deaf(seconds):
    """Asks for more than the sockets hold, reads nothing for a while, and then what there is."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(address)
    s.setblocking(False)
    try:
        for _ in range(20000):
            s.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 10)
    except (BlockingIOError, BrokenPipeError, ConnectionResetError):
        pass
    time.sleep(float(seconds))
    s.settimeout(3)
    try:
        while s.recv(65536):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return "open"
    return "closed"

def header(size):
    """The status of a request with a header of this size in bytes."""
    s = connect()
    s.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nX-Large: " + b"a" * int(size) + b"\r\n\r\n")
    return s.recv(4096)[9:12].decode()

test, arguments = sys.argv[3], sys.argv[4:]
if test == "several":
    print(several(int(arguments[0]), arguments[1:] or ["127.0.0.1"]))
else:
    print(globals()[test](*arguments))
END
# client TEST [ARGUMENT...]
client() {
    /usr/bin/python3 "$scratch/client.py" "${host%:*}" "${host##*:}" "$@" 2>&1 | tail -n 1
}
# all_closed: the daemon has heard that its clients are gone.
all_closed() {
    ! find "/proc/$daemon_pid/fd" -lname 'socket:*' -printf '%l\n' | grep -qFf \
        <(awk -v port="$(printf ':%04X' "${host##*:}")" '$2 ~ port "$" && $4 == "01" { print "socket:[" $10 "]" }' \
            /proc/net/tcp)
}
settle() {
    eventually 10 all_closed
}

# --- how many

start_limited 'connections_per_address: 2'
settle
equals "two connections from an address" "$(client several 5)" 2
settle
equals "other addresses have theirs" "$(client several 5 127.0.0.1 127.0.0.2)" 4
settle
equals "afterwards there is room again" "$(client several 2)" 2
equals "the configuration shows it" "$(get /api/v1/config | jq .web.limits.connections_per_address)" 2
settle
configure 'connections_per_address: 4'
kill -HUP "$daemon_pid"
eventually 10 grep -q 'configuration reloaded' "$daemon_log"
settle
equals "a reload brings more" "$(client several 5)" 4
stop_daemon

start_limited 'connections: 3, connections_per_address: 100'
settle
equals "three connections in all" "$(client several 6 127.0.0.1 127.0.0.2)" 3
stop_daemon

# --- how large

start_limited 'header_size: 4096'
equals "a header of 1,000 bytes" "$(client header 1000)" 200
equals "a header of 5,000 bytes" "$(client header 5000)" 431
equals "metrics are served from little memory" "$(status_of /metrics)" 200
stop_daemon
start_limited 'header_size: 65536'
equals "a header of 40,000 bytes, where they are allowed" "$(client header 40000)" 200
equals "a header of 70,000 bytes" "$(client header 70000)" 431
stop_daemon

# --- how long

start_limited 'request_timeout: 1s, idle_timeout: 5s, response_timeout: 2s'
seconds=$(client silent)
compares "a silent connection is closed: seconds" "$seconds >= 0.9 && $seconds < 4.5"
seconds=$(client slow)
compares "a byte now and then does not help: seconds" "$seconds >= 0.9 && $seconds < 4.5"
read -r answered seconds < <(client idle)
equals "a request in time is answered" "$answered" True
compares "and has the idle time for the next: seconds" "$seconds >= 4.8 && $seconds < 15"
equals "a client that does not read is ended" "$(client deaf 5)" closed
configure 'request_timeout: 5s'
kill -HUP "$daemon_pid"
eventually 10 grep -q 'configuration reloaded' "$daemon_log"
seconds=$(client silent)
compares "a reload brings more time: seconds" "$seconds >= 4.8 && $seconds < 15"
equals "the daemon lives" "$(status_of /metrics)" 200
stop_daemon
equals "it ends well" "$daemon_status" 0
finish
