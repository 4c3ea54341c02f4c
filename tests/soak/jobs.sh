#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs short jobs, each in a cgroup of its own that is removed 120 ms after the job, and checks that each engine counts
# all of their page faults, except for faults during the time that the BPF engine reports as unattributed.
#
# usage: jobs.sh [JOBS]      JOBS: number of jobs, default 100; ENGINE=perf or bpf selects one engine
# shellcheck source=../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
here=$root/tests/e2e
need curl jq cc
# shellcheck source=../e2e/cgroup-lib.sh
. "$here/cgroup-lib.sh"

jobs=${1-100}
pages=5000

# run_job CGROUP: runs a job in the cgroup, and sets two variables: `missing`, the number of page faults that were not
# counted, and `unknown`, the microseconds in that time that were attributed to no cgroup. Since a fault takes at least
# a microsecond, `missing` must not exceed `unknown`.
run_job() { # CGROUP
    local before
    make "$1"
    eventually 60 is_in_state "$1" watched
    before=$(unknown_us)
    # The function fault() is not used, since it prevents preemption by other programs, which this test permits.
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
    equals "the $engine engine is used" "$(get /api/v1/cgroups | jq -r .engine)" "$engine"
    for ((i = 1; i <= jobs; i++)); do
        run_job "$below/job-$i"
        [ "$missing" -gt 0 ] || continue
        echo "job $i lacks $missing faults; $unknown us were unknown"
        sum=$((sum + missing))
        if [ "$missing" -le "$unknown" ]; then named=$((named + 1)); else short=$((short + 1)); fi
    done
    echo "$jobs jobs of $pages faults, engine $engine: $((short + named)) lack faults, $sum in total"
    equals "$engine: no job has more uncounted page faults than unattributed microseconds" "$short" 0
    [ "$engine" = bpf ] || equals "$engine: all page faults of all jobs are counted" "$named" 0
    end_daemon
}

with_engines short_jobs
finish
