# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Checks that the board's kernel accepts the BPF program that counts cgroups, with the fewest events, the most events
# and the default events, and that a task 20 levels below a cgroup is counted. Source it after board.sh and cgroup.sh.
# shellcheck disable=SC2154 # set there

# bpf_daemon TITLE GROUPS...: starts a daemon with these groups, or with the default events, and checks it.
bpf_daemon() {
    local i=0 events title=$1
    {
        printf '%s\n' 'web: {min_interval: 0s}' 'collectors:' '  cgroup:' '    engine: bpf' '    include: ["/*.slice"]'
        [ $# -eq 1 ] || echo '    groups:'
        for events in "${@:2}"; do
            printf '      - {name: g%s, events: "%s"}\n' $((i += 1)) "$events"
        done
    } | daemon_start
    equals "the kernel accepts the program with $title" \
        "$(get /api/v1/status -f | jq -r '.collectors[] | select(.name == "cgroup") | "\(.success) \(.error)"') $(
            get /api/v1/status -f | jq -r .cgroups.engine)" "true  bpf"
    cgroup_spin 1 "$deep" 10
    compares "with $title, a task 20 levels below the cgroup is counted" \
        "$(get '/api/v1/counters?collector=cgroup&cgroup=/a.slice' -f |
        jq '[.counters[].value] | add // 0') > 0"
}

test_bpf() {
    local software='{context-switches,minor-faults,major-faults}' deep
    deep=a.slice$(printf '/d%.0s' {1..20})
    cgroup_make -p "$deep" b.slice
    bpf_daemon "one event" minor-faults
    bpf_daemon "24 events in 8 groups" "$software" "$software" "$software" "$software" "$software" "$software" \
        "$software" "$software"
    bpf_daemon "the default events"
    vm_run "$(cgroup_command 1 a.slice "spin 1 30") & $(cgroup_command 1 b.slice "spin 1 30"); wait"
    get /metrics -f >/dev/null
    compares "less than 0.1 ms per second is attributed to no cgroup" "$(get /api/v1/status -f |
        jq 'if .cgroups.unknown_seconds < 1e-4 * (.timestamp - .start_time) then 1 else .cgroups.unknown_seconds end') == 1"
    daemon_stop
    cgroup_remove
}
