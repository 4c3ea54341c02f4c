#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With a low limit of open files, clients are served however many descriptors the counters, cgroups, reloads and samples
# would take. Events that could not be opened are counted as soon as the limit is raised.
# set: all
. "$(dirname "$0")/lib.sh"
need curl jq pgrep prlimit
. "$here/cgroup-lib.sh"

config=$scratch/perfcountd.yaml
clients=()

# limited N: makes start_daemon start a daemon that may have N descriptors and inherits only its standard streams.
limited() {
    # shellcheck disable=SC2016 # the inner shell expands it
    wrapper=(bash -c 'for fd in /proc/$$/fd/*; do
            fd=${fd##*/}
            [ "$fd" -le 2 ] || eval "exec $fd>&-"
        done
        ulimit -n "$1" && shift && exec "$@"' limited "$1")
}

# write_config GROUPS [LINES...]: writes a configuration with that many groups of one event, for each CPU, and with all
# cgroups of the test.
write_config() {
    local i
    {
        printf 'web: {min_interval: 0s}\ncollectors:\n  cpu:\n    groups:\n'
        for i in $(seq "$1"); do
            printf '      - {name: g%s, events: "context-switches"}\n' "$i"
        done
        printf '  cgroup:\n    include: ["%s/**"]\n    %s\n' "$below" "$faults_group"
        printf '%s\n' "${@:2}"
    } >"$config"
}

descriptors() {
    get /api/v1/status | jq ".descriptors.$1"
}

# open_client: opens one more connection. Sets fd.
open_client() {
    exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}" && clients+=("$fd")
}

close_clients() {
    local fd
    for fd in "${clients[@]}"; do
        exec {fd}>&-
    done
    clients=()
}

# ask FD PATH: prints the status of a response over a persistent connection, or "none". Run it in a subshell.
ask() {
    local line='' length=0 status=none
    trap '' PIPE
    { printf 'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' "$2" >&"$1"; } 2>/dev/null
    if read -r -t 60 -u "$1" _ status _; then
        while read -r -t 60 -u "$1" line && line=${line%$'\r'} && [ -n "$line" ]; do
            [[ $line != [Cc]ontent-[Ll]ength:* ]] || length=${line##*: }
        done
        head -c "$length" <&"$1" >/dev/null
    fi
    echo "${status:-none}"
}

# of_daemon: prints how many descriptors are neither counters, nor maps and programs of the engine bpf, nor clients.
of_daemon() {
    local all counting
    all=$(find "/proc/$daemon_pid/fd" -type l 2>/dev/null | wc -l)
    counting=$(find "/proc/$daemon_pid/fd" \( -lname '*perf_event*' -o -lname 'anon_inode:bpf[-_]*' \) 2>/dev/null |
        wc -l)
    echo $((all - counting - ${#clients[@]}))
}

# serves TITLE: checks that two concurrent clients are served.
serves() {
    local path first second
    for path in /-/ready /metrics; do
        open_client && first=$fd
        open_client && second=$fd
        equals "$1: two concurrent clients get $path" "$(ask "$first" $path) $(ask "$second" $path)" "200 200"
        close_clients
    done
}

# fills TITLE: checks that all clients for which descriptors are reserved are served, and that one more replaces an idle
# client.
fills() {
    local n i statuses=''
    n=$(descriptors clients)
    for i in $(seq "$n"); do
        open_client
    done
    for i in "${clients[@]}"; do
        statuses+="$(ask "$i" /metrics) "
    done
    equals "$1: all $n concurrent clients are served" "$(tr ' ' '\n' <<<"$statuses" | grep -c '^200$')" "$n"
    compares "$1: the daemon itself uses no more than its reserved descriptors" "$(of_daemon) <= $daemon_share"
    open_client
    equals "$1: one more client replaces an idle one" "$(ask "$fd" /metrics)" 200
    close_clients
    holds "$1: a new client is served once there is room" eventually 60 curl -sf "$url/metrics"
}

is_refused() {
    get /metrics | grep -q 'perfcountd_events_unavailable{collector="cpu".*reason="EMFILE"'
}

mkdir "$hierarchy$below"/a{0,1,2}

# check_with_limit LIMIT FLAGS...: starts a daemon, and tests clients, new cgroups, a reload that needs more
# descriptors, and a stream.
check_with_limit() {
    local limit=$1 title="$1${2+, $2}" i
    local sampler='sampler: {enabled: true, event: cpu-clock, max_seconds: 20, allow: local}'
    shift
    # With an opener, the sampler cannot be enabled later.
    if [ $# -eq 0 ]; then write_config 8 "$sampler"; else write_config 8; fi
    limited "$limit"
    start_daemon --config.file="$config" "$@"
    daemon_share=$(descriptors daemon)
    serves "$title"
    fills "$title"
    holds "$title: the daemon is idle" eventually 60 all_threads_sleep
    equals "$title: the shares add up to the limit" \
        "$(get /api/v1/status | jq '.descriptors | .daemon + .clients + .sampler + .counters, .limit' | uniq)" "$limit"
    compares "$title: counters stay within their share" "$(descriptors open) <= $(descriptors counters)"
    if [ "$limit" -lt 64 ]; then
        holds "$title: some counters are unavailable, with the reason" is_refused
        compares "$title: other counters are available" "$(descriptors open) > 0"
        compares "$title: the status says how many descriptors are needed" \
            "$(descriptors needed) > $(descriptors counters)"
    fi
    [ $# -gt 0 ] || equals "$title: plan has the same shares" \
        "$("${wrapper[@]}" "$PERFCOUNTD" plan --json --config.file="$config" |
            jq -c '.descriptors | [.limit, .daemon, .clients, .counters]')" \
        "$(get /api/v1/status | jq -c '.descriptors | [.limit, .daemon, .clients, .counters]')"
    for i in $(seq 10 60); do
        mkdir "$hierarchy$below/b$i"
    done
    holds "$title: new cgroups are noticed" eventually 60 sees_cgroups 54
    fills "$title, with cgroups"
    write_config 40 "$sampler"
    kill -HUP "$daemon_pid"
    holds "$title: the daemon reloads" eventually 60 grep -q 'configuration reloaded' "$daemon_log"
    daemon_share=$(descriptors daemon)
    fills "$title, after a reload"
    stream "$title"
    rmdir "$hierarchy$below"/b*
    equals "$title: no connection had to wait to be accepted" "$(grep -c 'waiting to be accepted' "$daemon_log")" 0
    stop_daemon
    equals "$title: the daemon exits cleanly" "$daemon_status" 0
}

sees_cgroups() {
    [ "$(get /api/v1/cgroups | jq '[.cgroups[] | select(.state != "lingering")] | length')" -eq "$1" ]
}

# stream TITLE: if there is room for ring buffers, checks that a stream and all clients are served; otherwise, that 503
# says why.
stream() {
    local answer n i most statuses=''
    if [ "$(descriptors sampler)" -eq 0 ]; then
        answer=$(get '/api/v1/samples?seconds=1' -w '\n%{http_code}')
        equals "$1: samples are unavailable" "$(tail -n 1 <<<"$answer")" 503
        matches "$1: the response has the reason" "$answer" 'EMFILE.*LimitNOFILE'
        return
    fi
    get '/api/v1/samples?seconds=20' >"$scratch/samples" &
    children+=($!)
    holds "$1: a stream begins" eventually 60 grep -q '"type":"header"' "$scratch/samples"
    most=$(($(descriptors daemon) + $(descriptors sampler) - $(descriptors sampling)))
    n=$(($(descriptors clients) - 1))
    for i in $(seq "$n"); do
        open_client
    done
    for i in "${clients[@]}"; do
        statuses+="$(ask "$i" /-/ready) "
    done
    compares "$1: the stream's descriptors other than ring buffers are reserved as well" "$(of_daemon) - 1 <= $most"
    close_clients
    equals "$1: all other clients are served alongside the stream" \
        "$(tr ' ' '\n' <<<"$statuses" | grep -c '^200$')" "$n"
    compares "$1: ring buffers and counters stay within their share" \
        "$(descriptors open) + $(descriptors sampling) <= $(descriptors counters) + $(descriptors sampler)"
    kill "${children[-1]}"
}

# --- too few descriptors: the daemon prints one sentence and exits

write_config 2
for limit in 6 12 16; do
    limited "$limit"
    launch_daemon --config.file="$config" --web.listen-address=127.0.0.1:0
    eventually 60 not running "$daemon_pid" || kill -9 "$daemon_pid"
    wait "$daemon_pid"
    equals "$limit: the daemon exits with status 1" $? 1
    equals "$limit: the daemon prints one sentence" "$(wc -l <"$daemon_log")" 1
    matches "$limit: the sentence names the remedy" \
        "$(cat "$daemon_log")" "the limit of open files is $limit, .*LimitNOFILE"
done

# --- low limits of open files, and one that is high enough

for limit in 28 64 256; do
    check_with_limit "$limit"
    check_with_limit "$limit" --no-opener
done

# --- plan as text

limited 28
matches "plan says how many descriptors are reserved" "$("${wrapper[@]}" "$PERFCOUNTD" plan --config.file="$config")" \
    'set aside: [0-9]+ for the daemon itself, [0-9]+ for clients, [0-9]+ for counters, which need at most [0-9]+'

# --- events that could not be opened are counted once the limit is raised

# configure GROUP...: prints a configuration with groups of 30 events each, so that only one group fits, and clients
# still get a descriptor.
configure() {
    printf 'web: {min_interval: 0s, local_operators: true}\nhistory: {enabled: false}\n'
    printf 'collectors:\n  cgroup: {enabled: false}\n  self: {enabled: false}\n  cpu:\n    cpus: "0"\n    groups:\n'
    local name
    for name in "$@"; do
        printf '      - name: %s\n        events:\n' "$name"
        printf "          - {event: cs, name: ${name}_%d}\n" {0..29}
    done
}
# counted: prints how many of the events have a value.
counted() {
    get /metrics | grep -c '^perf_cpu_\(first\|second\)_[0-9]*_total{'
}
counts() {
    [ "$(counted)" -eq "$1" ]
}
first_total() {
    get /metrics | awk '/^perf_cpu_first_0_total/ { print $2 }'
}

test_retry() {
    local before failed
    wrapper=()
    configure first >"$config"
    start_daemon --no-opener --config.file="$config"
    prlimit --pid "$daemon_pid" --nofile=64:
    configure first second >"$config"
    equals "a reload that needs more descriptors than are available succeeds" "$(status_of /-/reload -X POST)" 200
    equals "one group is opened completely" "$(counted)" 30
    equals "the metrics say why the other group is not open" \
        "$(get /metrics | grep -c '^perfcountd_events_unavailable{.*group="second".*reason="EMFILE"} 1$')" 30
    before=$(first_total)
    # The daemon retries every two seconds.
    eventually 60 all_threads_sleep
    failed=$(threads_do)
    holds "the daemon retries" eventually 60 threads_differ "$failed"
    equals "failed retries are logged once" "$(grep -c EMFILE "$daemon_log")" 1
    prlimit --pid "$daemon_pid" --nofile=1024:
    holds "after the limit is raised, the other group is counted" eventually 60 counts 60
    equals "no event is unavailable" "$(get /metrics | grep -c '^perfcountd_events_unavailable')" 0
    equals "the events of the other group have its name as a label" \
        "$(get /metrics | grep -c '^perf_cpu_second_.*group="second"')" 30
    compares "totals continue" "$(first_total) >= $before"
    # A retry every two seconds would interrupt each sleep of 6 s; an event on the machine, such as a mount, wakes the
    # daemon only once.
    holds "once all events are open, the daemon sleeps" eventually 60 sleeps_through sleep 6
    stop_daemon
}
threads_differ() {
    [ "$(threads_do)" != "$1" ]
}
test_retry
finish
