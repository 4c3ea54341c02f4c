#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests samples of the past: each format has the known profile of a program that has already ended, with its symbols.
# Also tests filters, the time span of a response, reloads, pauses, and how often the daemon wakes up.
# set: quick
. "$(dirname "$0")/lib.sh"
need cc curl jq perf pgrep protoc
[ "$(id -u)" -eq 0 ] || skip "root, to sample all CPUs"
chmod 755 "$scratch"
program=hindsight-hot
cc -O1 -g -fno-omit-frame-pointer -o "$scratch/$program" "$here/hot.c"

# The ring buffers do not fill up during the test, however slow the machine is.
ulimit -l unlimited 2>/dev/null
on='enabled: true, frequency: 99, seconds: 3600, memory: 256MiB'
# write_config KEYS: writes a configuration with these keys of sampler.hindsight.
write_config() {
    printf '%s\n' 'web: {min_interval: 0s, local_operators: true}' 'collectors: {cgroup: {enabled: false}}' \
        'history: {enabled: false}' \
        "sampler: {enabled: true, max_clients: 8, hindsight: {event: cpu-clock, $1}}" \
        >"$scratch/config.yaml"
}
reload() {
    write_config "$1"
    equals "a reload succeeds" "$(status_of /-/reload -X POST)" 200
}
# refuses STATUS QUERY TEXT: checks that /api/v1/folded rejects the query with this status and text.
refuses() {
    equals "$1: $2" "$(status_of "/api/v1/folded?$2")" "$1"
    contains "the response says why: $2" "$(get "/api/v1/folded?$2" | jq -r .error)" "$3"
}
# run_hot SECONDS: runs the program until it has had this much CPU time. Sets truth and pid.
run_hot() {
    "$scratch/$program" 3600 >"$scratch/out" &
    pid=$!
    children+=("$pid")
    eventually 300 has_cpu_time "$pid" $((100 * $1))
    kill "$pid"
    wait "$pid"
    truth=$(awk '/hot_/' "$scratch/out" | share)
    truth=${truth% *}
}

write_config 'enabled: false'
start_daemon --config.file="$scratch/config.yaml"
idle=$(perf_fds)
refuses 403 last=10 'hindsight: {enabled: true}'
equals "a live stream does not need hindsight" "$(status_of '/api/v1/folded?seconds=0.1')" 200
reload "$on"
holds "the log says that the opener was started without hindsight" \
    grep -q 'sampler.hindsight: .*restart perfcountd' "$daemon_log"
refuses 403 last=10 'restart perfcountd'
stop_daemon

write_config "$on"
# At this priority, the daemon reads the records of processes in time although other programs use the CPUs.
wrapper=(nice -n -10)
start_daemon --config.file="$scratch/config.yaml"
cpus=$(getconf _NPROCESSORS_ONLN)
holds "each CPU has two ring buffers" eventually 60 fds_are $((idle + 2 * cpus))
run_hot 5
holds "the program has ended" not running "$pid"

# --- in each format

get '/api/v1/folded?last=3600' >"$scratch/folded"
within_points folded "$(folded_weights "$scratch/folded" | share)"
get '/api/v1/perf.data?last=3600' >"$scratch/perf.data"
within_points perf.data "$(script_weights "$scratch/perf.data" | share)"
get '/debug/pprof/profile?last=3600' >"$scratch/pprof"
within_points pprof "$(protoc_weights "$scratch/pprof" | share)"
get '/api/v1/samples?last=3600' >"$scratch/samples"
holds "each line is JSON" jq -e . "$scratch/samples"
jq -r 'select(.type == "sample") | .time' "$scratch/samples" >"$scratch/times"
holds "samples are in chronological order" sort -n -c "$scratch/times"
equals "the end record has the reason" "$(end_of "$scratch/samples" reason)" last
span=$(end_of "$scratch/samples" seconds)
compares "the time span in the end record begins when the daemon began to sample" "$span >= 5 && $span <= 3600"
compares "the header has the same time span" "($(head -n 1 "$scratch/samples" | jq .seconds) - $span) ^ 2 < 0.01"

"$PERFCOUNTD" record --last=3600 --url="$url" -o "$scratch/record.folded" 2>"$scratch/said"
within_points "perfcountd record" "$(folded_weights "$scratch/record.folded" | share)"
matches "record prints the time span" "$(<"$scratch/said")" "[0-9]+ samples in [0-9.]+ s"
"$PERFCOUNTD" record --last=3600 --frequency=9 -o "$scratch/x.folded" 2>"$scratch/said"
equals "--frequency is rejected with --last" "$?" 2

# --- filters

get "/api/v1/samples?last=3600&pid=$pid" >"$scratch/of-pid"
equals "pid= selects a process that has ended" \
    "$(jq -r 'select(.type == "sample") | .pid' "$scratch/of-pid" | sort -u)" "$pid"
equals "pid= selects all of its samples" "$(jq -r 'select(.type == "sample")' "$scratch/of-pid" | grep -c '"type"')" \
    "$(jq -r "select(.type == \"sample\" and .pid == $pid)" "$scratch/samples" | grep -c '"type"')"
get '/api/v1/samples?last=3600&cpu=0' >"$scratch/of-cpu"
equals "cpu= selects one CPU" "$(jq -r 'select(.type == "sample") | .cpu' "$scratch/of-cpu" | sort -u)" 0
get '/api/v1/samples?last=0.5' >"$scratch/short"
compares "last=0.5 selects half a second" "$(end_of "$scratch/short" seconds) <= 0.6"
equals "max= is the exact number of samples" \
    "$(get '/api/v1/samples?last=3600&max=100' | jq -r 'select(.type == "end") | .records')" 100
while read -r status query text; do
    refuses "$status" "$query" "$text"
done <<'END'
400 last=3600&seconds=1 parameter "seconds"
400 last=3600&event=cycles already taken
400 last=3600&frequency=99 already taken
400 last=0 at least 0.001
400 last=3600&cpu=16000 no CPU 16000
404 last=3600&cgroup=/no/such/cgroup no cgroup /no/such/cgroup
END

# --- concurrent clients, and a slow client

clients=()
for i in 1 2 3 4; do
    get '/api/v1/folded?last=3600' >"$scratch/at-once-$i" &
    clients+=("$!")
done
wait "${clients[@]}"
for i in 1 2 3 4; do
    compares "client $i of four receives samples of the program" \
        "$(folded_weights "$scratch/at-once-$i" | share | cut -d ' ' -f 2) > 30"
done
curl -sN --limit-rate 300k "$url/api/v1/samples?last=3600" | tail -n 1 >"$scratch/slow"
equals "a slow client loses no samples" "$(end_of "$scratch/slow" dropped)" 0

# --- pauses, reloads, and ring buffers that are too small

equals "pausing succeeds" "$(status_of '/api/v1/pause?seconds=3600' -X POST)" 200
run_hot 1
equals "resuming succeeds" "$(status_of /api/v1/resume -X POST)" 200
get '/api/v1/folded?last=3600' >"$scratch/paused"
equals "what ran during a pause is not sampled" "$(grep -c "^$program;" "$scratch/paused")" 0
reload 'enabled: false'
holds "without hindsight no event is open" eventually 60 fds_are "$idle"
reload 'enabled: true, frequency: 997, seconds: 3600, memory: 64KiB' # 4 pages or fewer for each CPU
run_hot 3
get '/api/v1/samples?last=3600' >"$scratch/small"
compares "small ring buffers cover less time, as the end record says" "$(end_of "$scratch/small" seconds) < 3"
compares "small ring buffers keep the newest samples" "$(samples_in "$scratch/small") > 0"

# --- records of BPF programs

# If several events receive such a record, the kernel writes a wrong size into it. Each stream loads BPF programs.
for memory in 64KiB 2MiB; do
    reload "enabled: true, seconds: 3600, memory: $memory"
    clients=()
    for threshold in 1 2 3; do
        curl -sN --globoff "$url/api/v1/samples?event=off-cpu&threshold=$threshold&seconds=300" \
            >"$scratch/stream.$memory.$threshold" &
        clients+=("$!")
        children+=("$!")
        holds "$memory: stream $threshold begins" eventually 60 \
            grep -q '"type":"header"' "$scratch/stream.$memory.$threshold"
    done
    for ((i = 0; i < 300; i++)); do
        /bin/true
    done
    equals "$memory: the daemon still responds after it has loaded BPF programs" "$(status_of /-/healthy)" 200
    kill "${clients[@]}"
    wait "${clients[@]}" 2>/dev/null
done
get '/api/v1/samples?last=3600' >"$scratch/after"
equals "the records around those of BPF programs are complete" "$(end_of "$scratch/after" malformed)" 0
# If many other programs start meanwhile, their records replace those of this one.
later_program_has_mappings() {
    run_hot 1
    get '/api/v1/samples?last=3600' |
        jq -r --argjson pid "$pid" 'select(.type == "mmap2" and .pid == $pid) | .file' | grep -q .
}
holds "the mappings of a program that started later are recorded" eventually 60 later_program_has_mappings

# --- wakeups

# waits: prints how often the daemon has waited, and the uptime in seconds.
waits() {
    awk '/^voluntary_ctxt/ { n = $2 } END { getline <"/proc/uptime"; print n, $1 }' "/proc/$daemon_pid/status"
}
reload 'enabled: true'
get '/api/v1/folded?last=1' >/dev/null # so that /proc has been read
read -r n_before before < <(waits)
for ((i = 0; i < 500; i++)); do
    /bin/true
done
read -r n_after after < <(waits)
compares "however many programs start, the daemon wakes at most ten times a second, plus once per full ring buffer" \
    "$n_after - $n_before <= 20 * ($after - $before + 2)"
stop_daemon
finish
