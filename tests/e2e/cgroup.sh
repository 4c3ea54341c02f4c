#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cgroups that come and go on the real kernel: which are counted, from when on, how exactly, under what names, and what
# happens where cgroups cannot be had.
#
# usage: [ENGINE=bpf] cgroup.sh [TEST...]     all of them without an argument, with the engine perf without ENGINE
# shellcheck disable=SC2086 # the paths of the test's own cgroups have no blanks
. "$(dirname "$0")/lib.sh"
need curl jq cc perf pgrep promtool strace /usr/bin/python3
. "$here/cgroup-lib.sh"

config=$scratch/cgroup.yaml

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

# --- which are counted

test_selection() {
    local in=$below/selection
    make $in $in/a $in/b $in/b/x $in/b/y $in/c $in/c.skip $in/b/x.skip $in/b/x/deep
    cgroup_config "$config" "include: [\"$in/*\", \"$in/**/x*\"]" "exclude: [\"$in/**.skip\"]" "linger: 0s" \
        "$faults_group"
    start_daemon --config.file="$config"
    holds "globs choose: * stops at a slash, ** crosses it, exclude wins" eventually 5 \
        watches_exactly $in/a $in/b $in/b/x $in/c
    equals "the gauge says the same" "$(cgroups_in watched)" 4
    equals "nothing is dropped" "$(cgroups_in dropped)" 0
    matches "plan: the row of the cgroups has their descriptors" "$("$PERFCOUNTD" plan --config.file="$config")" \
        $'\n'"cgroup +[a-z]+ +software +4 cgroups +$(each 8) +counting"
    equals "plan, status and /api/v1/cgroups name the engine" "$("$PERFCOUNTD" plan --config.file="$config" --json |
        jq -r .cgroups.engine) $(get /api/v1/status | jq -r .cgroups.engine) $(document .engine)" \
        "$engine $engine $engine"
    holds "so does the log" grep -q "counting: 4 cgroups by $engine: f" "$daemon_log"
    fault $in/a 1000
    fault $in/b/y 500
    caused "one that is counted" "$(count $in/a)" 1000
    equals "one that matches nothing has no series" "$(count $in/b/y)" none
    caused "its parent has its counts" "$(count $in/b)" 500
    equals "?cgroup=GLOB" "$(get "/api/v1/counters?cgroup=$in/*" | jq -r '[.counters[].cgroup] | unique | join(" ")')" \
        "$in/a $in/b $in/c"
    equals "a glob of one" "$(get "/api/v1/counters?cgroup=$in/b/x&event=minor_faults" | jq '.counters | length')" 1
    matches "a bad glob is refused, by name" "$(get "/api/v1/counters?cgroup=[x" -w ' %{http_code}')" 'cgroup.* 400$'
    end_daemon

    cgroup_config "$config" "include: [\"$in/**\"]" "exclude: [\"$in/**.skip\"]" "linger: 0s" "max_cgroups: 4" \
        "$faults_group"
    start_daemon --config.file="$config"
    holds "max_cgroups takes the shallow ones first, then by name" eventually 5 \
        watches_exactly $in/a $in/b $in/b/x $in/c
    equals "dropped cgroups are counted" "$(cgroups_in dropped)" 2
    equals "and named" "$(state_of $in/b/y) $(state_of $in/b/x/deep)" "dropped dropped"
    equals "it has no series" "$(count $in/b/y)" none
    matches "the log says it, once" "$(grep -c 'max_cgroups' "$daemon_log")" '^1$'
    remove $in/c
    holds "there is room: the next is taken in" eventually 5 watches_exactly $in/a $in/b $in/b/x $in/b/y
    fault $in/b/y 300
    caused "and counted" "$(count $in/b/y)" 300
    make $in/d
    holds "a new one is counted or dropped, never lost" eventually 5 not is_in_state $in/d none
    equals "no more than max_cgroups" "$(cgroups_in watched)" 4
    equals "with the rest dropped" "$(cgroups_in dropped)" 2
    end_daemon

    cgroup_config "$config" 'include: ["/perfcountd-no-such-*"]' "$faults_group"
    start_daemon --config.file="$config"
    equals "a glob that matches nothing: served" "$(status_of /metrics)" 200
    equals "with nothing watched" "$(cgroups_in watched)" 0
    matches "a sentence says it" "$(cat "$daemon_log"; get /api/v1/status)" 'matche?s? (no|any)|no cgroup'
    end_daemon
    remove_cgroups "$hierarchy$in"
}

# --- from the beginning to the end; times.sh has after how many milliseconds

# take_in COUNT: makes new cgroups, one after the other, each with a program that faults as soon as it is counted. Sets
# missed, which were not counted in full.
take_in() {
    local i files found
    missed=
    for ((i = 0; i < $1; i++)); do
        files=$(open_files "$daemon_pid")
        make "$below/new-$i"
        eventually 5 is_open "$below/new-$i" $((files + $(each 2))) || missed+="$i took more than 5 s; "
        fault "$below/new-$i" 1000
    done
    for ((i = 0; i < $1; i++)); do
        found=$(count "$below/new-$i")
        is_caused "$found" 1000 || missed+="$i has $found; "
        remove "$below/new-$i"
    done
}

test_coming_and_going() {
    local in=$below i files watches pinned created missed
    cgroup_config "$config" "include: [\"$below/**\"]" "linger: 2s" "$faults_group"
    make $in/stays
    start_daemon --config.file="$config"
    holds "the cgroups that are there are watched" eventually 5 watches_exactly $in/stays
    files=$(open_files "$daemon_pid")
    take_in 20
    equals "a new cgroup is counted in full, 20 of 20" "$missed" ""
    eventually 5 equal_numbers "open_files $daemon_pid" "$files"
    caused "a nested one, too" "$(
        make $in/stays/inner
        eventually 5 is_open $in/stays/inner $((files + $(each 2)))
        fault $in/stays/inner 700
        count $in/stays/inner
    )" 700
    remove $in/stays/inner
    # mkdir -p: the second directory is there before the first can be watched.
    local lost=0
    for i in 1 2 3 4 5 6 7 8 9 10; do
        eventually 5 equal_numbers "open_files $daemon_pid" "$files"
        mkdir -p "$parent/path$i/to/it"
        eventually 5 is_open "$in/path$i/to/it" $((files + $(each 6)))
        fault "$in/path$i/to/it" 100
        is_caused "$(count "$in/path$i/to/it")" 100 || lost=$((lost + 1))
        remove "$in/path$i/to/it" "$in/path$i/to" "$in/path$i"
    done
    equals "a whole path made at once, 10 of 10" $lost 0

    eventually 10 equal_numbers "cgroups_in lingering" 0
    holds "the lingering ones are gone" equal_numbers "cgroups_in lingering" 0
    files=$(open_files "$daemon_pid")
    watches=$(inotify_watches "$daemon_pid")
    pinned=$(dying)
    make $in/brief
    holds "a brief cgroup" eventually 5 has_cgroup $in/brief
    equals "has descriptors of its own, or none" "$(($(open_files "$daemon_pid") - files))" "$(each 2)"
    fault $in/brief 3000
    remove $in/brief
    holds "its descriptors are closed at once, without a scrape" \
        eventually 2 equal_numbers "open_files $daemon_pid" "$files"
    holds "so is its watch" eventually 2 equal_numbers "inotify_watches $daemon_pid" "$watches"
    holds "nothing pins it: nr_dying_descendants is unchanged" eventually 3 no_more_dying "$pinned"
    caused "it was read a last time: its total is the load" "$(count $in/brief)" 3000
    equals "it lingers" "$(cgroups_in lingering) $(state_of $in/brief)" "1 lingering"
    make $in/brief
    holds "it comes back within linger" eventually 5 is_in_state $in/brief watched
    fault $in/brief 500
    caused "and goes on from its total" "$(count $in/brief)" 3500
    created=$(created_of $in/brief)
    remove $in/brief
    holds "it lingers again" eventually 2 is_in_state $in/brief lingering
    eventually 5 equal_numbers "cgroups_in lingering" 0
    equals "after linger its series are gone" "$(count $in/brief) $(state_of $in/brief)" "none none"
    get /metrics >"$scratch/text"
    lacks "from the text as well" "\"$in/brief\"" "$scratch/text"
    make $in/brief
    eventually 5 has_cgroup $in/brief
    fault $in/brief 200
    caused "after linger it starts at 0" "$(count $in/brief)" 200
    local again
    again=$(created_of $in/brief)
    compares "with a later _created" "${again:-0} > ${created:-0} && ${created:-0} > 0"
    # Another inode in the same place, faster than a look at the directory.
    rmdir "$hierarchy$in/brief"
    make $in/brief
    eventually 5 is_another_life "$again"
    fault $in/brief 40
    caused "removed and made again at once: a new inode, counted on" "$(count $in/brief)" 240
    mv "$hierarchy$in/brief" "$hierarchy$in/moved" 2>/dev/null && fail "v2 cgroups can be renamed?"
    remove $in/brief $in/stays
    equals "no collector failed" "$(get /metrics | awk '/^perfcountd_collector_success/ { print $2 }' | sort -u)" 1
    end_daemon
}
# is_another_life CREATED: brief is watched, and began later.
is_another_life() {
    is_in_state "$below/brief" watched && [ "$(created_of "$below/brief")" != "$1" ]
}
equal_numbers() {
    [ "$($1)" = "$2" ]
}
no_more_dying() {
    [ "$(dying)" -le "$1" ]
}
created_of() {
    get /metrics -H 'Accept: application/openmetrics-text; version=1.0.0' |
        awk -v start="perf_cgroup_minor_faults_created{" -v label="cgroup=\"$1\"" \
            'index($0, start) == 1 && index($0, label) { print $2 }'
}

# --- the truth

# task_clock_of CGROUP: the total, in seconds.
task_clock_of() {
    get /metrics | awk -v label="cgroup=\"$1\"" \
        'index($0, "perf_cgroup_task_clock_seconds_total{") == 1 && index($0, label) { print $2 }'
}

# cpu_time CGROUP: microseconds, as the kernel accounts them.
cpu_time() {
    awk '$1 == "usage_usec" { print $2 }' "$hierarchy$1/cpu.stat"
}

# stolen_time: seconds of all CPUs that the host of this machine gave to others.
stolen_time() {
    awk '$1 == "cpu" { print $9 / 100 }' /proc/stat
}

test_truth() {
    local in=$below/truth caused=0 i ours perfs event before after unknown
    make $in $in/A $in/B $in/B/inner
    cgroup_config "$config" "include: [\"$in\", \"$in/**\"]" "linger: 30s" \
        'groups: [{name: f, events: "{task-clock,minor-faults,context-switches}"}]'
    start_daemon --config.file="$config"
    local summed=$url first=$daemon_pid
    sed 's/^    enabled: true$/&\n    per_cpu: true/' "$config" >"$scratch/per-cpu.yaml"
    start_daemon --config.file="$scratch/per-cpu.yaml"
    local split=$url
    url=$summed

    cat >"$scratch/interval" <<END
curl -s '$url/api/v1/counters?collector=cgroup' >$scratch/before
for i in 1 2 3 4 5 6 7 8 9 10; do
    $load $parent/truth/A faults 5000 &
    $load $parent/truth/B/inner faults 3000
    wait
done
curl -s '$url/api/v1/counters?collector=cgroup' >$scratch/middle
sh -c 'echo \$\$ >$parent/truth/A/cgroup.procs; exec perf bench sched pipe -l 40000' >/dev/null
sh -c 'echo \$\$ >$parent/truth/B/inner/cgroup.procs; exec perf bench sched pipe -l 20000' >/dev/null
curl -s '$url/api/v1/counters?collector=cgroup' >$scratch/after
END
    unknown=$(unknown_us)
    if perf stat -a -x, -o "$scratch/perf" -e minor-faults,context-switches --for-each-cgroup "${in#/}/A,${in#/}/B" \
            sh "$scratch/interval"; then
        unknown=$(($(unknown_us) - unknown))
        for i in $in/A $in/B; do
            for event in minor-faults context-switches; do
                total="[.counters[] | select(.cgroup == \"$i\" and .event == \"${event//-/_}\") | .value] | add"
                ours=$(($(jq "$total" "$scratch/after") - $(jq "$total" "$scratch/before")))
                perfs=$(awk -F, -v event=$event -v cgroup="${i#/}" '$3 == event && $4 == cgroup { print $1 }' \
                    "$scratch/perf")
                compares "$event of $i are within 1 % of perf stat --for-each-cgroup" \
                    "${perfs:-0} > 10000 && $ours > 0.99 * ${perfs:-0} - $unknown && $ours < 1.01 * ${perfs:-0}"
            done
        done
    else
        fail "perf stat --for-each-cgroup" "$(cat "$scratch/perf")"
    fi
    ours=$(jq "[.counters[] | select(.cgroup == \"$in/A\" and .event == \"minor_faults\") | .value] | add" \
        "$scratch/middle")
    compares "minor faults are those of the load, within 1 %" "$ours > 0.99 * 50000 - $unknown && $ours < 1.01 * 50000"

    # Nested cgroups include their descendants; beside each other they sum up.
    before=$(($(count $in/A) + $(count $in/B)))
    after=$(count $in)
    equals "a parent has the sum of its children" "$after" "$before"
    before=$(count $in/B/inner)
    i=$(count $in/B)
    fault $in/B 1000
    equals "faults in the parent itself are not in the child" "$(count $in/B/inner)" "$before"
    caused "but in the parent" "$(count $in/B)" "$((i + 1000))"

    # Short-lived ones, all of them beside each other.
    before=$(count $in)
    for i in $(seq 25); do
        make "$in/short$i"
    done
    for i in $(seq 25); do
        eventually 5 has_cgroup "$in/short$i"
    done
    for i in $(seq 25); do
        fault "$in/short$i" $((1000 + i))
        rmdir "$hierarchy$in/short$i" || remove "$in/short$i"
        caused=$((caused + 1000 + i))
    done
    ours=$(get "/api/v1/counters?cgroup=$in/short*&event=minor_faults" | jq '[.counters[].value] | add')
    compares "25 short-lived cgroups: their sum is the load, within 1 %" \
        "$ours > 0.99 * $caused - $unknown_faults && $ours < 1.01 * $caused"
    ours=$(($(count $in) - before))
    compares "so is the rest of the parent" "$ours > 0.99 * $caused - $unknown_faults && $ours < 1.01 * $caused"

    # One series for each CPU.
    for event in minor_faults context_switches; do
        ours=$(count $in/A $event)
        url=$split
        equals "per_cpu: $event of all CPUs are the same sum" "$(count $in/A $event)" "$ours"
        url=$summed
    done
    url=$split
    equals "per_cpu: a series for each CPU" "$(get /metrics | grep -F "cgroup=\"$in/A\"" |
        grep -c '^perf_cgroup_minor_faults_total{.*cpu="')" "$(nproc --all)"
    equals "per_cpu: /api/v1/counters has the CPUs" \
        "$(get "/api/v1/counters?cgroup=$in/A&event=minor_faults" | jq -c '[.counters[].cpu] | sort')" \
        "$(jq -nc "[range($(nproc --all))]")"
    url=$summed

    # A busy loop; the time that a switch itself takes is the task's for the scheduler and nobody's for perf, so that
    # what switched much before is not part of the comparison.
    local spent counted stolen
    stolen=$(stolen_time)
    spent=$(cpu_time $in/A)
    counted=$(task_clock_of $in/A)
    "$load" "$parent/truth/A" spin 4000 &
    children+=($!)
    sleep 0.3
    before=$(cpu_time $in/A)
    i=$(date +%s%N)
    get "/api/v1/rates?seconds=2&cgroup=$in/A" >"$scratch/rates"
    after=$(cpu_time $in/A)
    i=$(($(date +%s%N) - i))
    get "/api/v1/rates?seconds=0.5&cgroup=$in/*&sort=context_switches&limit=1" >"$scratch/top"
    local utilization share
    utilization=$(jq '[.. | .cpu_utilization? | numbers] | first // 0' "$scratch/rates")
    share=$(awk "BEGIN { print ($after - $before) * 1000 / $i }")
    # Both are at most 1 on an undisturbed machine; time that the host stole is in neither the same way.
    compares "cpu_utilization of a busy loop is about 1, as busy as this machine lets it be" \
        "$utilization > 0.8 * $share && $utilization < 1.05 && $share > 0.02"
    equals "limit=1 gives one" "$(jq '.rates | length' "$scratch/top")" 1
    wait "${children[-1]}"
    spent=$(($(cpu_time $in/A) - spent))
    counted=$(awk "BEGIN { print $(task_clock_of $in/A) - $counted }")
    # The kernel leaves out of a cgroup's time what the host gave to others meanwhile; perf's clock does not.
    stolen=$(awk "BEGIN { print $(stolen_time) - $stolen }")
    compares "task-clock is the kernel's CPU time of the cgroup, within 2 % and the stolen time" \
        "$counted > 0.98 * $spent / 1e6 && $counted < 1.02 * $spent / 1e6 + $stolen && $counted > 0.1"

    # The top of the list by an event.
    (while fault $in/B 3000; do :; done) &
    children+=($!)
    get "/api/v1/rates?seconds=1&cgroup=$in/[AB]&sort=minor_faults" >"$scratch/top"
    kill "${children[-1]}"
    wait "${children[-1]}" 2>/dev/null
    equals "sort=minor_faults: the busiest first" "$(jq -r '[.rates[].cgroup] | join(" ")' "$scratch/top")" \
        "$in/B $in/A"
    equals "an unknown thing to sort by is refused" "$(status_of "/api/v1/rates?seconds=0.05&sort=nonsense")" 400
    kill "$daemon_pid"
    wait "$daemon_pid"
    daemon_pid=$first
    end_daemon
    remove $in/B/inner $in/A $in/B $in
}

# --- names

# The strict parser, and a look for series that are there twice; the names that it found.
cat >"$scratch/names.py" <<'END'
import sys
from prometheus_client.openmetrics import parser as strict
from prometheus_client import parser as plain

twice = None

def labels(parse, path):
    seen, names = set(), set()
    global twice
    for family in parse(open(path, encoding="utf-8", newline="").read()):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            if key in seen:
                twice = "twice in %s: %r" % (path, key)
            seen.add(key)
            names.add(sample.labels.get("cgroup"))
    return names - {None}

text = labels(plain.text_string_to_metric_families, sys.argv[1])
if len(sys.argv) > 2:
    openmetrics = labels(strict.text_string_to_metric_families, sys.argv[2])
    if openmetrics != text:
        sys.exit("the names differ: %r" % (text ^ openmetrics))
for name in sorted(text):
    print(ascii(name)[1:-1] if len(name) < 200 else "%d characters" % len(name))
sys.exit(twice)
END

test_names() {
    local in=$below/names long deep i
    make $in
    # shellcheck disable=SC1003 # a backslash at the end is one of them
    local names=('with space' 'quote"s' "apostro'phe" 'back\slash' 'back\nslash' 'ends\' '{brace="x"}' '#hash'
        $'tab\there' $'\x01control' 'umlaut-ü' '日本' '-leading' '%25' 'a=b,c' '*star' '[x]' '~'
        '..hidden' $'\x7f' '\x2d')
    for i in "${names[@]}"; do
        make "$in/$i"
    done
    # Linux refuses newlines in the names of cgroups (EINVAL).
    mkdir "$hierarchy$in/"$'new\nline' 2>/dev/null && names+=($'new\nline')
    # Names that are not UTF-8 look alike as U+FFFD, and must not become equal series; nor must a name that looks like
    # the suffix by which they are distinguished.
    for i in $'\xff' $'\xfe' $'\xef\xbf\xbd' $'\xef\xbf\xbd#fe' $'\xef\xbf\xbd#ff' $'\xc3\x28' $'cut\xe2\x82' \
        $'surrogate\xed\xa0\x80' $'over\xc0\xaf' $'beyond\xf4\x90\x80\x80'; do
        make "$in/bad$i"
    done
    long=$(printf 'n%.0s' $(seq 255))
    deep=$in
    make "$in/$long"
    while [ ${#deep} -lt 3700 ]; do
        deep=$deep/${long:0:250}
        make "$deep"
    done
    deep=$deep/${long:0:$((4000 - ${#deep} - 1))}
    make "$deep"
    # And one whose path is longer than any system call takes.
    (cd "$hierarchy$deep" && mkdir "$long" && cd "$long" && mkdir "$long") || fail "a path beyond PATH_MAX can be made"

    cgroup_config "$config" "include: [\"$in/**\"]" "linger: 2s" "$faults_group"
    start_daemon --config.file="$config"
    fault "$in/quote\"s" 100
    fault "$in/"$'bad\xff' 100
    fault "$in/"$'bad\xfe' 30
    fault "$deep" 50
    get /metrics >"$scratch/text"
    get /metrics -H 'Accept: application/openmetrics-text; version=1.0.0' >"$scratch/openmetrics"
    holds "promtool takes strange names" promtool check metrics <"$scratch/text"
    equals "and has nothing to say about them" "$(promtool check metrics <"$scratch/text" 2>&1)" ""
    holds "the exposition is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null "$scratch/text"
    holds "a strict parser takes text and OpenMetrics, no two series are equal" \
        /usr/bin/python3 "$scratch/names.py" "$scratch/text" "$scratch/openmetrics"
    # The text alone, so that one name that is wrong does not hide the others.
    /usr/bin/python3 "$scratch/names.py" "$scratch/text" >"$scratch/names" 2>/dev/null
    for i in "${names[@]}"; do
        holds "$(printf '%q' "$i") is there under its name" grep -qxF -- \
            "$(/usr/bin/python3 -c 'import sys; print(ascii(sys.argv[1])[1:-1])' "$in/$i")" "$scratch/names"
        equals "and in JSON" "$(state_of "$in/$i")" watched
    done
    holds "4,000 characters are there" grep -qx '4000 characters' "$scratch/names"
    equals "JSON is JSON" "$(get /api/v1/cgroups | jq -r type) $(get /api/v1/counters | jq -r type)" "object object"
    holds "JSON is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null <(get /api/v1/counters)
    holds "U+FFFD stands for bytes that are not UTF-8" grep -qF $'\xef\xbf\xbd' "$scratch/text"
    caused "the long one was counted" "$(count "$deep")" 50
    caused "the quoted one was counted" "$(count "$in/quote\"s")" 100
    caused "?cgroup= takes a name with a quote" "$(get "/api/v1/counters?event=minor_faults" -G \
        --data-urlencode "cgroup=$in/quote\"s" | jq -r '.counters[0].value')" 100
    equals "names that look alike are all watched, and distinguished" "$(document '[.cgroups[] |
        select(.state == "watched" and (.cgroup | test("/bad.*\ufffd"))) | .cgroup] | unique | length')" 10
    get "/api/v1/counters?event=minor_faults" |
        jq -c '[.counters[] | select(.cgroup | test("bad\ufffd")) | .value | select(. > 0)] | sort' >"$scratch/alike"
    if [ "$(jq length "$scratch/alike")" = 2 ] && is_caused "$(jq '.[0]' "$scratch/alike")" 30 &&
        is_caused "$(jq '.[1]' "$scratch/alike")" 100; then
        pass "of those that look alike each was counted by itself"
    else
        fail "of those that look alike each was counted by itself" "$(cat "$scratch/alike")"
    fi
    remove_cgroups "$hierarchy$in"
    eventually 10 equal_numbers "cgroups_in lingering" 0
    equals "all of them are gone after linger" "$(count "$in/quote\"s") $(cgroups_in watched) $(cgroups_in lingering)" \
        "none 0 0"
    end_daemon
}

# --- descriptors and watches run out

test_limits() {
    local in=$below/limits i limit clients=()
    make $in
    for i in $(seq 10 39); do
        make "$in/c$i"
    done
    limit=$((44 + 10 * cpus)) # what it has by itself, and two and a half cgroups
    cgroup_config "$config" "include: [\"$in/*\"]" \
        'groups: [{name: f, events: "{minor-faults,major-faults,context-switches,cpu-migrations}"}]'
    # shellcheck disable=SC2016 # of the inner shell
    wrapper=(bash -c 'ulimit -n "$1"; shift; exec "$@"' limited "$limit")
    start_daemon --config.file="$config"
    wrapper=()
    if [ "$engine" = bpf ]; then
        equals "$limit descriptors are enough for all" "$(cgroups_in watched) $(cgroups_in dropped)" "30 0"
    else
        compares "with $limit descriptors it watches as many as fit" \
            "$(cgroups_in watched) > 0 && $(cgroups_in watched) * 4 * $cpus < $limit"
        compares "the rest is dropped" "$(cgroups_in dropped) == 30 - $(cgroups_in watched)"
        equals "and named" "$(state_of $in/c10) $(state_of $in/c39)" "watched dropped"
        matches "the log says why" "$(cat "$daemon_log")" '[Dd]escriptor|RLIMIT_NOFILE|LimitNOFILE|open files'
    fi
    fault $in/c10 100
    caused "a watched cgroup is counted" "$(count $in/c10)" 100
    for i in $(seq 20); do
        get /metrics -o /dev/null 2>/dev/null &
        clients+=($!)
    done
    wait "${clients[@]}"
    equals "twenty clients at once later it serves" "$(status_of /metrics)" 200
    remove $in/c10
    if [ "$engine" != bpf ]; then
        holds "one goes, one comes" eventually 5 not is_in_state $in/c10 watched
        eventually 5 equal_numbers "cgroups_in dropped" "$((29 - $(cgroups_in watched)))"
        compares "still as many as fit" \
            "$(cgroups_in watched) + $(cgroups_in dropped) == 29 && $(cgroups_in watched) > 0"
    fi
    holds "it never dies of it" running "$daemon_pid"
    end_daemon

    # The limit is each user's: as another user, whom no other test is, and who has as many as there may be but five.
    local other_user=$((60000 + $$ % 5000))
    cgroup_config "$config" "include: [\"$in/**\"]" "$faults_group"
    chmod 755 "$scratch"
    chmod 644 "$config"
    # shellcheck disable=SC2054 # the comma is setpriv's
    local as_other=(setpriv "--reuid=$other_user" --clear-groups
        --inh-caps=+cap_38,+sys_admin --ambient-caps=+cap_38,+sys_admin)
    if "${as_other[@]}" "$PERFCOUNTD" plan --config.file="$config" >"$scratch/plan" 2>&1; then
        hold_watches 5 || fail "the other user has watches" "$(cat "$scratch/hold-watches")"
        wrapper=("${as_other[@]}")
        start_daemon --config.file="$config"
        wrapper=()
        kill "$watches_holder"
        matches "inotify's limit: a sentence names it" "$(cat "$daemon_log")" 'max_user_watches'
        equals "in the status, too" "$(get /api/v1/status | grep -c max_user_watches)" 1
        compares "all are watched nevertheless" "$(cgroups_in watched) == 29"
        fault $in/c20 100
        caused "and counted" "$(count $in/c20)" 100
        make $in/late $in/c20/late
        holds "new ones are found by rescans" eventually 15 has_cgroup $in/late
        holds "nested ones, too" eventually 15 has_cgroup $in/c20/late
        remove $in/c20/late
        holds "so are those that went" eventually 15 not is_in_state $in/c20/late watched
        end_daemon
    else
        left_out "inotify's limit, as the daemon does not run as another user here: $(head -n 1 "$scratch/plan")"
    fi
    remove_cgroups "$hierarchy$in"
}
# hold_watches REST: the other user may have REST more.
hold_watches() {
    install -d -m 777 "$scratch/watched"
    setpriv "--reuid=$other_user" --clear-groups /usr/bin/python3 "$here/hold-watches.py" \
        $(($(cat /proc/sys/fs/inotify/max_user_watches) - $1)) "$scratch/watched" >"$scratch/hold-watches" 2>&1 &
    watches_holder=$!
    children+=($!)
    eventually 20 grep -q held "$scratch/hold-watches"
}

# --- other layouts, in private mount namespaces

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
cpus_are_served() {
    get /metrics | grep -q '^perf_cpu_context_switches_total{.*} [1-9]'
}

# check_part TITLE: the root is $in/space.
check_part() {
    matches "$1: a sentence says so" "$(cat "$daemon_log"; get /api/v1/status)" 'namespace|part of'
    holds "$1: its root is watched" eventually 5 is_in_state / watched
    make $in/space/inner
    eventually 5 has_cgroup /inner
    fault $in/space/inner 100
    caused "$1: and the cgroups below it" "$(count /inner)" 100
    remove $in/space/inner
}

test_layouts() {
    local in=$below/layouts
    make $in $in/a
    in_layout 'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup' "include: [\"$in/*\"]" "$faults_group"
    fault $in/a 100
    caused "v2 alone on /sys/fs/cgroup" "$(count $in/a)" 100
    make $in/b
    eventually 5 has_cgroup $in/b
    fault $in/b 50
    caused "with what comes later" "$(count $in/b)" 50
    end_daemon

    in_layout "mount -o remount,bind,ro $hierarchy" "include: [\"$in/*\"]" "$faults_group"
    fault $in/a 100
    caused "mounted read-only" "$(count $in/a)" 100
    holds "CPUs are served beside it" cpus_are_served
    end_daemon

    in_layout "mount -t cgroup2 none \$1; umount -R /sys/fs/cgroup" "include: [\"$in/*\"]" "$faults_group"
    fault $in/a 100
    caused "mounted in an unusual place" "$(count $in/a)" 100
    end_daemon

    in_layout 'umount -R /sys/fs/cgroup' "include: [\"$in/*\"]" "$faults_group"
    matches "no cgroup file system: a sentence in the log" "$(cat "$daemon_log")" 'no cgroup|cgroup.*not mounted'
    matches "and in the status" "$(get /api/v1/status | grep -i cgroup)" 'mount'
    holds "CPUs are served" cpus_are_served
    equals "/api/v1/cgroups answers" "$(status_of /api/v1/cgroups)" 200
    equals "nothing is watched" "$(document '[.. | objects | select(.state? == "watched")] | length')" 0
    end_daemon

    # A cgroup namespace: the tree begins at the daemon's own cgroup.
    make $in/space
    in_layout "echo 0 >$hierarchy$in/space/cgroup.procs; umount -R /sys/fs/cgroup
        exec unshare --cgroup bash -c 'mount -t cgroup2 none /sys/fs/cgroup; shift; exec \"\$@\"' x \"\$@\"" \
        'include: ["/", "/*"]' "$faults_group"
    check_part "a cgroup namespace"
    end_daemon
    # A container without one: a part of the tree is bound in its place.
    in_layout "mkdir \$1/part; mount --bind $hierarchy$in/space \$1/part; umount -R /sys/fs/cgroup" \
        'include: ["/", "/*"]' "$faults_group"
    check_part "a part of the tree"
    end_daemon
    # And one whose mounts are older than the namespace: the whole tree is seen.
    in_layout "echo 0 >$hierarchy$in/space/cgroup.procs
        exec unshare --cgroup bash -c 'shift; exec \"\$@\"' x \"\$@\"" \
        "include: [\"$in/*\"]" "$faults_group"
    fault $in/a 100
    caused "a cgroup namespace with the mounts of the host" "$(count $in/a)" 100
    end_daemon
    remove $in/space $in/a $in/b $in
}

# --- a thousand at once

# count_known: those that are watched, and for which there is no room.
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
    holds "$many at once: all are counted" eventually 60 equal_numbers "cgroups_in watched" $many
    fault $in/$many 300
    caused "also the last" "$(count $in/$many)" 300
    equals "one watch, of their parent" "$(inotify_watches "$daemon_pid")" "$watches"
    (cd "$hierarchy$in" && seq 2 2 $many | xargs rmdir && seq 2 2 $many | xargs mkdir)
    holds "half of them made again: all are counted" eventually 60 equal_numbers "cgroups_in watched" $many
    eventually 5 is_in_state $in/2 watched
    fault $in/2 200
    caused "from 0 on" "$(count $in/2)" 200
    (cd "$hierarchy$in" && seq $many | xargs rmdir && seq $many | xargs mkdir && seq $many | xargs rmdir)
    holds "made and removed before all are opened: none is left" eventually 60 equal_numbers count_known 0
    holds "no descriptor is left" eventually 5 equal_numbers "open_files $daemon_pid" "$files"
    equals "no watch is left" "$(inotify_watches "$daemon_pid")" "$watches"
    holds "nothing is pinned" eventually 3 no_more_dying "$pinned"
    end_daemon
    remove $in
}

# --- what nobody counts costs nothing

# all_are_traced: each thread of the daemon and of its opener.
all_are_traced() {
    local pid
    for pid in "$daemon_pid" $(pgrep -P "$daemon_pid"); do
        ! grep -qx 'TracerPid:[[:space:]]*0' "/proc/$pid/task"/*/status || return
    done
}
# calls_during COMMAND...: writes to calls the system calls that the daemon and its opener make meanwhile.
calls_during() {
    local pid tracer from to traced=()
    for pid in "$daemon_pid" $(pgrep -P "$daemon_pid"); do
        traced+=(-p "$pid")
    done
    strace -f -ttt -o "$scratch/trace" "${traced[@]}" 2>/dev/null &
    tracer=$!
    children+=("$tracer")
    holds "all threads are traced" eventually 10 all_are_traced
    sleep 1 # attaching interrupts the wait for events, which is then called again
    from=$EPOCHREALTIME
    "$@"
    sleep 0.5
    to=$EPOCHREALTIME
    kill -TERM "$tracer"
    wait "$tracer" 2>/dev/null
    awk -v from="$from" -v to="$to" '$2 > from && $2 < to' "$scratch/trace" >"$scratch/calls"
}
make_and_remove() {
    local i
    for i in 1 2 3 4 5 6 7 8 9 10; do
        make "$1$i$2"
        remove "$1$i$2"
    done
}
calls_each() {
    awk '{ n++ } /epoll_.*= [1-9]/ { woken++ }
        END { printf "%.1f calls, %.1f times awake", n / 10, woken / 10 }' "$scratch/calls"
}

# The patterns are those of the default, in a hierarchy that no other test uses.
test_uncounted() {
    local in=$below/uncounted
    make $in $in/other.slice $in/system.slice $in/empty
    in_layout "echo 0 >$hierarchy$in/cgroup.procs; umount -R /sys/fs/cgroup
        exec unshare --cgroup bash -c 'mount -t cgroup2 none /sys/fs/cgroup; shift; exec \"\$@\"' x \"\$@\"" \
        "$faults_group" "linger: 0s"
    holds "the built-in patterns choose the slices" eventually 5 watches_exactly /other.slice /system.slice
    calls_during make_and_remove $in/other.slice/a .service
    equals "cgroups that come and go in a slice that is not looked into" "$(calls_each)" "0.0 calls, 0.0 times awake"
    calls_during make_and_remove $in/empty/a .slice
    equals "and in a directory that leads to none" "$(calls_each)" "0.0 calls, 0.0 times awake"
    calls_during make_and_remove $in/system.slice/a .service
    compares "those of services are taken in: $(calls_each)" "$(wc -l <"$scratch/calls") > 100"
    calls_during make_and_remove $in/system.slice/a .mount
    compares "beside services, they cost the event alone: $(calls_each)" "$(wc -l <"$scratch/calls") <= 90"
    sed -i "s/^    enabled: true$/&\n    include: ['\/other.slice\/*']/" "$config"
    make $in/other.slice/late
    kill -HUP "$daemon_pid"
    holds "after a reload other directories are looked into" eventually 5 watches_exactly /other.slice/late
    calls_during make_and_remove $in/system.slice/a .service
    equals "and those before are not" "$(calls_each)" "0.0 calls, 0.0 times awake"
    end_daemon
    remove_cgroups "$hierarchy$in"
}

# --- a v1 perf_event hierarchy

v1_hierarchy() {
    awk '$1 == "perf_event" { print $2 }' /proc/cgroups
}
v1_is_gone() {
    [ "$(v1_hierarchy)" = 0 ]
}
# This keeps the controller away from v2: a v1 hierarchy that was unmounted while a cgroup of it was still dying.
restore_v1() {
    local attempt where
    where=$(mktemp -d "${TMPDIR:-/tmp}/perfcountd-v1.XXXXXX")
    for attempt in 1 2 3 4 5; do
        v1_is_gone && break
        # shellcheck disable=SC2016 # of the inner shell
        unshare --mount --propagation private sh -c 'mount -t cgroup -o perf_event none "$1" &&
            find "$1" -mindepth 1 -depth -type d -path "*perfcountd-test*" -delete; sleep 0.3; umount "$1"' x "$where"
        sleep "0.$attempt"
    done
    rmdir "$where"
    v1_is_gone || echo "the perf_event controller is still in a v1 hierarchy" >&2
}

test_v1() {
    local tree keeper v1
    if ! v1_is_gone; then
        left_out "the perf_event controller is in a v1 hierarchy already"
        return
    fi
    at_end+=(restore_v1)
    v1=$scratch/v1
    mkdir "$v1"
    chmod 711 "$scratch" # for whom root's daemon becomes
    # The keeper holds the mount while daemons come and go.
    unshare --mount --propagation private sh -c "mount -t cgroup -o perf_event none '$v1' && exec sleep 300" \
        2>"$scratch/mount" &
    keeper=$!
    children+=("$keeper")
    if ! eventually 3 grep -q "$v1" "/proc/$keeper/mountinfo"; then
        left_out "no v1 perf_event hierarchy can be mounted here: $(cat "$scratch/mount")"
        return
    fi
    tree=/proc/$keeper/root$v1
    mkdir "$tree$below" "$tree$below/a"
    cgroup_config "$config" "include: [\"$below/*\"]" "linger: 30s" "$faults_group"
    wrapper=(nsenter --mount="/proc/$keeper/ns/mnt")
    if [ "$engine" = bpf ]; then
        start_daemon --config.file="$config"
        matches "bpf alone counts nothing there, and says why" \
            "$(get /api/v1/status | jq -r '.collectors[].error')" 'v1'
        contains "so does plan" \
            "$(nsenter --mount="/proc/$keeper/ns/mnt" "$PERFCOUNTD" plan --config.file="$config" 2>&1)" \
            "the collector cgroup fails: collectors.cgroup.engine is bpf"
        equals "the collector failed" "$(sum_of 'perfcountd_collector_success{collector="cgroup"}')" 0
        end_daemon
        engine=auto cgroup_config "$config" "include: [\"$below/*\"]" "linger: 30s" "$faults_group"
    fi
    start_daemon --config.file="$config"
    wrapper=()
    [ "$engine" != bpf ] || matches "auto takes perf there, and says why" \
        "$(get /api/v1/status | jq -r '.cgroups | .engine + ": " + .engine_reason')" '^perf: .*v1'
    "$load" "$tree$below/a" faults 400
    caused "a v1 perf_event hierarchy is found and counted" "$(count $below/a)" 400
    mkdir "$tree$below/b"
    eventually 5 has_cgroup $below/b
    "$load" "$tree$below/b" faults 300
    eventually 5 rmdir "$tree$below/b"
    caused "also those of one that comes and goes in it" "$(count $below/b)" 300
    mv "$tree$below/a" "$tree$below/c"
    eventually 5 has_cgroup $below/c
    "$load" "$tree$below/c" faults 200
    caused "one that is renamed is counted under its new name" "$(count $below/c)" 200
    equals "its old name lingers" "$(state_of $below/a)" lingering
    mkdir "$tree$below/c/d"
    sleep 0.2
    mv "$tree$below/c" "$tree$below/a"
    holds "renamed again, it goes on" eventually 5 is_in_state $below/a watched
    caused "from its total" "$(count $below/a)" 400
    matches "/api/v1/cgroups names it" "$(get /api/v1/cgroups)" "$v1"
    end_daemon
    remove_cgroups "$tree$below"
    sleep 0.3
    kill "$keeper"
    wait "$keeper" 2>/dev/null
    eventually 2 v1_is_gone || restore_v1
    holds "the controller is back in v2" v1_is_gone
}

# --- patterns of names

test_patterns_of_names() {
    local in=$below/named id resident unit=perfcountd-test-$$.service
    id=$(printf '%064x' $$)
    make $in $in/deep $in/deep/$unit $in/deep/$unit/inner $in/deep/other-$unit $in/docker $in/docker/$id \
        $in/docker/$id/inner $in/late
    # shellcheck disable=SC2016 # that shell expands them
    sh -c 'echo $$ >"$0/cgroup.procs" && exec sleep 60' "$hierarchy$in/docker/$id/inner" &
    resident=$!
    children+=("$resident")
    cgroup_config "$config" "include: [\"unit=*$unit\", container_id=$id]" "exclude: [\"unit=other-*\", /docker/**]" \
        "linger: 0s" "$faults_group"
    start_daemon --config.file="$config"
    holds "names choose, wherever the cgroups are, and nothing that is inside of them" eventually 5 \
        watches_exactly $in/deep/$unit $in/docker/$id
    make $in/late/new-$unit
    holds "one that comes later is opened" eventually 5 is_in_state $in/late/new-$unit watched
    fault $in/docker/$id/inner 500
    caused "what is inside is in its counts" "$(count $in/docker/$id)" 500
    equals "?unit=GLOB" "$(get "/api/v1/counters?unit=*-$unit" | jq -r '[.counters[].cgroup] | unique | join(" ")')" \
        "$in/late/new-$unit"
    equals "?container_id= and ?unit=: both" \
        "$(get "/api/v1/counters?container_id=$id&unit=*" | jq '.counters | length')" 0
    equals "a name that nothing has" "$(get "/api/v1/rates?seconds=0.05&container=nothing" | jq '.rates | length')" 0
    matches "a bad glob is refused, by name" "$(get "/api/v1/counters?pod=[x" -w ' %{http_code}')" 'pod.* 400$'
    end_daemon
    "$PERFCOUNTD" stat --config.file="$config" --cgroup=container_id="$id" --interval=0.1s \
        --output="$scratch/table" 2>"$scratch/err"
    equals "stat --cgroup=KEY=GLOB" "$(cgroups_of_table)" "$in/docker/$id"
    kill "$resident"
    wait "$resident" 2>/dev/null
    remove_cgroups "$hierarchy$in"
}

# --- scopes without processes

test_vacant() {
    local in=$below/vacant id residents=()
    id=$(printf '%064x' $$)
    make $in $in/left.scope $in/docker-$id.scope $in/idle.service $in/busy.scope
    # shellcheck disable=SC2016 # that shell expands them
    sh -c 'echo $$ >"$0/cgroup.procs" && exec sleep 60' "$hierarchy$in/busy.scope" &
    residents+=($!)
    cgroup_config "$config" "include: [\"$in/*\"]" "linger: 0s" "$faults_group"
    start_daemon --config.file="$config"
    holds "scopes without processes are left out" eventually 5 watches_exactly $in/busy.scope $in/idle.service
    make $in/new.scope
    holds "not a new one, whose first process is about to come" eventually 5 is_in_state $in/new.scope watched
    # shellcheck disable=SC2016
    sh -c 'echo $$ >"$0/cgroup.procs" && exec sleep 60' "$hierarchy$in/docker-$id.scope" &
    residents+=($!)
    children+=("${residents[@]}")
    holds "nor one as soon as it has a process" eventually 5 is_in_state $in/docker-$id.scope watched
    equals "the reason why a container has no name" "$(get /api/v1/cgroups |
        jq -c '[.cgroups[] | select(.unnamed)] | length, (.[0].unnamed | length > 20)' | xargs)" "1 true"
    end_daemon
    "$PERFCOUNTD" plan --json --config.file="$config" >"$scratch/plan.json"
    equals "plan: each cgroup has the source of its name, or the reason" \
        "$(jq -r '.cgroups.cgroups[] | .named_by // .unnamed | length > 3' "$scratch/plan.json" | uniq -c | xargs)" \
        "3 true"
    matches "plan: and says so of containers" "$("$PERFCOUNTD" plan --config.file="$config")" \
        "CONTAINER +NAMED BY +CGROUP"$'\n'"- +- +$in/docker-$id.scope +[a-z]"
    kill "${residents[@]}"
    wait "${residents[@]}" 2>/dev/null
    remove_cgroups "$hierarchy$in"
}

# --- perfcountd stat --cgroup

# stat_faults FLAGS...: two services fault, the second one more often. Sets status.
stat_faults() {
    status=0
    # shellcheck disable=SC2016 # that shell expands them
    "$PERFCOUNTD" stat --config.file="$config" "$@" --output="$scratch/table" -- \
        sh -c '"$0" "$1/a.service" faults 500 && "$0" "$1/b.service" faults 2000' "$load" "$hierarchy$in" \
        2>"$scratch/err" || status=$?
}
# cgroups_of_table: the last word of each line that has a path, on one line.
cgroups_of_table() {
    awk '$NF ~ "^/" { print $NF }' "$scratch/table" | xargs
}

test_stat() {
    local in=$below/stat hostile=$'\e[31mred.service' status
    make $in $in/a.service $in/b.service $in/idle.slice "$in/$hostile"
    cgroup_config "$config" "include: [\"$in/*\"]" "$faults_group"
    stat_faults --cgroup='[ab].service' --cgroup=$in/idle.slice --sort=minor-faults
    equals "stat --cgroup: the cgroups that match, the most faults first" "$(cgroups_of_table)" \
        "$in/b.service $in/a.service $in/idle.slice"
    stat_faults --sort=minor_faults --limit=1
    equals "--sort and --limit without --cgroup: one of all" "$(cgroups_of_table)" "$in/b.service"
    stat_faults --cgroup='[ab].service' --sort=minor-faults --json
    equals "--json has the same two" "$(jq -r '[.rates[].cgroup] | join(" ")' "$scratch/table")" \
        "$in/b.service $in/a.service"
    caused "and all faults" "$(jq '.seconds as $s | .rates[0].events.minor_faults * $s | round' "$scratch/table")" 2000
    stat_faults
    lacks "a name with a terminal's escape is shown without it" $'\e' "$scratch/table"
    holds "but is there" grep -qF '\x1b[31mred.service' "$scratch/table"
    stat_faults --cgroup=nosuch.service
    equals "no cgroup matches: exit status" "$status" 1
    matches "it says so" "$(cat "$scratch/err")" \
        'no cgroup is counted that matches nosuch.service; collectors.cgroup.include'
    stat_faults --sort=nope
    equals "nothing to sort by: exit status" "$status" 2
    matches "it lists the names" "$(cat "$scratch/err")" \
        '--sort: nothing here has .nope.; known are running_ratio, minor_faults, context_switches'
    remove_cgroups "$hierarchy$in"
}

tests=(selection patterns_of_names coming_and_going truth names limits layouts at_once uncounted vacant stat v1)
for test in "${@:-${tests[@]}}"; do
    echo "-- ${test//_/ }"
    "test_$test"
done
finish
