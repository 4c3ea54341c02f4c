# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of lib.sh, and variables that the scripts use
# Creates cgroups below a parent that belongs to the test and is always removed at exit, and runs loads of known size in
# them. Source it after lib.sh.
#
# Sets: hierarchy (directory of the hierarchy that perf_event uses), below (path of the parent cgroup, as in the
# label `cgroup`), parent (its directory), load (the compiled cgroup-load.c).

[ "$(id -u)" -eq 0 ] || skip "root, to create cgroups"

# hierarchy_of MOUNTINFO: prints the directory of the hierarchy in which the kernel counts cgroups: the v1 hierarchy
# with perf_event if there is one, otherwise v2.
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
[ -n "$hierarchy" ] || skip "a cgroup hierarchy that perf_event uses"
below=/perfcountd-test-$$
parent=$hierarchy$below
mkdir "$parent" 2>/dev/null || skip "the right to make cgroups"

# remove_cgroups DIRECTORY: removes the cgroup and all its descendants, and kills the processes in them, which belong to
# the test.
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

# Commands that undo what a test changed on the machine. They run at exit, after the children are killed.
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

# unknown_us: prints for how many microseconds the engine bpf could not tell which cgroup ran: 0, except on kernels that
# hide some switches (doc/cgroups.md).
unknown_us() {
    get /metrics -o /dev/null
    get /api/v1/status | jq '.cgroups.unknown_seconds // 0 | . * 1e6 | ceil'
}
# Upper bound on the page faults of the loads that were not attributed. A fault takes at least a microsecond.
unknown_faults=0

# If the kernel hides process 1 from tracing, and a thread of process 1 preempts a program, it is unknown until the next
# switch which task runs. Loads of known size therefore run at a priority that no normal task can preempt.
unpreempted=(chrt -f 1)
"${unpreempted[@]}" true 2>/dev/null || unpreempted=()

# fault CGROUP PAGES: runs a program in the cgroup that causes this many page faults.
fault() {
    local before
    [ "$engine" != bpf ] || before=$(unknown_us)
    "${unpreempted[@]}" "$load" "$hierarchy$1" faults "$2"
    [ "$engine" != bpf ] || unknown_faults=$((unknown_faults + $(unknown_us) - before))
}

# reside CGROUP: starts a process that joins the cgroup and then waits. Sets resident, its process id.
reside() {
    [ -p "$scratch/nothing" ] || mkfifo "$scratch/nothing"
    : >"$scratch/joined"
    "$load" "$hierarchy$1" work 1 <>"$scratch/nothing" >"$scratch/joined" &
    resident=$!
    children+=("$resident")
    eventually 60 test -s "$scratch/joined"
}

# remove CGROUP...: removes cgroups. It retries, because a process that has just ended may hold a cgroup for a moment.
remove() {
    local cgroup
    for cgroup in "$@"; do
        eventually 60 rmdir "$hierarchy$cgroup" || fail "$cgroup can be removed" "$(rmdir "$hierarchy$cgroup" 2>&1)"
    done
}

# The engine to test: perf, bpf or auto, by default from $ENGINE. with_engines() sets it.
engine=${ENGINE-perf}

# cgroup_config FILE LINES...: writes a configuration that only enables the collector cgroup, with $engine. LINES are
# keys of collectors.cgroup.
cgroup_config() {
    {
        printf 'web: {min_interval: 0s}\nhistory: {enabled: false}\ncollectors:\n  cpu: {enabled: false}\n  cgroup:\n    enabled: true\n'
        printf '    engine: %s\n' "$engine"
        printf '    %s\n' "${@:2}"
    } >"$1"
}
# The event group that most tests count.
faults_group='groups: [{name: f, events: "{minor-faults,context-switches}"}]'

# count CGROUP [EVENT]: prints the cgroup's total, or "none" if there is no such series.
count() {
    get "/api/v1/counters?collector=cgroup&event=${2-minor_faults}" |
        jq -r --arg cgroup "$1" '[.counters[] | select(.cgroup == $cgroup) | .value] | add // "none"'
}

# cgroups_in STATE: prints the value of perfcountd_cgroups for this state.
cgroups_in() {
    get /metrics | awk -v series="perfcountd_cgroups{state=\"$1\"}" '$1 == series { print $2 }'
}

# has_cgroup CGROUP: succeeds if the cgroup has a series.
has_cgroup() {
    [ "$(count "$1")" != none ]
}

# state_of CGROUP: prints its state in /api/v1/cgroups, or "none".
state_of() {
    get /api/v1/cgroups |
        jq -r --arg cgroup "$1" '[.. | objects | select(.cgroup? == $cgroup) | .state] | first // "none"'
}
is_in_state() {
    [ "$(state_of "$1")" = "$2" ]
}
# each N: prints how many descriptors N events of one cgroup take.
cpus=$(getconf _NPROCESSORS_ONLN)
each() {
    [ "$engine" = bpf ] && echo 0 || echo $(($1 * cpus))
}
# is_open CGROUP FILES: succeeds if the cgroup's events count: the daemon has opened FILES files, which it does without
# a request, and reports the cgroup as watched, which it does only after it has enabled the events.
is_open() {
    [ "$(open_files "$daemon_pid")" -ge "$2" ] && is_in_state "$1" watched
}

# open_files PID, inotify_watches PID: print how many descriptors, other than sockets, and inotify watches a process
# has.
open_files() {
    find "/proc/$1/fd" -mindepth 1 ! -lname 'socket:*' | wc -l
}
inotify_watches() {
    cat "/proc/$1/fdinfo/"* 2>/dev/null | grep -c '^inotify '
}

# dying: prints how many removed cgroups below the parent are still in use.
dying() {
    awk '$1 == "nr_dying_descendants" { print $2 }' "$parent/cgroup.stat"
}

# document JQ-FILTER: applies the filter to /api/v1/cgroups.
document() {
    get /api/v1/cgroups | jq -r "$1"
}
watched() {
    document '[.. | objects | select(.state? == "watched") | .cgroup] | sort | join(" ")'
}
watches_exactly() {
    [ "$(watched)" = "$*" ]
}
# is_caused COUNT PAGES: succeeds if the count is PAGES, less any unattributed faults, plus the few that the program
# causes when it exits.
is_caused() {
    [[ $1 =~ ^[0-9]+$ ]] && [ "$1" -ge $(($2 - unknown_faults)) ] && [ "$1" -le $(($2 + 2 + $2 / 100)) ]
}
# caused TITLE COUNT PAGES: reports whether is_caused COUNT PAGES succeeds.
caused() {
    if is_caused "$2" "$3"; then
        pass "$1"
    else
        fail "$1" "expected: $3, or a few more" "got:      $2"
    fi
}
# end_daemon: stops the daemon, which must exit with 0, under the sanitizers as well.
end_daemon() {
    stop_daemon
    unknown_faults=0
    [ "$daemon_status" -eq 0 ] || fail "the daemon exits cleanly" "exit status $daemon_status" "$(cat "$daemon_log")"
}
# make CGROUP...: creates cgroups, whose paths begin with $below.
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

# in_layout COMMANDS CONFIG-LINES...: runs the commands in a new mount namespace, where $1 is an empty directory, and
# then starts a daemon there. Sets layout, the path of that directory.
in_layout() {
    layout=$(mktemp -d "$scratch/layout.XXXXXX")
    chmod 711 "$scratch" "$layout" # started by root, the daemon changes to another user
    wrapper=(unshare --mount --propagation private bash -c "set -e; $1
        shift; exec \"\$@\"" layout "$layout")
    cgroup_config "$config" "${@:2}"
    sed -i 's/cpu: {enabled: false}/cpu: {enabled: true}/' "$config"
    start_daemon --config.file="$config"
    wrapper=()
}

# with_engines TEST...: runs each test_TEST with both engines, or only with $ENGINE.
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
