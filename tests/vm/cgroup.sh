# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Checks the cycles and instructions of cgroups that run known loops, with each engine: on both kinds of core, with two
# cgroups on one CPU, in three nested cgroups, with more groups than counters, and while a CPU is hotplugged. Source it
# after board.sh, discovery.sh, hotplug.sh and truth.sh.
# shellcheck disable=SC2154 # set there

little=armv8_cortex_a55
big=armv8_cortex_a76

# cgroup_make NAME...: removes all cgroups and creates these below the root, so that their totals start from 0.
cgroup_make() {
    cgroup_remove
    vm_run "cd /sys/fs/cgroup || exit
        [ -e cgroup.procs ] || mount -t cgroup2 cgroup2 /sys/fs/cgroup && cd /sys/fs/cgroup || exit
        echo +pids >cgroup.subtree_control || exit
        mkdir $*" || die "the board cannot create cgroups"
}

cgroup_remove() {
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'cd /sys/fs/cgroup || exit
        for name in *.slice; do
            [ ! -d $name ] || find $name -depth -type d -exec rmdir {} + || exit
        done' || die "the board cannot remove its cgroups"
}

# cgroup_command CPU CGROUP COMMAND...: prints a command for the board's shell. The task enters its cgroup on the CPU on
# which it stays.
cgroup_command() {
    printf "taskset -c %s sh -c 'echo \$\$ >/sys/fs/cgroup/%s/cgroup.procs; exec %s'" "$1" "$2" "${*:3}"
}

# cgroup_spin CPU CGROUP MILLIONS [MODE]: runs spin in the cgroup.
cgroup_spin() {
    vm_run "$(cgroup_command "$1" "$2" "spin $1 ${4-} $3")"
}

# engine_start: like daemon_start, for $engine: perf, bpf, or offsets, which is bpf on a kernel that seems to have no
# BTF.
engine_start() {
    if [ "$engine" = offsets ]; then daemon_start by-offsets; else daemon_start; fi
}

# cgroup_daemon EVENTS...: starts a daemon with one group for each argument (g1, g2, ...), counted by $engine.
cgroup_daemon() {
    local i=0 events
    {
        printf '%s\n' 'web: {min_interval: 0s}' 'collectors:' '  cpu: {enabled: false}' '  cgroup:' \
            "    engine: ${engine/offsets/bpf}" '    include: ["/*.slice", "/*.slice/**"]' '    groups:'
        for events in "$@"; do
            printf '      - {name: g%s, events: "%s"}\n' $((i += 1)) "$events"
        done
    } | engine_start
}

# counters CGROUP PMU [EVENT]: prints the counters of all groups as JSON.
counters() {
    get "/api/v1/counters?collector=cgroup${3:+&event=$3}" -f |
        jq -c "[.counters[] | select(.cgroup == \"/$1\" and .pmu == \"$2\")]"
}

# counted CGROUP PMU EVENT: prints the total of the first group with this event.
counted() {
    counters "$@" | jq -e '.[0].value'
}

cgroup_loops() {
    cgroup_make a.slice b.slice
    cgroup_daemon "{cycles:u,instructions:u}"
    equals "the engine $engine counts cgroups" "$(get /api/v1/status | jq -c .cgroups.engine,.cgroups.engine_reason |
        xargs)" "${engine/offsets/bpf} null"
    cgroup_spin 1 a.slice 200
    cgroup_spin 3 a.slice 100
    cgroup_spin 3 b.slice 200
    # With -icount shift=1, an instruction takes two nanoseconds and a cycle takes one.
    while read -r cgroup pmu millions; do
        within "$cgroup on $pmu: $millions million instructions, within 1 %" \
            "$(counted "$cgroup" "$pmu" instructions_user)" "${millions}000000" 100
        within "$cgroup on $pmu: twice as many cycles, within 1 %" \
            "$(counted "$cgroup" "$pmu" cycles_user)" "$((2 * millions))000000" 100
    done <<<"a.slice $little 200
a.slice $big 100
b.slice $big 200"
    equals "a cgroup that never ran on a CPU has no counts there" "$(counted b.slice $little cycles_user)" 0
}

# Two tasks in two cgroups switch all the time, while PMU events are counted, too. Their context switches are compared
# with the kernel's.
cgroup_switches() {
    # shellcheck disable=SC2016 # the board expands it
    local switches='awk "\$1 == \"ctxt\" { print \$2 }" /proc/stat' before after
    cgroup_make a.slice b.slice
    cgroup_daemon "{cycles}" "{context-switches,minor-faults}"
    before=$(vm_run "$switches")
    vm_run "board-switches 500 3 /sys/fs/cgroup/a.slice /sys/fs/cgroup/b.slice" >/dev/null
    after=$(vm_run "$switches")
    within "with $engine, the context switches of both cgroups add up to the kernel's, within 3 %" \
        "$(($(counted a.slice software context_switches) + $(counted b.slice software context_switches)))" \
        "$((after - before))" 33
}

# share CGROUP MILLIONS: checks one of two cgroups that shared a CPU. Its instructions are known, and the kernel
# accounts its CPU time. Sets ipc, in thousandths.
share() {
    local cycles instructions us
    cycles=$(counted "$1.slice" $big cycles)
    instructions=$(counted "$1.slice" $big instructions_user)
    us=$(vm_run "sed -n 's/^usage_usec //p' /sys/fs/cgroup/$1.slice/cpu.stat")
    within "on one CPU, $1: $2 million instructions, within 1 %" "$instructions" "${2}000000" 100
    within "on one CPU, $1: as many cycles as nanoseconds of CPU time, within 1 %" "$cycles" "${us}000" 100
    ipc=$((${instructions:-0} * 1000 / ${cycles:-1}))
}

# Two cgroups share CPU 3. One spends a third of its cycles in the kernel, so it has fewer user-space instructions per
# cycle.
cgroup_share() {
    local ipc
    cgroup_make plain.slice mixed.slice
    cgroup_daemon "{cycles,instructions:u}"
    vm_run "$(cgroup_command 3 plain.slice spin 3 200) & $(cgroup_command 3 mixed.slice spin 3 mixed 100) & wait"
    share plain 200
    within "on one CPU, plain: 0.5 instructions per cycle, within 2 %" "$ipc" 500 50
    share mixed 100
    compares "on one CPU, mixed: 200 to 400 instructions per 1000 cycles" "$ipc > 200 && $ipc < 400"
}

# Five groups need ten counters, and there are six: three groups run at a time.
cgroup_multiplexed() {
    local rows pmu
    cgroup_make a.slice
    cgroup_daemon "{r08:u,r11:u}" "{r08:u,r11:u}" "{r08:u,r11:u}" "{r08:u,r11:u}" "{r08:u,r11:u}"
    cgroup_spin 1 a.slice 500
    cgroup_spin 3 a.slice 500
    for pmu in $little $big; do
        rows=$(counters a.slice "$pmu" r08_user)
        equals "multiplexed on $pmu: each of five groups ran part of the time" \
            "$(jq '[.[] | select(.state == "multiplexed" and .running_ns > 0.3 * .enabled_ns and
                .running_ns < 0.9 * .enabled_ns)] | length' <<<"$rows")" 5
        equals "multiplexed on $pmu: each total is 500 million instructions, within 2 %" \
            "$(jq -c '[.[].value | select(. < 490e6 or . > 510e6)]' <<<"$rows")" "[]"
        holds "multiplexed on $pmu: each raw count is only part of that" \
            jq -e 'all(.[]; .raw > 150e6 and .raw < 450e6)' <<<"$rows"
    done
}

# cgroup_own_daemon: like cgroup_daemon, but the daemon is in the counted cgroup daemon.slice, and CPU 3 is counted as
# well.
cgroup_own_daemon() {
    # shellcheck disable=SC2016 # the board expands it
    daemon_start 'sh -c '\''echo $$ >/sys/fs/cgroup/daemon.slice/cgroup.procs; exec "$@"'\'' sh' <<END
web: {min_interval: 0s}
collectors:
  cpu: {cpus: "3", groups: [{name: g1, events: "{cycles,instructions:u}"}]}
  cgroup:
    engine: $engine
    include: ["/*.slice"]
    groups: [{name: g1, events: "{cycles,instructions:u}"}, {name: g2, events: "{task-clock,context-switches}"}]
END
}

# ran CPU-OR-CGROUP: prints the instructions of CPU 3, or of a cgroup on the PMU of CPU 3, from one reading.
ran() {
    jq "[.counters[] | select(.pmu == \"$big\" and .event == \"instructions_user\" and
        (.cgroup // .cpu | tostring) == \"$1\") | .value] | add // 0" <<<"$reading"
}

# grows WHEN: checks that between two readings the loop's cgroup gains the instructions of CPU 3, and that the daemon's
# cgroup, which never runs on that CPU, has none.
grows() {
    local reading cpu cgroup
    reading=$(get /api/v1/counters -f)
    cpu=$(ran 3) cgroup=$(ran /load.slice)
    vm_run 'usleep 50000'
    reading=$(get /api/v1/counters -f)
    cpu=$(($(ran 3) - cpu)) cgroup=$(($(ran /load.slice) - cgroup))
    compares "running, $1: the loop's cgroup has the instructions of its CPU" \
        "$cpu > 1e6 && $cgroup > 0.9 * $cpu && $cgroup < 1.1 * $cpu"
    equals "running, $1: the daemon's cgroup has none of them" "$(ran /daemon.slice)" 0
}

# A loop is the only task on CPU 3, and already runs when the daemon opens its counters there: at the start, and after
# CPU 3 is online again. The daemon's cgroup is opened before that of the loop.
cgroup_running() {
    cgroup_make daemon.slice load.slice
    vm_run "$(cgroup_command 3 load.slice spin 3 yield 36000) >/dev/null 2>&1 & echo \$! >/tmp/load.pid
        until grep -q '^State:.R' /proc/\$!/status && grep -q ^Name:.spin /proc/\$!/status; do usleep 50000; done"
    cgroup_own_daemon
    grows "at the start"
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'kill -STOP $(cat /tmp/load.pid)'
    holds "running: CPU 3 is taken offline" switch_cpu 3 0
    holds "running: the series of CPU 3 disappear" eventually 60 not is_served 3
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'kill -STOP $(cat /tmp/daemon.pid); echo 1 >/sys/devices/system/cpu/cpu3/online
        taskset -p 8 $(cat /tmp/load.pid) && kill -CONT $(cat /tmp/load.pid); usleep 50000
        kill -CONT $(cat /tmp/daemon.pid)' >/dev/null
    holds "running: CPU 3 is online again" eventually 60 is_served 3
    grows "when its CPU is back"
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'kill -9 $(cat /tmp/load.pid); while grep -q . /sys/fs/cgroup/load.slice/cgroup.procs; do sleep 0.1; done'
    daemon_stop # the daemon is in a cgroup that is removed next
}

# The loops run on CPU 3, on CPU 2 while CPU 3 is offline, and on CPU 3 again. Nothing is read meanwhile, since QEMU's
# counters include the instructions of all CPUs; hotplug.sh reads continuously.
cgroup_hotplug() {
    local open
    cgroup_make a.slice
    cgroup_daemon "{cycles:u,instructions:u}"
    open=$(descriptors)
    cgroup_spin 3 a.slice 100
    within "cgroups: 100 million instructions on CPU 3" "$(counted a.slice $big instructions_user)" 100000000 100
    holds "cgroups: CPU 3 is taken offline" switch_cpu 3 0
    holds "cgroups: the descriptors of CPU 3 are closed" eventually 60 shows $((open - 2)) descriptors
    cgroup_spin 2 a.slice 100
    within "cgroups: the count of CPU 3 is kept, and CPU 2 adds 100 million" \
        "$(counted a.slice $big instructions_user)" 200000000 100
    holds "cgroups: CPU 3 is online again" switch_cpu 3 1
    holds "cgroups: the descriptors of CPU 3 are open again" eventually 60 shows "$open" descriptors
    cgroup_spin 3 a.slice 100
    within "cgroups: CPU 3 adds 100 million" "$(counted a.slice $big instructions_user)" 300000000 100
    within "cgroups: twice as many cycles as instructions" "$(counted a.slice $big cycles_user)" 600000000 100
}

# Three levels with a loop in each; when one level is removed, its parents keep its counts.
cgroup_nested() {
    cgroup_make a.slice a.slice/b a.slice/b/c
    cgroup_daemon "{cycles:u,instructions:u}"
    cgroup_spin 3 a.slice 100
    cgroup_spin 3 a.slice/b 100
    cgroup_spin 3 a.slice/b/c 200
    within "nested: the innermost cgroup has its 200 million instructions, within 1 %" \
        "$(counted a.slice/b/c $big instructions_user)" 200000000 100
    within "nested: its parent has 100 million more" "$(counted a.slice/b $big instructions_user)" 300000000 100
    vm_run 'rmdir /sys/fs/cgroup/a.slice/b/c'
    within "nested: the outermost cgroup has all instructions, even after one cgroup is removed" \
        "$(counted a.slice $big instructions_user)" \
        400000000 100
    compares "nested: the parent has at least as many cycles as its child" \
        "$(counted a.slice $big cycles_user) >= $(counted a.slice/b $big cycles_user)"
}

# The shell moves a loop that has CPU 3 to itself. The test proves little if CPU 3 switches tasks before the next
# reading.
cgroup_moved() {
    local before
    cgroup_make a.slice b.slice
    cgroup_daemon "{cycles:u,instructions:u}"
    vm_run "$(cgroup_command 3 a.slice spin 3 1000000) >/dev/null 2>&1 & echo \$! >/tmp/loop.pid"
    holds "moved: the loop runs" eventually 60 has_counted a.slice 1
    holds "moved: the shell moves the loop" vm_run "cat /tmp/loop.pid >/sys/fs/cgroup/b.slice/cgroup.procs"
    before=$(counted a.slice $big instructions_user)
    holds "moved: the loop is attributed to the new cgroup" eventually 60 has_counted b.slice 500
    equals "moved: after the first reading, nothing is attributed to the old cgroup" \
        "$(counted a.slice $big instructions_user)" "$before"
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'kill $(cat /tmp/loop.pid)'
    holds "moved: the loop ends" eventually 60 has_ended /tmp/loop.pid
}

# has_counted CGROUP MILLIONS: succeeds if the cgroup has at least that many million instructions.
has_counted() {
    [ "$(counted "$1" $big instructions_user)" -ge "${2}000000" ]
}

# test_cgroup KERNEL: runs all parts with one engine and the first ones with the other; with CGROUP_PARTS=all, all parts
# with both.
test_cgroup() {
    local engine part parts=(loops nested running moved share multiplexed hotplug) first=perf second=bpf
    [ "$1" != 6.1 ] || first=bpf second=perf
    for engine in $first $second; do
        [ "$engine" = $first ] || [ "${CGROUP_PARTS-}" = all ] || parts=(loops nested running moved)
        [ "$engine" = bpf ] || parts+=(switches) # with bpf, cgroups have no software events of their own
        for part in "${parts[@]}"; do
            "cgroup_$part"
        done
    done
    daemon_stop
    cgroup_remove
}
