#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A low limit of open files: clients are served whatever counters, cgroups, reloads and samples would take, and what
# could not be opened counts by itself once the limit is higher.
# set: all
. "$(dirname "$0")/lib.sh"
need curl jq pgrep prlimit
. "$here/cgroup-lib.sh"

config=$scratch/perfcountd.yaml
clients=()

# limited N: start_daemon starts a daemon that has N descriptors, and inherits nothing but its standard streams.
limited() {
    # shellcheck disable=SC2016 # of the inner shell
    wrapper=(bash -c 'for fd in /proc/$$/fd/*; do
            fd=${fd##*/}
            [ "$fd" -le 2 ] || eval "exec $fd>&-"
        done
        ulimit -n "$1" && shift && exec "$@"' limited "$1")
}

# write_config GROUPS [LINES...]: that many groups of one event for each CPU; all cgroups of the test.
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

# open_client: one more connection; sets fd.
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

# ask FD PATH, in a subshell: the status of the answer, over a connection that stays; "none" where none comes.
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

# of_daemon: descriptors that are neither counters, nor maps and programs of the engine bpf, nor clients.
of_daemon() {
    local all counting
    all=$(find "/proc/$daemon_pid/fd" -type l 2>/dev/null | wc -l)
    counting=$(find "/proc/$daemon_pid/fd" \( -lname '*perf_event*' -o -lname 'anon_inode:bpf[-_]*' \) 2>/dev/null |
        wc -l)
    echo $((all - counting - ${#clients[@]}))
}

# serves TITLE: two clients at once.
serves() {
    local path first second
    for path in /-/ready /metrics; do
        open_client && first=$fd
        open_client && second=$fd
        equals "$1: two clients at once get $path" "$(ask "$first" $path) $(ask "$second" $path)" "200 200"
        close_clients
    done
}

# fills TITLE: as many clients as are set aside, all served; one more has the place of one that idles.
fills() {
    local n i statuses=''
    n=$(descriptors clients)
    for i in $(seq "$n"); do
        open_client
    done
    for i in "${clients[@]}"; do
        statuses+="$(ask "$i" /metrics) "
    done
    equals "$1: all $n clients are served at once" "$(tr ' ' '\n' <<<"$statuses" | grep -c '^200$')" "$n"
    compares "$1: the daemon itself has no more than is set aside for it" "$(of_daemon) <= $daemon_share"
    open_client
    equals "$1: one more is served in the place of one that idles" "$(ask "$fd" /metrics)" 200
    close_clients
    holds "$1: and served when there is room" eventually 60 curl -sf "$url/metrics"
}

is_refused() {
    get /metrics | grep -q 'perfcountd_events_unavailable{collector="cpu".*reason="EMFILE"'
}

mkdir "$hierarchy$below"/a{0,1,2}

# play LIMIT FLAGS...: start, clients, cgroups that come, a reload that wants more, a stream.
play() {
    local limit=$1 title="$1${2+, $2}" i
    local sampler='sampler: {enabled: true, event: cpu-clock, max_seconds: 20, allow: local}'
    shift
    # With an opener it cannot be enabled later.
    if [ $# -eq 0 ]; then write_config 8 "$sampler"; else write_config 8; fi
    limited "$limit"
    start_daemon --config.file="$config" "$@"
    daemon_share=$(descriptors daemon)
    serves "$title"
    fills "$title"
    holds "$title: it does not spin" eventually 60 all_threads_sleep
    equals "$title: the limit is divided" \
        "$(get /api/v1/status | jq '.descriptors | .daemon + .clients + .sampler + .counters, .limit' | uniq)" "$limit"
    compares "$title: counters stay within their share" "$(descriptors open) <= $(descriptors counters)"
    if [ "$limit" -lt 64 ]; then
        holds "$title: some counters are not available, with the reason" is_refused
        compares "$title: others are" "$(descriptors open) > 0"
        compares "$title: it says how many are missing" "$(descriptors needed) > $(descriptors counters)"
    fi
    [ $# -gt 0 ] || equals "$title: plan says the same" \
        "$("${wrapper[@]}" "$PERFCOUNTD" plan --json --config.file="$config" |
            jq -c '.descriptors | [.limit, .daemon, .clients, .counters]')" \
        "$(get /api/v1/status | jq -c '.descriptors | [.limit, .daemon, .clients, .counters]')"
    for i in $(seq 10 60); do
        mkdir "$hierarchy$below/b$i"
    done
    holds "$title: cgroups that come are seen" eventually 60 sees_cgroups 54
    fills "$title, with cgroups"
    write_config 40 "$sampler"
    kill -HUP "$daemon_pid"
    holds "$title: it reloads" eventually 60 grep -q 'configuration reloaded' "$daemon_log"
    daemon_share=$(descriptors daemon)
    fills "$title, after a reload"
    stream "$title"
    rmdir "$hierarchy$below"/b*
    equals "$title: nothing waited to be accepted" "$(grep -c 'wait to be accepted' "$daemon_log")" 0
    stop_daemon
    equals "$title: it ends" "$daemon_status" 0
}

sees_cgroups() {
    [ "$(get /api/v1/cgroups | jq '[.cgroups[] | select(.state != "lingering")] | length')" -eq "$1" ]
}

# stream TITLE: where there is room for rings, a stream goes on while all clients are served; else 503 says why.
stream() {
    local answer n i most statuses=''
    if [ "$(descriptors sampler)" -eq 0 ]; then
        answer=$(get '/api/v1/samples?seconds=1' -w '\n%{http_code}')
        equals "$1: no samples" "$(tail -n 1 <<<"$answer")" 503
        matches "$1: and the reason" "$answer" 'EMFILE.*LimitNOFILE'
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
    compares "$1: the other descriptors of the stream are set aside as well" "$(of_daemon) - 1 <= $most"
    close_clients
    equals "$1: all others are served beside the stream" "$(tr ' ' '\n' <<<"$statuses" | grep -c '^200$')" "$n"
    compares "$1: rings and counters stay within their share" \
        "$(descriptors open) + $(descriptors sampling) <= $(descriptors counters) + $(descriptors sampler)"
    kill "${children[-1]}"
}

# --- too few: one sentence, and the end

write_config 2
for limit in 6 12 16; do
    limited "$limit"
    launch_daemon --config.file="$config" --web.listen-address=127.0.0.1:0
    eventually 60 not running "$daemon_pid" || kill -9 "$daemon_pid"
    wait "$daemon_pid"
    equals "$limit: it ends" $? 1
    equals "$limit: with one sentence" "$(wc -l <"$daemon_log")" 1
    matches "$limit: with the remedy" "$(cat "$daemon_log")" "the limit of open files is $limit, .*LimitNOFILE"
done

# --- few, and enough

for limit in 28 64 256; do
    play "$limit"
    play "$limit" --no-opener
done

# --- plan as text

limited 28
matches "plan says how many descriptors are set aside" "$("${wrapper[@]}" "$PERFCOUNTD" plan --config.file="$config")" \
    'set aside: [0-9]+ for the daemon itself, [0-9]+ for clients, [0-9]+ for counters, which need [0-9]+'

# --- events that could not be opened count once there is room

# configure GROUP...: each of 30 events, so that not both are opened, and clients still find a descriptor.
configure() {
    printf 'web: {min_interval: 0s, local_operators: true}\nhistory: {enabled: false}\n'
    printf 'collectors:\n  cgroup: {enabled: false}\n  self: {enabled: false}\n  cpu:\n    cpus: "0"\n    groups:\n'
    local name
    for name in "$@"; do
        printf '      - name: %s\n        events:\n' "$name"
        printf "          - {event: cs, name: ${name}_%d}\n" {0..29}
    done
}
# counted: how many of the events have a value.
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
    equals "a reload for which descriptors do not suffice" "$(status_of /-/reload -X POST)" 200
    equals "one group is opened, whole" "$(counted)" 30
    equals "why the other is not can be seen" \
        "$(get /metrics | grep -c '^perfcountd_events_unavailable{.*group="second".*reason="EMFILE"} 1$')" 30
    before=$(first_total)
    # It tries again every two seconds.
    eventually 60 all_threads_sleep
    failed=$(threads_do)
    holds "it tries again" eventually 60 threads_differ "$failed"
    equals "failing tries are logged once" "$(grep -c EMFILE "$daemon_log")" 1
    prlimit --pid "$daemon_pid" --nofile=1024:
    holds "with more descriptors the other counts by itself" eventually 60 counts 60
    equals "nothing is missing" "$(get /metrics | grep -c '^perfcountd_events_unavailable')" 0
    equals "and it is one group, by its name" "$(get /metrics | grep -c '^perf_cpu_second_.*group="second"')" 30
    compares "totals went on" "$(first_total) >= $before"
    # A retry every two seconds would end each try; an event of the machine, such as a mount, wakes it once.
    holds "then it sleeps" eventually 60 sleeps_through sleep 6
    stop_daemon
}
threads_differ() {
    [ "$(threads_do)" != "$1" ]
}
test_retry
finish
