# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests the derived metrics of a loop on CPU 3, a Cortex-A76, whose PMU lists the stall events. Source it after
# board.sh, cgroup.sh and truth.sh.
# shellcheck disable=SC2154 # set there

# metrics_daemon GROUPS: starts a daemon with these groups on CPU 3, and one group of a cgroup.
metrics_daemon() {
    daemon_start <<END
web: {min_interval: 0s}
collectors:
  cpu:
    cpus: "3"
    groups: [$1]
  cgroup:
    include: ["/*.slice"]
    groups: [{name: clock, events: "{task-clock,cycles}"}]
END
}

# metric GROUP NAME: prints the metric of CPU 3 or of the cgroup that runs on it, times a million; -1 if it is absent.
metric() {
    jq --arg group "$1" --arg name "$2" "[.rates[] | select(.group == \$group and .pmu == \"$big\") | .ratios[\$name]] |
        if length == 1 and .[0] != null then .[0] * 1000000 | round else -1 end" <<<"$rates"
}

# metrics GROUP: prints which metrics the group has, and which of them are 0.
metrics() {
    jq -c --arg group "$1" '.rates[] | select(.group == $group) | .ratios | map_values(. == 0)' <<<"$rates"
}

# With -icount shift=1, an instruction takes two nanoseconds and a cycle takes one, so every instruction takes two
# cycles. The groups fit into the seven counters, so nothing is multiplexed.
loop_metrics() {
    local rates
    cgroup_make a.slice
    metrics_daemon '{name: user, events: "{cycles:u,instructions:u}"},
        {name: stalls, events: "{cycles,instructions,stall_frontend,stall_backend,l2d_cache_refill}"}'
    vm_run "($(cgroup_command 3 a.slice spin 3 steady 60)) >/dev/null 2>&1 & sleep 0.4"
    # QEMU runs other CPUs in the 40 ms between reading busy time and reading cycles, so the rates cover ten seconds.
    rates=$(get '/api/v1/rates?seconds=10' -f)
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'kill $(cat /sys/fs/cgroup/a.slice/cgroup.procs)'
    within "ipc of a loop is 0.5, within 1 %" "$(metric stalls ipc)" 500000 100
    within "ipc_user is 0.5, within 1 %" "$(metric user ipc_user)" 500000 100
    within "frequency_hertz of the loop's cgroup is 1 GHz, within 1 %" \
        "$(metric clock frequency_hertz)" 1000000000000000 100
    within "cpu_frequency_hertz is 1 GHz, since the loop leaves no idle time" \
        "$(metric stalls cpu_frequency_hertz)" 1000000000000000 100
    equals "stall ratios of the listed events are 0, and metrics of other events are absent" \
        "$(metrics stalls)" '{"ipc":false,"frontend_stall_ratio":true,"backend_stall_ratio":true,"cpu_frequency_hertz":false,"running_ratio":false,"cpu_utilization":false}'
    equals "nothing is multiplexed" "$(jq -c '[.rates[].ratios.running_ratio | values] | unique' <<<"$rates")" "[1]"
    contains "an event that the CPU does not implement is reported" "$(get /metrics | grep events_unavailable)" \
        "group=\"stalls\",event=\"l2d_cache_refill\",pmu=\"$big\",reason=\"ENOENT\"} 1"
}

# Tests the derived metrics of an idle CPU, which executes only kernel code.
idle_metrics() {
    local rates
    metrics_daemon '{name: kernel, events: "{cycles,instructions,cycles:k,instructions:k}"},
        {name: generic, events: "{cycles,stalled-cycles-frontend,stalled-cycles-backend}"}'
    rates=$(get '/api/v1/rates?seconds=0.2' -f)
    within "ipc_kernel of an idle CPU equals its ipc, within 1 %" \
        "$(metric kernel ipc_kernel)" "$(metric kernel ipc)" 100
    equals "stall ratios also use the kernel's generic events" \
        "$(metrics generic | jq -c 'del(.cpu_frequency_hertz, .cpu_utilization)')" \
        '{"frontend_stall_ratio":true,"backend_stall_ratio":true,"running_ratio":false}'
    daemon_stop
}

test_metrics() {
    loop_metrics
    idle_metrics
    cgroup_remove
}
