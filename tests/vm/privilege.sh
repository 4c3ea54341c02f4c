# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
test_privilege() {
    local cap
    for p in 3 2 1 0 -1; do
        vm_run "echo $p > /proc/sys/kernel/perf_event_paranoid"
        for cap in none perfmon sys_admin; do
        echo "$p $cap"
        vm_run "echo 'collectors: {cpu: {groups: [{name: core, events: \"{cycles,instructions}\"},{name: user, events: \"cycles:u\"},{name: software, events: \"context-switches\"},{name: trace, events: \"sched:sched_switch\"}]}}' > /tmp/priv.yaml; drop $cap perfcountd plan --json --config.file=/tmp/priv.yaml" | jq -c '{g:[.groups[]|[.group,.cpus]],m:.missing}'
        done
    done
}
