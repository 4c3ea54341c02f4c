#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Streams of samples: the clients that get them, the events that they may name, slow clients, reloads, the end of the
# daemon, other rights and other clocks; and nothing is open while nobody listens.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq cc objdump pgrep unshare
[ "$(id -u)" -eq 0 ] || skip "root, to sample all CPUs and set probes"

# write_config LINES...
write_config() {
    printf '%s\n' 'web: {min_interval: 0s, local_operators: true}' "$@" >"$scratch/config.yaml"
}
# reload LINES...
reload() {
    write_config "$@"
    equals "a reload" "$(status_of /-/reload -X POST)" 200
}
# stream FILE PATH: a client in the background. Sets stream.
stream() {
    : >"$1"
    curl -sN "$url$2" >"$1" &
    stream=$!
    children+=("$stream")
}
# ends_by FILE REASON
ends_by() {
    tail -n 1 "$1" | grep -qF "\"reason\":\"$2\""
}
# records_in FILE: lines without a time are about processes that run already, but the kernel gives ksymbol none.
records_in() {
    jq -r 'select((.time and .type != "header") or .type == "ksymbol") | .type' "$1" | wc -l
}
# refuses STATUS QUERY TEXT: of /api/v1/samples.
refuses() {
    equals "$1: $2" "$(status_of "/api/v1/samples?$2")" "$1"
    contains "says why: $2" "$(get "/api/v1/samples?$2" | jq -r .error)" "$3"
}
cpus=$(getconf _NPROCESSORS_ONLN)
chmod 755 "$scratch"

write_config
start_daemon --config.file="$scratch/config.yaml"
for path in /api/v1/samples /api/v1/perf.data /api/v1/folded /debug/pprof/profile; do
    equals "$path is off" "$(status_of "$path")" 403
    contains "says which key" "$(get "$path")" 'sampler.enabled'
done
stop_daemon

write_config 'sampler: {enabled: true, event: cpu-clock, max_clients: 3, max_seconds: 1000}'
start_daemon --config.file="$scratch/config.yaml"
idle=$(perf_fds)
equals "HEAD" "$(status_of /api/v1/samples -I)" 200
holds "opens nothing" fds_are "$idle"
equals "a page of another site" "$(status_of '/api/v1/samples?max=1' -H 'Origin: http://example.com')" 403
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
holds "errors leave nothing open" fds_are "$idle"

# --- streams

get '/api/v1/samples?max=100&frequency=1000' >"$scratch/max"
holds "each line is JSON" jq -e . "$scratch/max"
equals "max is exact" "$(records_in "$scratch/max")" 100
equals "and says so" "$(end_of "$scratch/max" reason) $(end_of "$scratch/max" records)" "max 100"
get '/api/v1/samples?max=100&event=cpu-clock/period=700001/' >"$scratch/period"
equals "the event's term is the period" \
    "$(jq -r 'select(.type == "header" or .type == "sample") | .period' "$scratch/period" | sort -u)" 700001
get '/api/v1/samples?seconds=0.5&cpu=0' >"$scratch/seconds"
equals "ends by seconds" "$(end_of "$scratch/seconds" reason)" seconds
equals "of one CPU" "$(jq -r 'select(.type == "sample") | .cpu' "$scratch/seconds" | sort -u)" 0
jq -r 'select(.type == "sample") | .time' "$scratch/seconds" >"$scratch/times"
holds "in the order of time" sort -n -c "$scratch/times"
sample_until 5 "$scratch/read" '/api/v1/samples?event=%7Bcpu-clock,context-switches%7D&read=1&frequency=1000'
contains "read=1 gives the group's values" "$(grep -m 1 '"type":"sample"' "$scratch/read")" 'context-switches'
contains "a clock that is only read with it is refused" \
    "$(get '/api/v1/samples?event=%7Bcpu-clock,task-clock%7D:u&read=1' | jq -r .error)" 'task-clock counts time'

# --- clients share rings, and leave each its own

stream "$scratch/one" '/api/v1/samples?frequency=100'
one=$stream
stream "$scratch/two" '/api/v1/samples?frequency=100'
two=$stream
holds "two clients share rings" eventually 60 fds_are $((idle + cpus))
stream "$scratch/three" '/api/v1/samples?frequency=101'
holds "others have their own" eventually 60 fds_are $((idle + 2 * cpus))
refuses 503 max=1 max_clients
kill "$stream"
holds "a client that goes frees its rings" eventually 60 fds_are $((idle + cpus))
kill "$one"
n=$(samples_in "$scratch/two")
holds "and the other goes on" eventually 60 has_samples "$scratch/two" $((n + 10))
kill "$two"
holds "nothing is open when nobody listens" eventually 60 fds_are "$idle"
stream "$scratch/quiet" '/api/v1/samples?event=alignment-faults&period=1000000'
holds "a stream that has nothing to send" eventually 60 fds_are $((idle + cpus))
kill "$stream"
holds "notices that its client is gone" eventually 60 fds_are "$idle"

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
# start PROGRAM...: in the background. Sets started.
start() {
    "$@" >/dev/null &
    started=$!
    children+=("$started")
}
# samples_of SPACE FILE: how many samples a stream has of the kernel, or of user space.
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
holds "a stream of a process has all its threads" eventually 60 has_thread
kill "$started"
wait "$stream"
equals "it ends with the process" "$(end_of "$scratch/process" reason)" 'the process has ended'
equals "and has only its samples" "$(jq -r 'select(.type == "sample") | .pid' "$scratch/process" | sort -u)" "$started"

# The first sample of a program asks for the table of its symbols.
cp "$scratch/spin" "$scratch/fresh"
start "$scratch/fresh"
get "/api/v1/samples?pid=$started&max=50" >"$scratch/early"
kill "$started"
early=$(end_of "$scratch/early" awaiting_symbols)
compares "addresses that had no symbol yet are counted" "$early >= $(jq -r --arg file "$scratch/fresh" \
    'select(.type == "sample") | .callchain[]?, . | select(.module == $file and .symbol == "[unknown]") | 1' \
    "$scratch/early" | wc -l) && $early > 0"
contains "and a note says so" "$(jq -r 'select(.type == "end") | .notes[]' "$scratch/early")" \
    "$early addresses have no symbol, since the tables"

# --- the events that a client may name: none ends the daemon, or changes what a program does

probed=$scratch/probed
cp "$(command -v sleep)" "$probed"
start "$probed" 600
offset=$(objdump -h "$probed" 2>/dev/null | awk '$2 == ".init" { print "0x" $6 }')
answers() {
    equals "$2: $1" "$(status_of /api/v1/samples -G --data-urlencode max=1 --data-urlencode "event=$1")" "$2"
}
# A number where the kernel would read a pointer.
for event in uprobe/config1=0x41414141/ kprobe/config1=0x41414141/ uprobe/config=1,config1=0x10000/ \
    uprobe/path=/bin/sh,config1=0x41414141/; do
    answers "$event" 400
    printf 'collectors: {cpu: {groups: [{name: a, events: "%s"}]}}\n' "$event" >"$scratch/bad.yaml"
    "$PERFCOUNTD" check-config "$scratch/bad.yaml" >/dev/null 2>&1
    equals "check-config refuses it" $? 2
    "$PERFCOUNTD" --config.file="$scratch/bad.yaml" --web.listen-address=127.0.0.1:0 >/dev/null 2>&1
    equals "so does a start" $? 2
done
for event in "uprobe/path=$probed,offset=$offset/" "uprobe/path=$probed,offset=0x1/" kprobe/func=vfs_read/ \
    kprobe/addr=0x1000/ mem:0x1000:w mem:0xffffffff81000000:w breakpoint/config1=0x1000,config2=8/ \
    syscalls:sys_enter_openat tracepoint/config=1/ '{cpu-clock,mem:0x1000:w}' '{cpu-clock,sched:sched_process_fork}'; do
    answers "$event" 403
done
contains "with the reason" "$(get '/api/v1/samples?event=mem:0x1000:w' | jq -r .error)" "is not for clients"
holds "the program goes on" running "$started"
equals "and the daemon answers" "$(status_of /-/healthy)" 200
stop_daemon
equals "the daemon ends well" "$daemon_status" 0

# One probe of the configuration is no permission for others.
write_config "collectors: {cpu: {groups: [{name: probe, events: 'uprobe/path=$probed,offset=$offset,name=starts/'}]}}" \
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
if [ "$(starts)" != null ]; then
    for event in "uprobe/path=$probed,offset=0x1/" "uprobe/path=$probed,offset=$offset/" \
        "uprobe/path=/bin/true,offset=$offset/"; do
        answers "$event" 403
    done
    before=$(starts)
    "$probed" 0
    "$probed" 0
    equals "the configured one counts" "$(($(starts) - before))" 2
    holds "the program that runs goes on" running "$started"
elif [ -e /sys/bus/event_source/devices/uprobe ]; then
    fail "a uprobe can be set" "$(get /api/v1/status | jq -r '.failures[].message')"
else
    left_out "uprobes"
fi
stop_daemon

# --- a slow client loses records and learns how many; others and scrapes are untouched

# queued: what the daemon's sockets could not send.
queued() {
    awk -v port="$(printf ':%04X$' "${url##*:}")" '$2 ~ port && $4 == "01" { print $5 }' /proc/net/tcp
}
has_run() {
    [ "$(threads_do | awk 'NR == 1 { print $2 }')" -ge "$1" ]
}
# is_stuck: the sockets hold no more, however often the daemon runs.
is_stuck() {
    local before
    before=$(queued)
    eventually 60 has_run $(($(threads_do | awk 'NR == 1 { print $2 }') + 20))
    [[ $before != 00000000:* && $before = "$(queued)" ]]
}

write_config 'sampler: {enabled: true, event: cpu-clock, max_clients: 3, max_seconds: 1000}'
start_daemon --config.file="$scratch/config.yaml"
# A CPU that is idle gives next to nothing to stream.
for _ in $(seq "$cpus"); do
    start nice -n 10 "$scratch/spin"
    spinners+=("$started")
done
stream "$scratch/slow" '/api/v1/samples?frequency=4000'
slow=$stream
holds "a stream runs" eventually 60 has_samples "$scratch/slow" 5
kill -STOP "$slow"
holds "its client does not read" eventually 60 is_stuck
nice -n -10 curl -sN "$url/api/v1/samples?frequency=4000" >"$scratch/fast" &
fast=$!
children+=("$fast")
# has_bytes FILE NUMBER
has_bytes() {
    [ "$(stat -c %s "$1")" -ge "$2" ]
}
# grows FILE NUMBER: by so many bytes, each million of them within a minute.
grows() {
    local end=$(($(stat -c %s "$1") + $2))
    until has_bytes "$1" "$end"; do
        eventually 60 has_bytes "$1" $(($(stat -c %s "$1") + 1000000)) || return
    done
}
# More than the daemon keeps for a client.
holds "another one goes on" grows "$scratch/fast" 16000000
equals "scrapes are answered meanwhile" "$(for _ in $(seq 20); do status_of /metrics; done)" \
    "$(printf '200%.0s' $(seq 20))"
kill -CONT "$slow"
holds "the slow one goes on" eventually 60 grep -q '"type":"dropped"' "$scratch/slow"
reload 'sampler: {enabled: true, event: task-clock, max_clients: 3, max_seconds: 1000}'
wait "$slow" "$fast"
reload 'sampler: {enabled: true, event: cpu-clock, max_clients: 3, max_seconds: 1000}'
dropped=$(end_of "$scratch/slow" dropped)
compares "its loss is reported" "$dropped > 0"
equals "exactly" "$(jq -s '[.[] | select(.type == "dropped") | .dropped] | add' "$scratch/slow")" "$dropped"
# One that has no CPU for a second itself is slow, too.
compares "the other one has lost nothing by it" "4 * $(end_of "$scratch/fast" dropped) < $dropped"

# A daemon that did not run for a while: what the rings have by then is more than it keeps for a client. How much of it
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
        stream "$scratch/burst$i" '/api/v1/samples?frequency=4000&seconds=3'
        clients+=("$stream")
    done
    holds "three streams run" eventually 60 has_samples "$scratch/burst3" 100
    kill -STOP "$daemon_pid"
    eventually 60 has_spun $(($(ticks_of "${spinners[0]}") + 70))
    kill -CONT "$daemon_pid"
    wait "${clients[@]}"
}
burst
for i in 1 2 3; do
    equals "client $i of a burst has the records that it should" "$(end_of "$scratch/burst$i" records)" \
        "$(records_in "$scratch/burst$i")"
done
kill "${spinners[@]}"

# --- reload

stream "$scratch/reloaded" '/api/v1/samples?frequency=100'
stream "$scratch/event" '/api/v1/samples?event=task-clock'
holds "streams run" eventually 60 has_samples "$scratch/event" 5
reload 'sampler: {enabled: true, event: cpu-clock, max_clients: 3, max_seconds: 1000}'
n=$(samples_in "$scratch/reloaded")
holds "leaves them alone" eventually 60 has_samples "$scratch/reloaded" $((n + 10))
reload 'sampler: {enabled: true, event: task-clock, max_clients: 3, max_seconds: 1000, frequency: 50}'
for name in reloaded event; do
    holds "that has another event and frequency ends those that used them" eventually 60 ends_by "$scratch/$name" reload
done
stream "$scratch/reloaded" '/api/v1/samples?frequency=100&event=cpu-clock'
holds "a stream that named both runs" eventually 60 has_samples "$scratch/reloaded" 5
reload 'sampler: {enabled: true, event: task-clock, max_clients: 3, max_seconds: 1000, frequency: 60}'
n=$(samples_in "$scratch/reloaded")
holds "of a key that it does not use leaves it alone" eventually 60 has_samples "$scratch/reloaded" $((n + 10))
reload
holds "that turns the sampler off ends it" eventually 60 ends_by "$scratch/reloaded" reload
holds "closes its rings" eventually 60 fds_are "$idle"
equals "and it is off" "$(status_of /api/v1/samples)" 403

# --- the end of the daemon; bench/times.py has how long it takes

reload 'sampler: {enabled: true, event: cpu-clock}'
paths=(/api/v1/folded /api/v1/samples /api/v1/perf.data /debug/pprof/profile)
clients=()
for path in "${paths[@]}"; do
    stream "$scratch/last-${path##*/}" "$path?frequency=100"
    clients+=("$stream")
    holds "their rings are open" eventually 60 fds_are $((idle + cpus)) # by the graph, which is shown at its end
done
holds "streams run" eventually 60 has_samples "$scratch/last-samples" 50
stop_daemon
equals "the daemon ends beside streams" "$daemon_status" 0
for i in "${!paths[@]}"; do
    wait "${clients[i]}"
    equals "${paths[i]} is whole" "$?" 0
done
equals "and says why it ended" "$(end_of "$scratch/last-samples" reason)" shutdown
equals "with all its records" "$(end_of "$scratch/last-samples" records)" \
    "$(records_in "$scratch/last-samples")"
compares "a graph has the samples until then" "$(awk '{ n += $NF } END { print n + 0 }' "$scratch/last-folded") > 0"
holds "a profile, too" gzip -t "$scratch/last-profile"
compares "and records for perf" "$(wc -c <"$scratch/last-perf.data") > 1000"

start_daemon --config.file="$scratch/config.yaml"
stream "$scratch/stuck" '/api/v1/samples?frequency=4000'
holds "a stream runs" eventually 60 has_samples "$scratch/stuck" 50
kill -STOP "$stream"
holds "whose client does not read" eventually 60 is_stuck
stop_daemon
equals "the daemon ends all the same" "$daemon_status" 0
kill -CONT "$stream"
wait "$stream"
compares "and the client can see that there was more" "$? > 0"

# --- in a time namespace records have the clock of the machine, and the daemon that of the namespace

# in_time_namespace OFFSET: seconds of both clocks.
in_time_namespace() {
    local begin
    wrapper=(unshare --time "--monotonic=$1" "--boottime=$1" --fork --kill-child)
    start_daemon --config.file="$scratch/config.yaml"
    wrapper=()
    begin=$(date +%s)
    echo "-- clocks that are $1 s off"
    sample_until 30 "$scratch/shifted" '/api/v1/samples?frequency=100'
    equals "each with the time of day" "$(jq -s "[.[] | select(.type == \"sample\" and
        (.time < $begin - 1 or .time > $(date +%s) + 1))] | length" "$scratch/shifted")" 0
    kill -TERM "$(pgrep -P "$daemon_pid")"
    wait "$daemon_pid"
    equals "it ends well" $? 0
}
read -r uptime _ </proc/uptime
if unshare --time --monotonic=1 --fork true 2>"$scratch/refused"; then
    in_time_namespace 100000
    in_time_namespace -$((${uptime%.*} / 2)) # no clock is below 0
else
    left_out "time namespaces"
fi

# --- without privileges a refusal of the kernel is the answer, before anything is sent

paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$paranoid" -lt 1 ] || [ "$paranoid" -gt 2 ]; then
    left_out "kernel.perf_event_paranoid of 1 or 2"
    finish
fi
# The limit of locked memory is a user's: of one that no other test is.
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
equals "all of the machine" "$(status_of '/api/v1/samples?seconds=1')" 403
matches "says why" "$(get '/api/v1/samples?seconds=1' | jq -r .error)" 'EACCES.*perf_event_paranoid'
equals "too much locked memory" "$(status_of "/api/v1/samples?seconds=1&pid=$spin")" 403
matches "names the key to set" "$(get "/api/v1/samples?seconds=1&pid=$spin" | jq -r .error)" \
    'perf_event_mlock_kb.*sampler.ring_pages'
stop_daemon
write_config 'sampler: {enabled: true, event: cpu-clock, ring_pages: 8}'
start_daemon --config.file="$scratch/config.yaml"
contains "a process of its own user" "$(get "/api/v1/samples?max=5&pid=$spin")" '"type":"sample"'
stop_daemon
finish
