#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Counts cgroups of a v1 perf_event hierarchy on the real kernel, with both engines.
# set: all
# engines: perf bpf
# alone: while the controller is in v1, no cgroup of v2 is counted
# shellcheck disable=SC2086 # the paths of the test's own cgroups have no blanks
. "$(dirname "$0")/lib.sh"
need curl jq cc unshare nsenter
# shellcheck source=cgroup-lib.sh
. "$here/cgroup-lib.sh"

config=$scratch/cgroup.yaml

v1_hierarchy() {
    awk '$1 == "perf_event" { print $2 }' /proc/cgroups
}
v1_is_gone() {
    [ "$(v1_hierarchy)" = 0 ]
}
# restore_v1: moves the perf_event controller back to v2. It stays in v1 if the v1 hierarchy was unmounted while one of
# its cgroups was still dying, so the hierarchy is mounted again to remove that cgroup.
restore_v1() {
    local attempt where
    where=$(mktemp -d "${TMPDIR:-/tmp}/perfcountd-v1.XXXXXX")
    for attempt in {1..9}; do
        v1_is_gone && break
        # shellcheck disable=SC2016 # the inner shell expands $1
        unshare --mount --propagation private sh -c 'mount -t cgroup -o perf_event none "$1" &&
            find "$1" -mindepth 1 -depth -type d -path "*perfcountd-test*" -delete; umount "$1"' x "$where"
        sleep "0.$attempt" # until the kernel has freed the dying cgroup
    done
    rmdir "$where"
    v1_is_gone || echo "the perf_event controller is still in a v1 hierarchy" >&2
}

is_mounted_or_ended() {
    grep -q "$v1" "/proc/$keeper/mountinfo" || ! running "$keeper"
}

test_v1() {
    local tree keeper v1
    if ! v1_is_gone; then
        left_out "a perf_event controller outside of cgroup v1"
        return
    fi
    at_end+=(restore_v1)
    v1=$scratch/v1
    mkdir "$v1"
    chmod 711 "$scratch" # started by root, the daemon changes to another user
    # The keeper process keeps the v1 hierarchy mounted while daemons start and stop.
    unshare --mount --propagation private sh -c "mount -t cgroup -o perf_event none '$v1' && exec sleep 300" \
        2>"$scratch/mount" &
    keeper=$!
    children+=("$keeper")
    eventually 60 is_mounted_or_ended
    if ! running "$keeper"; then
        left_out "a cgroup v1 hierarchy that can be mounted"
        return
    fi
    tree=/proc/$keeper/root$v1
    mkdir "$tree$below" "$tree$below/a"
    cgroup_config "$config" "include: [\"$below/*\"]" "linger: 30s" "$faults_group"
    wrapper=(nsenter --mount="/proc/$keeper/ns/mnt")
    if [ "$engine" = bpf ]; then
        start_daemon --config.file="$config"
        matches "the engine bpf counts nothing in v1, and the status says why" \
            "$(get /api/v1/status | jq -r '.collectors[].error')" 'v1'
        contains "plan says why the engine bpf counts nothing in v1" \
            "$(nsenter --mount="/proc/$keeper/ns/mnt" "$PERFCOUNTD" plan --config.file="$config" 2>&1)" \
            "collector cgroup: collectors.cgroup.engine is bpf"
        equals "the collector failed" "$(sum_of 'perfcountd_collector_success{collector="cgroup"}')" 0
        end_daemon
        engine=auto cgroup_config "$config" "include: [\"$below/*\"]" "linger: 30s" "$faults_group"
    fi
    start_daemon --config.file="$config"
    wrapper=()
    [ "$engine" != bpf ] || matches "auto chooses perf, and says why" \
        "$(get /api/v1/status | jq -r '.cgroups | .engine + ": " + .engine_reason')" '^perf: .*v1'
    "$load" "$tree$below/a" faults 400
    caused "a v1 perf_event hierarchy is found and counted" "$(count $below/a)" 400
    mkdir "$tree$below/b"
    eventually 60 has_cgroup $below/b
    "$load" "$tree$below/b" faults 300
    eventually 60 rmdir "$tree$below/b"
    caused "a cgroup that is created and removed in v1 is counted" "$(count $below/b)" 300
    mv "$tree$below/a" "$tree$below/c"
    eventually 60 has_cgroup $below/c
    "$load" "$tree$below/c" faults 200
    caused "a renamed cgroup is counted under its new name" "$(count $below/c)" 200
    equals "the old name of a renamed cgroup lingers" "$(state_of $below/a)" lingering
    mkdir "$tree$below/c/d"
    mv "$tree$below/c" "$tree$below/a"
    holds "a cgroup that is renamed back is watched" eventually 60 is_in_state $below/a watched
    caused "a cgroup that is renamed back keeps its total" "$(count $below/a)" 400
    matches "/api/v1/cgroups names the hierarchy" "$(get /api/v1/cgroups)" "$v1"
    end_daemon
    remove_cgroups "$tree$below"
    kill "$keeper"
    wait "$keeper" 2>/dev/null
    restore_v1
    holds "the controller is back in v2" v1_is_gone
}

with_engines v1
finish
