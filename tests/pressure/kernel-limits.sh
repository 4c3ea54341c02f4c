#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sets kernel limits to their minimum: perf_event_mlock_kb, perf_event_max_sample_rate, and the numbers of inotify
# watches and instances. They apply to the whole machine, so each is lowered for as short a time as possible. One test
# floods the sampler, which the kernel throttles.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "root, to set kernel limits"
[ -w /proc/sys/kernel/perf_event_max_sample_rate ] || skip "sysctls that can be set"

# set_sysctl NAME VALUE: changes the sysctl until restore_sysctls, or until the end of the script.
set_sysctl() {
    local file=/proc/sys/${1//.//} before
    before=$(cat "$file")
    at_end+=("echo '$before' >'$file'")
    saved_sysctls+=("$file=$before")
    echo "$2" >"$file"
}
saved_sysctls=()
restore_sysctls() {
    local saved
    for saved in "${saved_sysctls[@]}"; do
        echo "${saved#*=}" >"${saved%%=*}"
    done
    saved_sysctls=()
}

config=$scratch/perfcountd.yaml
# Locked memory is limited per user, so the daemon runs as a user that no other daemon runs as.
cat >"$config" <<'END'
user: games
web: {min_interval: 0s}
collectors:
  cgroup: {enabled: false}
  cpu: {groups: [{name: s, events: "{context-switches,minor-faults}"}]}
sampler: {enabled: true, event: cpu-clock, allow: local, max_clients: 8}
END
# 64 kB of memory may be locked in addition to perf_event_mlock_kb.
wrapper=(prlimit --memlock=65536)
start_daemon --config.file="$config"
# A program to sample.
nice -n 19 sh -c 'while :; do :; done' &
children+=($!)
start_scraping

# stream PATH: requests a stream. Sets status, and answer to the last line.
stream() {
    status=$(get "$1" -o "$scratch/answer" -w '%{http_code}')
    answer=$(tail -n 1 "$scratch/answer")
}
samples() {
    stream '/api/v1/samples?seconds=0.2'
    [ "$status" = 200 ] && [[ $answer == *'"type":"end","reason":"seconds"'* ]]
}
# end_notes: prints the notes in that line.
end_notes() {
    jq -r '.notes[]' <<<"$answer"
}

# --- perf_event_mlock_kb

set_sysctl kernel.perf_event_mlock_kb 0
stream '/api/v1/samples?seconds=0.2'
restore_sysctls
compares "perf_event_mlock_kb 0: a stream is refused" "$status == 403 || $status == 503"
matches "perf_event_mlock_kb 0: the error has the cause and the remedy" "$answer" \
    'cpu 0: a ring of 128 pages.*kernel.perf_event_mlock_kb, which is 0.*LimitMEMLOCK.*sampler.ring_pages'
back "perf_event_mlock_kb" samples

# --- perf_event_max_sample_rate

set_sysctl kernel.perf_event_max_sample_rate 1
stream '/api/v1/samples?seconds=0.5&frequency=1000'
refused=$answer
holds "perf_event_max_sample_rate 1: sampling at the default frequency still works" samples
restore_sysctls
matches "perf_event_max_sample_rate 1: a higher frequency is rejected, with the remedy" "$refused" \
    'over the limit of 1, kernel.perf_event_max_sample_rate'
back "perf_event_max_sample_rate" samples

# --- throttling: 20,000 samples a second are requested, 1,000 are permitted

set_sysctl kernel.perf_event_max_sample_rate 1000
stream '/api/v1/samples?seconds=0.5&period=50000'
throttled=$(grep -c '"type":"throttle"' "$scratch/answer")
notes=$(end_notes)
ndjson_status=$status
get '/debug/pprof/profile?seconds=0.5&period=50000' -o "$scratch/pprof"
restore_sysctls
equals "throttled: the stream continues to its end" "$ndjson_status" 200
compares "throttled: the stream has throttle records" "$throttled > 10"
contains "throttled: the end record says how often" "$notes" "the kernel throttled sampling $throttled times"
contains "throttled: the end record has the remedy" "$notes" kernel.perf_event_max_sample_rate
holds "throttled: the profile says how often" grep -qa 'the kernel throttled sampling [0-9]* times*,' \
    <(gzip -dc "$scratch/pprof")
unthrottled() {
    samples && ! end_notes | grep -q throttled
}
back "throttled" unthrottled

served_rightly "perf limits"
ends_well "perf limits"
wrapper=()

# --- inotify

make_cgroup
mkdir -p "$hierarchy$below"/{a,b,c}/{d,e}
cat >"$config" <<END
web: {min_interval: 0s}
collectors:
  cpu: {enabled: false}
  cgroup: {engine: perf, include: ["$below/**"], groups: [{name: f, events: "{minor-faults}"}]}
END
watched() {
    [ "$(metric 'perfcountd_cgroups{state="watched"}')" = "$1" ]
}
# inotify LIMIT TEXT: checks that with this limit at 0, cgroups are found when the daemon is scraped, and that the log
# says why.
inotify() {
    set_sysctl "fs.inotify.$1" 0
    start_daemon --config.file="$config"
    restore_sysctls
    says "$1: why changes are not seen, and how to fix it," "$2" "fs.inotify.$1"
    contains "$1: the status names the limit" "$(get /api/v1/status)" "fs.inotify.$1"
    holds "$1: the cgroups are counted" eventually 60 watched 9
    mkdir "$hierarchy$below/new"
    holds "$1: a new cgroup is found by a scrape" eventually 60 watched 10
    rmdir "$hierarchy$below/new"
    ends_well "$1"
}
inotify max_user_watches 'limit of inotify watches'
inotify max_user_instances 'inotify is not available|limit of inotify instances'
finish
