#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Samples of what already happened: a program with a known profile, which has ended before anybody asks, has it in each
# format, with its names; filters; the span of an answer; reloads and pauses; how often the daemon wakes up.
# set: quick
. "$(dirname "$0")/lib.sh"
need cc curl jq perf pgrep protoc
[ "$(id -u)" -eq 0 ] || skip "root, to sample all CPUs"
chmod 755 "$scratch"
program=hindsight-hot
cc -O1 -g -fno-omit-frame-pointer -o "$scratch/$program" "$here/hot.c"

# Rings that are not full within the test, however slow the machine is.
ulimit -l unlimited 2>/dev/null
on='enabled: true, frequency: 99, seconds: 3600, memory: 256MiB'
# write_config KEYS: of sampler.hindsight.
write_config() {
    printf '%s\n' 'web: {min_interval: 0s, local_operators: true}' 'collectors: {cgroup: {enabled: false}}' \
        'history: {enabled: false}' \
        "sampler: {enabled: true, max_clients: 8, hindsight: {event: cpu-clock, $1}}" \
        >"$scratch/config.yaml"
}
reload() {
    write_config "$1"
    equals "a reload" "$(status_of /-/reload -X POST)" 200
}
# refuses STATUS QUERY TEXT: of /api/v1/folded.
refuses() {
    equals "$1: $2" "$(status_of "/api/v1/folded?$2")" "$1"
    contains "says why: $2" "$(get "/api/v1/folded?$2" | jq -r .error)" "$3"
}
# run_hot SECONDS: sets truth and pid.
run_hot() {
    "$scratch/$program" "$1" >"$scratch/out"
    read -r _ pid <"$scratch/out"
    truth=$(awk '/hot_/' "$scratch/out" | share)
    truth=${truth% *}
}

write_config 'enabled: false'
start_daemon --config.file="$scratch/config.yaml"
idle=$(perf_fds)
refuses 403 last=10 'hindsight: {enabled: true}'
equals "a stream to come does not need it" "$(status_of '/api/v1/folded?seconds=0.1')" 200
reload "$on"
holds "the opener was started without it" grep -q 'sampler.hindsight: .*restart perfcountd' "$daemon_log"
refuses 403 last=10 'restart perfcountd'
stop_daemon

write_config "$on"
start_daemon --config.file="$scratch/config.yaml"
cpus=$(getconf _NPROCESSORS_ONLN)
holds "each CPU has two rings" eventually 60 fds_are $((idle + 2 * cpus))
run_hot 5
equals "the program has ended" "$(pgrep -x "$program")" ""

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
holds "in the order of time" sort -n -c "$scratch/times"
equals "the end says why" "$(end_of "$scratch/samples" reason)" last
span=$(end_of "$scratch/samples" seconds)
compares "its span: as long as the daemon has sampled" "$span >= 5 && $span <= 3600"
compares "its header has it" "($(head -n 1 "$scratch/samples" | jq .seconds) - $span) ^ 2 < 0.01"

"$PERFCOUNTD" record --last=3600 --url="$url" -o "$scratch/record.folded" 2>"$scratch/said"
within_points "perfcountd record" "$(folded_weights "$scratch/record.folded" | share)"
matches "it says the seconds" "$(<"$scratch/said")" "[0-9]+ samples in [0-9.]+ s"
"$PERFCOUNTD" record --last=3600 --frequency=9 -o "$scratch/x.folded" 2>"$scratch/said"
equals "what was not sampled is a wrong usage" "$?" 2

# --- what is asked for

get "/api/v1/samples?last=3600&pid=$pid" >"$scratch/of-pid"
equals "of a process that has ended" "$(jq -r 'select(.type == "sample") | .pid' "$scratch/of-pid" | sort -u)" "$pid"
equals "all of its samples" "$(jq -r 'select(.type == "sample")' "$scratch/of-pid" | grep -c '"type"')" \
    "$(jq -r "select(.type == \"sample\" and .pid == $pid)" "$scratch/samples" | grep -c '"type"')"
get '/api/v1/samples?last=3600&cpu=0' >"$scratch/of-cpu"
equals "of one CPU" "$(jq -r 'select(.type == "sample") | .cpu' "$scratch/of-cpu" | sort -u)" 0
get '/api/v1/samples?last=0.5' >"$scratch/short"
compares "of half a second" "$(end_of "$scratch/short" seconds) <= 0.6"
equals "max is exact" "$(get '/api/v1/samples?last=3600&max=100' | jq -r 'select(.type == "end") | .records')" 100
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

# --- many at once, and a client that takes its bytes late

clients=()
for i in 1 2 3 4; do
    get '/api/v1/folded?last=3600' >"$scratch/at-once-$i" &
    clients+=("$!")
done
wait "${clients[@]}"
for i in 1 2 3 4; do
    compares "client $i of four has the program" "$(folded_weights "$scratch/at-once-$i" | share | cut -d ' ' -f 2) > 30"
done
curl -sN --limit-rate 300k "$url/api/v1/samples?last=3600" | tail -n 1 >"$scratch/slow"
equals "a slow client loses nothing" "$(end_of "$scratch/slow" dropped)" 0

# --- pauses, reloads, and rings that are too small

equals "a pause" "$(status_of '/api/v1/pause?seconds=60' -X POST)" 200
run_hot 1
equals "a resume" "$(status_of /api/v1/resume -X POST)" 200
get '/api/v1/folded?last=3600' >"$scratch/paused"
equals "what ran in a pause is not there" "$(grep -c "^$program;" "$scratch/paused")" 0
reload 'enabled: false'
holds "without it nothing is open" eventually 60 fds_are "$idle"
reload 'enabled: true, frequency: 997, seconds: 3600, memory: 64KiB' # of 4 pages or less for each CPU
run_hot 3
get '/api/v1/samples?last=3600' >"$scratch/small"
compares "small rings have less time, and say so" "$(end_of "$scratch/small" seconds) < 3"
compares "but have the newest" "$(samples_in "$scratch/small") > 0"

# --- wakeups

# waits: how often the daemon has waited for something, and the time, in seconds.
waits() {
    awk '/^voluntary_ctxt/ { n = $2 } END { getline <"/proc/uptime"; print n, $1 }' "/proc/$daemon_pid/status"
}
reload 'enabled: true'
get '/api/v1/folded?last=1' >/dev/null # then /proc has been read
read -r n_before before < <(waits)
for ((i = 0; i < 500; i++)); do
    /bin/true
done
read -r n_after after < <(waits)
compares "however many programs start, it wakes ten times a second at most, and once for each ring that they fill" \
    "$n_after - $n_before <= 20 * ($after - $before + 2)"
stop_daemon
finish
