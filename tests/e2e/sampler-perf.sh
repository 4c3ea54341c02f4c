#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reads the daemon's streams with other programs (perf, jq, protoc, pprof). They find the known profile of a program in
# each format, while all formats are streamed at once and perf records as well; also for one CPU, one cgroup and one
# process.
# set: all
. "$(dirname "$0")/lib.sh"
need curl jq perf gzip pprof protoc readelf taskset cc
[ "$(id -u)" -eq 0 ] || skip "root, to sample all CPUs"
# shellcheck source=cgroup-lib.sh
. "$here/cgroup-lib.sh"

perf record -q -e cpu-clock -F 100 -a -o "$scratch/probe" sleep 0.1 >"$scratch/probe.log" 2>&1 ||
    skip "a perf that samples"

cpu=$((cpus - 1))
# The program has a unique name, since other tests may run it too.
program=hot$$
cc -O1 -g -fno-omit-frame-pointer -o "$scratch/$program" "$here/hot.c" || exit 1
# It has a CPU to itself, and the programs that read samples use another one.
first=(chrt --fifo 1 taskset -c "$cpu")
[ "$cpus" -gt 1 ] || first=(nice -n -10)

# hot SECONDS [WRAPPER...]: runs the program. Sets hot_pid.
hot() {
    : >"$scratch/hot.out"
    "${first[@]}" "${@:2}" "$scratch/$program" "$1" >"$scratch/hot.out" &
    hot_pid=$!
    children+=("$hot_pid")
    eventually 60 test -s "$scratch/hot.out"
}

# end_hot: ends the program. Sets truth, the share of the first function by the program's own clock.
end_hot() {
    kill "$hot_pid" 2>/dev/null
    wait "$hot_pid"
    truth=$(share <"$scratch/hot.out")
    truth=${truth% *}
    compares "by its own clock, the program spent 70 % of its time in the first function" "$truth > 68 && $truth < 72"
}

# stream PATH FILE: reads a stream in the background; wait_all waits for all of them.
streams=()
stream() {
    curl -sS --globoff -N -o "$2" "$url$1" &
    streams+=("$!")
    children+=("$!")
}
wait_all() {
    wait "${streams[@]}"
    streams=()
}
# seconds_for SAMPLES FREQUENCY: prints how many seconds suffice even if this machine's host takes 40 % of them.
seconds_for() {
    echo $(($1 * 17 / 10 / $2 + 1))
}

# Prints perf's messages except those about lost samples, which are expected on busy CPUs.
complaints() {
    sed -E '/^(Warning:|Processed .* lost .*|Check IO\/CPU overload!|)$/d' "$scratch/complaints"
}

# Each of these reads a file of its format, and prints lines "WEIGHT SYMBOL" for the program's functions, like those of
# lib.sh.
report_weights() {
    perf report -i - --stdio --comm "$program" --sort symbol -g none --no-children -F sample,sym <"$1" \
        2>"$scratch/complaints" | awk '$2 == "[.]" { print $1, $3 }'
}
ndjson_weights() {
    jq -r --arg comm "$program" 'select(.type == "sample" and .comm == $comm) | "1 \(.symbol)"' "$1"
}
pprof_weights() {
    HOME=$scratch pprof -symbolize=none -sample_index=samples -tagfocus=comm="$program" -top -nodecount=500 "$1" \
        2>"$scratch/pprof.err" | tee "$scratch/top" | awk '$6 ~ /^hot_/ { print $1, $6 }'
}

# samples FILE EXPRESSION: prints the value of the jq expression for each sample.
samples() {
    jq -r "select(.type == \"sample\") | $2" "$1"
}

echo '{web: {local_operators: true}, sampler: {enabled: true, event: cpu-clock, max_clients: 16}}' \
    >"$scratch/config.yaml"
start_daemon --config.file="$scratch/config.yaml"

# --- all formats at once, alongside perf itself

long=$(seconds_for $((2 * enough)) 1499)
hot $((2 * long + 60))
parameters="seconds=$long&frequency=1999"
stream "/api/v1/perf.data?$parameters" "$scratch/perf.data"
stream "/api/v1/samples?$parameters" "$scratch/ndjson"
stream "/api/v1/folded?$parameters" "$scratch/folded"
stream "/debug/pprof/profile?$parameters" "$scratch/pprof"
nice -n -10 perf record -q -a -g -e cpu-clock -F 1499 -o - sleep "$long" >"$scratch/perf-record" \
    2>"$scratch/perf-record.log"
wait_all
end_hot

script_weights "$scratch/perf-record" >"$scratch/weights"
recorded=$(share <"$scratch/weights")
within_points "perf record -a" "$recorded"
# The program is hidden from pprof, which would otherwise read its symbols.
build_id=$(readelf -n "$scratch/$program" | awk '/Build ID/ { print $3 }')
for format in script:perf.data report:perf.data ndjson:ndjson folded:folded protoc:pprof pprof:pprof; do
    [ $format != pprof:pprof ] || mv "$scratch/$program" "$scratch/hidden"
    : >"$scratch/complaints"
    "${format%:*}_weights" "$scratch/${format#*:}" >"$scratch/weights"
    found=$(share <"$scratch/weights")
    within_points "$format" "$found"
    fewer=$((${found#* } < ${recorded#* } ? ${found#* } : ${recorded#* }))
    within_points "$format and perf record -a" "${found% *} $fewer" "${recorded% *}"
    equals "$format: perf reports no problem" "$(complaints)" ""
done
mv "$scratch/hidden" "$scratch/$program"
equals "NDJSON has all CPUs" "$(samples "$scratch/ndjson" .cpu | sort -nu | paste -sd,)" "$(seq -s, 0 $((cpus - 1)))"
holds "each line of NDJSON is JSON" jq -es 'all(has("type"))' "$scratch/ndjson"
holds "the header record is first" jq -en 'input | .type == "header" and .event == "cpu-clock"' "$scratch/ndjson"
equals "the end record is last" "$(end_of "$scratch/ndjson" reason)" seconds

perf script -i - -F comm,ip,sym <"$scratch/perf.data" >"$scratch/script" 2>/dev/null
holds "perf script shows the callers" grep -A 2 -m 1 -w hot_seventy "$scratch/script"
holds "perf script finds kernel symbols" grep -qE '^\s+ffff[0-9a-f]+ [a-z_]' "$scratch/script"
perf report -i - --stdio --header-only <"$scratch/perf.data" >"$scratch/header" 2>&1
holds "perf finds the event" grep -q 'event : name = cpu-clock' "$scratch/header"
holds "perf finds the kernel release" grep -q "os release : $(uname -r)" "$scratch/header"
holds "the pipeline from the manual works unchanged" sh -c \
    "curl -sN '$url/api/v1/perf.data?seconds=1' | perf report -i - --stdio 2>/dev/null | grep -q cpu-clock"

# Lines that begin with "#" are notes about the machine's programs.
sed '/^# /d' "$scratch/folded" >"$scratch/stacks"
equals "folded: each line is a stack and a count" "$(grep -vE '^[^ ;]+(;[^;]+)* [1-9][0-9]*$' "$scratch/stacks")" ""
# Truncated stacks come last.
holds "folded: lines are unique and sorted" \
    sh -c "grep -v '^\[truncated\] ' '$scratch/stacks' | sed 's/ [0-9]*\$//' | sort -cu"
holds "folded: callers come before callees" grep -qE "^$program;.*main;hot_seventy [0-9]+\$" "$scratch/folded"
if [ "$(awk '$3 == "_text" { print $1; exit }' /proc/kallsyms)" != 0000000000000000 ]; then
    holds "folded: kernel functions are marked" grep -qE ';[a-z_][A-Za-z0-9_.]*_\[k\]' "$scratch/folded"
fi

# Columns: title, and the line that profile.awk must print.
lacks "protoc knows each field" '^ *[0-9]+[:{ ]' "$scratch/profile"
while IFS='|' read -r title line; do
    holds "protoc: $title" grep -qE "^$line\$" "$scratch/fields"
done <<END
the first value is the number of samples|sample_type samples/count
the second value is in nanoseconds|sample_type cpu-clock/nanoseconds
the period is in nanoseconds|period_type cpu-clock/nanoseconds
the default value is the event|default_sample_type cpu-clock
the period is that of 1999 Hz|period 500[0-9]{3}
the duration is at least 10 s|duration_nanos [0-9]{10,}
the time is today|time_nanos $(date +%s | cut -c 1-6)[0-9]{13}
there is a comment|comment perfcountd: [0-9]+ samples
there is a mapping with the program's file and build id|mapping $scratch/$program ${build_id:?} functions
END
equals "protoc: every reference is valid" "$(grep '^dangling' "$scratch/fields")" ""
holds "pprof finds the sample type" grep -qx 'Type: samples' "$scratch/top"
HOME=$scratch pprof -symbolize=none -tagfocus=comm="$program" -traces "$scratch/pprof" >"$scratch/traces" 2>/dev/null
holds "pprof's default sample type is the event" grep -qx 'Type: cpu-clock' "$scratch/traces"
holds "pprof finds the callers" sh -c "grep -A1 hot_seventy '$scratch/traces' | grep -qw main"

# --- a CPU, a cgroup, a process, a period, a group

long=$(seconds_for $enough 1423)
mkdir "$parent/hot"
# shellcheck disable=SC2016 # the inner shell expands it
hot $((2 * long + 60)) sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$parent/hot"
stream "/api/v1/samples?seconds=$long&frequency=1999&cpu=$cpu" "$scratch/cpu"
[ "$cpu" -eq 0 ] || stream "/api/v1/samples?seconds=$long&frequency=1999&cpu=0" "$scratch/other"
stream "/api/v1/samples?seconds=$long&frequency=1499&cgroup=$below/hot" "$scratch/cgroup"
stream "/api/v1/perf.data?seconds=$long&frequency=1499&cgroup=$below/hot" "$scratch/cgroup-perf"
stream "/api/v1/samples?seconds=$long&frequency=1801&pid=$hot_pid" "$scratch/pid"
stream "/api/v1/perf.data?seconds=$long&frequency=1801&pid=$hot_pid" "$scratch/pid-perf"
stream "/api/v1/samples?seconds=$long&period=700001&cpu=$cpu" "$scratch/period"
parameters="seconds=$long&read=1&event={cpu-clock,context-switches}"
stream "/api/v1/samples?$parameters&frequency=1693&cpu=$cpu" "$scratch/group"
stream "/api/v1/perf.data?$parameters&frequency=1607" "$scratch/group-perf"
wait_all
watched_pid=$hot_pid
end_hot
for variant in cpu cgroup pid period group; do
    within_points "$variant=" "$(ndjson_weights "$scratch/$variant" | share)"
    matches "$variant=: the end record has the number of lost samples" "$(end_of "$scratch/$variant" lost)" '^[0-9]+$'
done
for variant in cgroup pid group; do
    within_points "$variant=, perf.data" "$(script_weights "$scratch/$variant-perf" | share)"
    equals "$variant=, perf.data: perf reports no problem" "$(complaints)" ""
done
for variant in cpu period group; do
    equals "$variant=: samples are from that CPU only" "$(samples "$scratch/$variant" .cpu | sort -u)" "$cpu"
done
for variant in cgroup pid; do
    equals "$variant=: samples are of that process only" "$(samples "$scratch/$variant" .pid | sort -u)" "$watched_pid"
done
# cpu-clock also samples idle CPUs.
equals "period=: each sample has the period" "$(samples "$scratch/period" .period | sort -u)" 700001
compares "period=: at most one sample every 0.7 ms" \
    "$(samples "$scratch/period" .pid | wc -l) <= 1440 * $(end_of "$scratch/period" seconds)"
perf script -i - -F event <"$scratch/group-perf" >"$scratch/script" 2>/dev/null
holds "perf has samples of the group's other event" grep -q context-switches "$scratch/script"
# shellcheck disable=SC2016 # jq expands it
holds "read=1: the counts of a group increase and never decrease" jq -se '
    (map(.["cpu-clock"]) | . == sort and .[-1] - .[0] > 1e9) and
    (map(.["context-switches"]) | . == sort and .[-1] > .[0])' <(samples "$scratch/group" '.counts | tojson')

# The process starts on one CPU under another name, and then moves to the other CPU.
if [ "$cpu" -ne 0 ]; then
    equals "the other CPU has samples, but the program has none there" "$(samples "$scratch/other" .cpu | sort -u) $(
        ndjson_weights "$scratch/other" | wc -l)" "0 0"
    stream "/api/v1/samples?seconds=$long&frequency=1999&cpu=0" "$scratch/moved"
    stream "/api/v1/perf.data?seconds=$long&frequency=1499&cpu=0" "$scratch/moved-perf"
    first=(nice -n -10 taskset -c "$cpu")
    # shellcheck disable=SC2016 # the inner shell expands it
    hot $((2 * long + 60)) sh -c 'exec "$@"' sh
    taskset -cp 0 "$hot_pid" >/dev/null
    wait_all
    end_hot
    moved=$(ndjson_weights "$scratch/moved" | share)
    compares "a program that moved from another CPU is found by name" "${moved#* } > 0"
    compares "a program that moved has its share, within 5 standard deviations" \
        "(${moved% *} - $truth)^2 < 25 * 45.8^2 / ${moved#* }"
    compares "perf finds a program that moved from another CPU" "$(script_weights "$scratch/moved-perf" | wc -l) > 0"
else
    left_out "a second CPU"
fi
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
finish
