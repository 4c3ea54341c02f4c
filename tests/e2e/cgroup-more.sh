#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests cgroups on the real kernel, with both engines: accuracy, names, and what happens when cgroups, descriptors or
# watches are unavailable.
# set: all
# packages: python3-prometheus-client
# engines: perf bpf
#
# usage: [ENGINE=bpf] cgroup-more.sh [TEST...]     default: all tests
# shellcheck disable=SC2086 # the paths of the test's own cgroups have no blanks
. "$(dirname "$0")/lib.sh"
need curl jq cc perf promtool protoc unshare /usr/bin/python3
# shellcheck source=cgroup-lib.sh
. "$here/cgroup-lib.sh"

config=$scratch/cgroup.yaml

# --- accuracy

# task_clock_of CGROUP [FILE]: prints the total in seconds, from the daemon or from a saved exposition.
task_clock_of() {
    if [ $# -gt 1 ]; then cat "$2"; else get /metrics; fi | awk -v label="cgroup=\"$1\"" \
        'index($0, "perf_cgroup_task_clock_seconds_total{") == 1 && index($0, label) { print $2 }'
}

# cpu_time CGROUP: prints the CPU time that the kernel accounts to the cgroup, in microseconds.
cpu_time() {
    awk '$1 == "usage_usec" { print $2 }' "$hierarchy$1/cpu.stat"
}

# stolen_time: prints the steal time of all CPUs in seconds.
stolen_time() {
    awk '$1 == "cpu" { print $9 / 100 }' /proc/stat
}

test_truth() {
    local in=$below/truth caused=0 i ours perfs event before unknown
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
for i in 1 2 3 4 5; do
    $load $parent/truth/A faults 10000 &
    $load $parent/truth/B/inner faults 6000
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
    compares "minor faults equal those of the load, within 1 %" \
        "$ours > 0.99 * 50000 - $unknown && $ours < 1.01 * 50000"

    # A cgroup includes its descendants.
    before=$(($(count $in/A) + $(count $in/B)))
    equals "a parent's count is the sum of its children's" "$(count $in)" "$before"
    before=$(count $in/B/inner)
    i=$(count $in/B)
    fault $in/B 1000
    equals "faults in the parent itself are not attributed to the child" "$(count $in/B/inner)" "$before"
    caused "faults in the parent itself are attributed to the parent" "$(count $in/B)" "$((i + 1000))"

    # Short-lived cgroups: what a program does before their counters are open is attributed to the parent.
    before=$(count $in)
    for i in {1..25}; do
        make "$in/short$i"
        fault "$in/short$i" $((1000 + i))
        caused=$((caused + 1000 + i))
        rmdir "$hierarchy$in/short$i" || remove "$in/short$i"
    done
    ours=$(($(count $in) - before))
    compares "25 short-lived cgroups: the parent's count includes their load, within 1 %" \
        "$ours > 0.99 * $caused - $unknown_faults && $ours < 1.01 * $caused"

    # One series for each CPU.
    for event in minor_faults context_switches; do
        ours=$(count $in/A $event)
        url=$split
        equals "per_cpu: $event of all CPUs add up to the total" "$(count $in/A $event)" "$ours"
        url=$summed
    done
    url=$split
    equals "per_cpu: there is a series for each CPU" "$(get /metrics | grep -F "cgroup=\"$in/A\"" |
        grep -c '^perf_cgroup_minor_faults_total{.*cpu="')" "$(nproc --all)"
    url=$summed

    # The load is a busy loop because it rarely switches: the scheduler attributes the time of a switch to the task,
    # perf to none.
    local spent counted stolen
    stolen=$(stolen_time)
    unknown=$(unknown_us)
    spent=$(cpu_time $in/A)
    counted=$(task_clock_of $in/A)
    "$load" "$parent/truth/A" spin 3000 &
    children+=($!)
    get "/api/v1/rates?seconds=1&cgroup=$in/A" >"$scratch/rates"
    compares "cpu_utilization of a busy loop is at most 1" \
        "$(jq '[.. | .cpu_utilization? | numbers] | first // 0 | . > 0 and . < 1.05 | if . then 1 else 0 end' \
            "$scratch/rates") == 1"
    equals "limit=1 returns one cgroup" "$(get "/api/v1/rates?seconds=0.5&cgroup=$in/*&sort=context_switches&limit=1" |
        jq '.rates | length')" 1
    wait "${children[-1]}"
    spent=$(($(cpu_time $in/A) - spent))
    counted=$(awk "BEGIN { print $(task_clock_of $in/A) - $counted }")
    # The kernel subtracts steal time from a cgroup's CPU time; perf's clock does not.
    stolen=$(awk "BEGIN { print $(stolen_time) - $stolen }")
    unknown=$(($(unknown_us) - unknown))
    compares "task-clock equals the kernel's CPU time of the cgroup, within 2 % plus unknown and steal time" \
        "$counted > (0.98 * $spent - $unknown) / 1e6 && $counted < 1.02 * $spent / 1e6 + $stolen && $counted > 0.1"

    # Sorting by an event.
    (while fault $in/B 3000; do :; done) &
    children+=($!)
    get "/api/v1/rates?seconds=1&cgroup=$in/[AB]&sort=minor_faults" >"$scratch/top"
    kill "${children[-1]}"
    wait "${children[-1]}" 2>/dev/null
    equals "sort=minor_faults lists the busiest first" "$(jq -r '[.rates[].cgroup] | join(" ")' "$scratch/top")" \
        "$in/B $in/A"
    equals "an unknown sort key is rejected" "$(status_of "/api/v1/rates?seconds=0.05&sort=nonsense")" 400
    kill "$daemon_pid"
    wait "$daemon_pid"
    daemon_pid=$first
    end_daemon
    remove $in/B/inner $in/A $in/B $in
}

# --- deep trees, and tasks that are moved

test_deep() {
    local in=$below/deep levels path before i
    make $in
    cgroup_config "$config" "include: [\"$in\"]" "$faults_group"
    start_daemon --config.file="$config"
    eventually 60 has_cgroup $in
    for levels in 20 200; do
        path=$in$(printf '/d%.0s' $(seq $levels))
        mkdir -p "$hierarchy$path"
        before=$(count $in)
        for i in 1 2 3 4 5; do
            fault "$path" 2000
        done
        before=$(($(count $in) - before))
        caused "a cgroup's count includes a cgroup $levels levels below it" "$before" 10000
        # caused() allows for unattributed faults, which may be all of them.
        compares "$levels levels below: most page faults are attributed" "$before > 5000"
    done
    end_daemon
    remove_cgroups "$hierarchy$in"
}

has_spent() {
    [ "$(cpu_time "$1")" -ge "$2" ]
}

# preemptions PID: prints how often the process was preempted.
preemptions() {
    awk '$1 == "nonvoluntary_ctxt_switches:" { print $2 }' "/proc/$1/status"
}

# The shell moves a busy loop between two cgroups and reads twice after each move, until there were three moves during
# which the loop was not preempted. The engine bpf notices a move when the CPU switches, so a CPU that does not switch
# is the hard case.
test_moved() {
    local in=$below/moved cpu attempt from=a to=b kept=0 before after late=()
    make $in $in/a $in/b
    cgroup_config "$config" "include: [\"$in/*\"]" 'groups: [{name: c, events: task-clock}]'
    start_daemon --config.file="$config"
    cpu=$(taskset -cp $$ | sed 's/.*[^0-9]//')
    taskset -c "$cpu" "${unpreempted[@]}" "$load" "$hierarchy$in/a" spin 600000 &
    children+=($!)
    eventually 60 has_spent $in/a 1
    for ((attempt = 0; attempt < 30 && kept < 3; attempt++)); do
        before=$(preemptions ${children[-1]})
        echo "${children[-1]}" >"$hierarchy$in/$to/cgroup.procs"
        get /metrics -o "$scratch/first" "$url/metrics" -o "$scratch/second"
        after=$(preemptions ${children[-1]})
        [ "$(task_clock_of $in/$from "$scratch/first")" = "$(task_clock_of $in/$from "$scratch/second")" ] ||
            late+=("move $attempt: $(task_clock_of $in/$from "$scratch/first") s, then $(
                task_clock_of $in/$from "$scratch/second") s")
        if [ "$after" = "$before" ]; then
            kept=$((kept + 1))
            compares "a task moved from $from to $to is attributed to $to" \
                "$(task_clock_of $in/$to "$scratch/second") - $(task_clock_of $in/$to "$scratch/first") > 0"
        fi
        read -r from to <<<"$to $from"
    done
    [ $kept -gt 0 ] || left_out "a CPU that does not switch"
    equals "moved $attempt times: after the next reading, nothing is attributed to the old cgroup" "${late[*]-}" ""
    kill "${children[-1]}"
    wait "${children[-1]}" 2>/dev/null
    end_daemon
    remove_cgroups "$hierarchy$in"
}

# --- names

# Parses both formats strictly, fails on duplicate series, and prints the names of cgroups.
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

# lacks_controls TITLE FILE: checks that the file has no character that a terminal may interpret: no C0 character but
# the line feed, no DEL and no C1 character.
lacks_controls() {
    if LC_ALL=C grep -aqP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$2"; then
        fail "$1" "$(LC_ALL=C grep -aP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$2" | head -n 3 | cat -v)"
    else
        pass "$1"
    fi
}

# counted_of FILTER: prints the sum of minor faults of the cgroups that match ?cgroup=FILTER.
counted_of() {
    get "/api/v1/counters?event=minor_faults" -G --data-urlencode "cgroup=$1" | jq '[.counters[].value] | add // 0'
}

# Checks names with control characters, terminal escapes and C1 characters in every document that is served.
check_controls() {
    local in=$1 path fffd=$'\xef\xbf\xbd'
    for path in counters cgroups status "rates?seconds=0.1" metrics events; do
        get "/api/v1/$path" >"$scratch/document"
        lacks_controls "/api/v1/$path has no control character" "$scratch/document"
        jq -r '.. | strings' "$scratch/document" >"$scratch/strings"
        lacks_controls "no string in /api/v1/$path has a control character" "$scratch/strings"
    done
    lacks_controls "the exposition has no control character" "$scratch/text"
    lacks_controls "OpenMetrics has no control character" "$scratch/openmetrics"
    get "/api/v1/counters?none%1b%5B31m%c2%9b=1" >"$scratch/refusal"
    get "/metrics?none%1b%5B31m%7f=1" >>"$scratch/refusal"
    get "/none%1b%7f" >>"$scratch/refusal"
    contains "an error response quotes the request" "$(cat "$scratch/refusal")" "none${fffd}[31m"
    lacks_controls "an error response has no control character" "$scratch/refusal"
    lacks_controls "the log has no control character" "$daemon_log"
    "$PERFCOUNTD" plan --config.file="$config" >"$scratch/plan" 2>&1
    lacks_controls "plan prints no control character" "$scratch/plan"
    caused "?cgroup= accepts the path" "$(counted_of "$in/"$'csi\xc2\x9b31m')" 40
    caused "?cgroup= accepts the label" "$(counted_of "$in/csi$fffd${fffd}31m")" 40
    caused "a name that differs only in a control character is another cgroup" "$(counted_of "$in/alike$fffd*")" 90
    equals "two cgroups that differ only in a control character are watched" \
        "$(document '[.cgroups[] | select(.cgroup | test("/alike\ufffd")) | .cgroup] | unique |
        length')" 2
}

test_names() {
    local in=$below/names long deep i
    make $in
    # shellcheck disable=SC1003 # one of the names ends with a backslash
    local names=('with space' 'quote"s' "apostro'phe" 'back\slash' 'back\nslash' 'ends\' '{brace="x"}' '#hash'
        'umlaut-ü' '日本' '-leading' '%25' 'a=b,c' '*star' '[x]' '~' '..hidden' '\x2d')
    for i in "${names[@]}"; do
        make "$in/$i"
    done
    # Linux refuses newlines in cgroup names (EINVAL).
    mkdir "$hierarchy$in/"$'new\nline' 2>/dev/null
    for i in $'tab\there' $'\x01control' $'\x7f' $'\e]0;title\a' $'csi\xc2\x9b31m' $'alike\e' $'alike\a'; do
        make "$in/$i"
    done
    # In names that are not UTF-8, U+FFFD replaces the invalid bytes. Their series must still differ, even from those of
    # a name that imitates the suffix that distinguishes them.
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
    # The next path is longer than any system call accepts.
    (cd "$hierarchy$deep" && mkdir "$long" && cd "$long" && mkdir "$long") ||
        fail "a path beyond PATH_MAX can be created"

    cgroup_config "$config" "include: [\"$in/**\"]" "linger: 2s" "$faults_group"
    start_daemon --config.file="$config"
    fault "$in/quote\"s" 100
    fault "$in/"$'bad\xff' 100
    fault "$in/"$'bad\xfe' 30
    fault "$deep" 50
    fault "$in/"$'csi\xc2\x9b31m' 40
    fault "$in/"$'alike\e' 70
    fault "$in/"$'alike\a' 20
    get /metrics >"$scratch/text"
    get /metrics -H 'Accept: application/openmetrics-text; version=1.0.0' >"$scratch/openmetrics"
    holds "promtool accepts strange names" promtool check metrics <"$scratch/text"
    equals "promtool reports no problem with strange names" "$(promtool check metrics <"$scratch/text" 2>&1)" ""
    holds "the exposition is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null "$scratch/text"
    holds "a strict parser accepts text and OpenMetrics, and no two series are equal" \
        /usr/bin/python3 "$scratch/names.py" "$scratch/text" "$scratch/openmetrics"
    # Here only the text format is parsed, so that one wrong name does not hide the others.
    /usr/bin/python3 "$scratch/names.py" "$scratch/text" >"$scratch/names" 2>/dev/null
    for i in "${names[@]}"; do
        holds "$(printf '%q' "$i") has a series under its name" grep -qxF -- \
            "$(/usr/bin/python3 -c 'import sys; print(ascii(sys.argv[1])[1:-1])' "$in/$i")" "$scratch/names"
        equals "$i is in JSON" "$(state_of "$in/$i")" watched
    done
    holds "a name of 4,000 characters is exported" grep -qx '4000 characters' "$scratch/names"
    equals "both documents are JSON" \
        "$(get /api/v1/cgroups | jq -r type) $(get /api/v1/counters | jq -r type)" "object object"
    holds "JSON is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null <(get /api/v1/counters)
    holds "U+FFFD replaces bytes that are not UTF-8" grep -qF $'\xef\xbf\xbd' "$scratch/text"
    caused "the cgroup with the long name is counted" "$(count "$deep")" 50
    caused "the cgroup with the quote is counted" "$(count "$in/quote\"s")" 100
    caused "?cgroup= accepts a name with a quote" "$(get "/api/v1/counters?event=minor_faults" -G \
        --data-urlencode "cgroup=$in/quote\"s" | jq -r '.counters[0].value')" 100
    check_controls "$in"
    equals "cgroups whose names look alike are all watched, under different labels" "$(document '[.cgroups[] |
        select(.state == "watched" and (.cgroup | test("/bad.*\ufffd"))) | .cgroup] | unique | length')" 10
    get "/api/v1/counters?event=minor_faults" |
        jq -c '[.counters[] | select(.cgroup | test("bad\ufffd")) | .value | select(. > 0)] | sort' >"$scratch/alike"
    if [ "$(jq length "$scratch/alike")" = 2 ] && is_caused "$(jq '.[0]' "$scratch/alike")" 30 &&
        is_caused "$(jq '.[1]' "$scratch/alike")" 100; then
        pass "cgroups whose names look alike are counted separately"
    else
        fail "cgroups whose names look alike are counted separately" "$(cat "$scratch/alike")"
    fi
    remove_cgroups "$hierarchy$in"
    eventually 60 equal_numbers "cgroups_in lingering" 0
    equals "all cgroups with strange names are gone after linger" \
        "$(count "$in/quote\"s") $(cgroups_in watched) $(cgroups_in lingering)" \
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
    limit=$((44 + 10 * cpus)) # enough for the daemon itself and for two and a half cgroups
    cgroup_config "$config" "include: [\"$in/*\"]" \
        'groups: [{name: f, events: "{minor-faults,major-faults,context-switches,cpu-migrations}"}]'
    # shellcheck disable=SC2016 # the inner shell expands it
    wrapper=(bash -c 'ulimit -n "$1"; shift; exec "$@"' limited "$limit")
    start_daemon --config.file="$config"
    wrapper=()
    if [ "$engine" = bpf ]; then
        equals "$limit descriptors are enough for all cgroups" "$(cgroups_in watched) $(cgroups_in dropped)" "30 0"
    else
        compares "with $limit descriptors the daemon watches as many cgroups as fit" \
            "$(cgroups_in watched) > 0 && $(cgroups_in watched) * 4 * $cpus < $limit"
        compares "with $limit descriptors the other cgroups are dropped" \
            "$(cgroups_in dropped) == 30 - $(cgroups_in watched)"
        equals "the dropped cgroups are listed" "$(state_of $in/c10) $(state_of $in/c39)" "watched dropped"
        matches "the log says that descriptors limit the number of cgroups" \
            "$(cat "$daemon_log")" '[Dd]escriptor|RLIMIT_NOFILE|LimitNOFILE|open files'
    fi
    fault $in/c10 100
    caused "a watched cgroup is counted" "$(count $in/c10)" 100
    for i in $(seq 20); do
        get /metrics -o /dev/null 2>/dev/null &
        clients+=($!)
    done
    wait "${clients[@]}"
    equals "after twenty concurrent clients the daemon still responds" "$(status_of /metrics)" 200
    remove $in/c10
    if [ "$engine" != bpf ]; then
        holds "when a watched cgroup is removed, a dropped one takes its place" \
            eventually 60 not is_in_state $in/c10 watched
        eventually 60 equal_numbers "cgroups_in dropped" "$((29 - $(cgroups_in watched)))"
        compares "each of the remaining cgroups is watched or dropped" \
            "$(cgroups_in watched) + $(cgroups_in dropped) == 29 && $(cgroups_in watched) > 0"
    fi
    holds "the daemon is still running" running "$daemon_pid"
    end_daemon

    # The inotify limit is per user. The daemon runs as a user that no other test uses, and that has all but five
    # watches in use.
    local other_user=$((60000 + $$ % 5000))
    cgroup_config "$config" "include: [\"$in/**\"]" "$faults_group"
    chmod 755 "$scratch"
    chmod 644 "$config"
    # shellcheck disable=SC2054 # the comma is setpriv's
    local as_other=(setpriv "--reuid=$other_user" --clear-groups
        --inh-caps=+cap_38,+sys_admin --ambient-caps=+cap_38,+sys_admin)
    if "${as_other[@]}" "$PERFCOUNTD" plan --config.file="$config" >"$scratch/plan" 2>&1; then
        hold_watches 5 || fail "the other user has inotify watches" "$(cat "$scratch/hold-watches")"
        wrapper=("${as_other[@]}")
        start_daemon --config.file="$config"
        wrapper=()
        kill "$watches_holder"
        matches "inotify limit: the log names max_user_watches" "$(cat "$daemon_log")" 'max_user_watches'
        equals "inotify limit: the status names max_user_watches" "$(get /api/v1/status | grep -c max_user_watches)" 1
        compares "inotify limit: all cgroups are watched nevertheless" "$(cgroups_in watched) == 29"
        fault $in/c20 100
        caused "inotify limit: a watched cgroup is counted" "$(count $in/c20)" 100
        make $in/late $in/c20/late
        holds "inotify limit: a rescan finds a new cgroup" eventually 60 has_cgroup $in/late
        holds "inotify limit: a rescan finds a nested cgroup" eventually 60 has_cgroup $in/c20/late
        remove $in/c20/late
        holds "inotify limit: a rescan notices a removed cgroup" eventually 60 not is_in_state $in/c20/late watched
        end_daemon
    else
        left_out "a daemon that runs as another user, for the inotify limit"
    fi
    remove_cgroups "$hierarchy$in"
}
# hold_watches REST: uses up the other user's inotify watches, except for REST of them.
hold_watches() {
    install -d -m 777 "$scratch/watched"
    setpriv "--reuid=$other_user" --clear-groups /usr/bin/python3 "$here/hold-watches.py" \
        "$1" "$scratch/watched" >"$scratch/hold-watches" 2>&1 &
    watches_holder=$!
    children+=($!)
    eventually 60 grep -q held "$scratch/hold-watches"
}

# --- other layouts, in private mount namespaces

cpus_are_served() {
    get /metrics | grep -q '^perf_cpu_context_switches_total{.*} [1-9]'
}

# check_part TITLE: checks a daemon whose root cgroup is $in/space.
check_part() {
    matches "$1: the log or the status says that only part of the tree is visible" \
        "$(cat "$daemon_log"; get /api/v1/status)" 'namespace|part of'
    holds "$1: the root is watched" eventually 60 is_in_state / watched
    make $in/space/inner
    eventually 60 has_cgroup /inner
    fault $in/space/inner 100
    caused "$1: a cgroup below the root is counted" "$(count /inner)" 100
    remove $in/space/inner
}

# failure_of_collector: prints why the whole cgroup collector fails.
failure_of_collector() {
    get /api/v1/status | jq -r '.failures[] | select(.collector == "cgroup" and .reason == "failed") | .message'
}
test_layouts() {
    local in=$below/layouts
    make $in $in/a
    in_layout 'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup' "include: [\"$in/*\"]" "$faults_group"
    fault $in/a 100
    caused "v2 alone on /sys/fs/cgroup is counted" "$(count $in/a)" 100
    make $in/b
    eventually 60 has_cgroup $in/b
    fault $in/b 50
    caused "v2 alone: a new cgroup is counted" "$(count $in/b)" 50
    end_daemon

    in_layout "mount -o remount,bind,ro $hierarchy" "include: [\"$in/*\"]" "$faults_group"
    fault $in/a 100
    caused "a read-only mount is counted" "$(count $in/a)" 100
    holds "a read-only mount: CPU counters are served" cpus_are_served
    end_daemon

    in_layout "mount -t cgroup2 none \$1; umount -R /sys/fs/cgroup" "include: [\"$in/*\"]" "$faults_group"
    fault $in/a 100
    caused "a hierarchy mounted elsewhere is counted" "$(count $in/a)" 100
    end_daemon

    in_layout 'umount -R /sys/fs/cgroup' "include: [\"$in/*\"]" "$faults_group"
    matches "no cgroup file system: the log reports the failure" "$(cat "$daemon_log")" 'no cgroup|cgroup.*not mounted'
    matches "no cgroup file system: the status reports the failure" "$(failure_of_collector)" 'mount'
    holds "no cgroup file system: CPU counters are served" cpus_are_served
    equals "no cgroup file system: /api/v1/cgroups is served" "$(status_of /api/v1/cgroups)" 200
    equals "no cgroup file system: no cgroup is watched" \
        "$(document '[.. | objects | select(.state? == "watched")] | length')" 0
    end_daemon

    if [ "$engine" = bpf ]; then
        make $in/daemon
        in_layout "mount --bind \$1 /sys/kernel/btf; echo 0 >$hierarchy$in/daemon/cgroup.procs" \
            "include: [\"$in/a\"]" "$faults_group"
        fault $in/a 100
        caused "a kernel without BTF counts cgroups" "$(count $in/a)" 100
        end_daemon
        remove $in/daemon
    fi

    # In a cgroup namespace the tree begins at the daemon's own cgroup.
    make $in/space
    in_layout "echo 0 >$hierarchy$in/space/cgroup.procs; umount -R /sys/fs/cgroup
        exec unshare --cgroup bash -c 'mount -t cgroup2 none /sys/fs/cgroup; shift; exec \"\$@\"' x \"\$@\"" \
        'include: ["/", "/*"]' "$faults_group"
    check_part "a cgroup namespace"
    end_daemon
    # In a container without a cgroup namespace, part of the tree is bind-mounted.
    in_layout "mkdir \$1/part; mount --bind $hierarchy$in/space \$1/part; umount -R /sys/fs/cgroup" \
        'include: ["/", "/*"]' "$faults_group"
    check_part "a part of the tree"
    end_daemon
    # If the mounts are older than the cgroup namespace, the whole tree is visible.
    in_layout "echo 0 >$hierarchy$in/space/cgroup.procs
        exec unshare --cgroup bash -c 'shift; exec \"\$@\"' x \"\$@\"" \
        "include: [\"$in/*\"]" "$faults_group"
    fault $in/a 100
    caused "in a cgroup namespace with the host's mounts, cgroups are counted" "$(count $in/a)" 100
    end_daemon
    remove $in/space $in/a $in/b $in
}

# --- name patterns

test_patterns_of_names() {
    local in=$below/named id resident unit=perfcountd-test-$$.service
    id=$(printf '%064x' $$)
    make $in $in/deep $in/deep/$unit $in/deep/$unit/inner $in/deep/other-$unit $in/docker $in/docker/$id \
        $in/docker/$id/inner $in/late
    reside $in/docker/$id/inner
    cgroup_config "$config" "include: [\"unit=*$unit\", container_id=$id]" "exclude: [\"unit=other-*\", /docker/**]" \
        "linger: 0s" "$faults_group"
    start_daemon --config.file="$config"
    holds "name patterns select cgroups at any depth, but not their children" eventually 60 \
        watches_exactly $in/deep/$unit $in/docker/$id
    make $in/late/new-$unit
    holds "a new matching cgroup is opened" eventually 60 is_in_state $in/late/new-$unit watched
    fault $in/docker/$id/inner 500
    caused "a cgroup includes the counts of its children" "$(count $in/docker/$id)" 500
    equals "?unit=GLOB selects by unit" \
        "$(get "/api/v1/counters?unit=*-$unit" | jq -r '[.counters[].cgroup] | unique | join(" ")')" \
        "$in/late/new-$unit"
    equals "?container_id= and ?unit= must both match" \
        "$(get "/api/v1/counters?container_id=$id&unit=*" | jq '.counters | length')" 0
    equals "a name that matches no cgroup gives an empty result" \
        "$(get "/api/v1/rates?seconds=0.05&container=nothing" | jq '.rates | length')" 0
    matches "an invalid glob is rejected with the name of its parameter" \
        "$(get "/api/v1/counters?pod=[x" -w ' %{http_code}')" 'pod.* 400$'
    end_daemon
    "$PERFCOUNTD" stat --config.file="$config" --cgroup=container_id="$id" --interval=0.1s \
        --output="$scratch/table" 2>"$scratch/err"
    equals "stat --cgroup=KEY=GLOB selects by name" "$(cgroups_of_table)" "$in/docker/$id"
    kill "$resident"
    wait "$resident" 2>/dev/null
    remove_cgroups "$hierarchy$in"
}

# --- time without a known cgroup

# untold_seconds: reads lines of "CPU TIME PREV-PID NEXT-PID" and prints for how many seconds the records do not tell
# which task ran: from a switch to a task until the next switch on that CPU, if another task is switched out there.
untold_seconds() {
    awk '$1 in next_pid && next_pid[$1] != $3 { untold += $2 - time[$1] }
        { time[$1] = $2; next_pid[$1] = $4 }
        END { printf "%.6f\n", untold }'
}

# Some kernels run no BPF program and write no perf record at some switches. On one that hides process 1 from tracing,
# 2.7 ms per second were unknown. perf's records of the same switches have the same gaps.
test_unknown() {
    local in=$below/unknown
    [ "$engine" = bpf ] || return 0
    make $in
    cgroup_config "$config" "include: [\"$in\"]" "$faults_group"
    start_daemon --config.file="$config"
    cat >"$scratch/interval" <<END
curl -s '$url/metrics' >/dev/null
curl -s '$url/api/v1/status' >$scratch/before
echo \$\$ >$parent/unknown/cgroup.procs
perf bench sched pipe -l 100000
curl -s '$url/metrics' >/dev/null
curl -s '$url/api/v1/status' >$scratch/after
END
    perf record -q -a -m 4096 -e sched:sched_switch -o "$scratch/switches" sh "$scratch/interval" >"$scratch/perf" 2>&1 ||
        fail "perf records switches" "$(cat "$scratch/perf")"
    perf script -i "$scratch/switches" --ns -F cpu,time,event,trace 2>"$scratch/perf" |
        sed -nE 's/^ *\[([0-9]+)\] +([0-9.]+): .* prev_pid=([0-9]+) .* next_pid=([0-9]+) .*/\1 \2 \3 \4/p' >"$scratch/lines"
    compares "perf recorded the load's switches" "$(wc -l <"$scratch/lines") > 100000"
    compares "the unknown time is at most the gaps in perf's records plus 0.1 ms per second" \
        "$(jq -s '.[1].cgroups.unknown_seconds - .[0].cgroups.unknown_seconds' "$scratch"/{before,after}) < $(
            untold_seconds <"$scratch/lines") + 1e-4 * $(jq -s '.[1].timestamp - .[0].timestamp' "$scratch"/{before,after})"
    end_daemon
    remove_cgroups "$hierarchy$in"
}

# --- scopes without processes

test_vacant() {
    local in=$below/vacant id residents=()
    id=$(printf '%064x' $$)
    make $in $in/left.scope $in/docker-$id.scope $in/idle.service $in/busy.scope
    reside $in/busy.scope
    residents+=("$resident")
    cgroup_config "$config" "include: [\"$in/*\"]" "linger: 0s" "$faults_group"
    start_daemon --config.file="$config"
    holds "scopes without processes are left out" eventually 60 watches_exactly $in/busy.scope $in/idle.service
    make $in/new.scope
    holds "a new scope is watched before its first process starts" eventually 60 is_in_state $in/new.scope watched
    reside $in/docker-$id.scope
    residents+=("$resident")
    holds "a scope is watched as soon as it has a process" eventually 60 is_in_state $in/docker-$id.scope watched
    equals "the document says why a container has no name" "$(get /api/v1/cgroups |
        jq -c '[.cgroups[] | select(.unnamed)] | length, (.[0].unnamed | length > 20)' | xargs)" "1 true"
    end_daemon
    "$PERFCOUNTD" plan --json --config.file="$config" >"$scratch/plan.json"
    equals "plan shows the source of each cgroup's name, or why it has none" \
        "$(jq -r '.cgroups.cgroups[] | .named_by // .unnamed | length > 3' "$scratch/plan.json" | uniq -c | xargs)" \
        "3 true"
    matches "plan: the container table shows the reason" "$("$PERFCOUNTD" plan --config.file="$config")" \
        "CONTAINER +NAMED BY +CGROUP"$'\n'"- +- +$in/docker-$id.scope +[a-z]"
    kill "${residents[@]}"
    wait "${residents[@]}" 2>/dev/null
    remove_cgroups "$hierarchy$in"
}

# --- perfcountd stat --cgroup

# cgroups_of_table: prints the last word of each line that ends with a path, on one line.
cgroups_of_table() {
    awk '$NF ~ "^/" { print $NF }' "$scratch/table" | xargs
}

# tests/unit/test-stat.c tests the table of counts.
test_stat() {
    local in=$below/stat hostile=$'\e[31mred.service'
    make $in $in/a.service $in/b.service $in/c.service "$in/$hostile"
    cgroup_config "$config" "include: [/none]" "exclude: [\"/**/c.service\"]" "$faults_group"
    # shellcheck disable=SC2016 # the inner shell expands them
    "$PERFCOUNTD" stat --config.file="$config" --cgroup='*.service' --sort=minor-faults --output="$scratch/table" -- \
        sh -c '"$0" "$1/a.service" faults 500 && "$0" "$1/b.service" faults 2000' "$load" "$hierarchy$in"
    equals "stat --cgroup lists the matching cgroups, most faults first" \
        "$(cgroups_of_table | cut -d ' ' -f 1,2)" "$in/b.service $in/a.service"
    # shellcheck disable=SC2016 # the inner shell expands them
    "$PERFCOUNTD" stat --config.file="$config" --cgroup="$in/[ab].service" --sort=minor-faults --order=asc \
        --output="$scratch/fewest" -- \
        sh -c '"$0" "$1/a.service" faults 500 && "$0" "$1/b.service" faults 2000' "$load" "$hierarchy$in"
    equals "--order=asc lists the fewest faults first" \
        "$(awk '$NF ~ "^/" { print $NF }' "$scratch/fewest" | xargs)" "$in/a.service $in/b.service"
    "$PERFCOUNTD" stat --cgroup="$in/b*" --cgroup=a.service --interval=0.1s --output="$scratch/few" -e task-clock --sort=cpu
    equals "only the selected cgroups are listed" \
        "$(awk '$NF ~ "^/" { print $NF }' "$scratch/few" | sort | xargs)" "$in/a.service $in/b.service"
    cgroup_config "$config" "include: [$in/a.service]" "$faults_group"
    matches "plan: the singular is used for one cgroup" "$("$PERFCOUNTD" plan --config.file="$config")" \
        ' 1 cgroup +[0-9].*1 cgroup matches below .*; 1 is watched by'
    lacks "a terminal escape in a name is not printed" $'\e' "$scratch/table"
    holds "the rest of the name is printed" grep -qF $'\xef\xbf\xbd[31mred.service' "$scratch/table"
    "$PERFCOUNTD" stat --config.file="$config" --cgroup=nosuch.service -- true 2>"$scratch/err"
    equals "no cgroup matches: exit status" "$?" 1
    contains "no cgroup matches: the message" \
        "$(cat "$scratch/err")" 'no cgroup is counted that matches nosuch.service'
    remove_cgroups "$hierarchy$in"
}

# --- perfcountd record --cgroup

# names_of_recording PATTERN [FLAGS...]: records a cgroup, and prints the exit status and the title of the flame graph
# or the message.
names_of_recording() {
    local status
    "$PERFCOUNTD" record --config.file="$config" --cgroup="$1" --event=cpu-clock --seconds=0.3 -o "$scratch/a.svg" \
        "${@:2}" 2>"$scratch/err"
    status=$?
    printf '%s %s' "$status" "$(sed -n 's/.*<title>\(.*\) on .*/\1/p' "$scratch/a.svg" 2>/dev/null | head -n 1)"
    [ "$status" = 0 ] || cat "$scratch/err"
    rm -f "$scratch/a.svg"
}

# `record` accepts the same cgroup patterns as `stat`, with and without a daemon.
test_record() {
    local in=$below/record id unit=perfcountd-record-$$ flags
    id=$(printf '%064x' $$)
    make $in $in/$unit.service $in/$unit.service/inner $in/docker-$id.scope $in/docker-$id.scope/inner
    while :; do "$load" "$hierarchy$in/$unit.service/inner" spin 1000; done &
    children+=("$!")
    while :; do "$load" "$hierarchy$in/docker-$id.scope/inner" spin 1000; done &
    children+=("$!")
    cgroup_config "$config" "include: [\"$in\", \"$in/**\"]" "$faults_group"
    echo 'sampler: {enabled: true, allow: everybody, event: cpu-clock, hindsight: {enabled: true, event: cpu-clock}}' \
        >>"$config"
    start_daemon --config.file="$config"
    holds "the daemon counts the cgroups" eventually 60 is_in_state $in/docker-$id.scope/inner watched
    for flags in "" "--url=$url"; do
        equals "record accepts a path${flags:+, with a daemon}" \
            "$(names_of_recording $in/$unit.service $flags)" "0 $in/$unit.service"
        equals "record accepts a last path component" "$(names_of_recording $unit.service $flags)" "0 $unit.service"
        equals "record accepts a glob" "$(names_of_recording "$in/[p]erf*" $flags)" "0 $in/[p]erf*"
        equals "record accepts a unit, and includes its children" \
            "$(names_of_recording unit=$unit.service $flags)" "0 unit=$unit.service"
        equals "record accepts a container" "$(names_of_recording container_id=$id $flags)" "0 container_id=$id"
        matches "record lists the cgroups if several match" "$(names_of_recording "$in/*/inner" $flags)" \
            "^2 .*matches 2 cgroups: $in/docker-$id.scope/inner, $in/$unit.service/inner; name one"
        matches "children of a matching cgroup are not listed" "$(names_of_recording "$in/**" $flags)" \
            "^2 .*matches 2 cgroups: $in/docker-$id.scope, $in/$unit.service; name one"
        matches "record says that no cgroup matches" \
            "$(names_of_recording "nosuch-$unit" $flags)" "^1 .*nosuch-$unit matches no cgroup"
        matches "record warns that containers without a known name may match the pattern" \
            "$(names_of_recording container=nosuch $flags)" \
            "^1 .*container=nosuch matches no cgroup.*; [0-9]+ containers? ha[sv]e? no known name: "
    done
    matches "an invalid pattern is rejected" "$(names_of_recording "a[")" '^2 .*--cgroup: .*has no "]"'
    sampled_cgroups
    end_daemon
    kill "${children[@]: -3:2}" 2>/dev/null
    remove_cgroups "$hierarchy$in"
}

# Every format gives the cgroup of each sample, whatever the cgroup is called. A removed cgroup still selects its past
# samples.
sampled_cgroups() {
    local hostile=$in/$unit.service/$'a;"\e\xff b' clean=$in/$unit.service/$'a;"\xef\xbf\xbd\xef\xbf\xbd b'
    make "$hostile"
    while "$load" "$hierarchy$hostile" spin 300; do :; done 2>/dev/null &
    children+=("$!")
    get "/api/v1/samples?seconds=1&unit=$unit.service" >"$scratch/samples"
    equals "samples have the cgroup" "$(jq -r 'select(.type == "sample") | .cgroup' "$scratch/samples" | sort -u)" \
        "$(printf '%s\n' "$clean" $in/$unit.service/inner | sort)"
    get "/api/v1/folded?seconds=1&by=cgroup&cgroup=$in" >"$scratch/folded"
    equals "by=cgroup: stacks begin with the cgroup" "$(grep -v '^#' "$scratch/folded" | sed 's|;.*||' | sort -u)" \
        "$(printf '%s\n' "${clean//;/:}" $in/$unit.service/inner $in/docker-$id.scope/inner | sort)"
    equals "by=container: stacks begin with the container" \
        "$(get "/api/v1/folded?seconds=1&by=container&cgroup=$in" | grep -v '^#' | sed 's|;.*||' | sort -u)" \
        "$(printf '%s\n' '[no container]' "docker-$id.scope" | sort)"
    get "/debug/pprof/profile?seconds=1&container_id=$id" >"$scratch/pprof"
    program=cgroup-load protoc_weights "$scratch/pprof" >/dev/null
    equals "pprof samples have labels" "$(grep '^label' "$scratch/fields" | grep -v '^label comm' | sort)" \
        "$(printf 'label %s\n' "cgroup $in/docker-$id.scope/inner" "unit docker-$id.scope" | sort)"
    kill "${children[@]: -1}"
    wait "${children[@]: -1}" 2>/dev/null
    unset 'children[-1]'
    holds "the cgroup is removed" eventually 60 rmdir "$hierarchy$hostile"
    equals "past samples of a removed cgroup are found" \
        "$(get "/api/v1/samples?last=60&cgroup=a*%20b" | jq -r 'select(.type == "sample") | .cgroup' | sort -u)" "$clean"
    equals "a request to stream a removed cgroup is rejected" "$(status_of "/api/v1/samples?cgroup=a*%20b")" 404
    equals "past samples of several cgroups are found" \
        "$(get "/api/v1/samples?last=60&cgroup=$in/**" | jq -r 'select(.type == "sample") | .cgroup' | sort -u | wc -l)" 3
    equals "a name that matches no cgroup is rejected" "$(status_of "/api/v1/samples?last=60&unit=no.service")" 404
}

[ $# -gt 0 ] || set -- truth deep moved unknown names limits layouts patterns_of_names vacant stat record
with_engines "$@"
finish
