#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Streams of the daemon, read by clients that others wrote (perf, jq, protoc): a program with a known profile has it in
# each format, at the same time in all of them and in what perf records itself; on a CPU, in a cgroup, as a process.
. "$(dirname "$0")/lib.sh"
need curl jq perf gzip protoc taskset "${CC:=cc}"
[ "$(id -u)" -eq 0 ] || skip "only root samples all CPUs"
. "$here/cgroup-lib.sh"

perf record -q -e cpu-clock -F 100 -a -o "$scratch/probe" sleep 0.1 >"$scratch/probe.log" 2>&1 ||
    skip "perf does not sample here: $(tail -n 1 "$scratch/probe.log")"

cpu=$(($(getconf _NPROCESSORS_ONLN) - 1))
# The program has a name of its own: others may run it too.
program=hot$$
"$CC" -O1 -g -fno-omit-frame-pointer -o "$scratch/$program" "$here/hot.c" || exit 1

# hot SECONDS [WRAPPER...]: runs the program, sets hot_pid.
hot() {
    : >"$scratch/hot.out"
    "${first[@]}" "${@:2}" "$scratch/$program" "$1" >"$scratch/hot.out" &
    hot_pid=$!
    children+=("$hot_pid")
    eventually 10 test -s "$scratch/hot.out"
}

# end_hot: ends it, sets truth: the share that it had in the one function by its own clock.
end_hot() {
    kill "$hot_pid"
    wait "$hot_pid"
    truth=$(share <"$scratch/hot.out")
    truth=${truth% *}
    compares "the program had 70 % there, by its own clock" "$truth > 68 && $truth < 72"
}

# stream PATH FILE: in the background; wait_all waits for them.
streams=()
stream() {
    curl -sS --globoff -N --max-time $((long + 60)) -o "$2" "$url$1" &
    streams+=("$!")
    children+=("$!")
}
wait_all() {
    wait "${streams[@]}"
    streams=()
}

# Each prints lines "WEIGHT SYMBOL" of the program's own functions, from a file of the format.
script_weights() {
    perf script -i - -F comm,ip,sym -G <"$1" 2>"$scratch/complaints" |
        awk -v comm="$program" '$1 == comm { print 1, $NF }'
}
report_weights() {
    perf report -i - --stdio --comm "$program" --sort symbol -g none --no-children -F sample,sym <"$1" \
        2>"$scratch/complaints" | awk '$2 == "[.]" { print $1, $3 }'
}
ndjson_weights() {
    jq -r --arg comm "$program" 'select(.type == "sample" and .comm == $comm) | "1 \(.symbol)"' "$1"
}
folded_weights() {
    awk -v comm="$program" 'index($0, comm ";") == 1 {
        count = $NF
        sub(/ [0-9]+$/, "")
        sub(/.*;/, "")
        print count, $0
    }' "$1"
}
pprof_weights() {
    gzip -dc "$1" | protoc --decode=perftools.profiles.Profile --proto_path="$root/tests/e2e" \
        "$root/tests/e2e/profile.proto" >"$scratch/profile" || return
    awk -f "$here/profile.awk" "$scratch/profile" |
        awk -v comm="$program" '$1 == "leaf" && $2 == comm { print $3, $4 }'
}

# end_of FILE FIELD: of the record that ends a stream.
end_of() {
    tail -n 1 "$1" | jq -r "select(.type == \"end\") | .$2"
}

# samples FILE EXPRESSION: what jq makes of each sample.
samples() {
    jq -r "select(.type == \"sample\") | $2" "$1"
}

echo '{web: {local_operators: true}, sampler: {enabled: true, event: cpu-clock, max_clients: 4}}' \
    >"$scratch/config.yaml"
# The program and those who sample it have priority, and the time that they need for enough samples.
first=(nice -n -10)
wrapper=("${first[@]}")
start_daemon --config.file="$scratch/config.yaml"
wrapper=()

cpu_seconds=$(cpu_seconds_of "${first[@]}" taskset -c "$cpu" "$scratch/$program")
# seconds_for SAMPLES FREQUENCY: with two fifths more.
seconds_for() {
    awk "BEGIN { n = int(1.4 * $1 / $2 / $cpu_seconds) + 1; print (n > 45 ? 45 : n) }"
}
long=$(seconds_for $enough_for_two 1499)
echo "    it is sampled for $long s"

# --- all formats at once, beside perf itself

hot $((2 * long + 10))
parameters="seconds=$long&frequency=1999"
stream "/api/v1/perf.data?$parameters" "$scratch/perf.data"
stream "/api/v1/samples?$parameters" "$scratch/ndjson"
stream "/api/v1/folded?$parameters" "$scratch/folded"
stream "/debug/pprof/profile?$parameters" "$scratch/pprof"
"${first[@]}" perf record -q -a -g -e cpu-clock -F 1499 -o - sleep "$long" >"$scratch/perf-record" \
    2>"$scratch/perf-record.log"
wait_all
end_hot

script_weights "$scratch/perf-record" >"$scratch/weights"
recorded=$(share <"$scratch/weights")
within_points "perf record -a" "$recorded"
for format in script:perf.data report:perf.data ndjson:ndjson folded:folded pprof:pprof; do
    : >"$scratch/complaints"
    "${format%:*}_weights" "$scratch/${format#*:}" >"$scratch/weights"
    found=$(share <"$scratch/weights")
    within_points "$format" "$found"
    compares "$format and perf record -a: enough samples to compare" \
        "${found#* } >= $enough_for_two && ${recorded#* } >= $enough_for_two"
    compares "$format agrees with perf record -a, within 3 points" \
        "${found% *} - ${recorded% *} < 3 && ${recorded% *} - ${found% *} < 3"
    equals "$format: no complaint" "$(cat "$scratch/complaints")" ""
done
echo "    perf record has $(script_weights "$scratch/perf-record" | wc -l) samples of it," \
    "our stream for perf $(script_weights "$scratch/perf.data" | wc -l)"
equals "nothing is lost or dropped beside them" \
    "$(end_of "$scratch/ndjson" lost) $(end_of "$scratch/ndjson" dropped)" "0 0"
equals "NDJSON has all CPUs" "$(samples "$scratch/ndjson" .cpu | sort -nu | paste -sd,)" \
    "$(seq 0 $(($(getconf _NPROCESSORS_ONLN) - 1)) | paste -sd,)"
perf script -i - -F comm,ip,sym <"$scratch/perf.data" >"$scratch/script" 2>/dev/null
holds "perf script shows the callers" grep -A 2 -m 1 -w hot_seventy "$scratch/script"
holds "perf script has symbols of the kernel" grep -qE '^\s+ffff[0-9a-f]+ [a-z_]' "$scratch/script"
holds "each line of NDJSON is JSON" jq -es 'all(has("type"))' "$scratch/ndjson"
holds "the header is first" jq -en 'input | .type == "header" and .event == "cpu-clock"' "$scratch/ndjson"
equals "the end is last" "$(end_of "$scratch/ndjson" reason)" seconds
perf report -i - --stdio --header-only <"$scratch/perf.data" >"$scratch/header" 2>&1
holds "perf knows the event" grep -q 'event : name = cpu-clock' "$scratch/header"
holds "perf knows the kernel" grep -q "os release : $(uname -r)" "$scratch/header"
holds "the pipe of the manual works as it stands there" sh -c \
    "curl -sN '$url/api/v1/perf.data?seconds=1' | perf report -i - --stdio 2>/dev/null | grep -q cpu-clock"

# --- a CPU, a cgroup, a process, a period, a group

echo '{web: {local_operators: true}, sampler: {enabled: true, event: cpu-clock, max_clients: 16}}' \
    >"$scratch/config.yaml"
equals "more clients, from now on" "$(status_of /-/reload -X POST)" 200
long=$(seconds_for $enough 1423)
mkdir "$parent/hot"
# shellcheck disable=SC2016 # that shell's
hot $((2 * long + 10)) taskset -c "$cpu" sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$parent/hot"
stream "/api/v1/samples?seconds=$long&frequency=1999&cpu=$cpu" "$scratch/cpu"
[ "$cpu" -eq 0 ] || stream "/api/v1/samples?seconds=$long&frequency=1999&cpu=0" "$scratch/other"
stream "/api/v1/samples?seconds=$long&frequency=1499&cgroup=$below/hot" "$scratch/cgroup"
stream "/api/v1/perf.data?seconds=$long&frequency=1499&cgroup=$below/hot" "$scratch/cgroup-perf"
stream "/api/v1/samples?seconds=$long&frequency=1801&pid=$hot_pid" "$scratch/pid"
stream "/api/v1/perf.data?seconds=$long&frequency=1801&pid=$hot_pid" "$scratch/pid-perf"
stream "/api/v1/samples?seconds=$long&period=700001&cpu=$cpu" "$scratch/period"
wait_all
watched_pid=$hot_pid
end_hot
watched_truth=$truth
# A thread that begins on one CPU, under another name, and goes on on the other.
if [ "$cpu" -ne 0 ]; then
    stream "/api/v1/samples?seconds=$long&frequency=1999&cpu=0" "$scratch/moved"
    stream "/api/v1/perf.data?seconds=$long&frequency=1499&cpu=0" "$scratch/moved-perf"
    hot $((2 * long + 10)) taskset -c "$cpu" sh -c 'exec "$@"' sh
    taskset -cp 0 "$hot_pid" >/dev/null
    wait_all
    end_hot
    within_points "of a program that came from another CPU" "$(ndjson_weights "$scratch/moved" | share)"
    within_points "and for perf" "$(script_weights "$scratch/moved-perf" | share)"
fi
hot $((2 * long + 10)) taskset -c "$cpu" sh -c 'exec "$@"' sh
parameters="seconds=$long&read=1&event={cpu-clock,context-switches}"
stream "/api/v1/samples?$parameters&frequency=1693&cpu=$cpu" "$scratch/group"
stream "/api/v1/perf.data?$parameters&frequency=1607" "$scratch/group-perf"
stream "/api/v1/samples?max=500&frequency=1601" "$scratch/max"
wait_all
end_hot

group_truth=$truth
for variant in cpu cgroup pid period group; do
    truth=$watched_truth
    [ "$variant" != group ] || truth=$group_truth
    within_points "$variant=" "$(ndjson_weights "$scratch/$variant" | share)"
    equals "$variant=: no event is lost" "$(end_of "$scratch/$variant" lost)" 0
done
for variant in cgroup pid group; do
    truth=$watched_truth
    [ "$variant" != group ] || truth=$group_truth
    within_points "$variant=, for perf" "$(script_weights "$scratch/$variant-perf" | share)"
    equals "$variant=, for perf: no complaint" "$(cat "$scratch/complaints")" ""
done
for variant in cpu period group; do
    equals "$variant=: samples of that CPU alone" "$(samples "$scratch/$variant" .cpu | sort -u)" "$cpu"
done
if [ "$cpu" -ne 0 ]; then
    equals "another CPU has samples" "$(samples "$scratch/other" .cpu | sort -u)" 0
    equals "and none of the program" "$(ndjson_weights "$scratch/other" | wc -l)" 0
else
    left_out "there is one CPU"
fi
equals "cgroup=: samples of its processes alone" "$(samples "$scratch/cgroup" .pid | sort -u)" "$watched_pid"
equals "pid=: samples of it alone" "$(samples "$scratch/pid" .pid | sort -u)" "$watched_pid"
# cpu-clock samples a CPU also while it is idle.
equals "period=: each sample has it" "$(samples "$scratch/period" .period | sort -u)" 700001
n=$(samples "$scratch/period" .pid | wc -l)
compares "period=: one every 0.7 ms" "$n > 714 * $long && $n <= 1440 * $long"
perf script -i - -F event <"$scratch/group-perf" >"$scratch/script" 2>/dev/null
holds "perf has samples of the group's other event" grep -q context-switches "$scratch/script"
samples "$scratch/group" '.counts | tojson' >"$scratch/counts"
echo "    read=1: $(head -n 1 "$scratch/counts") ... $(tail -n 1 "$scratch/counts")"
# shellcheck disable=SC2016 # jq's
holds "read=1: the counts of a group grow, and never fall" jq -se '
    (map(.["cpu-clock"]) | . == sort and .[-1] - .[0] > 2e9) and
    (map(.["context-switches"]) | . == sort and .[-1] > .[0])' "$scratch/counts"
equals "max= is exact" "$(jq -r 'select(.time and .type != "header") | .type' "$scratch/max" | wc -l)" 500
equals "and is in the last record" "$(end_of "$scratch/max" reason) $(end_of "$scratch/max" records)" "max 500"

# --- errors, before the stream starts

# STATUS PATH?PARAMETERS PATTERN
while read -r status path pattern; do
    equals "$status: $path" "$(status_of "$path")" "$status"
    matches "says why: $path" "$(get "$path")" "$pattern"
done <<'END'
400 /api/v1/perf.data?event=cpu-clok did you mean
400 /api/v1/folded?event={cpu-clock,nothing} nothing
400 /api/v1/samples?event=cycles cycles
403 /debug/pprof/profile?event=sched:no_such_event sampler.tracepoints
400 /api/v1/perf.data?frequency=100000000 perf_event_max_sample_rate
404 /api/v1/folded?cgroup=/perfcountd/is/not/there /perfcountd/is/not/there
404 /debug/pprof/profile?pid=4194304 4194304
END
stop_daemon
equals "ends well" "$daemon_status" 0
finish
