#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Streams of samples: the clients that get them, their cost for others, and that nothing is open while nobody listens.
. "$(dirname "$0")/lib.sh"
need curl jq cc

# perf_fds: how many events the daemon has open.
perf_fds() {
    find "/proc/$daemon_pid/fd" -lname '*perf_event*' 2>/dev/null | wc -l
}

fds_are() {
    [ "$(perf_fds)" -eq "$1" ]
}

has_lines() {
    [ "$(wc -l <"$1")" -ge "$2" ]
}

# end_of FILE FIELD: of the record that ends a stream.
end_of() {
    tail -n 1 "$1" | jq -r "select(.type == \"end\") | .$2"
}

write_config() {
    cat - <(echo 'web: {local_operators: true}') >"$scratch/config.yaml"
}

cpus=$(grep -c '^processor' /proc/cpuinfo)

# --- off

write_config </dev/null
start_daemon --config.file="$scratch/config.yaml"
for path in /api/v1/samples /api/v1/perf.data /api/v1/folded /debug/pprof/profile; do
    equals "$path is off" "$(status_of "$path")" 403
    matches "says which key" "$(get "$path")" 'sampler.enabled'
done
stop_daemon

# --- on

write_config <<'END'
sampler: {enabled: true, event: cpu-clock, max_clients: 3, max_seconds: 100}
END
start_daemon --config.file="$scratch/config.yaml"
idle=$(perf_fds)

matches "may sample here" "$(get '/api/v1/samples?max=1')" '"type":"end"'
equals "HEAD" "$(status_of /api/v1/samples -I)" 200
holds "opens nothing" fds_are "$idle"
equals "POST" "$(status_of /api/v1/samples -X POST)" 405
equals "a page of another site" "$(status_of '/api/v1/samples?max=1' -H 'Origin: http://example.com')" 403

# STATUS PARAMETERS PATTERN
while read -r status query pattern; do
    equals "$status: $query" "$(status_of "/api/v1/samples?$query")" "$status"
    matches "says why: $query" "$(get "/api/v1/samples?$query" | jq -r .error)" "$pattern"
done <<'END'
400 frequency=2000000000 perf_event_max_sample_rate
400 frequency=99&period=99 exclude each other
400 frequency=often frequency
400 event=cpu-clok did you mean
400 event={cpu-clock event
400 event=nopmu/x/ no PMU "nopmu"
400 seconds=101 sampler.max_seconds
400 seconds=0 seconds
400 cpu=16000 no CPU 16000
400 pid=1&cgroup=/ exclude each other
404 pid=4194304 no process 4194304
404 cgroup=/no/such/cgroup no cgroup /no/such/cgroup
400 cgroup=/../etc not a path
400 colour=red colour
END
equals "max is for records" "$(status_of '/debug/pprof/profile?max=1')" 400
holds "errors leave nothing open" fds_are "$idle"

# --- streams

get '/api/v1/samples?max=100&frequency=1000' >"$scratch/max"
holds "each line is JSON" jq -e . "$scratch/max"
equals "max is exact" "$(jq -r 'select(.time and .type != "header") | .type' "$scratch/max" | wc -l)" 100
equals "ends by max" "$(end_of "$scratch/max" reason)" max
equals "says how many" "$(end_of "$scratch/max" records)" 100

get '/api/v1/samples?seconds=1&cpu=0' >"$scratch/seconds"
equals "ends by seconds" "$(end_of "$scratch/seconds" reason)" seconds
equals "of one CPU" "$(jq -r 'select(.type == "sample") | .cpu' "$scratch/seconds" | sort -u)" 0
jq -r 'select(.type == "sample") | .time' "$scratch/seconds" >"$scratch/times"
holds "in the order of time" sort -n -c "$scratch/times"

get '/api/v1/samples?seconds=1&event=%7Bcpu-clock,context-switches%7D&read=1&frequency=1000' >"$scratch/read"
matches "read=1 gives the group's values" "$(grep '"type":"sample"' "$scratch/read" | head -n 1)" 'context-switches'

# --- clients share rings, and leave each its own

curl -sN "$url/api/v1/samples?frequency=100" >"$scratch/one" &
one=$!
curl -sN "$url/api/v1/samples?frequency=100" >"$scratch/two" &
two=$!
children+=("$one" "$two")
holds "two clients share rings" eventually 5 fds_are $((idle + cpus))
curl -sN "$url/api/v1/samples?frequency=101" >"$scratch/three" &
three=$!
children+=("$three")
holds "others have their own" eventually 5 fds_are $((idle + 2 * cpus))
equals "max_clients" "$(status_of '/api/v1/samples?max=1')" 503
matches "says so" "$(get '/api/v1/samples?max=1')" 'max_clients'
kill "$three"
holds "a client that goes frees its rings at once" eventually 2 fds_are $((idle + cpus))
kill "$one"
lines=$(wc -l <"$scratch/two")
holds "and the other goes on" eventually 5 has_lines "$scratch/two" $((lines + 20))
kill "$two"
holds "nothing is open when nobody listens" eventually 2 fds_are "$idle"

# A client of a stream that has nothing to send.
curl -sN "$url/api/v1/samples?event=alignment-faults&period=1000000" >"$scratch/quiet" &
quiet=$!
children+=("$quiet")
holds "a quiet stream" eventually 5 fds_are $((idle + cpus))
kill "$quiet"
holds "notices that its client is gone" eventually 2 fds_are "$idle"

# --- a process, and its end

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
    sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 3);
    return 0;
}
END
cc -O1 -pthread -o "$scratch/spin" "$scratch/spin.c"

# samples_of SPACE FILE: how many samples a stream has of the kernel, or of user space.
samples_of() {
    jq -c --argjson kernel "$([ "$1" = kernel ] && echo true || echo false)" \
        'select(.type == "sample" and (.module == "[kernel.kallsyms]") == $kernel)' "$2" | wc -l
}
# Something to see in both.
"$scratch/spin" 300 &
in_user=$!
children+=("$in_user")
cat /dev/zero >/dev/null &
in_kernel=$!
children+=("$in_kernel")
while read -r event space other; do
    get "/api/v1/samples?event=$event&frequency=1000&seconds=1" >"$scratch/$event"
    compares "$event samples: $space" "$(samples_of "$space" "$scratch/$event") > 50"
    equals "$event does not sample: $other" "$(samples_of "$other" "$scratch/$event")" 0
done <<'END'
cpu-clock:u user kernel
task-clock:k kernel user
END
kill "$in_kernel" "$in_user"
matches "a clock that is only read with it is refused" \
    "$(get '/api/v1/samples?event=%7Bcpu-clock,task-clock%7D:u&read=1' | jq -r .error)" 'task-clock counts time'
"$scratch/spin" &
spin=$!
children+=("$spin")
get "/api/v1/samples?pid=$spin&seconds=20" >"$scratch/process"
equals "the stream of a process ends with it" "$(end_of "$scratch/process" reason)" 'the process has ended'
equals "has only its samples" "$(jq -r 'select(.type == "sample") | .pid' "$scratch/process" | sort -u)" "$spin"
holds "of all its threads" test "$(jq -r 'select(.type == "sample") | .tid' "$scratch/process" | sort -u | tail -n 1)" \
    -gt "$spin"

# The first sample of a program asks for the table of its symbols.
cp "$scratch/spin" "$scratch/fresh"
"$scratch/fresh" &
fresh=$!
children+=("$fresh")
get "/api/v1/samples?pid=$fresh&seconds=1" >"$scratch/early"
kill "$fresh"
early=$(end_of "$scratch/early" awaiting_symbols)
compares "addresses that had no symbol yet are counted" "$early >= $(jq -r --arg file "$scratch/fresh" \
    'select(.type == "sample") | .callchain[]?, . | select(.module == $file and .symbol == "[unknown]") | 1' \
    "$scratch/early" | wc -l) && $early > 0"
matches "and a note says so" "$(jq -r 'select(.type == "end") | .notes[]' "$scratch/early")" \
    "$early addresses have no symbol, since the tables"

# --- a slow client loses records and learns how many; others and scrapes are untouched

# For as long as what is sampled fills the daemon's room for a client and the sockets' many times over.
seconds=$((5 + 8 / cpus))
curl -sN --max-time 90 "$url/api/v1/samples?frequency=4000&seconds=$seconds" >"$scratch/slow" &
slow=$!
curl -sN --max-time 90 "$url/api/v1/samples?frequency=4000&seconds=$seconds" >"$scratch/fast" &
fast=$!
children+=("$slow" "$fast")
holds "two streams run" eventually 5 has_lines "$scratch/slow" 5
kill -STOP "$slow"
# times.sh has how soon.
equals "scrapes are answered meanwhile" "$(for _ in $(seq 50); do status_of /metrics; sleep 0.1; done)" \
    "$(printf '200%.0s' $(seq 50))"
wait "$fast"
kill -CONT "$slow"
wait "$slow"
echo "    slow: $(end_of "$scratch/slow" records) records, $(end_of "$scratch/slow" dropped) dropped"
holds "its loss is reported" test "$(end_of "$scratch/slow" dropped)" -gt 0
# One that has no CPU for a second itself is slow, too.
dropped=$(end_of "$scratch/fast" dropped)
compares "the other one has lost nothing by it" "$dropped == 0 || $dropped * 4 < $(end_of "$scratch/slow" dropped)"
equals "exactly" "$(jq -s '[.[] | select(.type == "dropped") | .dropped] | add' "$scratch/slow")" \
    "$(end_of "$scratch/slow" dropped)"

# --- a daemon that did not run for a while: what the rings have by then is more than it keeps for a client

burst() {
    local clients=()
    for i in 1 2 3; do
        : >"$scratch/burst$i"
        curl -sN --max-time 60 "$url/api/v1/samples?frequency=4000&seconds=3" >"$scratch/burst$i" &
        clients+=("$!")
        children+=("$!")
    done
    eventually 5 has_lines "$scratch/burst3" 100
    kill -STOP "$daemon_pid"
    sleep 0.7
    kill -CONT "$daemon_pid"
    wait "${clients[@]}"
}
spinners=()
for _ in $(seq "$cpus"); do
    nice -n 10 "$scratch/spin" 300 &
    spinners+=("$!")
done
children+=("${spinners[@]}")
burst
for i in 1 2 3; do
    compares "client $i of a burst has records" "$(end_of "$scratch/burst$i" records) > 8000"
    equals "and drops nothing" "$(end_of "$scratch/burst$i" dropped)" 0
done
kill "${spinners[@]}"
echo "    $(end_of "$scratch/burst1" records) records"

# --- reload

curl -sN "$url/api/v1/samples?frequency=100" >"$scratch/reloaded" &
children+=($!)
holds "a stream runs" eventually 5 has_lines "$scratch/reloaded" 5
equals "a reload" "$(status_of /-/reload -X POST)" 200
sleep 0.3
equals "leaves it alone" "$(end_of "$scratch/reloaded" reason)" ''
curl -sN "$url/api/v1/samples?event=task-clock" >"$scratch/event" &
children+=($!)
holds "another stream runs" eventually 5 has_lines "$scratch/event" 5
write_config <<'END'
sampler: {enabled: true, event: task-clock, max_clients: 3, max_seconds: 100, frequency: 50}
END
equals "a reload that has another event and frequency" "$(status_of /-/reload -X POST)" 200
holds "ends a stream with the configured frequency" \
    eventually 5 sh -c "tail -n 1 '$scratch/event' | grep -q '\"reason\":\"reload\"'"
holds "and one with the configured event" \
    eventually 5 sh -c "tail -n 1 '$scratch/reloaded' | grep -q '\"reason\":\"reload\"'"
curl -sN "$url/api/v1/samples?frequency=100&event=cpu-clock" >"$scratch/reloaded" &
children+=($!)
holds "a stream that named both runs" eventually 5 has_lines "$scratch/reloaded" 5
sed -i 's/frequency: 50/frequency: 60/' "$scratch/config.yaml"
equals "a reload of a key that it does not use" "$(status_of /-/reload -X POST)" 200
sleep 0.3
equals "leaves it alone, too" "$(end_of "$scratch/reloaded" reason)" ''
write_config </dev/null
equals "one that turns the sampler off" "$(status_of /-/reload -X POST)" 200
holds "ends it" eventually 5 sh -c "tail -n 1 '$scratch/reloaded' | grep -q '\"reason\":\"reload\"'"
holds "closes its rings" eventually 2 fds_are "$idle"
equals "and it is off" "$(status_of /api/v1/samples)" 403

# --- the end of the daemon

# timed_stop: stop_daemon; sets took, in ms.
timed_stop() {
    local begin
    begin=$(date +%s%N)
    stop_daemon
    took=$((($(date +%s%N) - begin) / 1000000))
}

write_config <<'END'
sampler: {enabled: true, event: cpu-clock}
END
equals "on again" "$(status_of /-/reload -X POST)" 200
paths=(/api/v1/samples /api/v1/perf.data /api/v1/folded /debug/pprof/profile)
clients=()
for path in "${paths[@]}"; do
    curl -sN "$url$path?frequency=100" >"$scratch/last-${path##*/}" &
    clients+=($!)
done
children+=("${clients[@]}")
holds "streams run" eventually 5 has_lines "$scratch/last-samples" 50
sleep 1
timed_stop
equals "the daemon ends beside streams" "$daemon_status" 0
compares "at once where clients read, in ms" "$took < 1000"
for i in "${!paths[@]}"; do
    wait "${clients[i]}"
    equals "${paths[i]} is whole" "$?" 0
done
equals "and says why it ended" "$(end_of "$scratch/last-samples" reason)" shutdown
equals "with all its records" "$(end_of "$scratch/last-samples" records)" \
    "$(jq -r 'select(.time and .type != "header") | .type' "$scratch/last-samples" | wc -l)"
compares "a graph has the samples until then" "$(awk '{ n += $NF } END { print n + 0 }' "$scratch/last-folded") > 50"
holds "a profile, too" gzip -t "$scratch/last-profile"
compares "and records for perf" "$(wc -c <"$scratch/last-perf.data") > 1000"

# start_stuck: a daemon with a client that reads no more. Sets stuck.
start_stuck() {
    start_daemon --config.file="$scratch/config.yaml"
    curl -sN "$url/api/v1/samples?frequency=4000" >"$scratch/stuck" &
    stuck=$!
    children+=("$stuck")
    holds "a stream runs" eventually 5 has_lines "$scratch/stuck" 50
    kill -STOP "$stuck"
    sleep 3
}

start_stuck
timed_stop
equals "the daemon ends beside a client that does not read" "$daemon_status" 0
compares "after its second" "$took > 900 && $took < 5000"
kill -CONT "$stuck"
wait "$stuck"
compares "and can see that there was more" "$? > 0"

start_stuck
kill -TERM "$daemon_pid"
sleep 0.2
timed_stop
compares "a second signal does not wait" "$took < 600"
equals "either" "$daemon_status" 0

# --- without privileges: a refusal of the kernel is the answer, before anything is sent

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 1 ] &&
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
    nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
    chmod 755 "$scratch"
    install -m 755 "$PERFCOUNTD" "$scratch/perfcountd"
    PERFCOUNTD=$scratch/perfcountd
    write_config <<'END'
sampler: {enabled: true, event: cpu-clock, ring_pages: 4096}
END
    ulimit -l 64
    wrapper=("${nobody[@]}")
    start_daemon --config.file="$scratch/config.yaml"
    "${nobody[@]}" "$scratch/spin" 300 &
    spin=$!
    children+=("$spin")
    equals "all of the machine" "$(status_of '/api/v1/samples?seconds=1')" 403
    matches "says why" "$(get '/api/v1/samples?seconds=1' | jq -r .error)" 'EACCES.*perf_event_paranoid'
    equals "too much locked memory" "$(status_of "/api/v1/samples?seconds=1&pid=$spin")" 403
    matches "names the key to set" "$(get "/api/v1/samples?seconds=1&pid=$spin" | jq -r .error)" \
        'perf_event_mlock_kb.*sampler.ring_pages'
    stop_daemon
    write_config <<'END'
sampler: {enabled: true, event: cpu-clock, ring_pages: 8}
END
    start_daemon --config.file="$scratch/config.yaml"
    get "/api/v1/samples?seconds=0.5&pid=$spin" >"$scratch/own"
    matches "a process of its own user" "$(cat "$scratch/own")" '"type":"sample"'
    stop_daemon
else
    echo "    skipped: refusals by the kernel need root, setpriv and kernel.perf_event_paranoid at 1 or 2"
fi
finish
