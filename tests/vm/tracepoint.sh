# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# If tracefs is not mounted, the daemon mounts it, and counts a known number of system calls; if it may not mount it, it
# says what to do. Source it after board.sh, hotplug.sh and cgroup.sh.
# shellcheck disable=SC2154 # set there

tracefs_mounts() {
    vm_run "sed -n 's/^tracefs \([^ ]* [^ ]* [^ ]*\).*/\1/p' /proc/mounts"
}

tracefs_unmount() {
    daemon_stop
    vm_run 'while umount /sys/kernel/tracing 2>/dev/null; do :; done'
    equals "tracefs is not mounted" "$(tracefs_mounts)" ""
}

tracepoint_config='collectors:
  cpu: {groups: [{name: calls, events: "syscalls:sys_enter_getppid"}]}
  cgroup: {include: ["/*.slice"], groups: [{name: calls, events: "syscalls:sys_enter_getppid"}]}'

test_tracepoint() {
    cgroup_make a.slice
    tracefs_unmount
    daemon_start drop none <<<"$tracepoint_config"
    contains "tracefs: a daemon that may not mount tracefs says what to do" \
        "$(get /api/v1/status -f | jq -r '.failures[].message')" \
        "tracepoints need tracefs, which is not mounted: sudo mount -t tracefs"
    equals "tracefs: a daemon that may not mount tracefs does not mount it" "$(tracefs_mounts)" ""
    daemon_start <<<"$tracepoint_config"
    matches "tracefs: the daemon mounts tracefs with noexec" "$(tracefs_mounts)" \
        '^/sys/kernel/tracing tracefs rw,nosuid,nodev,noexec'
    vm_run "spin 3 calls 1000"
    equals "a tracepoint counts 1000 system calls on CPU 3" "$(get /metrics -f |
        sed -n 's/^perf_cpu_syscalls_sys_enter_getppid_total{cpu="3",.*} //p')" 1000
    vm_run "$(cgroup_command 3 a.slice spin 3 calls 2000)"
    equals "a tracepoint counts 2000 system calls of a cgroup" "$(get /metrics -f |
        sed -n 's/^perf_cgroup_syscalls_sys_enter_getppid_total{cgroup="\/a.slice",.*} //p')" 2000
    daemon_stop
    cgroup_remove
}
