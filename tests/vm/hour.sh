# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Simulates an hour of the board's time within minutes; in the middle of the hour, one of two services slows down.
# Checks that there is one finding, with that service and that minute, that the history agrees with the counters, and
# that contrib/fleet/backfill makes samples from half an hour of the history. Prints what the hour costs the daemon.
# Source it after board.sh, cgroup.sh and truth.sh.
# shellcheck disable=SC2154 # set there

hour_seconds=3600
hour_slow=/system.slice/slow.service

# The board itself makes all requests, since its time would jump between two requests from outside. ring() prints the
# members `begin` and `end` of struct head in collectors/history.c; both only grow. The first quarter of the file is for
# readings that clients cause.
# shellcheck disable=SC2016 # the board expands it
hour_functions='
    daemon=$(cat /tmp/daemon.pid)
    ask() { wget -q -O "/tmp/hour/$1" "http://127.0.0.1:10298$2" || echo "no answer: $2"; }
    switches() {
        for pid in $daemon $(cat /proc/$daemon/task/*/children); do
            awk "/^voluntary_ctxt_switches/ { n += \$2 } END { print n }" /proc/$pid/task/*/status
        done | xargs
    }
    ring() {
        for file in /proc/$daemon/map_files/*; do
            case $(readlink "$file") in
            *perfcountd-history*) od -A n -t d8 -j $((512 * 1024 + 24)) -N 16 "$file" ;;
            esac
        done
    }
    look() {
        ask "$1.json" /api/v1/counters
        ask "$1.txt" /metrics
        switches >"/tmp/hour/$1.switches"
        ring >"/tmp/hour/$1.ring"
    }'

hour_service() { # CPU NAME PHASE BEFORE AFTER
    printf '%s >/tmp/hour/%s &\n' \
        "$(cgroup_command "$1" "system.slice/$2.service" "spin $1 service $hour_seconds $3 $4 $5")" "$2"
}

# The services never work at the same time, since QEMU's counters include the instructions of all CPUs. Because of
# min_interval, a request gets the last reading of the history, so that both can be compared exactly.
hour_pass() {
    local file
    cgroup_make -p system.slice/slow.service system.slice/steady.service
    # The daemon is started as a service manager would start it, so that the history is in a file.
    # shellcheck disable=SC2016 # the board expands it
    daemon_start 'NOTIFY_SOCKET=/tmp/nobody' sh -c \''SYSTEMD_EXEC_PID=$$ exec "$@"'\' sh <<'YAML'
web: {min_interval: 20s}
collectors: {cgroup: {enabled: true}}
YAML
    VM_RUN_TIMEOUT=7200 vm_run "$hour_functions
        mkdir /tmp/hour
        sleep 11
        look before
        $(hour_service 1 slow 0 40 20)
        $(hour_service 3 steady 500 30 30)
        sleep $((hour_seconds / 2 - 20))
        ask half.findings /api/v1/findings
        sleep $((hour_seconds / 2 + 10))
        ask findings /api/v1/findings
        perfcountd stat --last=1h --url=http://127.0.0.1:10298 >/tmp/hour/stat
        wait
        sleep 11
        look after
        ask history '/api/v1/history?derived=ipc,cpu_frequency_hertz'"
    for file in slow {before,after}.{json,txt,switches,ring} half.findings findings stat history; do
        vm_run "cat /tmp/hour/$file" >"$scratch/$file"
    done
}

# hour_of_findings FILTER [FILE]: applies this jq filter to the findings about services.
hour_of_findings() {
    jq -r ".findings | map(select(.rule == \"service_changed\")) | $1" "$scratch/${2-findings}"
}

hour_findings() {
    local slowed since
    slowed=$(<"$scratch/slow") since=$(hour_of_findings '.[0].since')
    jq -r '.findings[] | "    \(.rule): \(.title). \(.text)"' "$scratch/findings"
    equals "after half an hour without a change there is no finding about a service" \
        "$(hour_of_findings length half.findings)" 0
    equals "after the hour there is one finding, about the service that slowed down" \
        "$(hour_of_findings 'map(.cgroup) | @json')" "[\"$hour_slow\"]"
    equals "the finding is about ipc, and has not ended" \
        "$(hour_of_findings '.[0] | "\(.metric) \(.until)"')" "ipc null"
    compares "the finding says that ipc fell from 0.4 to 0.2, within 5 %" "$(hour_of_findings \
        '.[0] | [.before / 0.4, .after / 0.2] | map(if . > 0.95 and . < 1.05 then 1 else 0 end) | add') == 2"
    compares "the finding begins within a minute of the slowdown" \
        "${slowed:-0} > 0 && ${since:-0} - ${slowed:-0} <= 60 && ${slowed:-0} - ${since:-0} <= 60"
    contains "stat --last prints the finding" "$(<"$scratch/stat")" "$(hour_of_findings '.[0].title')"
    equals "the finding's evidence has both values of ipc" "$(get "$(hour_of_findings '.[0].evidence')" -f |
        jq -c '[20, 40] - [.rows[].derived.ipc | arrays[] | values * 100 | round]')" "[]"
}

# Computes the growth of each event and of each CPU's busy seconds between two readings, from the history's steps and
# from the counters. The two differ in floating-point rounding.
# shellcheck disable=SC2016 # jq expands it
hour_growths='
    def key: [.collector, .cpu, .cgroup, .pmu, .group] | @json;
    def counted: reduce .counters[] as $c ({}; .[$c | key][$c.event] = $c.value);
    def busy: [capture("\nperfcountd_cpu_busy_seconds_total\\{cpu=\"(?<cpu>\\d+)\"\\} (?<value>\\S+)"; "g")] |
        map({(.cpu): .value | tonumber}) | add;
    ($before[0] | counted) as $old | ($after[0] | counted) as $new
    | ($before_text | busy) as $old_busy | ($after_text | busy) as $new_busy
    | ($history[0].times | to_entries | map(select(.value > $before[0].timestamp + 0.001 and
        .value < $after[0].timestamp + 0.001).key)) as $steps
    | def grown: . as $values | [$steps[] | $values[.]] | if any(. == null) then null else add end;
    [$history[0].rows[] | key as $key
        | (.events | to_entries[] | {row: $key, event: .key, history: .value | grown,
            counters: ($new[$key][.key] - $old[$key][.key])}),
        (select(.cpu) | {row: $key, event: "busy", history: (.busy // [] | grown),
            counters: ($new_busy[.cpu | tostring] - $old_busy[.cpu | tostring])})]'

hour_history() {
    local growths
    growths=$(jq -c -n --slurpfile before "$scratch/before.json" --slurpfile after "$scratch/after.json" \
        --rawfile before_text "$scratch/before.txt" --rawfile after_text "$scratch/after.txt" \
        --slurpfile history "$scratch/history" "$hour_growths")
    equals "the history has exactly the rows that are counted" \
        "$(jq -c '[.[] | select(.event != "busy") | [.row, .event]] | sort' <<<"$growths")" "$(jq -c '
            [.counters[] | [([.collector, .cpu, .cgroup, .pmu, .group] | @json), .event]] | sort' "$scratch/after.json")"
    equals "the history has both kinds of core, and the cgroups on both" \
        "$(jq -r '[.rows[] | select(.pmu != "software") |
        "\(.cpu // .cgroup) \(.pmu | ltrimstr("armv8_cortex_"))"] | sort | join(", ")' "$scratch/history")" \
        "/system.slice a55, /system.slice a76, $hour_slow a55, $hour_slow a76, \
/system.slice/steady.service a55, /system.slice/steady.service a76, 0 a55, 1 a55, 2 a76, 3 a76"
    equals "the history of the hour agrees with the counters and /metrics" \
        "$(jq -c 'map(select(.history == null or
            (.history - .counters | fabs) > 0.000001 + 1e-12 * .counters))' <<<"$growths")" "[]"
    equals "each step in which a CPU was busy for a second has ipc and cpu_frequency_hertz" "$(jq -c '
        [.rows[] | select(.cpu == 1 or .cpu == 3) | select(.derived.ipc) | . as $row | .busy | to_entries[] |
            select(.value >= 1).key | [$row.derived.ipc[.], $row.derived.cpu_frequency_hertz[.]] | map(. != null)] |
        [length > 700, unique]' "$scratch/history")" "[true,[[true,true]]]"
}

# Files stand in for the daemon, whose last reading is in the history.
hour_backfill() {
    local begin
    begin=$(jq .timestamp "$scratch/before.json")
    mkdir -p "$scratch/simulated/api/v1"
    cp "$scratch/after.json" "$scratch/simulated/api/v1/counters"
    cp "$scratch/history" "$scratch/simulated/api/v1/history"
    hour_fill() {
        "$root/contrib/fleet/backfill" --margin=0 "--since=$(jq -n "$begin + $1")" "--until=$(jq -n "$begin + $2")" \
            "file://$scratch/simulated"
    }
    hour_fill -0.01 0.01 >"$scratch/filled"
    equals "an hour later, backfill has the value that each counter had in the first scrape" \
        "$(jq -c -n --rawfile before "$scratch/before.txt" \
        --slurpfile filled "$scratch/filled" '
        ($filled | map({("\(.metric.__name__){" + (.metric | del(.__name__) | to_entries |
            map("\(.key)=\"\(.value)\"") | join(",")) + "}"): .values}) | add) as $filled
        | [$before | split("\n")[] | capture("^(?<series>perf_[a-z_0-9]+_total\\{[^}]*\\}) (?<value>.+)$") |
            select($filled[.series] != [.value | tonumber]) | .filled = $filled[.series]]')" "[]"
    hour_fill 900 2700 >"$scratch/filled"
    compares "a backfill of half an hour has all series" \
        "$(grep -c . "$scratch/filled") >= $(grep -c '^perf_.*_total{' "$scratch/before.txt")"
    equals "in a backfill of half an hour, no counter falls, and none lacks a reading" \
        "$(jq -c 'select((.values | length) < 170 or .values != (.values | sort) or
        ([.timestamps, .timestamps[1:]] | transpose[:-1] | any(.[1] - .[0] > 12000))) | .metric' "$scratch/filled")" ""
}

# hour_cpu FILE: prints the CPU seconds of the daemon and of its opener, one per line, in the same order as the file of
# switches.
hour_cpu() {
    sed -n 's/^\(perfcountd_\)\?process_cpu_seconds_total\({process="opener"}\)\? //p' "$scratch/$1"
}

# Prints what the hour costs the daemon. An instruction takes 2 ns of the board's time.
hour_costs() {
    local seconds bytes
    seconds=$(jq -n --slurpfile a "$scratch/after.json" --slurpfile b "$scratch/before.json" \
        '$a[0].timestamp - $b[0].timestamp')
    bytes=$(awk '{ n = $2 - n } END { print n }' "$scratch"/{before,after}.ring)
    printf '    costs in %.0f s, with %s rows of counters:\n' "$seconds" "$(jq '.rows | length' "$scratch/history")"
    paste -d' ' <(printf '%s\n' daemon opener) <(hour_cpu before.txt) <(hour_cpu after.txt) \
        <(xargs -n 1 <"$scratch/before.switches") <(xargs -n 1 <"$scratch/after.switches") |
        awk -v seconds="$seconds" '{
            printf "    %s: %.2f s of CPU time, %.0f s in a day; woken %d times\n", $1, $3 - $2,
                ($3 - $2) / seconds * 86400, $5 - $4 }'
    echo "    the history: $bytes bytes"
    compares "the costs were measured" "$bytes > 0 && $(hour_cpu after.txt | head -n 1) > 0"
}

test_hour() {
    hour_pass
    hour_findings
    hour_history
    hour_backfill
    hour_costs
    daemon_stop
    cgroup_remove
}
