#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests pauses with real counters: counts and times stand still, no counter decreases, and counting resumes by itself.
# set: all
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need curl jq ip
# shellcheck source=cgroup-lib.sh
. "$here/cgroup-lib.sh"

config=$scratch/pause.yaml
cat >"$config" <<END
web: {min_interval: 0s, local_operators: true}
collectors:
  cpu: {groups: [{name: f, events: "{minor-faults,context-switches}"}]}
  cgroup: {engine: $engine, include: ["$below/*"], $faults_group}
sampler: {enabled: true, event: cpu-clock, frequency: 100}
END

pause() {
    get "/api/v1/pause${1:+?seconds=$1}" -X POST
}
resume() {
    get /api/v1/pause -X DELETE
}
paused() {
    get /metrics | awk '$1 == "perfcountd_paused" { print $2 }'
}
is_paused() {
    [ "$(paused)" = 1 ]
}
# totals: prints every counter and time of the collectors cpu and cgroup, sorted by name.
totals() {
    get '/metrics?collect[]=cpu&collect[]=cgroup' | grep -E '^perf_(cpu|cgroup)_.*_total' | sort
}
# fallen BEFORE AFTER: prints the series that decreased or disappeared.
fallen() {
    [ -n "$1" ] || echo "there was none"
    join -a 1 <(sort <<<"$1") <(sort <<<"$2") | awk 'NF < 3 || $3 < $2'
}
# work: causes page faults and context switches in the cgroup $below/a, which is counted.
work() {
    fault "$below/a" 20000
}
states() {
    get /metrics | grep -E '^perfcountd_groups[{]collector="(cpu|cgroup)"' | sort
}

mkdir "$parent/a"
start_daemon --config.file="$config"
eventually 60 has_cgroup "$below/a"
work
equals "perfcountd_paused is 0" "$(paused)" 0
equals "GET says that nothing is paused" "$(get /api/v1/pause | jq -c .)" '{"paused":false}'
compares "page faults are counted" "$(count "$below/a") >= 20000 - $unknown_faults"
states=$(states)

# --- during a pause

begin=$(date +%s)
answer=$(pause 30)
end=$(date +%s)
equals "the response has the state and the length of the pause" \
    "$(jq -c '[.paused, .seconds]' <<<"$answer")" '[true,30]'
compares "the response says when the pause ends" \
    "$(jq .until <<<"$answer") >= $begin + 29 && $(jq .until <<<"$answer") <= $end + 31"
equals "perfcountd_paused is 1 at once" "$(paused)" 1
equals "the status says that counting is paused" \
    "$(get /api/v1/status | jq -c '[.paused, (.paused_until > 0)]')" '[true,true]'
before=$(totals)
compares "there are totals to compare" "$(wc -l <<<"$before") > 8"
work
equals "totals and times do not change while the machine works" "$(totals)" "$before"
equals "the states of groups do not change" "$(states)" "$states"
equals "rates are null" "$(get '/api/v1/rates?seconds=0.2&collector=cpu' |
    jq -c '[.rates[].events[]] | unique')" '[null]'
equals "HEAD and GET are always allowed" "$(status_of /api/v1/pause -I) $(status_of /api/v1/pause)" "200 200"
holds "the pause is logged" grep -q 'paused for 30 seconds' "$daemon_log"

# --- events that are opened during the pause

mkdir "$parent/b"
holds "a cgroup created during the pause has a series" eventually 60 has_cgroup "$below/b"
fault "$below/b" 20000
equals "a cgroup created during the pause is not counted" "$(count "$below/b")" 0
sed -i '/^  cpu:/s/name: f, events: .*/name: g, events: "minor-faults"}]}/' "$config"
equals "a reload succeeds" "$(status_of /-/reload -X POST)" 200
equals "the reload does not end the pause" "$(paused)" 1
work
equals "groups added by the reload are not counted" "$(get '/api/v1/counters?collector=cpu&group=g' |
    jq -c '[.counters[] | .value, .enabled_ns] | unique')" '[0]'
equals "no total decreased" "$(fallen "$(grep cgroup_ <<<"$before")" "$(totals)")" ""

# --- after the pause

before=$(totals)
equals "DELETE ends the pause" "$(resume | jq -c .)" '{"paused":false}'
equals "perfcountd_paused is 0 again" "$(paused)" 0
fault "$below/b" 20000
after_b=$(count "$below/b")
compares "a cgroup created during the pause is now counted" \
    "$after_b >= 20000 - $unknown_faults && $after_b < 20500"
work
after=$(totals)
equals "no total decreased" "$(fallen "$before" "$after")" ""
compares "existing cgroups continue from their totals" \
    "$(count "$below/a") >= 40000 - $unknown_faults && $(count "$below/a") < 41000"
compares "all CPUs are counted again" \
    "$(get '/api/v1/counters?collector=cpu&group=g' | jq '[.counters[].enabled_ns] | min') > 0"
equals "a second DELETE has no effect" "$(resume | jq -c .)" '{"paused":false}'

# --- streams stay open during a pause but get no samples

# has_line FILE PATTERN: succeeds if a line of the file matches.
has_line() {
    grep -q -- "$2" "$1"
}
pause 60 >/dev/null
curl -sN "$url/api/v1/samples?seconds=1000" >"$scratch/late" &
late=$!
children+=("$late")
holds "a stream that starts during a pause begins with a pause record" \
    eventually 60 has_line "$scratch/late" '"type":"pause"'
resume >/dev/null
holds "a stream that starts during a pause has samples after the pause" \
    eventually 60 has_line "$scratch/late" '"type":"sample"'
kill "$late"
equals "a stream that starts during a pause has its records in order" \
    "$(jq -r .type "$scratch/late" 2>/dev/null | grep -xE 'header|pause|resume|sample' | uniq |
    head -n 4 | xargs)" "header pause resume sample"
curl -sN "$url/api/v1/samples?seconds=1000" >"$scratch/stream" &
stream=$!
children+=("$stream")
holds "a stream runs" eventually 60 has_line "$scratch/stream" '"type":"sample"'
pause 600 >/dev/null
holds "a running stream receives a pause record" eventually 60 has_line "$scratch/stream" '"type":"pause"'
before=$(samples_in "$scratch/stream")
cp "$(command -v bash)" "$scratch/newcomer"
"$scratch/newcomer" -c 'while :; do :; done' &
newcomer=$!
children+=("$newcomer")
equals "a stream's time limit applies during a pause, too" \
    "$(get '/api/v1/samples?seconds=2' | tail -n 1 | jq -c '[.reason, .records <= 1]')" '["seconds",true]'
equals "no sample is taken" "$(samples_in "$scratch/stream")" "$before"
resume >/dev/null
# named_newcomer: succeeds if samples of the new process contain its name and its program.
named_newcomer() {
    grep -F "\"pid\":$newcomer," "$scratch/stream" |
        jq -r 'select(.type == "sample") | "\(.comm) \(.module)"' 2>/dev/null |
        grep -q '^newcomer .*/newcomer$'
}
holds "samples of a process that started during the pause have its name and program" eventually 60 named_newcomer
kill "$newcomer" "$stream"
wait "$stream"
equals "no sample has a time within the pause" "$(sed '$d' "$scratch/stream" |
    jq -s '(map(select(.type == "pause")) | first.time) as $from |
    (map(select(.type == "resume")) | first.time) as $to |
    [$to > $from, (map(select(.type == "sample" and .time > $from and .time < $to)) | length)] | join(" ")')" '"true 0"'

# --- the pause ends by itself

pause 3600 >/dev/null
begin=${EPOCHREALTIME/[.,]/}
equals "a second POST replaces the length of the pause" "$(pause 2 | jq -c '[.paused, .seconds]')" '[true,2]'
before=$(totals)
equals "POST to resume ends the pause" \
    "$(pause 1 >/dev/null && get /api/v1/resume -X POST | jq -c .)" '{"paused":false}'
holds "the log uses the singular for one second" grep -qw 'paused for 1 second' "$daemon_log"
equals "the length may have a unit" "$(pause 2s | jq -c '[.paused, .seconds]')" '[true,2]'
holds "the pause ends by itself" eventually 60 not is_paused
compares "the pause does not end too early (us)" "${EPOCHREALTIME/[.,]/} - $begin >= 2000000"
holds "the end of the pause is logged" grep -q 'the pause is over' "$daemon_log"
work
compares "page faults are counted again" "$(count "$below/a") >= 60000 - $unknown_faults"
equals "no total decreased" "$(fallen "$before" "$(totals)")" ""
equals "the default length is a minute" "$(pause '' | jq -c '[.paused, .seconds]')" '[true,60]'

# tests/unit/test-server.c tests the other errors.
equals "400: more than an hour" "$(status_of '/api/v1/pause?seconds=3601' -X POST)" 400
equals "400: an unknown parameter" "$(status_of '/api/v1/pause?minutes=1' -X POST)" 400
equals "400: a length in the body" "$(status_of /api/v1/pause -d seconds=5)" 400
contains "400: the message says where the length belongs" "$(get /api/v1/pause -d seconds=5)" '/api/v1/pause?seconds=60'
equals "a web page may not pause" "$(status_of /api/v1/pause -X POST -H 'Origin: http://evil.example')" 403
equals "a web page may not resume" "$(status_of /api/v1/pause -X DELETE -H 'Origin: http://evil.example')" 403
equals "rejected requests do not end the pause" "$(paused)" 1
resume >/dev/null
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0

# --- requests from another machine, simulated by a network namespace behind a pair of veth devices

near=169.254.$(($$ / 64 % 254 + 1)).$(($$ % 64 * 4 + 1))
far=${near%.*}.$(($$ % 64 * 4 + 2))
elsewhere=(ip netns exec "perfcountd-$$")
make_elsewhere() {
    ip netns add "perfcountd-$$" && at_end+=("ip netns delete perfcountd-$$") &&
        ip link add "pc$$" type veth peer name "pd$$" netns "perfcountd-$$" &&
        ip address add "$near/30" dev "pc$$" && ip link set "pc$$" up &&
        "${elsewhere[@]}" ip address add "$far/30" dev "pd$$" && "${elsewhere[@]}" ip link set "pd$$" up
}
test_elsewhere() {
    if ! make_elsewhere 2>"$scratch/elsewhere"; then
        left_out "network namespaces, to simulate another machine"
        return
    fi
    start_daemon --config.file="$config" --web.listen-address=$near:0
    equals "another machine may scrape" "$("${elsewhere[@]}" curl -s -o /dev/null -w '%{http_code}' "$url/metrics")" 200
    equals "another machine may see whether counting is paused, and who may pause it" \
        "$("${elsewhere[@]}" curl -s "$url/api/v1/pause" | jq -c '[.paused, .refusal[:14]]')" \
        '[false,"only operators"]'
    for method in POST DELETE; do
        equals "another machine may not $method" \
            "$("${elsewhere[@]}" curl -s -o /dev/null -w '%{http_code}' -X $method "$url/api/v1/pause")" 403
    done
    equals "nothing is paused" "$("${elsewhere[@]}" curl -s "$url/api/v1/pause" | jq -c .paused)" false
    stop_daemon
}
test_elsewhere
finish
