#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Both engines count the same loads at the same time with the same results: tasks that stay in a cgroup, enter it while
# they run, never switch, are moved, run three levels below it, or run in cgroups that are then removed. Meanwhile no
# total decreases in 10,000 readings.
# set: all
. "$(dirname "$0")/lib.sh"
need curl jq cc chrt /usr/bin/python3
. "$here/cgroup-lib.sh"

readings=10000
lines=("include: [\"$below\", \"$below/**\"]" "linger: 30s"
    'groups: [{name: f, events: "{task-clock,minor-faults,context-switches}"}]')
declare -A urls pids
for engine in perf bpf; do
    cgroup_config "$scratch/$engine.yaml" "${lines[@]}"
    start_daemon --config.file="$scratch/$engine.yaml"
    urls[$engine]=$url pids[$engine]=$daemon_pid
    equals "one daemon uses the engine $engine" "$(get /api/v1/cgroups | jq -r .engine)" "$engine"
done
/usr/bin/python3 "$here/cgroup-engines.py" --perf "${urls[perf]}" --bpf "${urls[bpf]}" --hierarchy "$hierarchy" \
    --below "$below" --load "$load" --readings $readings >"$scratch/figures" || fail "cgroup-engines.py succeeds"
# of FILTER: applies this jq filter to the figures.
of() {
    jq -r "$1" "$scratch/figures"
}

# agree LOAD CGROUP PERCENT [EVENT...]: checks that the totals of both engines agree within PERCENT, for each event or
# for those named. On some virtual machines the kernel hides switches, and the engine bpf reports for how long it did
# not know the cgroup; this bounds what it missed, since a fault takes at least 1 us and a switch 10 us. The engines
# also attribute the time of a switch differently, and the time of entering a cgroup, about 24 us (doc/cgroups.md).
agree() {
    local event perf bpf unknown switches entries allowed
    while read -r event perf bpf unknown switches entries; do
        case $event in
        task_clock) allowed="$unknown + 3e-6 * $switches + 24e-6 * $entries" ;;
        minor_faults) allowed="2 + $unknown * 1e6" ;;
        context_switches) allowed="2 + $unknown * 1e5" ;;
        esac
        [[ $# -eq 3 || " ${*:4} " == *" $event "* ]] || continue
        compares "$1: $event of $2 agree within $3 % plus the unknown time" \
            "$perf > 0 && $bpf - $perf <= $perf * $3 / 100 + $allowed && $perf - $bpf <= $perf * $3 / 100 + $allowed"
    done < <(of ".$1 | .unknown as \$unknown | (.entries // 0) as \$entries | [.rows[] | select(.cgroup == \"$2\")] |
        (.[] | select(.event == \"context_switches\") | .perf) as \$switches | .[] |
        \"\(.event) \(.perf) \(.bpf) \(\$unknown) \(\$switches) \(\$entries)\"")
}
# clock LOAD CGROUP ENGINE: prints the task clock in seconds.
clock() {
    of ".$1.rows[] | select(.cgroup == \"$2\" and .event == \"task_clock\") | .$3"
}

agree inside inside 0.1
agree inside one/two/three 0.1
for outer in one one/two; do
    equals "nested: $outer has the counts of its child" \
        "$(of "[.inside.rows[] | select(.cgroup == \"$outer\") | .bpf]")" \
        "$(of '[.inside.rows[] | select(.cgroup == "one/two/three") | .bpf]')"
done
agree entering entering 0.5

equals "the totals of a task that nothing interrupts were read ten times" "$(of '.staying.readings | length')" 10
# perf is read between two readings of bpf.
# shellcheck disable=SC2016 # jq expands it
equals "never switching: bpf always agrees with perf" "$(of '.staying | (.unknown + 0.001) as $error |
    [.readings[] | select(.[0] > .[1] * 1.001 + $error or .[1] > .[2] * 1.001 + $error)] | length')" 0
compares "never switching: the total increases meanwhile" "$(of '.staying.readings | .[-1][0] - .[0][0]') > 0.1"

compares "a task was moved while it ran, $(of .moving.moves) times" "$(of .moving.moves) > 2"
agree moving moving 0.1
# With bpf, a moved task is attributed to its old cgroup until its CPU switches or until the next reading, and this test
# does not bound that time. If the task sleeps after each millisecond, at most a millisecond and its faults are
# attributed to the old cgroup.
agree dozing dozing 0.1
allowed=$(of '.dozing | (.moves / 2 + 1) * 0.0015 + .unknown')
for one in dozing/a dozing/b; do
    compares "moved $(of .dozing.moves) times: $one agrees within 1.5 ms per move out of it" \
        "$(clock dozing $one bpf) - $(clock dozing $one perf) < $allowed &&
        $(clock dozing $one perf) - $(clock dozing $one bpf) < $allowed"
done
agree going going 0.5 minor_faults context_switches
compares "the parent's total includes the load of its removed children" \
    "$(of '.going.rows[] | select(.event == "minor_faults") | .bpf') >= $(of '.going | .faults - .unknown * 1e6')"

for engine in perf bpf; do
    compares "$engine was read $(of ".watched.$engine.readings") times meanwhile" \
        "$(of ".watched.$engine.readings") >= $readings"
    equals "$engine: no reading failed" "$(of ".watched.$engine.failure")" null
    equals "$engine: no total decreased, and no cgroup had less than its children" \
        "$(of ".watched.$engine | \"\(.fell) \(.less_than_inside) \(.complaints)\"")" "0 0 []"
done
for engine in perf bpf; do
    daemon_pid=${pids[$engine]}
    stop_daemon
    equals "the daemon with the engine $engine exits cleanly" "$daemon_status" 0
done
finish
