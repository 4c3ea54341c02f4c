#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `perfcountd stat` and compares it with perf stat: what it counts, what it runs, and what it prints.
# set: all
. "$(dirname "$0")/lib.sh"
need jq perf pgrep python3 setpriv

# --- the same work counted three times

# Succeeds if perf may count CPUs.
may_count() {
    perf stat -a -e context-switches true >/dev/null 2>&1
}

# as_metrics: converts event names to those in metric names.
as_metrics() {
    tr 'A-Z:-' 'a-z__'
}

# both_have: prints the software and generic hardware events that both programs know, and tracepoints that every kernel
# has.
both_have() {
    printf '%s\n' cycles instructions
    comm -12 <("$PERFCOUNTD" list-events --json | jq -r '.[] | .name' | sort -u) \
        <(perf list --raw-dump sw hw | tr ' ' '\n' | sort -u) | grep -vxE 'cycles|instructions'
    [ "$(id -u)" -ne 0 ] || perf list --raw-dump tracepoint | tr ' ' '\n' |
        grep -E '^(sched|raw_syscalls|exceptions|signal|irq):' | sort -u
}

# write_config FILE: writes a configuration with a group for each event in $events, on CPU 0.
write_config() {
    {
        printf 'collectors:\n  self: {enabled: false}\n  pmu: {enabled: false}\n  cgroup: {enabled: false}\n'
        printf '  cpu:\n    cpus: "0"\n    groups:\n'
        awk '{ printf "      - {name: g%d, events: \"%s\"}\n", NR, $0 }' <<<"$events"
    } >"$1"
}

# counts_of_stat FILE: reads the text output and prints lines EVENT COUNT, with <not-supported>, or <estimate> for an
# estimated count.
counts_of_stat() {
    sed 's/<not /<not-/' "$1" | awk '$1 ~ /^[0-9][0-9,.]*$/ && $2 != "seconds" || $1 ~ /^<not/ {
            count = /%\)$/ ? "<estimate>" : $1
            gsub(",", "", count)
            print $2 == "msec" ? $3 : $2, count
        }' | sort
}

# counts_of_perf FILE: prints the same from the output of perf stat -x\;
counts_of_perf() {
    sed 's/<not /<not-/' "$1" | awk -F';' 'NF > 3 {
            print tolower($3), $1 !~ /</ && $5 < 100 ? "<estimate>" : $1
        }' | tr ':-' '__' | sed 's/<not_/<not-/' | sort
}

# The three counts are nested: perfcountd runs perf stat, which runs perfcountd, which runs the load.
count_three_times() {
    "$PERFCOUNTD" stat -a --config.file="$scratch/stat.yaml" --output="$scratch/outer" -- \
        perf stat -a -C 0 -x\; -o "$scratch/perf" -e "$(paste -sd, <<<"$events")" -- \
        "$PERFCOUNTD" stat -a --config.file="$scratch/stat.yaml" --output="$scratch/inner" -- \
        python3 "$here/stat-load.py" 0 "$faults" "$rounds" 2>"$scratch/err"
}

# joined: prints lines EVENT INNER PERF OUTER.
joined() {
    join <(counts_of_stat "$scratch/inner") <(counts_of_perf "$scratch/perf") |
        join - <(counts_of_stat "$scratch/outer")
}

# not_nested: prints the events whose count by perf is not between the two others.
not_nested() {
    joined | grep -v '<' | awk '$2 > $3 + 0.01 || $3 > $4 + 0.01'
}

# count_of EVENT COLUMN: prints one count of `joined`.
count_of() {
    joined | awk -v event="$1" -v column="$2" '$1 == event { print $column }'
}

compare_with_perf() {
    local event faults=200000 rounds=20000 events
    events=$(both_have)
    write_config "$scratch/stat.yaml"
    count_three_times || fail "the load runs and is counted three times" "$(tail -n 5 "$scratch/err")"
    equals "all three have the same events" "$(joined | cut -d' ' -f1)" "$(as_metrics <<<"$events" | sort)"
    equals "perf's counts are between the inner and the outer counts" "$(not_nested)" ""
    for event in page_faults minor_faults; do
        compares "$event includes the $faults faults of the load" "$(count_of $event 2) >= $faults"
    done
    for event in context_switches sched_sched_switch; do
        [ -z "$(count_of $event 2)" ] ||
            compares "$event includes the $((2 * rounds)) switches of the load" "$(count_of $event 2) >= 2 * $rounds"
    done
    echo "$(joined | grep -vc '<') events are compared, $(joined | grep -v '<' | grep -vc ' 0 ') of them not 0"
    equals "events that are not supported here are not supported by perf either" \
        "$(joined | awk '/<not-/ && ($2 != $3 || $2 != $4)')" ""
    ! joined | grep -q '^cycles <not-supported>' ||
        left_out "a hardware PMU"
}

# IPC is the only metric whose name perf knows on most machines. Both count during the same second.
compare_ipc() {
    local perf_ipc ipc
    perf_ipc=$(perf stat -a -C 0 -x\; -M IPC -o "$scratch/metric" "$PERFCOUNTD" stat -a \
        --config.file="$scratch/stat.yaml" --output="$scratch/inner" -- \
        python3 "$here/stat-load.py" 0 200000 20000 2>&1 && awk -F';' '$NF == "IPC" { print $(NF - 1) }' \
        "$scratch/metric")
    ipc=$(sed -n 's/.*# ipc \([0-9.]*\).*/\1/p' "$scratch/inner")
    if [ -z "$ipc" ] || ! [[ $perf_ipc =~ ^[0-9.]+$ ]]; then
        left_out "a perf stat -M IPC that works"
        return
    fi
    compares "ipc equals perf's within 5 %" "$ipc >= 0.95 * $perf_ipc && $ipc <= 1.05 * $perf_ipc"
}

# --- the command alone

own_events=page-faults,context-switches,task-clock

# own_count FILE EVENT: prints a count from the text output, from the output of perf stat -x\;, or from the file of
# stat-load.py.
own_count() {
    case $1 in
    */perf) counts_of_perf "$1" ;;
    */usage) cat "$1" ;;
    *) counts_of_stat "$1" ;;
    esac | awk -v event="$2" '$1 == event { print $2 }'
}

# The load runs on CPU 0 alongside another one, which causes page faults continuously and must not be counted.
count_alone() {
    local event own beside
    python3 "$here/stat-load.py" 0 2000000000 0 &
    beside=$!
    children+=("$beside")
    "$PERFCOUNTD" stat -e "$own_events" --output="$scratch/stat" -- \
        python3 "$here/stat-load.py" 0 200000 20000 "$scratch/usage" 2>"$scratch/err"
    equals "a command is counted alone, with no message" "$(cat "$scratch/err")" ""
    kill "$beside"
    wait "$beside" 2>/dev/null
    matches "the title has the command" "$(cat "$scratch/stat")" "Counts of 'python3 .*':.*PMU software, group events:"
    for event in page_faults context_switches task_clock; do
        own=$(own_count "$scratch/usage" "$event")
        compares "$event equals getrusage's within 1 %: $own" \
            "$(own_count "$scratch/stat" "$event") >= 0.99 * $own && $(own_count "$scratch/stat" "$event") <= 1.01 * $own"
    done
    compares "page_faults includes the load's" "$(own_count "$scratch/stat" page_faults) >= 400000"
}

# The command is perf stat, which counts the same load.
count_alone_with_perf() {
    local event perf
    if ! perf stat -e "$own_events" true >/dev/null 2>&1; then
        left_out "a perf stat that can count a command"
        return
    fi
    "$PERFCOUNTD" stat -e "$own_events" --output="$scratch/stat" -- perf stat -x\; -o "$scratch/perf" \
        -e "$own_events" -- python3 "$here/stat-load.py" 0 400000 40000
    for event in page_faults context_switches; do
        perf=$(own_count "$scratch/perf" "$event")
        compares "$event equals perf stat's within 1 %: $perf" \
            "$(own_count "$scratch/stat" "$event") >= $perf && $(own_count "$scratch/stat" "$event") <= 1.01 * $perf"
    done
}

# Counts a short command, and one that runs short processes.
count_short() {
    local alone many
    alone=$("$PERFCOUNTD" stat -e page-faults --json -- true 2>&1 | jq '.rates[0].counts.page_faults')
    many=$("$PERFCOUNTD" stat -e page-faults --json -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do env true; done' 2>&1 |
        jq '.rates[0].counts.page_faults')
    compares "a short command has page faults" "${alone:-0} > 10"
    compares "ten short commands have more than nine times as many page faults" "${many:-0} > 9 * ${alone:-0}"
}

# A process that outlives the command is counted until the command ends.
count_survivor() {
    "$PERFCOUNTD" stat -e page-faults --output="$scratch/stat" -- python3 -c '
import mmap, os, time
there, back = os.pipe()
if os.fork() == 0:
    area = mmap.mmap(-1, 20000 * mmap.PAGESIZE)
    for offset in range(0, len(area), mmap.PAGESIZE):
        area[offset] = 1
    os.write(back, b".")
    time.sleep(3)
    os._exit(0)
os.read(there, 1)'
    compares "page_faults includes those of a process that outlives the command" \
        "$(own_count "$scratch/stat" page_faults) >= 20000"
}

# as_nobody COMMAND...: runs the command as nobody without capabilities.
as_nobody() {
    setpriv --reuid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "$@"
}

# Counts as a user who may only count user space.
count_user_space() {
    local counts
    chmod 755 "$scratch"
    if [ "$(id -u)" -ne 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" != 2 ] ||
        ! as_nobody test -x "$PERFCOUNTD" 2>/dev/null; then
        left_out "root, kernel.perf_event_paranoid of 2, and a perfcountd binary that other users may run"
        return
    fi
    counts=$(as_nobody "$PERFCOUNTD" stat -e "$own_events" -- python3 -c 'x = bytearray(1000000)' 2>&1)
    matches "a user who may only count user space is told which counts are missing" "$counts" \
        'not counted: what the command does in the kernel.*perf_event_paranoid is 2.*not counted: context-switches: this happens'
    matches "events in user space are counted" \
        "$counts" '<not counted> +context_switches.*[1-9][0-9]* +page_faults_user '
}

# --- the command

# in_front COMMAND...: starts the command as a terminal does, with the default action of SIGINT. Sets pid.
in_front() {
    env --default-signal=INT "$@" >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    children+=("$pid")
}

# has_opened: succeeds if process $pid has a counter open. From then on, SIGINT ends the interval.
has_opened() {
    [[ $(ls -l "/proc/$pid/fd") == *perf_event* ]]
}

sleeps_in() {
    pgrep -P "$pid" -x sleep >/dev/null
}

# status_after COMMAND...: runs the command under stat, and prints stat's exit status.
status_after() {
    "$PERFCOUNTD" stat --config.file="$scratch/soft.yaml" -- "$@" >"$scratch/out" 2>"$scratch/err"
    echo $?
}

run_commands() {
    local pid
    equals "the exit status is the command's" "$(status_after sh -c 'echo mine; echo hers >&2; exit 3')" 3
    equals "the command's output is unchanged" "$(cat "$scratch/out")" mine
    matches "the counts are on standard error" "$(cat "$scratch/err")" \
        "^hers.*Counts of 'sh -c echo mine; echo hers >&2; exit 3':.*[0-9] +context_switches .*seconds time elapsed"
    equals "a command that was killed by a signal: exit status" "$(status_after sh -c 'kill -KILL $$')" 137
    equals "a missing command: exit status" "$(status_after "$scratch/nosuch")" 127
    matches "a missing command: the message" \
        "$(cat "$scratch/err")" "perfcountd: $scratch/nosuch: cannot be run: No such file"
    equals "a command that is not executable: exit status" "$(status_after "$scratch/soft.yaml")" 126
    equals "the command inherits the limit of open files" "$(status_after sh -c 'ulimit -n'; cat "$scratch/out")" \
        "0"$'\n'"$(ulimit -n)"
    matches "-a counts the whole machine while the command runs" \
        "$("$PERFCOUNTD" stat -a -e page-faults -- true 2>&1)" "Counts of this machine while 'true' ran:.*CPU 0.* page_faults.* seconds CPU time, [0-9.]+% of CPU 0"
    "$PERFCOUNTD" stat --config.file="$scratch/soft.yaml" --json --output="$scratch/file" -- true 2>"$scratch/err"
    holds "--output has the document" jq -e '.rates | length > 0' "$scratch/file"
    equals "with --output nothing is printed on standard error" "$(cat "$scratch/err")" ""
}

interrupt() {
    local pid status=0
    in_front "$PERFCOUNTD" stat --config.file="$scratch/soft.yaml" -- sleep 100
    eventually 60 sleeps_in
    kill -INT "$pid"
    wait "$pid" || status=$?
    equals "SIGINT ends the command" "$status" 130
    matches "counts until SIGINT are printed" "$(cat "$scratch/err")" 'context_switches.*seconds time elapsed'
    in_front "$PERFCOUNTD" stat --config.file="$scratch/soft.yaml" --interval=1h --count=0
    holds "an interval has started" eventually 60 has_opened
    status=0
    kill -INT "$pid"
    wait "$pid" || status=$?
    equals "SIGINT ends an interval" "$status" 0
    matches "an interval ended by SIGINT is printed" \
        "$(cat "$scratch/out")" 'context_switches.*seconds time elapsed'
}

# The ambient capabilities that a service may have are not passed to the command.
capabilities() {
    local as=(setpriv --reuid=65534 --clear-groups --inh-caps=+sys_admin --ambient-caps=+sys_admin)
    chmod 755 "$scratch"
    if [ "$(id -u)" -ne 0 ] || ! "${as[@]}" test -x "$PERFCOUNTD" 2>/dev/null; then
        left_out "root, and a perfcountd binary that other users may run"
        return
    fi
    matches "perfcountd has an ambient capability" "$("${as[@]}" grep CapAmb /proc/self/status)" '[1-9a-f]'
    equals "the command that perfcountd runs has no capability" \
        "$("${as[@]}" "$PERFCOUNTD" stat --config.file="$scratch/soft.yaml" -- \
        grep -E 'Cap(Prm|Eff|Amb)' /proc/self/status 2>/dev/null | grep -c ' *0000000000000000$\|	0000000000000000$')" 3
}

print_cpus() {
    local cpus
    cpus=$(getconf _NPROCESSORS_ONLN)
    "$PERFCOUNTD" stat --config.file="$scratch/soft.yaml" --per-cpu --interval=50ms >"$scratch/out" 2>"$scratch/err"
    equals "--per-cpu prints a line for each CPU" "$(grep -c '^CPU[0-9]* .* context_switches' "$scratch/out")" "$cpus"
    "$PERFCOUNTD" stat --config.file="$scratch/soft.yaml" --interval=50ms >"$scratch/out" 2>"$scratch/err"
    equals "without --per-cpu there is one line for all CPUs" "$(grep -c 'context_switches' "$scratch/out")" 1
}

# --- recorded history

# past FLAGS...: writes what the daemon has recorded so far to $scratch/past. Sets status.
past() {
    status=0
    "$PERFCOUNTD" stat --last=1h --url="$url" "$@" >"$scratch/past" 2>"$scratch/err" || status=$?
    return "$status"
}

# recorded: prints the recorded minor faults of the machine.
recorded() {
    past || return
    counts_of_stat "$scratch/past" | awk '$1 == "minor_faults" { print $2 }'
}

has_recorded() {
    [ "$(recorded)" -ge "$1" ]
}

print_past() {
    local before faults=20000 status
    { sed 's/minor-faults/&,task-clock/; s/cpu: {/&cpus: 0-4095, /' "$scratch/soft.yaml" && echo 'history: {interval: 1s}'; } \
        >"$scratch/past.yaml"
    start_daemon --config.file="$scratch/past.yaml"
    holds "--last prints what is recorded" eventually 60 past
    before=$(recorded)
    python3 "$here/stat-load.py" 0 "$faults" 0
    holds "the history includes the $faults faults of the load" eventually 60 has_recorded $((before + faults))
    matches "the history is printed like live counts" "$(cat "$scratch/past")" \
        "Counts of the last 1h:.*CPU .*group software:.*[0-9] +context_switches .*msec +task_clock.*seconds time elapsed"
    matches "the history has the CPU time" "$(cat "$scratch/past")" ' seconds CPU time, [0-9.]*[1-9][0-9.]*% of CPU 0'
    matches "the history has findings" "$(cat "$scratch/past")" \
        'What stands out:.*The cpu collector is incomplete.*this machine has only CPU'
    matches "the history says how much of the time is recorded" \
        "$(cat "$scratch/past")" ' of (60 minutes|3600 seconds) are known'
    past --per-cpu
    equals "--per-cpu prints a line for each CPU" "$(grep -c '^CPU[0-9]* .* minor_faults' "$scratch/past")" \
        "$(getconf _NPROCESSORS_ONLN)"
    past --json
    holds "--json prints the document" jq -e '.rows | length > 0' "$scratch/past"
    past --cgroup=/nosuch
    equals "no such cgroup: exit status" "$status" 1
    matches "no such cgroup: the message" "$(cat "$scratch/err")" 'no cgroup is counted that matches /nosuch'
    stop_daemon
    past
    equals "no daemon: exit status" "$status" 1
    matches "no daemon: the message" "$(cat "$scratch/err")" "no daemon answers on $url .*: start it"
    { cat "$scratch/soft.yaml" && echo 'history: {enabled: false}'; } >"$scratch/past.yaml"
    start_daemon --config.file="$scratch/past.yaml"
    past
    equals "a daemon without a history: exit status" "$status" 1
    matches "a daemon without a history: the message" "$(cat "$scratch/err")" 'set history.enabled in the configuration'
    stop_daemon
}

# recorded_in CGROUP: prints the cgroup's minor faults, computed from the printed rate, which has four digits, and the
# time.
recorded_in() {
    past --cgroup="$1" --sort=minor-faults --limit=1 || return
    awk '/^ *[0-9]/ && $NF == cgroup { rate = $1 * ($2 == "k" ? 1e3 : $2 == "M" ? 1e6 : 1) }
        / seconds time elapsed$/ { printf "%.0f\n", rate * $1 }' cgroup="$1" "$scratch/past"
}

has_recorded_in() {
    [ "$(recorded_in "$1")" -ge "$2" ]
}

# shellcheck disable=SC2154 # variables of cgroup-lib.sh
print_past_cgroup() {
    local faults=50000 in=$below/past
    mkdir "$hierarchy$in"
    cgroup_config "$scratch/past.yaml" "include: [\"$in\"]" 'groups: [{name: f, events: minor-faults}]'
    sed -i 's/^history: .*/history: {interval: 1s}/' "$scratch/past.yaml"
    start_daemon --config.file="$scratch/past.yaml"
    holds "--last lists the cgroup" eventually 60 past --cgroup="$in"
    fault "$in" "$faults"
    holds "the cgroup's history includes its load of $faults faults" \
        eventually 60 has_recorded_in "$in" $((faults * 999 / 1000))
    stop_daemon
}

printf 'collectors:\n  self: {enabled: false}\n  pmu: {enabled: false}\n  cgroup: {enabled: false}\n' \
    >"$scratch/soft.yaml"
printf '  cpu: {groups: [{name: software, events: "{context-switches,minor-faults}"}]}\n' >>"$scratch/soft.yaml"

if "$PERFCOUNTD" stat -e task-clock -- true >/dev/null 2>&1; then
    count_alone
    count_alone_with_perf
    count_short
    count_survivor
    count_user_space
else
    left_out "the right to count a command"
fi
if may_count; then
    compare_with_perf
    compare_ipc
else
    left_out "the right to count on CPUs"
fi
if "$PERFCOUNTD" stat --config.file="$scratch/soft.yaml" --interval=50ms >/dev/null 2>&1; then
    run_commands
    interrupt
    capabilities
    print_cpus
    print_past
else
    left_out "the right to count on CPUs"
fi
# cgroup-lib.sh skips the script if it may not create cgroups.
if bash -c '. "$1/lib.sh" && . "$1/cgroup-lib.sh"' bash "$here" >/dev/null 2>&1; then
    # shellcheck source=cgroup-lib.sh
    . "$here/cgroup-lib.sh"
    print_past_cgroup
else
    left_out "the right to make cgroups"
fi
finish
