#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Short jobs, each in a cgroup of its own that lives for 120 ms: no page fault of theirs is missing, with each engine, but
# for those of the time that the engine bpf says it could not attribute.
#
# usage: jobs.sh [JOBS]      100 by default; ENGINE=perf or bpf is that engine alone
# shellcheck source=../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
here=$root/tests/e2e
need curl jq cc
# shellcheck source=../e2e/cgroup-lib.sh
. "$here/cgroup-lib.sh"

jobs=${1-100}
pages=5000

# Sets missing, the faults of the job that its cgroup lacks at the end, and unknown, the microseconds that went to no
# cgroup meanwhile. A fault takes at least a microsecond.
run_job() { # CGROUP
    local before
    make "$1"
    eventually 60 is_in_state "$1" watched
    before=$(unknown_us)
    # Not by fault(): whatever else runs here may preempt it.
    "$load" "$hierarchy$1" faults "$pages"
    sleep 0.12
    remove "$1"
    eventually 60 is_in_state "$1" lingering
    missing=$((pages - $(count "$1")))
    unknown=$(($(unknown_us) - before))
}

test_short_jobs() {
    local i missing unknown short=0 named=0 sum=0
    cgroup_config "$scratch/jobs.yaml" "include: [\"$below/*\"]" "linger: 10s" "$faults_group"
    start_daemon --config.file="$scratch/jobs.yaml"
    equals "the engine is $engine" "$(get /api/v1/cgroups | jq -r .engine)" "$engine"
    for ((i = 1; i <= jobs; i++)); do
        run_job "$below/job-$i"
        [ "$missing" -gt 0 ] || continue
        echo "job $i lacks $missing faults; $unknown us were unknown"
        sum=$((sum + missing))
        if [ "$missing" -le "$unknown" ]; then named=$((named + 1)); else short=$((short + 1)); fi
    done
    echo "$jobs jobs of $pages faults, engine $engine: $((short + named)) are short, by $sum faults together"
    equals "$engine: no job is short beyond what is unknown" "$short" 0
    [ "$engine" = bpf ] || equals "$engine: no job is short" "$named" 0
    end_daemon
}

with_engines short_jobs
finish
