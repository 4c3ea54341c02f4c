#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 5,000 cgroups are created at once and removed at once, with the BPF engine and the default max_cgroups, and with the
# perf engine and a low limit.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "root, to create cgroups"
make_cgroup
n_cgroups=5000
config=$scratch/perfcountd.yaml

# has_states WATCHED DROPPED: succeeds if that many cgroups are watched and dropped.
has_states() {
    [ "$(metric 'perfcountd_cgroups{state="watched"}') $(metric 'perfcountd_cgroups{state="dropped"}')" = "$1 $2" ]
}
watches() {
    cat "/proc/$daemon_pid/fdinfo/"* 2>/dev/null | grep -c '^inotify '
}
all_there() {
    [ "$(get /api/v1/cgroups | jq '[.wanted, (.cgroups | map(select(.state != "lingering")) | length)] | @csv')" = \
        "\"$((n_cgroups + 1)),$((n_cgroups + 1))\"" ]
}
nothing_left() {
    has_states 1 0 && [ "$(watches)" -eq "$watches_before" ] && [ "$(open_files)" -eq "$files_before" ]
}
parent_counts() {
    [ "$(metric "perf_cgroup_minor_faults_total{cgroup=\"$below\",pmu=\"software\",group=\"f\"}" | cut -d. -f1)" -gt 50 ]
}

# check_engine ENGINE LIMIT: runs the test; LIMIT is max_cgroups or auto.
check_engine() {
    local title="engine $1, max_cgroups $2" limit
    cat >"$config" <<END
web: {min_interval: 0s}
collectors:
  cpu: {enabled: false}
  cgroup:
    engine: $1
    max_cgroups: $2
    include: ["$below", "$below/*"]
    linger: 1s
    groups: [{name: f, events: "{minor-faults,context-switches}"}]
END
    start_daemon --config.file="$config"
    if [ "$(get /api/v1/cgroups | jq -r .engine)" != "$1" ]; then
        left_out "the $1 engine"
        stop_daemon
        return
    fi
    start_scraping
    files_before=$(open_files) watches_before=$(watches)
    seq -f "$hierarchy$below/c%05g" $n_cgroups | xargs mkdir
    holds "$title: all cgroups are found" eventually 60 all_there
    limit=$(get /api/v1/cgroups | jq .limit)
    [ "$2" = auto ] || equals "$title: the limit is applied" "$limit" "$2"
    if [ "$limit" -gt $n_cgroups ]; then
        holds "$title: all are watched" has_states $((n_cgroups + 1)) 0
    else
        holds "$title: as many as allowed are watched, the rest is dropped" \
            has_states "$limit" $((n_cgroups + 1 - limit))
        says "$title: dropped cgroups, with the remedy," 'cgroups: some are not watched' 'max_cgroups|LimitNOFILE'
        equals "$title: dropped cgroups are logged once" "$(grep -c 'some are not watched' "$daemon_log")" 1
    fi
    # The parent is the first cgroup, and counts what runs in all the others, even in dropped ones.
    sh -c 'echo $$ >"$0" && exec ls -lR /usr/include' "$hierarchy$below/c0$n_cgroups/cgroup.procs" >/dev/null 2>&1
    holds "$title: the parent counts what runs in the last cgroup" eventually 60 parent_counts
    find "$hierarchy$below" -mindepth 1 -depth -type d -delete
    back "$title, with no cgroup, descriptor or watch left" nothing_left
    served_rightly "$title"
    ends_well "$title"
}

check_engine bpf auto
check_engine perf 100
finish
