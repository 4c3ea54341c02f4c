#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A hostile page in a real browser on the machine sends every kind of request that a page can send to a daemon that
# permits sampling to everybody and operations to local clients. No request starts or changes anything.
# set: all

# Runs in a network namespace, where the addresses and ports are not otherwise in use.
if [ -z "${PERFCOUNTD_OWN_LOOPBACK-}" ] && [ "$(id -u)" -eq 0 ]; then
    PERFCOUNTD_OWN_LOOPBACK=yes exec unshare --net "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
need curl jq python3 ip setsid
[ "$(id -u)" -eq 0 ] || skip "root, to make a network for the browser"
for browser in chromium chromium-browser google-chrome; do
    command -v $browser >/dev/null && break
done
need "$browser"
ip link set lo up
ip address add 192.0.2.1/24 dev lo

config=$scratch/perfcountd.yaml
cat >"$config" <<'END'
web: {min_interval: 0s, local_operators: true, limits: {connections_per_address: 500}}
sampler: {enabled: true, event: cpu-clock, frequency: 50, max_clients: 64, allow: everybody}
END
# The page's server uses the daemon's port on another address, and forwards to the daemon (DNS rebinding).
port=10298
start_daemon --config.file="$config" --web.listen-address=127.0.0.1:$port --web.listen-address=192.0.2.1:$port

idle=$(perf_fds)
# Prints the number of open events every 0.1 s; streams run for two seconds.
watch_fds() {
    while running "$daemon_pid"; do
        perf_fds
        sleep 0.1
    done
}
names="MAP evil.test 127.0.0.2, MAP other.test 127.0.0.2, MAP reports.test 127.0.0.2, MAP board.test 127.0.0.1"
chromium_flags=(--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync "--host-resolver-rules=$names")
# browse NAME URL [FLAGS...]: starts the browser in its own session, which end_browser ends.
browse() {
    HOME=$scratch setsid "$browser" "${chromium_flags[@]}" "${@:3}" --user-data-dir="$scratch/$1" "$2" \
        >"$scratch/$1.out" 2>"$scratch/$1.err" </dev/null &
    browsing=$!
}
browsing=
end_browser() {
    [ -z "$browsing" ] || kill -KILL -- "-$browsing" 2>/dev/null
    wait "$browsing" 2>/dev/null
    browsing=
}
cleanup_page() {
    end_browser
    cleanup
}
trap cleanup_page EXIT
has_ended() {
    not running "$browsing"
}
reports=$scratch/reports
: >"$reports"
# serve ADDRESS BEHIND: starts a server for the page.
serve() {
    python3 "$here/page.py" "$1" "$2" "$here/page.html" "$reports" >"$scratch/server-$1" 2>&1 &
    children+=($!)
    eventually 60 grep -q listening "$scratch/server-$1"
}

# --- an address that a user typed into the browser is served

browse typed "http://127.0.0.1:$port/api/v1/folded?seconds=0.5" --dump-dom
eventually 60 has_ended
end_browser
matches "a typed address shows stacks" "$(<"$scratch/typed.out")" ' [0-9]+.?</pre>'
has_rested() {
    [ "$(perf_fds)" -le "$idle" ]
}
holds "the events for these samples are closed afterwards" eventually 60 has_rested

# --- the page

is_done() {
    grep -q "^$1 done$" "$reports"
}
# attack HOST TARGET...: opens the page on that host and port, and waits until it is done.
attack() {
    local name=${1//:/-} target
    watch_fds >"$scratch/$name.fds" &
    watching=$!
    children+=("$watching")
    browse "$name" "http://$1/attack#$(IFS=,; echo "${*:2}")"
    eventually 60 is_done "$1"
    end_browser
    kill "$watching"
    wait "$watching" 2>/dev/null
    holds "the page on $1 has finished" is_done "$1"
    for target in "${@:2}"; do
        # A CORS preflight, which a page needs to send a header of its own to another origin, may stay unanswered.
        matches "requests from the page on $1 reached ${target:-its own origin}" \
            "$(grep "^$1 ${target:-own}: get" "$reports")" \
            "get post$([ -n "$target" ] || echo ' own')\$"
    done
    equals "no event was opened" "$(sort -n "$scratch/$name.fds" | tail -n 1)" "$idle"
    equals "counting is not paused and has not been paused" \
        "$(get /api/v1/pause | jq -c .paused) $(grep -c 'is paused' "$daemon_log")" \
        "false 0"
    equals "nothing was reloaded" "$(grep -c 'configuration reloaded' "$daemon_log")" 0
}

serve 127.0.0.2:8000 127.0.0.1:$port
attack evil.test:8000 "http://127.0.0.1:$port" "http://localhost:$port" "http://192.0.2.1:$port" \
    "http://board.test:$port"
# The page's host name resolves to the daemon, over loopback and over another address.
serve 127.0.0.2:$port 127.0.0.1:$port
attack evil.test:$port ""
serve 127.0.0.2:8001 192.0.2.1:$port
attack other.test:8001 ""

equals "the daemon still answers" "$(status_of /-/ready)" 200
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
finish
