# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Samples off-CPU time on the board: the recording has the same shares as the program's own measurement of where it
# waits and for how long. The kernel code in which tasks resume is not part of the stacks.
#
# Source it after board.sh.
# shellcheck disable=SC2154 # set there

test_off_cpu() {
    local line
    vm_run 'perfcountd record --event=off-cpu --threshold=0.1ms -o /tmp/waits.folded -- waits 6 >/tmp/waits.out 2>/tmp/waits.err'
    vm_run 'cat /tmp/waits.out' >"$scratch/waits.out"
    vm_run 'cat /tmp/waits.folded' >"$scratch/waits.folded"
    vm_run 'cat /tmp/waits.err'
    sed -nE 's/^([a-z]+);waits;.*;([a-z]+_part)[; ].* ([0-9]+)$/\3 \2 \1/p' "$scratch/waits.folded" >"$scratch/parts"
    while read -r line; do
        matches "off-CPU: $line" "$line" '^ok: '
    done < <(awk -v title=waits -f "$root/tests/e2e/waits.awk" "$scratch/waits.out" "$scratch/parts")
    equals "off-CPU: three functions wait" \
        "$(cut -d ' ' -f 2 "$scratch/parts" | sort -u | xargs)" "lock_part run_part sleep_part"
    equals "off-CPU: tasks that share a CPU are runnable" \
        "$(awk '$2 == "run_part" { print $3 }' "$scratch/parts" | sort -u)" runnable
    matches "off-CPU: the kernel functions that wait are in the stacks" \
        "$(grep ';sleep_part;' "$scratch/waits.folded")" \
        ';schedule_\[k\];__schedule_\[k\] '
    lacks "off-CPU: no function of an interrupt is in the stacks" \
        'gic_|ipi_|irq_work|finish_task_switch' "$scratch/waits.folded"
    vm_run 'rm -f /tmp/waits.*'
}

# off_cpu_waits_on_3: starts the program, most of whose threads may run only on CPU 3, and prints its process id.
off_cpu_waits_on_3() {
    vm_run 'taskset -c 3 waits 2 | sed -n "s/^pid //p"'
}

# A daemon's stream continues when a CPU goes offline and comes back.
test_off_cpu_hotplug() {
    local fetch before after pid
    daemon_start <<'END'
collectors: {cgroup: {enabled: false}}
sampler: {enabled: true, allow: everybody}
END
    get "/api/v1/samples?event=off-cpu&threshold=0.1ms" -f -N >"$scratch/off-cpu" &
    fetch=$!
    holds "off-CPU: a stream begins" eventually 60 grep -q '"type":"header"' "$scratch/off-cpu"
    before=$(off_cpu_waits_on_3)
    holds "off-CPU: CPU 3 is taken offline" switch_cpu 3 0
    holds "off-CPU: CPU 3 is online again" switch_cpu 3 1
    after=$(off_cpu_waits_on_3)
    daemon_stop
    wait $fetch
    for pid in $before $after; do
        compares "off-CPU: waits on CPU 3 are sampled" \
            "$(jq -c "select(.type == \"sample\" and .pid == $pid and .cpu == 3) | 1" \
            "$scratch/off-cpu" | wc -l) > 50"
    done
    equals "off-CPU: the stream continues until the daemon exits, and nothing was lost" \
        "$(tail -n 1 "$scratch/off-cpu" | jq -r '"\(.type) \(.reason) \(.lost) \(.dropped) \(.malformed)"')" \
        "end shutdown 0 0 0"
}
