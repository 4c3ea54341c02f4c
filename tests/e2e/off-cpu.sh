#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests samples of off-CPU time: in each format, the shares of the program's waits agree with what it measures itself.
# Also tests states, filters, the threshold, many switches and invalid requests.
# set: quick
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cgroup-lib.sh"
need cc curl gzip jq perf protoc
[ "$(id -u)" -eq 0 ] || skip "root, to load BPF programs"
chmod 755 "$scratch"
program=off-cpu-waits
cc -O1 -g -fno-omit-frame-pointer -pthread -o "$scratch/$program" "$here/waits.c"
cat >"$scratch/config.yaml" <<'END'
web: {min_interval: 0s, local_operators: true}
collectors: {cgroup: {enabled: false}}
history: {enabled: false}
sampler: {enabled: true, max_clients: 8}
END

# record FLAGS... -- COMMAND...: runs `perfcountd record` on the command. Sets status, and said, its messages.
record() {
    "$PERFCOUNTD" record --config.file="$scratch/config.yaml" --event=off-cpu "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    said=$(<"$scratch/err")
}

# within_shares TITLE FILE N: checks that lines "MICROSECONDS PART" have the program's N parts, and that their shares
# are within 3 points of those that the program measured ($scratch/out).
within_shares() {
    local line n=0
    while read -r line; do
        matches "$1: $line" "$line" '^ok: '
        n=$((n + 1))
    done < <(awk -v title="$1" -f "$here/waits.awk" "$scratch/out" "$2")
    equals "$1: the number of parts" "$n" "$3"
}

# Each function reads a file of its format, and prints lines "MICROSECONDS PART STATE" for the program; perf.data has no
# state.
folded_parts() {
    sed -nE "s/^([a-z]+);$program;.*;([a-z]+_part)[; ].* ([0-9]+)\$/\\3 \\2 \\1/p" "$1"
}
ndjson_parts() {
    jq -r --arg comm "$program" 'select(.type == "sample" and .comm == $comm) |
        (.callchain | map(.symbol) | map(select(endswith("_part"))) | first // empty) as $part |
        "\((.off_cpu_ns - .runnable_ns) / 1000) \($part) \(.state)", "\(.runnable_ns / 1000) \($part) runnable"' "$1"
}
script_parts() {
    perf script -i - -F comm,period,ip,sym <"$1" 2>"$scratch/complaints" | awk -v comm="$program" '
        NF == 2 && $1 == comm && $2 ~ /^[0-9]+:?$/ { in_sample = 1; ns = $2 + 0; next }
        NF == 0 { in_sample = 0 }
        in_sample && $NF ~ /_part$/ { print ns / 1000, $NF; in_sample = 0 }'
}
protoc_parts() {
    gzip -dc "$1" | protoc --decode=perftools.profiles.Profile --proto_path="$root/tests/e2e" \
        "$root/tests/e2e/profile.proto" >"$scratch/profile" || return
    awk -f "$here/profile.awk" "$scratch/profile" >"$scratch/fields"
    awk '$1 == "stack" && match($0, /[a-z]+_part/) { print $3 / 1000, substr($0, RSTART, RLENGTH), $2 }' "$scratch/fields"
}
# states_of PART: prints the states of the part in the folded stacks.
states_of() {
    folded_parts "$scratch/waits.folded" | awk -v part="$1" '$2 == part { print $3 }' | sort -u | xargs
}

# --- a command, in each format

for format in folded perf.data pb.gz; do
    record --threshold=0.1ms -o "$scratch/waits.$format" -- "$scratch/$program" 3
    equals "$format: the exit status is the program's" "$status" 0
    case $format in
    folded) folded_parts "$scratch/waits.folded" ;;
    perf.data) script_parts "$scratch/waits.perf.data" ;;
    pb.gz) protoc_parts "$scratch/waits.pb.gz" ;;
    esac >"$scratch/parts"
    within_shares "$format" "$scratch/parts" 3
done
matches "the message says how many samples there are" "$said" 'perfcountd: [0-9]+ samples of off-cpu in'
matches "the message says how many waits were below the threshold" \
    "$said" '[0-9]+ waits? shorter than the threshold left out on the whole machine: [0-9.]+ s'
equals "pprof samples have a number of waits and an off-CPU time" \
    "$(awk '$1 == "sample_type" { print $2 }' "$scratch/fields" | xargs)" \
    "waits/count off_cpu/nanoseconds"
contains "a task that sleeps is in the state sleeping" "$(states_of sleep_part)" sleeping
contains "a task that waits for a lock is in the state sleeping" "$(states_of lock_part)" sleeping
equals "tasks that share a CPU are in the state runnable" "$(states_of run_part)" runnable
matches "stacks have the kernel functions that wait" "$(grep ";sleep_part;" "$scratch/waits.folded")" \
    'nanosleep.*;schedule_\[k\];__schedule_\[k\] '
lacks "stacks have no function of the interrupt that takes the sample" \
    'irq_work|finish_task_switch' "$scratch/waits.folded"

# The disk's share is not compared, since by the program's clock it includes time that the host takes.
record --threshold=0.1ms -o "$scratch/disk.folded" -- "$scratch/$program" 2 "$scratch/disk"
contains "a task that waits for a disk is in the state uninterruptible" \
    "$(folded_parts "$scratch/disk.folded" | awk '$2 == "disk_part" { print $3 }' | sort -u)" uninterruptible

record -o "$scratch/waits.svg" -- "$scratch/$program" 1
matches "the flame graph has times" "$(<"$scratch/waits.svg")" 'sleep_part: [0-9.]+ ms, '
record --state=runnable -o "$scratch/runnable.folded" -- "$scratch/$program" 1
equals "--state=runnable selects runnable tasks" \
    "$(cut -d ';' -f 1 "$scratch/runnable.folded" | grep -v '^#' | sort -u)" runnable
record --state=blocked -o "$scratch/blocked.folded" -- "$scratch/$program" 1
lacks "--state=blocked leaves out runnable tasks" '^runnable' "$scratch/blocked.folded"

# --- a program with children

record -o "$scratch/children.folded" -- sh -c "$scratch/$program 1 & $scratch/$program 1; wait"
contains "processes that the command starts are sampled" "$(<"$scratch/children.folded")" "sleeping;$program;"

# --- a daemon, whose opener has the BPF program

start_daemon --config.file="$scratch/config.yaml"
idle=$(perf_fds)
in_cgroup() {
    # shellcheck disable=SC2016 # the inner shell expands it
    sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$parent" "$@" >"$scratch/out"
}
# begin_stream QUERY: starts a client that writes a stream to $scratch/stream. Sets stream, its process id.
begin_stream() {
    curl -sN --globoff "$url/api/v1/samples?event=off-cpu&seconds=300&$1" >"$scratch/stream" &
    stream=$!
    children+=("$stream")
    holds "${1:-no parameter}: a stream begins" eventually 60 grep -q '"type":"header"' "$scratch/stream"
}

begin_stream "cgroup=$below&threshold=0.1ms"
get "/api/v1/perf.data?event=off-cpu&seconds=300&cgroup=$below" >"$scratch/perf.data" &
for_perf=$!
holds "a stream for perf begins" eventually 60 test -s "$scratch/perf.data"
compares "two events are open on each CPU" "$(perf_fds) >= $idle + 2 * $(getconf _NPROCESSORS_ONLN)"
in_cgroup perf record -q -a -e sched:sched_switch -o "$scratch/switches" -- "$scratch/$program" 3 2>"$scratch/err"
stop_daemon
wait "$stream" "$for_perf"
equals "the header of the stream has the threshold" \
    "$(head -n 1 "$scratch/stream" | jq -r '"\(.event) \(.threshold_ns)"')" \
    "off-cpu 100000"
equals "the stream ends when the daemon stops" "$(end_of "$scratch/stream" reason)" shutdown
equals "the stream has samples of the cgroup only" \
    "$(jq -r 'select(.type == "sample") | .cgroup' "$scratch/stream" | sort -u)" "$below"
if [ "$(tail -n 1 "$scratch/stream" | jq -r '"\(.lost) \(.dropped) \(.missed)"')" != "0 0 0" ]; then
    left_out "a machine fast enough to read every off-CPU wait"
else
    ndjson_parts "$scratch/stream" >"$scratch/parts"
    within_shares "NDJSON" "$scratch/parts" 3
fi
contains "perf names a cgroup that existed before the stream" \
    "$(perf report -i - -s cgroup --stdio <"$scratch/perf.data" 2>/dev/null)" "$below"
compares "perf can record sched_switch during the stream" \
    "$(perf script -i "$scratch/switches" 2>/dev/null | wc -l) > 100"
# The ring buffers do not fill up while other programs use the CPUs.
wrapper=(nice -n -10)
start_daemon --config.file="$scratch/config.yaml"
idle=$(perf_fds)

# --- parameters of a request

begin_stream ""
holds "by default, a stream has samples" eventually 60 has_samples "$scratch/stream" 2 # the last one may be incomplete
kill "$stream"
wait "$stream" 2>/dev/null
compares "by default, samples are of waits of at least a millisecond" \
    "$(sed '$d' "$scratch/stream" | jq -r 'select(.type == "sample") | .off_cpu_ns' | sort -n | head -n 1) >= 1e6"
# start_program: runs the program in the background. Sets pid.
start_program() {
    "$scratch/$program" 300 >"$scratch/out" &
    pid=$!
    children+=("$pid")
    eventually 60 grep -qx "$program" "/proc/$pid/comm"
}
start_program
begin_stream "pid=$pid&threshold=0.1ms"
holds "a process is sampled" eventually 60 grep -q '"type":"sample"' "$scratch/stream"
kill "$pid"
wait "$pid" "$stream" 2>/dev/null
equals "a stream of a process ends with the process" "$(end_of "$scratch/stream" reason)" "the process has ended"
equals "a stream of a process has only waits of that process" \
    "$(jq -r 'select(.type == "sample") | .comm' "$scratch/stream" | sort -u)" "$program"
start_program
begin_stream "cpu=0&state=runnable"
holds "cpu= and state=: the stream has samples" eventually 60 has_samples "$scratch/stream" 2
kill "$stream" "$pid"
wait "$stream" "$pid" 2>/dev/null
equals "cpu= and state=: the stream has no other samples" \
    "$(sed '$d' "$scratch/stream" | jq -r 'select(.type == "sample") | "\(.cpu) \(.state)"' | sort -u)" \
    "0 runnable"
holds "a stream that ends closes its events" eventually 60 fds_are "$idle"

# refuses QUERY TEXT: checks that /api/v1/samples rejects the query with this text.
refuses() {
    equals "400: $1" "$(status_of "/api/v1/samples?$1")" 400
    contains "the response says why: $1" "$(get "/api/v1/samples?$1" | jq -r .error)" "$2"
}
refuses 'event=off-cpu&frequency=99' 'samples each wait'
refuses 'event=off-cpu&period=2' 'samples each wait'
refuses 'event=off-cpu&read=1' 'samples each wait'
refuses 'event=off-cpu&threshold=0' 'expected seconds above 0'
refuses 'event=off-cpu&state=idle' 'expected runnable, blocked,'
refuses 'event=cpu-clock&threshold=1ms' 'requires the event off-cpu'
refuses 'state=blocked' 'requires the event off-cpu'

# --- many switches: waits below the threshold are only counted

get '/api/v1/samples?event=off-cpu&seconds=10' >"$scratch/stream" &
holds "a stream of many switches begins" eventually 60 grep -q '"type":"header"' "$scratch/stream"
perf bench sched pipe -l 30000 >"$scratch/bench" 2>&1
wait $!
equals "many switches: nothing is lost" "$(jq -r 'select(.type == "end") | "\(.lost) \(.dropped) \(.malformed)"' \
    "$scratch/stream")" "0 0 0"
compares "many switches: waits below the threshold are counted" \
    "$(end_of "$scratch/stream" brief) > 1000 && $(end_of "$scratch/stream" brief_ns) > 0"
compares "many switches: less than 2 % of the stacks are missing" \
    "$(end_of "$scratch/stream" missed) < 0.02 * $(samples_in "$scratch/stream") + 10"

# --- the number of BPF programs limits how many thresholds can be in use at the same time

pids=()
began=$(date +%s)
for threshold in 1 2 3 4; do
    curl -sN "$url/api/v1/samples?event=off-cpu&threshold=$threshold&seconds=300" >"$scratch/stream.$threshold" &
    children+=("$!")
    pids+=("$!")
    holds "threshold $threshold" eventually 60 grep -q '"type":"header"' "$scratch/stream.$threshold"
done
# Each stream gets a record of each BPF program that is loaded. If there are several streams, the kernel writes a wrong
# size into these records.
records_of_programs() {
    grep -h '"ksymbol".*}$' "$scratch"/stream.[1-4] | # complete lines
        jq -c --argjson cpus "$(nproc --all)" '.cpu < $cpus and .time > '"$began" | sort | uniq -c | awk '{ print $2 }'
}
holds "a stream has records of the BPF programs of other streams" \
    eventually 60 grep -q '"ksymbol".*}$' "$scratch/stream.1"
equals "the records of BPF programs have valid times and CPUs" "$(records_of_programs)" true
equals "a fifth threshold is refused" "$(status_of '/api/v1/samples?event=off-cpu&threshold=5')" 503
kill "${pids[@]}"
holds "the events are closed when the clients disconnect" eventually 60 fds_are "$idle"
stop_daemon

# --- a user with the capabilities for BPF, but not for tracefs

install -m 755 "$PERFCOUNTD" "$scratch/perfcountd"
install -d -m 777 "$scratch/out.d"
as=(setpriv --reuid=65534 --regid=65534 --clear-groups "--inh-caps=-all,+perfmon,+bpf" "--ambient-caps=-all,+perfmon,+bpf")
if ! "${as[@]}" true 2>/dev/null; then
    left_out "a setpriv that knows CAP_PERFMON and CAP_BPF"
elif "${as[@]}" ls /sys/kernel/tracing/events /sys/kernel/debug/tracing/events >/dev/null 2>&1; then
    left_out "a tracefs that only root may read"
else
    "${as[@]}" "$scratch/perfcountd" record --event=off-cpu -o "$scratch/out.d/waits.svg" -- true >"$scratch/err" 2>&1
    matches "a user who may not read tracefs is told so" "$(<"$scratch/err")" 'may not read tracefs.*CAP_DAC_READ_SEARCH'
fi
finish
