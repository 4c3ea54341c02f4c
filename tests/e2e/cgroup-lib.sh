# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # what lib.sh has, and what is for the scripts
# Cgroups of a test's own, below one parent that is removed at the end whatever happens, and loads of known size in
# them. Read after lib.sh.
#
# Sets: hierarchy (the directory where perf counts cgroups), below (the parent's path as the label `cgroup` has it),
# parent (its directory), load (the program of cgroup-load.c).

[ "$(id -u)" -eq 0 ] || skip "root, to make cgroups"

# hierarchy_of MOUNTINFO: a v1 hierarchy with perf_event where there is one, since the kernel then counts there, or v2.
hierarchy_of() {
    awk '{
            for (i = 7; $i != "-"; i++)
                ;
            if ($(i + 1) == "cgroup" && $(i + 3) ~ /(^|,)perf_event(,|$)/)
                v1 = $5
            else if ($(i + 1) == "cgroup2")
                v2 = $5
        }
        END { print v1 ? v1 : v2 }' "$1"
}

hierarchy=$(hierarchy_of /proc/self/mountinfo)
[ -n "$hierarchy" ] || skip "a cgroup hierarchy in which perf counts"
below=/perfcountd-test-$$
parent=$hierarchy$below
mkdir "$parent" 2>/dev/null || skip "the right to make cgroups"

# remove_cgroups DIRECTORY: it and all below, however deep. Processes that were moved in are the test's own.
remove_cgroups() {
    local attempt
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        [ -d "$1" ] || return 0
        [ ! -e "$1/cgroup.kill" ] || echo 1 >"$1/cgroup.kill"
        find "$1" -depth -type d -delete 2>/dev/null
        [ ! -d "$1" ] || sleep "0.0$attempt"
    done
    [ ! -d "$1" ]
}

# Commands that put right what a test changed, run at the end while the children are there no more.
at_end=()
cleanup_cgroups() {
    local pid command
    for pid in "${children[@]}"; do
        kill -9 "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    for command in "${at_end[@]}"; do
        $command
    done
    remove_cgroups "$parent" || echo "$parent is still there" >&2
    cleanup
}
trap cleanup_cgroups EXIT

load=$scratch/cgroup-load
cc -O2 -o "$load" "$here/cgroup-load.c" || exit 1

# unknown_us: for how many microseconds the engine bpf did not know the cgroup: 0, but on some virtual machines, which
# do not show it all switches.
unknown_us() {
    get /metrics -o /dev/null
    get /api/v1/status | jq '.cgroups.unknown_seconds // 0 | . * 1e6 | ceil'
}
# How many faults of the loads until now may be unknown: one takes a microsecond at least.
unknown_faults=0

# fault CGROUP PAGES: runs a program in the cgroup that faults that many pages.
fault() {
    local before
    [ "$engine" != bpf ] || before=$(unknown_us)
    "$load" "$hierarchy$1" faults "$2"
    [ "$engine" != bpf ] || unknown_faults=$((unknown_faults + $(unknown_us) - before))
}

# reside CGROUP: sets resident, a process that is in it and does nothing any more.
reside() {
    [ -p "$scratch/nothing" ] || mkfifo "$scratch/nothing"
    : >"$scratch/joined"
    "$load" "$hierarchy$1" work 1 <>"$scratch/nothing" >"$scratch/joined" &
    resident=$!
    children+=("$resident")
    eventually 60 test -s "$scratch/joined"
}

# remove CGROUP...: a process that has just ended can hold one for a moment.
remove() {
    local cgroup
    for cgroup in "$@"; do
        eventually 60 rmdir "$hierarchy$cgroup" || fail "$cgroup can be removed" "$(rmdir "$hierarchy$cgroup" 2>&1)"
    done
}

# The engine that counts: perf, bpf or auto, as ENGINE says; with_engines() sets it.
engine=${ENGINE-perf}

# cgroup_config FILE LINES...: the lines go below collectors.cgroup; cgroups alone are measured, by $engine.
cgroup_config() {
    {
        printf 'web: {min_interval: 0s}\ncollectors:\n  cpu: {enabled: false}\n  cgroup:\n    enabled: true\n'
        printf '    engine: %s\n' "$engine"
        printf '    %s\n' "${@:2}"
    } >"$1"
}
# The groups that most of the tests count.
faults_group='groups: [{name: f, events: "{minor-faults,context-switches}"}]'

# count CGROUP [EVENT]: its total, "none" where there is no such series.
count() {
    get "/api/v1/counters?collector=cgroup&event=${2-minor_faults}" |
        jq -r --arg cgroup "$1" '[.counters[] | select(.cgroup == $cgroup) | .value] | add // "none"'
}

# cgroups_in STATE: the value of perfcountd_cgroups.
cgroups_in() {
    get /metrics | awk -v series="perfcountd_cgroups{state=\"$1\"}" '$1 == series { print $2 }'
}

# has_cgroup CGROUP: there is a series of it.
has_cgroup() {
    [ "$(count "$1")" != none ]
}

# state_of CGROUP: as /api/v1/cgroups has it.
state_of() {
    get /api/v1/cgroups |
        jq -r --arg cgroup "$1" '[.. | objects | select(.cgroup? == $cgroup) | .state] | first // "none"'
}
is_in_state() {
    [ "$(state_of "$1")" = "$2" ]
}
# each N: how many descriptors N events of a cgroup take.
cpus=$(getconf _NPROCESSORS_ONLN)
each() {
    [ "$engine" = bpf ] && echo 0 || echo $(($1 * cpus))
}
# is_open CGROUP FILES: its events are counted. The daemon has opened FILES files then, without being asked for
# anything, and has enabled their events before it answers.
is_open() {
    [ "$(open_files "$daemon_pid")" -ge "$2" ] && is_in_state "$1" watched
}

# open_files PID; inotify_watches PID
open_files() {
    find "/proc/$1/fd" -mindepth 1 ! -lname 'socket:*' | wc -l
}
inotify_watches() {
    cat "/proc/$1/fdinfo/"* 2>/dev/null | grep -c '^inotify '
}

# dying: how many removed cgroups below the parent somebody still holds open.
dying() {
    awk '$1 == "nr_dying_descendants" { print $2 }' "$parent/cgroup.stat"
}

# document JQ-FILTER: of /api/v1/cgroups.
document() {
    get /api/v1/cgroups | jq -r "$1"
}
watched() {
    document '[.. | objects | select(.state? == "watched") | .cgroup] | sort | join(" ")'
}
watches_exactly() {
    [ "$(watched)" = "$*" ]
}
# is_caused COUNT PAGES: the count is that of the pages, or a fault or two more, which the program has at its end.
is_caused() {
    [[ $1 =~ ^[0-9]+$ ]] && [ "$1" -ge $(($2 - unknown_faults)) ] && [ "$1" -le $(($2 + 2 + $2 / 100)) ]
}
# caused TITLE COUNT PAGES
caused() {
    if is_caused "$2" "$3"; then
        pass "$1"
    else
        fail "$1" "expected: $3, or a few more" "got:      $2"
    fi
}
# Each daemon ends without complaint, also of its sanitizers.
end_daemon() {
    stop_daemon
    unknown_faults=0
    [ "$daemon_status" -eq 0 ] || fail "the daemon ends well" "exit status $daemon_status" "$(cat "$daemon_log")"
}
# make CGROUP...: below the test's parent.
make() {
    local cgroup
    for cgroup in "$@"; do
        mkdir "$hierarchy$cgroup"
    done
}
equal_numbers() {
    [ "$($1)" = "$2" ]
}
settled_at() {
    [ "$(open_files "$daemon_pid") $(inotify_watches "$daemon_pid")" = "$1" ]
}
no_more_dying() {
    [ "$(dying)" -le "$1" ]
}

# in_layout COMMANDS CONFIG-LINES...: starts a daemon in a mount namespace of its own, after the commands ($1 is a
# free directory); sets layout, that directory as it is seen there.
in_layout() {
    layout=$(mktemp -d "$scratch/layout.XXXXXX")
    chmod 711 "$scratch" "$layout" # for whom root's daemon becomes
    wrapper=(unshare --mount --propagation private bash -c "set -e; $1
        shift; exec \"\$@\"" layout "$layout")
    cgroup_config "$config" "${@:2}"
    sed -i 's/cpu: {enabled: false}/cpu: {enabled: true}/' "$config"
    start_daemon --config.file="$config"
    wrapper=()
}

# with_engines TEST...: runs each with both engines, or with that of ENGINE.
with_engines() {
    local test
    for engine in ${ENGINE-perf bpf}; do
        cgroup_config "$scratch/try.yaml" "$faults_group"
        if ! "$PERFCOUNTD" plan --json --config.file="$scratch/try.yaml" | jq -e '.cgroups.engine' >/dev/null; then
            left_out "the engine $engine"
            continue
        fi
        for test; do
            echo "-- ${test//_/ }, engine $engine"
            "test_$test"
        done
    done
}
