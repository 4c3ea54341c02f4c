#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests cgroups that are created and removed on the real kernel, with both engines: which ones are counted, and from
# when until when.
# set: quick
# engines: perf bpf
#
# usage: [ENGINE=bpf] cgroup.sh [TEST...]     default: all tests
# shellcheck disable=SC2086 # the paths of the test's own cgroups have no blanks
. "$(dirname "$0")/lib.sh"
need curl jq cc pgrep unshare
# shellcheck source=cgroup-lib.sh
. "$here/cgroup-lib.sh"

config=$scratch/cgroup.yaml

# --- which cgroups are counted

test_selection() {
    local in=$below/selection
    make $in $in/a $in/b $in/b/x $in/b/y $in/c $in/c.skip $in/b/x.skip $in/b/x/deep
    cgroup_config "$config" "include: [\"$in/*\", \"$in/**/x*\"]" "exclude: [\"$in/**.skip\"]" "linger: 0s" \
        "$faults_group"
    start_daemon --config.file="$config"
    holds "globs: * stops at a slash, ** crosses it, exclude has precedence" eventually 60 \
        watches_exactly $in/a $in/b $in/b/x $in/c
    equals "perfcountd_cgroups has the number of watched cgroups" "$(cgroups_in watched)" 4
    equals "no cgroup is dropped" "$(cgroups_in dropped)" 0
    matches "plan: the cgroup row shows the number of descriptors" "$("$PERFCOUNTD" plan --config.file="$config")" \
        $'\n'"cgroup +[a-z]+ +software +4 cgroups +$(each 8) +counting"
    "$PERFCOUNTD" report --config.file="$config" >"$scratch/report"
    matches "report: the cgroup row shows the number of descriptors" "$(cat "$scratch/report")" \
        $'\n'"cgroup +[a-z]+ +software +4 cgroups +$(each 8) +counting"
    lacks "report: no cgroup name is printed" "$in" "$scratch/report"
    equals "plan, status and /api/v1/cgroups name the engine" "$("$PERFCOUNTD" plan --config.file="$config" --json |
        jq -r .cgroups.engine) $(get /api/v1/status | jq -r .cgroups.engine) $(document .engine)" \
        "$engine $engine $engine"
    holds "the log names the engine" grep -q "counting: 4 cgroups by $engine: f" "$daemon_log"
    fault $in/a 1000
    fault $in/b/y 500
    caused "a selected cgroup is counted" "$(count $in/a)" 1000
    equals "a cgroup that no pattern matches has no series" "$(count $in/b/y)" none
    caused "a cgroup includes the counts of its children" "$(count $in/b)" 500
    equals "?cgroup=GLOB selects cgroups" \
        "$(get "/api/v1/counters?cgroup=$in/*" | jq -r '[.counters[].cgroup] | unique | join(" ")')" \
        "$in/a $in/b $in/c"
    matches "an invalid glob is rejected with the name of its parameter" \
        "$(get "/api/v1/counters?cgroup=[x" -w ' %{http_code}')" 'cgroup.* 400$'
    end_daemon

    cgroup_config "$config" "include: [\"$in/**\"]" "exclude: [\"$in/**.skip\"]" "linger: 0s" "max_cgroups: 4" \
        "$faults_group"
    start_daemon --config.file="$config"
    holds "max_cgroups keeps the shallowest cgroups, then the first by name" eventually 60 \
        watches_exactly $in/a $in/b $in/b/x $in/c
    equals "dropped cgroups are counted" "$(cgroups_in dropped)" 2
    equals "dropped cgroups are listed" "$(state_of $in/b/y) $(state_of $in/b/x/deep)" "dropped dropped"
    equals "the log has one line about max_cgroups" "$(grep -c 'max_cgroups' "$daemon_log")" 1
    remove $in/c
    holds "when a cgroup is removed, the next one is watched instead" \
        eventually 60 watches_exactly $in/a $in/b $in/b/x $in/b/y
    fault $in/b/y 300
    caused "the cgroup that is watched instead is counted" "$(count $in/b/y)" 300
    make $in/d
    holds "a new cgroup is watched or dropped, never lost" eventually 60 not is_in_state $in/d none
    equals "no more than max_cgroups cgroups are watched" "$(cgroups_in watched)" 4
    equals "the other cgroups are dropped" "$(cgroups_in dropped)" 2
    end_daemon

    cgroup_config "$config" 'include: ["/perfcountd-no-such-*"]' "$faults_group"
    start_daemon --config.file="$config"
    equals "a glob that matches nothing: metrics are served" "$(status_of /metrics)" 200
    equals "a glob that matches nothing: no cgroup is watched" "$(cgroups_in watched)" 0
    matches "a glob that matches nothing: the log or the status reports it" \
        "$(cat "$daemon_log"; get /api/v1/status)" 'matche?s? (no|any)|no cgroup'
    end_daemon
    remove_cgroups "$hierarchy$in"
}

# --- from creation to removal; bench/times.py measures the delays

# take_in CGROUP EVENTS PAGES: creates the cgroup with mkdir -p, runs a program in it once it is watched, and prints its
# count.
take_in() {
    local files
    files=$(open_files "$daemon_pid")
    mkdir -p "$hierarchy$1"
    eventually 60 is_open "$1" $((files + $(each "$2")))
    fault "$1" "$3"
    count "$1"
}

test_coming_and_going() {
    local in=$below i before pinned created again counted missed=
    cgroup_config "$config" "include: [\"$below/**\"]" "linger: 1h" "$faults_group"
    make $in/stays
    start_daemon --config.file="$config"
    holds "cgroups that existed before the start are watched" eventually 60 watches_exactly $in/stays
    eventually 60 clients_are_gone
    before="$(open_files "$daemon_pid") $(inotify_watches "$daemon_pid")"
    for i in {1..20}; do
        counted=$(take_in $in/new-$i 2 1000)
        is_caused "$counted" 1000 || missed+="$i: $counted "
        remove $in/new-$i
        eventually 60 settled_at "$before"
    done
    equals "a new cgroup is counted in full, 20 of 20" "$missed" ""
    caused "a new nested cgroup is counted in full" "$(take_in $in/stays/inner 2 700)" 700
    remove $in/stays/inner
    # The inner directories exist before the outer one can be watched.
    for i in {1..10}; do
        eventually 60 settled_at "$before"
        counted=$(take_in $in/path$i/to/it 6 100)
        is_caused "$counted" 100 || missed+="path $i: $counted "
        remove "$in/path$i/to/it" "$in/path$i/to" "$in/path$i"
    done
    equals "a path whose directories are all created at once is counted, 10 of 10" "$missed" ""

    eventually 60 settled_at "$before"
    pinned=$(dying)
    caused "a short-lived cgroup is counted" "$(take_in $in/brief 2 3000)" 3000
    remove $in/brief
    holds "the descriptors and the watch of a removed cgroup are closed without a scrape" \
        eventually 60 settled_at "$before"
    holds "the daemon does not keep a removed cgroup alive: nr_dying_descendants is unchanged" \
        eventually 60 no_more_dying "$pinned"
    caused "a removed cgroup was read one last time: its total is the load" "$(count $in/brief)" 3000
    equals "a removed cgroup lingers" "$(state_of $in/brief)" lingering
    make $in/brief
    holds "a cgroup that is recreated within linger is watched" eventually 60 is_in_state $in/brief watched
    fault $in/brief 500
    caused "a cgroup that is recreated within linger continues from its total" "$(count $in/brief)" 3500
    created=$(created_of $in/brief)
    # The directory is replaced by another inode before the daemon looks at it.
    remove $in/brief
    make $in/brief
    eventually 60 all_threads_sleep
    eventually 60 is_in_state $in/brief watched
    fault $in/brief 40
    caused "a cgroup that is removed and recreated at once continues from its total" "$(count $in/brief)" 3540
    remove $in/brief
    holds "a cgroup that is removed again lingers" eventually 60 is_in_state $in/brief lingering
    sed -i 's/linger: 1h/linger: 1s/' "$config"
    kill -HUP "$daemon_pid"
    # A scrape removes what has lingered for long enough; /api/v1/cgroups shows what the last scrape left.
    holds "after linger no cgroup is lingering" eventually 60 equal_numbers "cgroups_in lingering" 0
    equals "after linger the series of the cgroup are gone" "$(count $in/brief) $(state_of $in/brief)" "none none"
    get /metrics >"$scratch/text"
    lacks "after linger the exposition no longer has the cgroup" "\"$in/brief\"" "$scratch/text"
    caused "a cgroup that is recreated after linger starts at 0" "$(take_in $in/brief 2 200)" 200
    again=$(created_of $in/brief)
    compares "a cgroup that is recreated after linger has a later _created" \
        "${again:-0} > ${created:-0} && ${created:-0} > 0"
    remove $in/brief $in/stays
    equals "no collector failed" "$(get /metrics | awk '/^perfcountd_collector_success/ { print $2 }' | sort -u)" 1
    end_daemon
}
created_of() {
    get /metrics -H 'Accept: application/openmetrics-text; version=1.0.0' |
        awk -v start="perf_cgroup_minor_faults_created{" -v label="cgroup=\"$1\"" \
            'index($0, start) == 1 && index($0, label) { print $2 }'
}

# --- a thousand cgroups at once

# count_known: prints how many cgroups are watched or dropped.
count_known() {
    echo $(($(cgroups_in watched) + $(cgroups_in dropped)))
}

test_at_once() {
    local in=$below/burst many=1000 room files watches pinned
    room=$((($(ulimit -Hn) - 200) / $(getconf _NPROCESSORS_ONLN)))
    [ $many -le $room ] || many=$room
    make $in
    cgroup_config "$config" "include: [\"$in/*\"]" "linger: 0s" "max_cgroups: 1000" \
        'groups: [{name: f, events: minor-faults}]'
    start_daemon --config.file="$config"
    files=$(open_files "$daemon_pid")
    watches=$(inotify_watches "$daemon_pid")
    pinned=$(dying)
    (cd "$hierarchy$in" && seq $many | xargs mkdir)
    holds "$many cgroups at once are all watched" eventually 60 equal_numbers "cgroups_in watched" $many
    fault $in/$many 300
    caused "the last of many cgroups is counted" "$(count $in/$many)" 300
    equals "there is one watch, for the parent of the cgroups" "$(inotify_watches "$daemon_pid")" "$watches"
    (cd "$hierarchy$in" && seq 2 2 $many | xargs rmdir && seq 2 2 $many | xargs mkdir)
    holds "all cgroups are watched after half of them are recreated" \
        eventually 60 equal_numbers "cgroups_in watched" $many
    eventually 60 is_in_state $in/2 watched
    fault $in/2 200
    caused "a recreated cgroup starts at 0" "$(count $in/2)" 200
    (cd "$hierarchy$in" && seq $many | xargs rmdir && seq $many | xargs mkdir && seq $many | xargs rmdir)
    holds "no cgroup is left if all are removed before they are opened" eventually 60 equal_numbers count_known 0
    holds "no descriptor is left" eventually 60 equal_numbers "open_files $daemon_pid" "$files"
    equals "no watch is left" "$(inotify_watches "$daemon_pid")" "$watches"
    holds "no removed cgroup is kept alive" eventually 60 no_more_dying "$pinned"
    end_daemon
    remove $in
}

# --- cgroups that are not counted cost nothing

make_and_remove() {
    local i
    for i in {1..10}; do
        make "$1$i$2"
        remove "$1$i$2"
    done
}

# The default patterns are used, in a hierarchy that no other test uses. Kernel messages about other tests' devices may
# wake the daemon.
test_uncounted() {
    local in=$below/uncounted
    make $in $in/other.slice $in/system.slice $in/empty
    in_layout "echo 0 >$hierarchy$in/cgroup.procs; umount -R /sys/fs/cgroup
        exec unshare --cgroup bash -c 'mount -t cgroup2 none /sys/fs/cgroup; shift; exec \"\$@\"' x \"\$@\"" \
        "$faults_group" "linger: 0s"
    holds "the default patterns select the slices" eventually 60 watches_exactly /other.slice /system.slice
    holds "cgroups in a slice that is not scanned do not wake the daemon" \
        eventually 60 sleeps_through make_and_remove $in/other.slice/a .service
    holds "cgroups in a directory where no pattern can match do not wake the daemon" \
        eventually 60 sleeps_through make_and_remove $in/empty/a .slice
    holds "cgroups of services wake the daemon" not sleeps_through make_and_remove $in/system.slice/a .service
    sed -i "s/^    enabled: true$/&\n    include: ['\/other.slice\/*']/" "$config"
    make $in/other.slice/late
    kill -HUP "$daemon_pid"
    holds "after a reload the other directories are scanned" eventually 60 watches_exactly /other.slice/late
    holds "after a reload the previous directories are not watched" \
        eventually 60 sleeps_through make_and_remove $in/system.slice/a .service
    end_daemon
    remove_cgroups "$hierarchy$in"
}

# --- no cgroup to count

# attached: prints how many of the opener's BPF programs are attached.
attached() {
    readlink "/proc/$(child_named perfcountd-open)/fd/"* | grep -c 'bpf_link\|bpf-raw-tracepoint'
}

# The engine bpf detaches its programs while there is no cgroup to count.
test_no_cgroup() {
    local in=$below/none i programs=0
    cgroup_config "$config" "include: [\"$in/*\"]" "linger: 0s" "$faults_group"
    make $in $below/other
    start_daemon --config.file="$config"
    [ "$engine" != bpf ] || programs=2
    get /metrics >"$scratch/text"
    equals "without a cgroup to count, no program is attached" "$(attached)" 0
    for i in 1 2 3; do
        fault $below/other 5000
        make $in/cgroup
        eventually 60 watches_exactly $in/cgroup
        equals "for the first cgroup, $programs programs are attached, round $i" "$(attached)" $programs
        fault $in/cgroup 1000
        caused "the first cgroup has only its own page faults" "$(count $in/cgroup)" 1000
        remove $in/cgroup
        holds "after the last cgroup is removed, no program is attached" eventually 60 has_none_attached
    done
    remove $in $below/other
    end_daemon
}
# A scrape removes a cgroup that has ended.
has_none_attached() {
    get /metrics >"$scratch/text"
    [ "$(attached)" = 0 ]
}

[ $# -gt 0 ] || set -- selection coming_and_going at_once uncounted no_cgroup
with_engines "$@"
finish
