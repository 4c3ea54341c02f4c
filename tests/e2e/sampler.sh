#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests streams of samples: permitted clients, permitted events, slow clients, reloads, the daemon's exit, missing
# permissions and time namespaces. While there is no client, no event is open.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq cc objdump pgrep taskset unshare
[ "$(id -u)" -eq 0 ] || skip "root, to sample all CPUs and set probes"

# write_config LINES...: writes a configuration with these lines, and with $collectors. The number of open events must
# not depend on the machine's cgroups.
collectors='cgroup: {enabled: false}'
write_config() {
    printf '%s\n' 'web: {min_interval: 0s, local_operators: true}' "collectors: {$collectors}" "$@" \
        >"$scratch/config.yaml"
}
# reload LINES...: writes such a configuration and reloads it.
reload() {
    write_config "$@"
    equals "a reload succeeds" "$(status_of /-/reload -X POST)" 200
}
# stream FILE PATH: starts a client in the background. Sets stream.
stream() {
    : >"$1"
    curl -sN "$url$2" >"$1" &
    stream=$!
    children+=("$stream")
}
# start PROGRAM...: runs a program in the background. Sets started.
start() {
    "$@" >/dev/null &
    started=$!
    children+=("$started")
}
# ends_by FILE REASON: succeeds if the stream has ended for this reason.
ends_by() {
    tail -n 1 "$1" | grep -qF "\"reason\":\"$2\""
}
# records_in FILE: prints the number of records. Lines without a time describe processes that were already running, and
# are not counted, except for ksymbol records, which never have one.
records_in() {
    jq -r 'select((.time and .type != "header") or .type == "ksymbol") | .type' "$1" | wc -l
}
# refuses STATUS QUERY TEXT: checks that /api/v1/samples rejects the query with this status and text.
refuses() {
    equals "$1: $2" "$(status_of "/api/v1/samples?$2")" "$1"
    contains "$1: $2: the message" "$(get "/api/v1/samples?$2" | jq -r .error)" "$3"
}
cpus=$(getconf _NPROCESSORS_ONLN)
chmod 755 "$scratch"

write_config
start_daemon --config.file="$scratch/config.yaml"
for path in /api/v1/samples /api/v1/perf.data /api/v1/folded /debug/pprof/profile; do
    equals "$path is disabled" "$(status_of "$path")" 403
    contains "$path is disabled: the message names the key" "$(get "$path")" 'sampler.enabled'
done
stop_daemon

write_config 'sampler: {enabled: true, event: cpu-clock, max_clients: 3, max_seconds: 1000}'
start_daemon --config.file="$scratch/config.yaml"
idle=$(perf_fds)
equals "HEAD succeeds" "$(status_of /api/v1/samples -I)" 200
holds "HEAD opens no event" fds_are "$idle"
equals "a request from another site's page is rejected" \
    "$(status_of '/api/v1/samples?max=1' -H 'Origin: http://example.com')" 403
while read -r status query text; do
    refuses "$status" "$query" "$text"
done <<'END'
400 frequency=2000000000 perf_event_max_sample_rate
400 event=nopmu/x/ no PMU "nopmu"
400 event=cpu-clock/period=700001/&frequency=99 leave out the parameter "frequency"
400 seconds=1001 sampler.max_seconds
400 cpu=16000 no CPU 16000
404 pid=4194304 no process 4194304
404 cgroup=/no/such/cgroup no cgroup /no/such/cgroup
END
holds "after errors, no event is open" fds_are "$idle"

# --- streams

# An idle CPU has almost no samples.
start taskset -c 0 cat /dev/zero
busy=$started
get '/api/v1/samples?max=100&frequency=1000' >"$scratch/max"
holds "each line is JSON" jq -e . "$scratch/max"
equals "max= gives exactly as many records" "$(records_in "$scratch/max")" 100
equals "the end record has the reason and the number of records" \
    "$(end_of "$scratch/max" reason) $(end_of "$scratch/max" records)" "max 100"
get '/api/v1/samples?max=100&event=cpu-clock/period=700001/' >"$scratch/period"
equals "the period in the event's name is used" \
    "$(jq -r 'select(.type == "header" or .type == "sample") | .period' "$scratch/period" | sort -u)" 700001
get '/api/v1/samples?seconds=0.5' >"$scratch/seconds"
equals "seconds= ends the stream" "$(end_of "$scratch/seconds" reason)" seconds
sample_until 30 "$scratch/cpu" '/api/v1/samples?cpu=0'
equals "cpu= selects one CPU" "$(jq -r 'select(.type == "sample") | .cpu' "$scratch/cpu" | sort -u)" 0
jq -r 'select(.type == "sample") | .time' "$scratch/cpu" >"$scratch/times"
holds "samples are in chronological order" sort -n -c "$scratch/times"
sample_until 5 "$scratch/read" '/api/v1/samples?event=%7Bcpu-clock,context-switches%7D&read=1&frequency=1000'
contains "read=1 adds the counts of the group" "$(grep -m 1 '"type":"sample"' "$scratch/read")" 'context-switches'
contains "read=1 is rejected with a clock that ignores the modifier" \
    "$(get '/api/v1/samples?event=%7Bcpu-clock,task-clock%7D:u&read=1' | jq -r .error)" 'task-clock counts time'

# --- ring buffers are shared by clients with equal parameters

stream "$scratch/one" '/api/v1/samples?frequency=100'
one=$stream
stream "$scratch/two" '/api/v1/samples?frequency=100'
two=$stream
holds "two clients have their streams" eventually 60 test -s "$scratch/one" -a -s "$scratch/two"
holds "two clients with equal parameters share ring buffers" eventually 60 fds_are $((idle + cpus))
stream "$scratch/three" '/api/v1/samples?frequency=101'
holds "a client with other parameters has its own ring buffers" eventually 60 fds_are $((idle + 2 * cpus))
refuses 503 max=1 max_clients
kill "$stream"
holds "the ring buffers of a client are closed when it leaves" eventually 60 fds_are $((idle + cpus))
kill "$one"
n=$(samples_in "$scratch/two")
holds "the other client still receives samples" eventually 60 has_samples "$scratch/two" $((n + 10))
kill "$two"
holds "without a client, no event is open" eventually 60 fds_are "$idle"
stream "$scratch/quiet" '/api/v1/samples?event=alignment-faults&period=1000000'
holds "a stream without samples is open" eventually 60 fds_are $((idle + cpus))
kill "$stream"
holds "the events of a stream without samples are closed when the client leaves" eventually 60 fds_are "$idle"
kill "$busy"

# --- what is sampled

cat >"$scratch/spin.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void *spin(void *x)
{
    for (volatile unsigned long i = 0;; i++)
        ;
    return x;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
    sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 600);
    return 0;
}
END
cc -O1 -pthread -o "$scratch/spin" "$scratch/spin.c"
# samples_of SPACE FILE: prints how many samples of a stream are in SPACE, which is kernel or user.
samples_of() {
    jq -c --argjson kernel "$([ "$1" = kernel ] && echo true || echo false)" \
        'select(.type == "sample" and (.module == "[kernel.kallsyms]") == $kernel)' "$2" | wc -l
}
start "$scratch/spin"
in_user=$started
start cat /dev/zero
while read -r event space other; do
    sample_until 50 "$scratch/$event" "/api/v1/samples?event=$event&frequency=1000"
    compares "$event samples: $space" "$(samples_of "$space" "$scratch/$event") >= 49"
    equals "$event does not sample: $other" "$(samples_of "$other" "$scratch/$event")" 0
done <<'END'
cpu-clock:u user kernel
task-clock:k kernel user
END
kill "$in_user" "$started"

start "$scratch/spin"
stream "$scratch/process" "/api/v1/samples?pid=$started&seconds=1000"
has_thread() {
    grep '"type":"sample"' "$scratch/process" | grep -qv "\"tid\":$started,"
}
holds "pid= samples all threads of the process" eventually 60 has_thread
kill "$started"
wait "$stream"
equals "the stream ends with the process" "$(end_of "$scratch/process" reason)" 'the process has ended'
equals "pid= samples only the process" \
    "$(jq -r 'select(.type == "sample") | .pid' "$scratch/process" | sort -u)" "$started"

# The symbol table of a program is requested at its first sample.
cp "$scratch/spin" "$scratch/fresh"
start "$scratch/fresh"
get "/api/v1/samples?pid=$started&max=50" >"$scratch/early"
kill "$started"
early=$(end_of "$scratch/early" awaiting_symbols)
compares "the end record counts addresses whose symbols are not loaded yet" \
    "$early >= $(jq -r --arg file "$scratch/fresh" \
    'select(.type == "sample") | .callchain[]?, . | select(.module == $file and .symbol == "[unknown]") | 1' \
    "$scratch/early" | wc -l) && $early > 0"
contains "a note in the end record says how many addresses have no symbol" \
    "$(jq -r 'select(.type == "end") | .notes[]' "$scratch/early")" \
    "addresses without a symbol: $early, because the symbol tables"

# --- no event that a client names ends the daemon or affects a program

probed=$scratch/probed
cp "$(command -v sleep)" "$probed"
start "$probed" 600
offset=$(objdump -h "$probed" 2>/dev/null | awk '$2 == ".init" { print "0x" $6 }')
answers() {
    equals "$2: $1" "$(status_of /api/v1/samples -G --data-urlencode max=1 --data-urlencode "event=$1")" "$2"
}
# The kernel would interpret these numbers as pointers.
for event in uprobe/config1=0x41414141/ kprobe/config1=0x41414141/ uprobe/config=1,config1=0x10000/ \
    uprobe/path=/bin/sh,config1=0x41414141/; do
    answers "$event" 400
    printf 'collectors: {cpu: {groups: [{name: a, events: "%s"}]}}\n' "$event" >"$scratch/bad.yaml"
    "$PERFCOUNTD" check-config "$scratch/bad.yaml" >/dev/null 2>&1
    equals "check-config rejects $event" $? 2
    "$PERFCOUNTD" --config.file="$scratch/bad.yaml" --web.listen-address=127.0.0.1:0 >/dev/null 2>&1
    equals "the daemon rejects $event at the start" $? 2
done
for event in "uprobe/path=$probed,offset=$offset/" "uprobe/path=$probed,offset=0x1/" kprobe/func=vfs_read/ \
    kprobe/addr=0x1000/ mem:0x1000:w mem:0xffffffff81000000:w breakpoint/config1=0x1000,config2=8/ \
    syscalls:sys_enter_openat tracepoint/config=1/ '{cpu-clock,mem:0x1000:w}' '{cpu-clock,sched:sched_process_fork}'; do
    answers "$event" 403
done
contains "403: the message says why" \
    "$(get '/api/v1/samples?event=mem:0x1000:w' | jq -r .error)" "is not allowed: only the configuration"
holds "the program is still running" running "$started"
equals "the daemon still answers" "$(status_of /-/healthy)" 200
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0

# A probe in the configuration does not permit other probes.
collectors="cgroup: {enabled: false}, \
    cpu: {groups: [{name: probe, events: 'uprobe/path=$probed,offset=$offset,name=starts/'}]}" write_config \
    'sampler: {enabled: true, event: cpu-clock, tracepoints: ["sched:sched_switch"]}'
start_daemon --config.file="$scratch/config.yaml"
if get /api/v1/events | jq -e 'any(.[]; .name == "sched:sched_switch")' >/dev/null; then
    answers sched:sched_switch 200
else
    left_out "tracepoints"
fi
starts() {
    get "/api/v1/counters?group=probe" | jq '[.counters[].value] | add'
}
is_counted() {
    [ "$(starts)" != null ]
}
# If opening the program's file takes more than a second, the daemon tries again later.
if [ -e /sys/bus/event_source/devices/uprobe ] && eventually 90 is_counted; then
    for event in "uprobe/path=$probed,offset=0x1/" "uprobe/path=$probed,offset=$offset/" \
        "uprobe/path=/bin/true,offset=$offset/"; do
        answers "$event" 403
    done
    before=$(starts)
    "$probed" 0
    "$probed" 0
    equals "the configured probe is counted" "$(($(starts) - before))" 2
    holds "the probed program is still running" running "$started"
elif [ -e /sys/bus/event_source/devices/uprobe ]; then
    fail "a uprobe can be opened" "$(get /api/v1/status | jq -r '.failures[].message')"
else
    left_out "uprobes"
fi
stop_daemon

# --- a slow client loses records and is told how many, which does not affect other clients and scrapes

# queued: prints the length of the daemon's TCP send queues.
queued() {
    awk -v port="$(printf ':%04X$' "${url##*:}")" '$2 ~ port && $4 == "01" { print $5 }' /proc/net/tcp
}
has_run() {
    [ "$(threads_do | awk 'NR == 1 { print $2 }')" -ge "$1" ]
}
# is_stuck: succeeds if the send queues do not change, although the daemon runs.
is_stuck() {
    local before
    before=$(queued)
    eventually 60 has_run $(($(threads_do | awk 'NR == 1 { print $2 }') + 20))
    [[ $before != 00000000:* && $before = "$(queued)" ]]
}

write_config 'sampler: {enabled: true, event: cpu-clock, max_clients: 3, max_seconds: 1000}'
start_daemon --config.file="$scratch/config.yaml"
# An idle CPU has almost no samples.
for _ in $(seq "$cpus"); do
    start nice -n 10 "$scratch/spin"
    spinners+=("$started")
done
stream "$scratch/slow" '/api/v1/samples?frequency=4000'
slow=$stream
holds "a stream is running" eventually 60 has_samples "$scratch/slow" 5
kill -STOP "$slow"
holds "the client of the stream does not read" eventually 60 is_stuck
nice -n -10 curl -sN "$url/api/v1/samples?frequency=4000" >"$scratch/fast" &
fast=$!
children+=("$fast")
# has_bytes FILE NUMBER: succeeds if the file has at least this many bytes.
has_bytes() {
    [ "$(stat -c %s "$1")" -ge "$2" ]
}
# grows FILE NUMBER: succeeds if FILE grows by NUMBER bytes, waiting up to a minute for each million.
grows() {
    local end=$(($(stat -c %s "$1") + $2))
    until has_bytes "$1" "$end"; do
        eventually 60 has_bytes "$1" $(($(stat -c %s "$1") + 1000000)) || return
    done
}
# This is more than the daemon buffers for a client.
holds "another client still receives samples" grows "$scratch/fast" 16000000
# A client that gets no CPU time for a second is slow, too.
receives_most() {
    [ "$(samples_in "$scratch/fast")" -gt $((8 * $(sed -n 's/.*"type":"dropped".*"dropped":\([0-9]*\).*/+\1/p' \
        "$scratch/fast" | tr -d '\n') + 0)) ]
}
holds "a client that reads receives most samples" eventually 60 receives_most
equals "meanwhile scrapes are answered" "$(for _ in $(seq 20); do status_of /metrics; done)" \
    "$(printf '200%.0s' $(seq 20))"
kill -CONT "$slow"
holds "the slow client continues, and its stream says that records were dropped" \
    eventually 60 grep -q '"type":"dropped"' "$scratch/slow"
reload 'sampler: {enabled: true, event: task-clock, max_clients: 3, max_seconds: 1000}'
wait "$slow" "$fast"
reload 'sampler: {enabled: true, event: cpu-clock, max_clients: 3, max_seconds: 1000}'
dropped=$(end_of "$scratch/slow" dropped)
compares "the end record has the number of dropped records" "$dropped > 0"
equals "the number of dropped records is exact" \
    "$(jq -s '[.[] | select(.type == "dropped") | .dropped] | add' "$scratch/slow")" "$dropped"
compares "a client that reads has lost far fewer records than the slow one" \
    "4 * $(end_of "$scratch/fast" dropped) < $dropped"

# After the daemon was stopped for a while, the ring buffers contain more than it buffers for a client. How much of that
# is dropped depends on when the clients run.
ticks_of() {
    awk '{ print $14 + $15 }' "/proc/$1/stat"
}
has_spun() {
    [ "$(ticks_of "${spinners[0]}")" -ge "$1" ]
}
burst() {
    local clients=() i
    for i in 1 2 3; do
        stream "$scratch/burst$i" '/api/v1/samples?frequency=4000'
        clients+=("$stream")
    done
    holds "three streams are running" eventually 60 has_samples "$scratch/burst3" 100
    kill -STOP "$daemon_pid"
    eventually 60 has_spun $(($(ticks_of "${spinners[0]}") + 70))
    kill -CONT "$daemon_pid"
    reload 'sampler: {enabled: true, event: task-clock, max_clients: 3, max_seconds: 1000}'
    wait "${clients[@]}"
    reload 'sampler: {enabled: true, event: cpu-clock, max_clients: 3, max_seconds: 1000}'
}
burst
for i in 1 2 3; do
    equals "client $i of a burst has received as many records as the end record says" \
        "$(end_of "$scratch/burst$i" records)" "$(records_in "$scratch/burst$i")"
done
kill "${spinners[@]}"

# --- reload

stream "$scratch/reloaded" '/api/v1/samples?frequency=100'
stream "$scratch/event" '/api/v1/samples?event=task-clock'
holds "streams are running" eventually 60 has_samples "$scratch/event" 5
reload 'sampler: {enabled: true, event: cpu-clock, max_clients: 3, max_seconds: 1000}'
n=$(samples_in "$scratch/reloaded")
holds "a reload without a change does not end a stream" eventually 60 has_samples "$scratch/reloaded" $((n + 10))
reload 'sampler: {enabled: true, event: task-clock, max_clients: 3, max_seconds: 1000, frequency: 50}'
for name in reloaded event; do
    holds "a reload that changes the default event and frequency ends a stream that uses them" \
        eventually 60 ends_by "$scratch/$name" reload
done
stream "$scratch/reloaded" '/api/v1/samples?frequency=100&event=cpu-clock'
holds "a stream with its own event and frequency is running" eventually 60 has_samples "$scratch/reloaded" 5
reload 'sampler: {enabled: true, event: task-clock, max_clients: 3, max_seconds: 1000, frequency: 60}'
n=$(samples_in "$scratch/reloaded")
holds "a reload that changes other keys does not end a stream" \
    eventually 60 has_samples "$scratch/reloaded" $((n + 10))
reload
holds "a reload that disables the sampler ends a stream" eventually 60 ends_by "$scratch/reloaded" reload
holds "the ring buffers of the ended stream are closed" eventually 60 fds_are "$idle"
equals "sampling is disabled" "$(status_of /api/v1/samples)" 403

# --- the daemon's exit; bench/times.py measures how long it takes

reload 'sampler: {enabled: true, event: cpu-clock}'
paths=(/api/v1/folded /api/v1/samples /api/v1/perf.data /debug/pprof/profile)
clients=()
for path in "${paths[@]}"; do
    stream "$scratch/last-${path##*/}" "$path?frequency=$((100 + ${#clients[@]}))"
    clients+=("$stream")
    holds "the ring buffers are open" eventually 60 fds_are $((idle + ${#clients[@]} * cpus))
done
holds "streams are running" eventually 60 has_samples "$scratch/last-samples" 50
stop_daemon
equals "the daemon exits cleanly with open streams" "$daemon_status" 0
for i in "${!paths[@]}"; do
    wait "${clients[i]}"
    equals "the response to ${paths[i]} is complete" "$?" 0
done
equals "the end record has the reason" "$(end_of "$scratch/last-samples" reason)" shutdown
equals "the end record has the number of records" "$(end_of "$scratch/last-samples" records)" \
    "$(records_in "$scratch/last-samples")"
compares "folded has the samples up to the daemon's exit" \
    "$(awk '{ n += $NF } END { print n + 0 }' "$scratch/last-folded") > 0"
holds "the profile is complete" gzip -t "$scratch/last-profile"
compares "perf.data has records" "$(wc -c <"$scratch/last-perf.data") > 1000"

start_daemon --config.file="$scratch/config.yaml"
stream "$scratch/stuck" '/api/v1/samples?frequency=4000'
holds "a stream is running" eventually 60 has_samples "$scratch/stuck" 50
kill -STOP "$stream"
holds "the client of the stream does not read" eventually 60 is_stuck
stop_daemon
equals "the daemon exits cleanly nevertheless" "$daemon_status" 0
kill -CONT "$stream"
wait "$stream"
compares "curl reports an incomplete response" "$? > 0"

# --- in a time namespace, the kernel's records have the host's clock, but the daemon has the namespace's

# in_time_namespace OFFSET: samples in a namespace whose clocks differ by OFFSET seconds.
in_time_namespace() {
    local begin
    wrapper=(unshare --time "--monotonic=$1" "--boottime=$1" --fork --kill-child)
    start_daemon --config.file="$scratch/config.yaml"
    wrapper=()
    begin=$(date +%s)
    echo "-- clocks $1 s off"
    sample_until 30 "$scratch/shifted" '/api/v1/samples?frequency=100'
    equals "each sample has the time of day" "$(jq -s "[.[] | select(.type == \"sample\" and
        (.time < $begin - 1 or .time > $(date +%s) + 1))] | length" "$scratch/shifted")" 0
    kill -TERM "$(pgrep -P "$daemon_pid")"
    wait "$daemon_pid"
    equals "the daemon exits cleanly" $? 0
}
read -r uptime _ </proc/uptime
if unshare --time --monotonic=1 --fork true 2>"$scratch/refused"; then
    in_time_namespace 100000
    in_time_namespace -$((${uptime%.*} / 2)) # so that no clock is below 0
else
    left_out "time namespaces"
fi

# --- without privileges, the response contains the kernel's error

paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$paranoid" -lt 1 ] || [ "$paranoid" -gt 2 ]; then
    left_out "kernel.perf_event_paranoid of 1 or 2"
    finish
fi
# The limit of locked memory is per user, so the test uses a user id that no other test uses.
user=$((50000 + $$ % 10000))
nobody=(setpriv "--reuid=$user" --regid=65534 --clear-groups --inh-caps=-all)
install -m 755 "$PERFCOUNTD" "$scratch/perfcountd"
PERFCOUNTD=$scratch/perfcountd
write_config 'sampler: {enabled: true, event: cpu-clock, ring_pages: 4096}'
ulimit -l 64
wrapper=("${nobody[@]}")
start_daemon --config.file="$scratch/config.yaml"
start "${nobody[@]}" "$scratch/spin"
spin=$started
equals "sampling the whole machine is refused" "$(status_of '/api/v1/samples?seconds=1')" 403
matches "sampling the whole machine is refused: the message says why" \
    "$(get '/api/v1/samples?seconds=1' | jq -r .error)" 'EACCES.*perf_event_paranoid'
equals "too much locked memory is refused" "$(status_of "/api/v1/samples?seconds=1&pid=$spin")" 403
matches "too much locked memory is refused: the message names the key to set" \
    "$(get "/api/v1/samples?seconds=1&pid=$spin" | jq -r .error)" \
    'perf_event_mlock_kb.*sampler.ring_pages'
stop_daemon
write_config 'sampler: {enabled: true, event: cpu-clock, ring_pages: 8}'
start_daemon --config.file="$scratch/config.yaml"
echo "-- a process of the same user can be sampled"
sample_until 1 "$scratch/own" "/api/v1/samples?pid=$spin"
stop_daemon
finish
