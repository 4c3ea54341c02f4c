# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests the 32-bit daemon on a 64-bit kernel: with each engine, it counts loops of known length and a known number of
# page faults, for CPUs and cgroups. Source it after board.sh, cgroup.sh and truth.sh.
# shellcheck disable=SC2154 # set there

# of_daemon COMMAND FILE: runs the command on a file in the daemon's /proc directory.
of_daemon() {
    # shellcheck disable=SC2016 # the board expands it
    vm_run "$1"' /proc/$(cat /tmp/daemon.pid)/'"$2"
}

test_armhf() {
    # shellcheck disable=SC2034 # truth.sh uses it
    local engine TRUTH_SCENARIOS='^a task moves itself$'
    known_loops
    equals "the kernel is 64-bit" "$(vm_run uname -m)" aarch64
    contains "the daemon is 32-bit" "$(of_daemon cat maps)" /lib/ld-linux-armhf.so.3
    stat_of_loop
    holds "plan succeeds" vm_run "echo '{}' >/tmp/plan.yaml; perfcountd plan --config.file=/tmp/plan.yaml"
    for engine in perf bpf offsets; do
        cgroup_loops
        [ "$engine" != offsets ] || equals "the daemon sees no BTF" "$(of_daemon ls root/sys/kernel/btf)" ""
        scenarios
    done
    daemon_stop
    cgroup_remove
}
