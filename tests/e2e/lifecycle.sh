#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Starts, reloads, stops and kills the daemon.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq

config=$scratch/perfcountd.yaml
groups() {
    printf 'web: {min_interval: 0s, local_operators: true}\ncollectors:\n  cgroup: {enabled: false}\n  cpu:\n    groups:\n'
    printf '      - {name: %s, events: "%s"}\n' "$@"
}
# value EVENT GROUP: prints the total over all CPUs.
value() {
    get "/api/v1/counters?group=$2&event=$1" | jq '[.counters[].value] | add'
}
has_group() {
    get "/api/v1/counters?group=$1" | jq -e '.counters | length > 0'
}
value_of_metric() {
    get /metrics | awk -v name="$1" '$1 == name { print $2 }'
}
# exit_status FLAGS...: prints the exit status of a daemon that is expected to fail.
exit_status() {
    local status=0
    timeout 60 "$PERFCOUNTD" "$@" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
    echo "$status"
}

# --- SIGTERM while a client waits

start_daemon
wait_for_answer '/api/v1/rates?seconds=60'
stop_daemon
equals "SIGTERM with a waiting client: exit status 0" "$daemon_status" 0
exec {waiting}>&-
start_daemon
kill -INT "$daemon_pid"
wait "$daemon_pid"
equals "SIGINT ends the daemon with exit status 0" "$?" 0

# --- a configuration whose path is not UTF-8

latin1=$scratch/$(printf 'p\344th').yaml
groups named '{minor-faults}' >"$latin1"
start_daemon --config.file="$latin1"
replaced=$scratch/p$(printf '\357\277\275')th.yaml
equals "the status shows the file name with the invalid bytes replaced" \
    "$(get /api/v1/status | jq -r .config_file)" "$replaced"
echo 'web: {no: thing}' >"$latin1"
equals "a bad configuration is rejected" "$(status_of /-/reload -X POST)" 400
matches "the status says why a configuration was rejected" \
    "$(get /api/v1/status | jq -r .config_last_reload_error)" 'unknown key "no"'
stop_daemon

# --- the uevent socket overflows: the daemon checks which CPUs are online, and no count is lost

flood=/sys/class/mem/null/uevent
if [ "$(id -u)" = 0 ] && [ -w "$flood" ]; then
    echo 'web: {min_interval: 0s}' >"$config"
    start_daemon --config.file="$config"
    counted() {
        get '/api/v1/counters?group=software&cpu=0' | jq '.counters[0].enabled_ns'
    }
    before=$(counted)
    kill -STOP "$daemon_pid"
    for _ in $(seq 3000); do echo change >"$flood"; done
    kill -CONT "$daemon_pid"
    holds "after an overflow, the daemon checks which CPUs are online" \
        eventually 60 log_has 'CPUs online'
    compares "the previous counts are kept" "$before > 0 && $(counted) > $before"
    stop_daemon
fi

# --- reload

# The port is reused below, so the address is one on which no other program takes a port meanwhile.
address=127.19.84.1
groups stays '{minor-faults,context-switches}' goes '{cpu-migrations}' >"$config"
start_daemon --config.file="$config" --web.listen-address=$address:0
equals "perfcountd_config_last_reload_successful is 1 after the start" \
    "$(value_of_metric perfcountd_config_last_reload_successful)" 1
# The page faults of many processes make the total large, so that a total that restarts at 0 is noticed.
for _ in $(seq 200); do /bin/true; done
stays=$(value minor_faults stays)
enabled=$(sum_of 'perf_cpu_group_enabled_seconds_total{.*group="stays".*}')
compares "minor faults are counted" "$stays > 1000"

groups stays '{minor-faults,context-switches}' comes '{major-faults}' >"$config"
kill -HUP "$daemon_pid"
holds "SIGHUP adds the new group" eventually 60 has_group comes
holds "SIGHUP removes the old group" not has_group goes
compares "the totals of an unchanged group continue" "$(value minor_faults stays) >= $stays"
compares "the enabled time of an unchanged group continues" \
    "$(sum_of 'perf_cpu_group_enabled_seconds_total{.*group="stays".*}') >= $enabled"

stays=$(value minor_faults stays)
groups before '{page-faults}' stays '{minor-faults,context-switches}' >"$config"
equals "POST /-/reload succeeds" "$(status_of /-/reload -X POST)" 200
compares "totals continue when the order of the groups changes" "$(value minor_faults stays) >= $stays"
compares "the new group is counted" "$(value page_faults before) >= 0"

stays=$(value minor_faults stays)
groups stays '{minor-faults' >"$config"
echo 'nonsense: true' >>"$config"
equals "an invalid file is rejected" "$(status_of /-/reload -X POST)" 400
matches "the error has file, line and column" "$(get /-/reload -X POST)" "$config:[0-9]+:[0-9]+: "
equals "the metric says that the reload failed" "$(value_of_metric perfcountd_config_last_reload_successful)" 0
holds "the old configuration stays in effect" has_group before
errors=$(grep -cE "$config:[0-9]+:[0-9]+: " "$daemon_log")
kill -HUP "$daemon_pid"
holds "an invalid file is rejected on SIGHUP, and logged" eventually 60 log_has "$config:" $((errors + 1))
holds "the old configuration stays in effect after SIGHUP" has_group before
rm "$config"
equals "a missing file is rejected" "$(status_of /-/reload -X POST)" 400
: >"$config"
equals "an empty file is rejected, as it may still be being written" "$(status_of /-/reload -X POST)" 400
groups stays '{minor-faults,context-switches}' >"$config"
equals "a valid file is accepted again" "$(status_of /-/reload -X POST)" 200
equals "the metric says that the reload succeeded" "$(value_of_metric perfcountd_config_last_reload_successful)" 1
compares "the totals continue after all reloads" "$(value minor_faults stays) >= $stays"

# Groups are added and removed repeatedly.
descriptors_are() {
    [ "$(find "/proc/$daemon_pid/fd" | wc -l)" -eq "$1" ]
}
holds "all connections are closed" eventually 60 clients_are_gone
files=$(find "/proc/$daemon_pid/fd" | wc -l)
for _ in 1 2 3 4 5 6 7 8 9 10; do
    groups a$_ '{minor-faults}' stays '{minor-faults,context-switches}' >"$config"
    get /-/reload -X POST -o /dev/null
done
groups stays '{minor-faults,context-switches}' >"$config"
get /-/reload -X POST -o /dev/null
holds "ten reloads leak no descriptor" eventually 60 descriptors_are "$files"

# Totals never decrease while the configuration changes repeatedly.
fell=0
last=0
for i in $(seq 20); do
    groups "other$((i % 2))" '{page-faults}' stays '{minor-faults,context-switches}' >"$config"
    kill -HUP "$daemon_pid"
    now=$(value minor_faults stays)
    [ "$now" -ge "$last" ] || fell=$((fell + 1))
    last=$now
done
equals "totals never decrease across twenty SIGHUPs" "$fell" 0

# --- kill -9, and a restart on the same port

port=${url##*:}
kill -9 "$daemon_pid"
wait "$daemon_pid" 2>/dev/null
start_daemon --config.file="$config" --web.listen-address="$address:$port"
equals "after kill -9, the daemon starts again on the same port" "$(status_of /metrics)" 200

# --- errors before anything is opened

equals "a port in use: exit status 2" "$(exit_status --web.listen-address="$address:$port")" 2
equals "a port in use: the error is one line" "$(wc -l <"$scratch/stderr")" 1
matches "a port in use: the error names the address" "$(cat "$scratch/stderr")" "${address//./\\.}:$port.*in use"
equals "an address of another machine: exit status 2" "$(exit_status --web.listen-address=192.0.2.1:9999)" 2
equals "an address of another machine: the error is one line" "$(wc -l <"$scratch/stderr")" 1
matches "an address of another machine: the error names the address" "$(cat "$scratch/stderr")" "192\.0\.2\.1"
stop_daemon

socket=$scratch/http.sock
start_daemon --no-opener --web.listen-address="unix:$socket" --web.listen-address=127.0.0.1:0
kill -9 "$daemon_pid"
wait "$daemon_pid" 2>/dev/null
start_daemon --web.listen-address="unix:$socket" --web.listen-address=127.0.0.1:0
equals "a unix socket left by kill -9 is replaced" \
    "$(curl -s -o /dev/null -w '%{http_code}' --unix-socket "$socket" http://localhost/metrics)" 200
equals "a unix socket in use is an error" "$(exit_status --web.listen-address="unix:$socket")" 2
equals "the unix socket in use still works" \
    "$(curl -s -o /dev/null -w '%{http_code}' --unix-socket "$socket" http://localhost/metrics)" 200
stop_daemon
holds "the unix socket is removed at exit, even from root's directory" not test -e "$socket"
if [ "$(id -u)" = 0 ]; then
    start_daemon --web.listen-address="unix:$socket" --web.listen-address=127.0.0.1:0
    opener=$(child_named perfcountd-open)
    kill -9 "$daemon_pid"
    wait "$daemon_pid" 2>/dev/null
    holds "the unix socket is removed after kill -9" eventually 60 not test -e "$socket"
    holds "the opener ends after kill -9" eventually 60 not running "$opener"
else
    left_out "an opener, which requires root"
fi
finish
