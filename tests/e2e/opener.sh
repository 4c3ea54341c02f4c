#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the opener: its rights and the daemon's, counts of events that it opened, what happens when one of the two
# processes ends, and the removal of its BPF programs. tests/e2e/impostor.sh tests what it refuses, bench/times.py
# measures its cost.
# set: quick
. "$(dirname "$0")/lib.sh"
need cc curl jq objdump pgrep prlimit python3 setpriv
[ "$(id -u)" -eq 0 ] || skip "root, to drop privileges"
# shellcheck source=cgroup-lib.sh
. "$here/cgroup-lib.sh"
chmod 755 "$scratch"

# field PID NAME: prints a field of /proc/PID/status. fields PID: prints its capability sets and NoNewPrivs on one line.
field() {
    awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/status"
}
fields() {
    awk '/^Cap(Inh|Prm|Eff|Bnd|Amb):|^NoNewPrivs:/ { printf "%s ", $2 }' "/proc/$1/status"
}
opener_of() {
    pgrep -P "$1"
}
# set_opener TITLE: sets opener, the process id of the current daemon's opener.
set_opener() {
    opener=$(opener_of "$daemon_pid")
    equals "$1 has one child" "$(wc -w <<<"$opener")" 1
    [ -n "$opener" ] || finish
}
none=0000000000000000
no_capabilities() {
    equals "the daemon, $1, has no capability and cannot gain any" "$(fields "$daemon_pid")" \
        "$none $none $none $none $none 1 "
}
status_field() {
    get /api/v1/status | jq -r "$1"
}
failure_of() {
    status_field ".failures[] | select(.$1) | .message"
}
opener_is() {
    [ "$(status_field .opener.state)" = "$1" ]
}
value() {
    get "/api/v1/counters?group=$2&event=$1" | jq '[.counters[].value] | add'
}
has_group() {
    [ "$(value "$2" "$1")" != null ]
}

# --- started by root: the rights of both

config=$scratch/perfcountd.yaml
probed=$scratch/probed
cp /bin/true "$probed"
offset=$(objdump -h "$probed" 2>/dev/null | awk '$2 == ".init" { print "0x" $6 }')
write_config() {
    cat >"$config" <<END
web: {min_interval: 0s, local_operators: true}
collectors:
  cpu:
    groups:
      - {name: software, events: "{context-switches,minor-faults}"}
      - {name: trace, events: "sched:sched_process_fork"}
$1
  cgroup:
    engine: ${engine-perf}
    include: ["$below/**"]
    $faults_group
$2
END
}
probe="      - {name: probe, events: \"uprobe/path=$probed,offset=$offset,name=starts/\"}"
later='      - {name: later, events: "{page-faults,cpu-migrations}"}'
write_config "$probe" ""
probes=yes
probe_is_missing() {
    "$PERFCOUNTD" plan --json --config.file="$config" | jq -e '.missing[] | select(.group == "probe")'
}
if [ -e /sys/bus/event_source/devices/uprobe ]; then
    holds "a uprobe can be opened" not probe_is_missing
else
    left_out "uprobes"
    write_config "" ""
    probes=no
fi
of_probe=()
[ $probes = no ] || of_probe=(sys_admin) # Linux 6.16
start_daemon --config.file="$config"
set_opener "root's daemon"
no_capabilities "of root"
# setpriv(1) of Debian 11 knows the newer capabilities by number only.
perfmon=cap_38 bpf=cap_39 checkpoint_restore=cap_40
declare -A bits=([dac_read_search]=2 [sys_ptrace]=19 [sys_admin]=21 [syslog]=34 [$perfmon]=38 [$bpf]=39
    [$checkpoint_restore]=40)
# mask NAME...: prints the capabilities as a mask, as in /proc/PID/status.
mask() {
    local sum=0 name
    for name in "$@"; do
        sum=$((sum | 1 << ${bits[$name]}))
    done
    printf '%016x' $sum
}
needed=("$perfmon" dac_read_search)
# Some kernels require CAP_SYS_ADMIN in addition to CAP_PERFMON: see opener/rules.h.
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 3 ] || needed+=(sys_admin)
all=$(mask "${needed[@]}" "${of_probe[@]}")
equals "the opener has only the capabilities that it needs, and NoNewPrivs" \
    "$(fields "$opener")" "$none $all $all $all $none 1 "
equals "the opener's real user is the daemon's, its effective user is root" \
    "$(awk '$1 == "Uid:" { print ($2 > 0) ($3 == 0) ($4 == 0) }' "/proc/$opener/status")" 111
equals "none of the daemon's user and group ids is root's" "$(awk '
    $1 == "Uid:" || $1 == "Gid:" { print ($2 > 0) ($3 > 0) ($4 > 0) ($5 > 0) }
    $1 == "Groups:" { print NF }' "/proc/$daemon_pid/status" | xargs)" "1111 1111 1"
for process in "$daemon_pid" "$opener"; do
    equals "process $process is not dumpable: its /proc files belong to root" \
        "$(stat -c %u "/proc/$process/environ")" 0
    equals "system calls of process $process are filtered" "$(field "$process" Seccomp)" 2
done
equals "the opener has a process name of its own" "$(tr -d '\0' <"/proc/$opener/cmdline")" perfcountd-opener
matches "the opener has only a socket, standard error, the pipe that counts its events, and its fdinfo directory" \
    "$(find "/proc/$opener/fd" -mindepth 1 -printf '%l\n' | sed 's/:\[.*//; s,\(/fdinfo\)/.*,\1,' | sort -u | tr '\n' ' ')" \
    "^/dev/null /proc/$opener/fdinfo ([^ ]*\.log )?anon_inode (pipe )?socket $"
equals "the opener has no event open" "$(find "/proc/$opener/fd" -lname 'anon_inode:*perf*' | wc -l)" 0
equals "the status names the opener" "$(status_field .opener.state,.opener.pid | paste -sd ' ')" "running $opener"
contains "the status has the opener's capabilities" "$(status_field '.opener.capabilities | join(" ")')" cap_perfmon

# --- the resources of each process, compared with /proc

# stat_field PID N: prints a field of /proc/PID/stat. The process name must not contain blanks.
stat_field() {
    awk -v n="$2" '{ print $n }' "/proc/$1/stat"
}
# process_value NAME PROCESS: prints perfcountd_process_NAME of the process.
process_value() {
    get /metrics | awk -v series="perfcountd_process_$1{process=\"$2\"}" '$1 == series { print $2 }'
}
value_is() {
    [ "$(process_value "$1" "$2")" = "$3" ]
}
# process_agrees PROCESS PID, status_agrees PROCESS PID: succeed if the metrics, or the status, agree with what the
# kernel reports. The process's memory may change between the two readings.
process_agrees() {
    running "$2" && [ "$(for name in resident_memory_bytes virtual_memory_bytes threads; do process_value "$name" "$1"; done)" = \
        "$(echo $(($(stat_field "$2" 24) * $(getconf PAGESIZE))) && stat_field "$2" 23 && field "$2" Threads)" ]
}
status_agrees() {
    [ "$(status_field ".processes[] | select(.process == \"$1\") | \"\(.pid) \(.virtual_bytes)\"")" = \
        "$2 $(stat_field "$2" 23)" ]
}
# process_is PROCESS PID: checks the metrics and the status of the process.
process_is() {
    local pid=$2 ticks boot
    ticks=$(getconf CLK_TCK)
    boot=$(awk '$1 == "btime" { print $2 }' /proc/stat)
    holds "$1: resident memory, virtual memory and threads" eventually 60 process_agrees "$1" "$pid"
    compares "$1: CPU time is at most that of the process and its children" \
        "$(process_value cpu_seconds_total "$1") <= $(
            awk -v t="$ticks" '{ print ($14 + $15 + $16 + $17) / t }' "/proc/$pid/stat")"
    # The metric omits trailing zeros, so both are printed with two decimals.
    equals "$1: start" "$(process_value start_time_seconds "$1" | awk '{ printf "%.2f", $1 }')" \
        "$(awk -v t="$ticks" -v boot="$boot" '{ printf "%.2f", boot + $22 / t }' "/proc/$pid/stat")"
    holds "$1: the status has the process" eventually 60 status_agrees "$1" "$pid"
}
own_value() {
    get /metrics | awk -v name="$1" '$1 == name { print $2 }'
}
process_is opener "$opener"
equals "while no symboliser is running, no series describes one" "$(get /metrics | grep -c 'process="symboliser"')" 0
equals "the status has the other two processes with their user ids, but no symboliser" \
    "$(get /api/v1/status | jq -c '[.processes[] | [.process, .uid]]')" \
    "[[\"daemon\",$(field "$daemon_pid" Uid)],[\"opener\",0]]"
equals "the sandboxed daemon can still read the idle time of each CPU" \
    "$(get /api/v1/status | jq -c '[.machine.cpu_idle_seconds[] | select(.seconds > 0) | .cpu]')" \
    "$(grep -o '^cpu[0-9]*' /proc/stat | jq -Rc '[., inputs] | map(ltrimstr("cpu") | select(. != "") | tonumber)')"
uptime=$(cut -d' ' -f1 /proc/uptime)
equals "the sandboxed daemon can still read the uptime and the board's description" \
    "$(get /api/v1/status | jq -c --argjson up "$uptime" \
    '.machine | [.uptime_seconds >= $up, has("model"), has("soc")]')" '[true,true,true]'
# metrics_agree: succeeds if the metrics agree with the kernel on the number of threads and the virtual memory.
metrics_agree() {
    [ "$(own_value process_threads) $(own_value process_virtual_memory_bytes)" = \
        "$(field "$daemon_pid" Threads) $(stat_field "$daemon_pid" 23)" ]
}
# The daemon's memory may change between the two readings.
holds "the daemon: threads, and virtual memory" eventually 60 metrics_agree
equals "the daemon: unlimited virtual memory is shown as 2^64 - 1" \
    "$(own_value process_virtual_memory_max_bytes)" 18446744073709551615

# --- counts of events that the opener opened

# counts_starts N: starts N processes, and checks that their page faults are counted, and their forks by a tracepoint.
counts_starts() {
    local faults forks _
    faults=$(value minor_faults software)
    forks=$(value sched_sched_process_fork trace)
    for _ in $(seq "$1"); do "$probed"; done
    compares "minor faults of $1 processes are counted" "$(value minor_faults software) - $faults > 20 * $1"
    compares "$1 forks are counted by a tracepoint" "$(value sched_sched_process_fork trace) - $forks >= $1"
}
tracepoints() {
    get /api/v1/events | jq -r '.[] | select(.kind == "tracepoint") | .name' | sort
}
counts_starts 100
[ $probes = no ] || equals "a uprobe counts 100 starts" "$(value starts probe)" 100
mkdir "$parent/a"
holds "a new cgroup is counted" eventually 60 has_cgroup "$below/a"
fault "$below/a" 5000
compares "5,000 page faults are counted in a new cgroup" "$(count "$below/a") >= 5000 && $(count "$below/a") < 6000"
tracepoints >"$scratch/tracepoints"
compares "tracepoints are listed" "$(wc -l <"$scratch/tracepoints") > 100"
write_config "$later" ""
kill -HUP "$daemon_pid"
holds "SIGHUP opens a new group" eventually 60 has_group later page_faults
for signal in HUP INT TERM QUIT; do
    kill -$signal "$opener"
done
mkdir "$parent/signalled"
holds "the opener ignores signals that a terminal or service manager sends to the whole process group" \
    eventually 60 has_cgroup "$below/signalled"
equals "the opener is still the same process" "$(opener_of "$daemon_pid")" "$opener"

# --- a stopped opener

kill -STOP "$opener"
mkdir "$parent/late"
holds "a stopped opener: the status says that it is late" eventually 60 opener_is late
equals "a stopped opener: 20 scrapes are answered" "$(for _ in $(seq 20); do status_of /metrics; done)" \
    "$(printf '200%.0s' $(seq 20))"
contains "a stopped opener: the reason why an event could not be opened is reported" \
    "$(failure_of 'collector == "cgroup"')" "the opener does not answer"
matches "a stopped opener: a reload is rejected" "$(get /-/reload -X POST -w ' %{http_code}')" \
    'the opener does not answer.* 503$'
compares "a stopped opener: open counters are still counted" "$(value minor_faults software) > 0"
kill -CONT "$opener"
holds "after SIGCONT the new cgroup is counted" eventually 60 has_cgroup "$below/late"
holds "the opener is no longer late" opener_is running
all_are_there() {
    [[ $(status_field .failures[].message) != *"does not answer"* ]]
}
holds "no event is missing for that reason any more" eventually 60 all_are_there
rmdir "$parent/late" "$parent/signalled"

# --- the daemon outlives its opener

kill -9 "$opener"
holds "after kill -9 of the opener, the status says that it is lost" eventually 60 opener_is lost
equals "the log says once that the opener is gone, with the reason" \
    "$(grep -c "the opener is gone.*process $opener was killed by signal 9 (Killed);" "$daemon_log")" 1
holds "no zombie is left" eventually 60 not opener_of "$daemon_pid"
faults=$(value minor_faults software)
for _ in $(seq 20); do "$probed"; done
compares "open counters are still counted" "$(value minor_faults software) > $faults"
mkdir "$parent/b"
cgroup_is_reported() {
    [[ $(failure_of 'collector == "cgroup"') == *"the opener is gone"* ]]
}
holds "a new cgroup is not counted, and the reason is reported" eventually 60 cgroup_is_reported
write_config '      - {name: never, events: "{page-faults}"}' ""
equals "a reload succeeds" "$(status_of /-/reload -X POST)" 200
matches "without the opener, groups added by a reload are missing, with the reason and the remedy" \
    "$(failure_of 'group == "never"')" \
    "the opener is gone.*restart perfcountd"
compares "unchanged groups are still counted" "$(value minor_faults software) > $faults"
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
rmdir "$parent/b"

# --- with the engine bpf, cgroups are not counted without the opener

engine=bpf
write_config "" ""
if "$PERFCOUNTD" plan --json --config.file="$config" | jq -e '.cgroups.engine == "bpf"' >/dev/null; then
    start_daemon --config.file="$config"
    set_opener "a daemon with the engine bpf"
    holds "a cgroup is counted" eventually 60 has_cgroup "$below/a"
    fault "$below/a" 1000
    compares "page faults of the cgroup are counted" "$(count "$below/a") >= 1000 - $unknown_faults"
    kill -9 "$opener"
    holds "the status says that the opener is lost" eventually 60 opener_is lost
    # no_old_numbers WHEN: checks that no stale cgroup counts are served.
    no_old_numbers() {
        equals "$1: there are no cgroup series" "$(get /metrics | grep -cE '^perf_cgroup|^perfcountd_cgroup')" 0
        equals "$1: the collector fails" "$(own_value 'perfcountd_collector_success{collector="cgroup"}')" 0
        equals "$1: no counter has a value" \
            "$(get '/api/v1/counters?collector=cgroup' | jq '[.counters[] | .value, .raw | numbers] | length')" 0
        equals "$1: no rate or ratio has a value" "$(get '/api/v1/rates?collector=cgroup&seconds=0.1&totals=pmu' |
            jq '[(.rates, .totals)[] | .events[], .ratios[] | numbers] | length')" 0
        equals "$1: the engine reports no unknown time" "$(status_field '.cgroups.unknown_seconds | numbers')" ""
        equals "$1: no derived metric is available" \
            "$(get /api/v1/metrics | jq '[.metrics[].available[] | select(.collector == "cgroup")] | length')" 0
        equals "$1: no cgroup is watched" "$(get /api/v1/cgroups | jq '[.cgroups[] | select(.state == "watched")] | length')" 0
        matches "$1: the status says that the opener is gone, with the remedy" "$(failure_of 'reason == "failed"')" \
            'the opener is gone.*restart perfcountd'
    }
    no_old_numbers "at once"
    equals "the cgroup's counters are in the failed state" \
        "$(get "/api/v1/counters?cgroup=$below/a" | jq -r '[.counters[].state] | unique[]')" failed
    equals "the cgroup's rows in /api/v1/rates are in the failed state" \
        "$(get "/api/v1/rates?cgroup=$below/a&seconds=0.1" | jq -r '[.rates[].state] | unique[]')" failed
    equals "the cgroup is in the failed state" "$(state_of "$below/a")" failed
    equals "the log says once that the opener is gone" \
        "$(grep -c 'collector cgroup: the opener is gone' "$daemon_log")" 1
    faults=$(value minor_faults software)
    for _ in $(seq 20); do "$probed"; done
    compares "open CPU counters are still counted" "$(value minor_faults software) > $faults"
    equals "a reload succeeds" "$(status_of /-/reload -X POST)" 200
    no_old_numbers "after a reload"
    stop_daemon
    equals "the daemon exits cleanly" "$daemon_status" 0
else
    left_out "the engine bpf"
fi
engine=perf

# --- under a service manager, the daemon ends with its opener, and is started again

# Simulates the service manager: its socket, whose messages go to $scratch/notified, and its environment variables.
python3 - "$scratch/notify.sock" >"$scratch/notified" <<'END' &
import socket
import sys

receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
while True:
    print(receiver.recv(4096).decode(), flush=True)
END
children+=("$!")
holds "the notification socket exists" eventually 60 test -S "$scratch/notify.sock"
chmod 777 "$scratch/notify.sock"
# start_managed PID: starts a daemon with the variables that say that the manager started process PID; "own" stands for
# the daemon's PID.
start_managed() {
    # shellcheck disable=SC2016 # the inner shell expands it
    wrapper=(sh -c 'pid=$1; [ "$pid" != own ] || pid=$$; shift
        SYSTEMD_EXEC_PID=$pid NOTIFY_SOCKET='"$scratch/notify.sock"' exec "$@"' sh "$1")
    start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$scratch/http.sock"
    wrapper=()
    set_opener "a daemon that a manager started"
}
# slow_client PID: reads only the head of a response that is longer than a unix socket buffer (net.core.wmem_default),
# kills the opener, and reads the rest once the daemon has noticed. Prints the length of the body and how many bytes of
# it are missing. The daemon ends a second later, so no other program may delay the client.
slow_client() {
    "${unpreempted[@]}" python3 - "$scratch/http.sock" "$1" "$daemon_log" <<'END'
import os
import signal
import socket
import sys
import time

client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
got = b""
while b"\r\n\r\n" not in got:
    got += client.recv(1024)
head, body = got.split(b"\r\n\r\n", 1)
length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
os.kill(int(sys.argv[2]), signal.SIGKILL)
begin = time.monotonic()
while "the opener is gone" not in open(sys.argv[3]).read() and time.monotonic() < begin + 60:
    time.sleep(0.01)
while len(body) < length and (part := client.recv(65536)):
    body += part
print(length, length - len(body))
END
}
start_managed own
get /api/v1/events >/dev/null # so that the list of events is cached
read -r bytes missing < <(slow_client "$opener")
compares "the response is longer than a socket buffer" "$bytes > $(cat /proc/sys/net/core/wmem_default)"
equals "a client that is reading a response receives all of it" "$missing" 0
holds "the daemon ends" eventually 60 not running "$daemon_pid"
wait "$daemon_pid"
equals "the daemon ends with exit status 1" "$?" 1
matches "the log says that the opener is gone, and that perfcountd will be started again" \
    "$(grep 'the opener is gone' "$daemon_log")" \
    "process $opener was killed by signal 9 \(Killed\); perfcountd exits with status 1.*restarts it"
stopping() {
    [ "$(tail -n 1 "$scratch/notified")" = STOPPING=1 ]
}
holds "the manager is told that the daemon stops" eventually 60 stopping
matches "the manager is told that the opener is gone" "$(grep '^STATUS=' "$scratch/notified" | tail -n 1)" \
    '^STATUS=the opener is gone, perfcountd exits so that it is restarted; counting'
# A client that waits for rates gets the rates over the time until then.
start_managed own
wait_for_answer '/api/v1/rates?collector=cpu&seconds=60'
kill -9 "$opener"
cat <&"$waiting" >"$scratch/rates"
exec {waiting}>&-
compares "a client that waits for the rates over a minute gets rates over a shorter time" \
    "$(sed '1,/^\r$/d' "$scratch/rates" | jq .seconds) < 60"
holds "the daemon ends" eventually 60 not running "$daemon_pid"
wait "$daemon_pid"
equals "the daemon ends with exit status 1" "$?" 1
# The variables may be inherited from a shell or script that a manager started.
start_managed 1
kill -9 "$opener"
holds "with the variables of another process: the opener is lost" eventually 60 opener_is lost
equals "with the variables of another process: the daemon keeps running" "$(status_of /metrics)" 200
stop_daemon
equals "with the variables of another process: the daemon exits cleanly" "$daemon_status" 0

# --- the opener accepts only probes that were configured at the start

if [ $probes = yes ]; then
    write_config "" ""
    start_daemon --config.file="$config"
    write_config "$probe" ""
    equals "a probe is added by a reload" "$(status_of /-/reload -X POST)" 200
    contains "the probe is missing, with the reason" "$(failure_of 'group == "probe"')" \
        "the configuration did not have this event when perfcountd started"
    holds "the opener is still running" opener_is running
    stop_daemon
fi

# --- the opener also supplies the names of tracepoints

write_config "      - {name: wrong, events: \"{sched:sched_process_frok}\"}" ""
start_daemon --config.file="$config"
contains "a misspelt tracepoint: the message suggests the nearest name" "$(failure_of 'group == "wrong"')" \
    'there is no tracepoint event "sched_process_frok"; did you mean "sched_process_fork"'
write_config "      - {name: wrong, events: \"{shced:sched_process_fork}\"}" ""
equals "another tracepoint is configured" "$(status_of /-/reload -X POST)" 200
contains "a misspelt tracepoint system: the message suggests the nearest one" "$(failure_of 'group == "wrong"')" \
    'there is no tracepoint system "shced"; did you mean "sched"'
stop_daemon

# --- the configuration at the start limits the number of events on a CPU

# write_groups NUMBER: writes a configuration with this many groups of two events.
write_groups() {
    printf '%s\n' "web: {min_interval: 0s, local_operators: true}" "collectors:" "  cgroup: {enabled: false}" \
        "  pmu: {enabled: false}" "  cpu:" "    groups:" >"$config"
    seq "$1" | sed 's/.*/      - {name: group&, events: "{page-faults,cpu-migrations}"}/' >>"$config"
}
nothing_is_refused() {
    [ -z "$(failure_of 'reason == "EDQUOT"')" ]
}
write_groups 5
start_daemon --config.file="$config"
for _ in 1 2 3 4 5 6 7 8 9 10; do # each round opens 4 more groups and closes them again
    write_groups 9
    get /-/reload -X POST >/dev/null
    holds "more events within the limit are counted" nothing_is_refused
    write_groups 5
    get /-/reload -X POST >/dev/null
done
write_groups 60
equals "a reload with too many events succeeds" "$(status_of /-/reload -X POST)" 200
matches "events beyond the limit are missing, with the reason" "$(failure_of 'reason == "EDQUOT"' | head -n 1)" \
    "the opener's limit of open events is reached.*restart perfcountd"
holds "the first groups are counted" has_group group1 page-faults
write_groups 5
equals "a reload with fewer events succeeds" "$(status_of /-/reload -X POST)" 200
holds "no event is refused any longer" nothing_is_refused
stop_daemon
write_groups 60
start_daemon --config.file="$config"
holds "after a restart, all events are counted" nothing_is_refused
stop_daemon

# --- the opener does not outlive its daemon

write_config "" ""
for signal in KILL TERM; do
    start_daemon --config.file="$config"
    set_opener "a daemon that ends"
    kill "-$signal" "$daemon_pid"
    holds "SIG$signal ends the daemon" eventually 60 not running "$daemon_pid"
    holds "the opener ends when SIG$signal ends its daemon" eventually 60 not running "$opener"
    wait "$daemon_pid" 2>/dev/null
done
start_daemon --config.file="$config"
set_opener "a daemon that ends"
kill -STOP "$opener"
stop_daemon
equals "a daemon whose opener is stopped exits cleanly" "$daemon_status" 0
holds "a stopped opener ends with its daemon" eventually 60 not running "$opener"

# --- the user as which the daemon runs

echo 'user: games' >"$config"
start_daemon --config.file="$config"
equals "user: games" "$(id -un "$(field "$daemon_pid" Uid)")" games
stop_daemon
for name in root 0 no-such-user; do
    echo "user: $name" >"$config"
    for arguments in "--config.file=$config --web.listen-address=127.0.0.1:0" "check-config $config"; do
        # shellcheck disable=SC2086 # words
        "$PERFCOUNTD" $arguments >"$scratch/refused" 2>&1
        equals "user: $name is refused: exit status" "$?" 2
        contains "user: $name is refused: the message names the key" "$(cat "$scratch/refused")" "user: "
    done
done
write_config "" ""

# --- without an opener

wrapper=(prlimit --as=$((1 << 50)) --)
start_daemon --config.file="$config" --no-opener
equals "--no-opener: there is one process" "$(opener_of "$daemon_pid")" ""
equals "--no-opener: there are no metrics of other processes" "$(get /metrics | grep -c '^perfcountd_process_')" 0
equals "--no-opener: the limit of virtual memory is shown" "$(own_value process_virtual_memory_max_bytes)" $((1 << 50))
holds "--no-opener: the status has no opener" opener_is none
compares "--no-opener: events are counted" "$(value minor_faults software) >= 0"
stop_daemon

# --- the user nobody

nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
wrapper=("${nobody[@]}" --bounding-set=-all --inh-caps=-all)
chmod 644 "$config"
start_daemon --config.file="$config"
equals "nobody without capabilities: there is one process" "$(opener_of "$daemon_pid")" ""
holds "nobody without capabilities: the status has no opener" opener_is none
stop_daemon

# split_as CAPABILITIES: starts the daemon as nobody with these capabilities.
split_as() {
    wrapper=("${nobody[@]}" --inh-caps="$1" --ambient-caps="$1")
    start_daemon --config.file="$config"
    set_opener "nobody's daemon with $1"
}
# joined NAME...: prints a list for setpriv.
joined() {
    (IFS=, && echo "${*/#/+}")
}
split_as "$(joined "${needed[@]}" setpcap)"
no_capabilities "of nobody"
equals "nobody's opener keeps the capabilities that it needs, and its bounding set has no others" \
    "$(field "$opener" CapEff) $(field "$opener" CapBnd)" "$(mask "${needed[@]}") $(mask "${needed[@]}")"
counts_starts 50
# Modules loaded meanwhile may have added some.
equals "nobody's daemon lists the tracepoints that root's daemon lists" \
    "$(tracepoints | comm -13 - "$scratch/tracepoints")" ""
stop_daemon
split_as "$(joined "${needed[@]:0:1}" sys_admin)"
equals "without CAP_SETPCAP, the daemon's CapEff and CapPrm are still 0" \
    "$(field "$daemon_pid" CapEff) $(field "$daemon_pid" CapPrm)" "$none $none"
contains "a tracepoint that only root may read is missing, with the reason" "$(failure_of 'group == "trace"')" \
    "grant CAP_DAC_READ_SEARCH"
stop_daemon
wrapper=()

# --- samples

# This program of another user is readable only by root.
cc -O1 -fno-omit-frame-pointer -o "$scratch/hot" "$here/hot.c" || fail "hot.c compiles"
chmod 711 "$scratch/hot"
# start_hot NAME: starts the program as the user games.
start_hot() {
    setpriv --reuid=games --regid=games --clear-groups "$scratch/$1" 600 >/dev/null &
    children+=("$!")
}
start_hot hot
hot=$!
shows_kernel() {
    "$@" grep -q -m 1 '^0*[1-9a-f][0-9a-f]* T _text$' /proc/kallsyms
}
# sample: samples until the program has 100 samples. All samples are then in $scratch/samples, the program's in
# hot-samples.
sample() {
    : >"$scratch/samples"
    get "/api/v1/folded?seconds=0.3" >/dev/null # returns once the symbol tables are loaded
    curl -sN "$url/api/v1/samples?frequency=500" >"$scratch/samples" &
    children+=("$!")
    holds "another user's program has samples" eventually 60 has_hot
    kill "${children[-1]}"
    sed -i '$d' "$scratch/samples" # the last line may be incomplete
    jq -c --argjson pid "$hot" 'select(.type == "sample" and .pid == $pid)' "$scratch/samples" |
        jq -s . >"$scratch/hot-samples"
}
has_hot() {
    [ "$(grep '"type":"sample"' "$scratch/samples" | grep -c "\"pid\":$hot,")" -ge 100 ]
}
# Prints how many of the program's samples have its symbols: 0 until its table is loaded.
hot_symbols() {
    jq '[.[] | select(.symbol | type == "string" and test("^hot_"))] | length' "$scratch/hot-samples"
}
has_symbols() {
    sample
    [ "$(hot_symbols)" -gt 0 ]
}
kernel_symbols() {
    jq -r 'select(.type == "sample") | ., (.callchain // [])[] |
        select(.module == "[kernel.kallsyms]" and .symbol != "[unknown]") | .symbol' "$scratch/samples" | wc -l
}
note() {
    jq -r 'select(.type == "header") | .notes // [] | .[]' "$scratch/samples"
}
sampling=("${needed[@]}" sys_ptrace syslog "$checkpoint_restore" "$bpf") # CAP_BPF for off-CPU time
all=$(mask "${sampling[@]}")

write_config "" "sampler: {enabled: true}"
start_daemon --config.file="$config"
set_opener "a daemon that samples"
no_capabilities "which samples"
equals "the opener of a daemon that samples has the capabilities for sampling" \
    "$(fields "$opener")" "$none $all $all $all $none 1 "
holds "symbols of a file that only root can read are found" eventually 60 has_symbols
if shows_kernel env; then
    compares "kernel symbols are found" "$(kernel_symbols) > 0"
    # Symbols of other programs on this machine may be missing, for example because the programs are large or their
    # files cannot be read.
    equals "the header has no note about missing symbols" \
        "$(note | grep -v '^only the largest functions of large programs\|^the symbols of some ')" ""
fi
symboliser=$(child_named perfcountd-symb)
holds "a symboliser process is running" test -n "$symboliser"
equals "the symboliser has no capabilities" "$(field "$symboliser" CapEff) $(field "$symboliser" CapPrm)" "$none $none"
equals "the symboliser's system calls are filtered" "$(field "$symboliser" Seccomp)" 2
process_is symboliser "$symboliser"
spent=$(process_value cpu_seconds_total symboliser)
kill -9 "$symboliser"
holds "an ended symboliser has no memory metric" eventually 60 value_is resident_memory_bytes symboliser ""
compares "the ended symboliser's CPU time is kept" "$(process_value cpu_seconds_total symboliser) - $spent >= 0"
# This program's symbol table is not loaded yet.
cp "$scratch/hot" "$scratch/hot2"
start_hot hot2
sample
again=$(child_named perfcountd-symb)
holds "the next request starts another symboliser" test -n "$again" -a "$again" != "$symboliser"
holds "memory of the new symboliser is reported" eventually 60 process_agrees symboliser "$again"
compares "the symboliser's CPU time continues from that value" \
    "$(process_value cpu_seconds_total symboliser) - $spent > 0"
stop_daemon

write_config "" ""
start_daemon --config.file="$config"
set_opener "a daemon that does not sample"
equals "the opener keeps only the capabilities that it needs" "$(field "$opener" CapEff)" "$(mask "${needed[@]}")"
equals "sampling is refused" "$(status_of /api/v1/samples?seconds=1)" 403
write_config "" "sampler: {enabled: true}"
equals "the sampler is enabled by a reload" "$(status_of /-/reload -X POST)" 200
equals "sampling is still refused" "$(status_of /api/v1/samples?seconds=1)" 403
equals "sampling is still refused: the response has the reason and the remedy" \
    "$(get /api/v1/samples?seconds=1 | jq -r .error)" \
    "the configuration allowed no such samples when perfcountd started; restart perfcountd"
stop_daemon

split_as "$(joined "${sampling[@]}" setpcap)"
equals "nobody's opener has the capabilities for sampling" "$(field "$opener" CapEff)" "$(mask "${sampling[@]}")"
holds "nobody's daemon finds symbols of another user's program" eventually 60 has_symbols
stop_daemon
older=("${needed[@]}" sys_ptrace syslog sys_admin)
split_as "$(joined "${older[@]}" setpcap)"
equals "CAP_SYS_ADMIN in place of CAP_CHECKPOINT_RESTORE" "$(field "$opener" CapEff)" "$(mask "${older[@]}")"
holds "nobody's daemon still finds these symbols" eventually 60 has_symbols
stop_daemon
split_as "$(joined "${needed[@]}" setpcap)"
equals "without CAP_SYS_PTRACE and CAP_SYSLOG, the opener has only the other capabilities" \
    "$(field "$opener" CapEff)" "$(mask "${needed[@]}")"
sample
# Newer kernels show mappings to CAP_PERFMON as well.
if ! "${nobody[@]}" --inh-caps=+cap_38 --ambient-caps=+cap_38 cat "/proc/$hot/maps" >/dev/null 2>&1; then
    contains "a note says which capability is missing" "$(note)" "grant CAP_SYS_PTRACE"
fi
if shows_kernel env && ! shows_kernel "${nobody[@]}"; then
    contains "a note says that the kernel hides its symbols" "$(note)" "grant CAP_SYSLOG"
fi
stop_daemon
wrapper=()

# --- the BPF programs that count cgroups: only the opener holds them, and they are unloaded when it ends

# program_ids PID: prints the ids of the process's BPF programs. are_gone ID...: succeeds if none of them is loaded.
program_ids() {
    awk '$1 == "prog_id:" { print $2 }' "/proc/$1/fdinfo/"* 2>/dev/null | sort -un | tr '\n' ' '
}
are_gone() {
    [ -z "$(python3 "$here/bpf-programs.py" "$@")" ]
}
# programs_of PID: sets programs, the ids of the process's BPF programs.
programs_of() {
    read -ra programs <<<"$(program_ids "$1")"
    equals "the three programs are loaded" "$(python3 "$here/bpf-programs.py" "${programs[@]}" | wc -l)" 3
}
# start_bpf TITLE FLAGS...: starts a daemon. Sets holder, the process that holds the BPF programs, and programs, their
# ids.
start_bpf() {
    echo "-- $1"
    start_daemon --config.file="$config" "${@:2}"
    holder=$(opener_of "$daemon_pid")
    holder=${holder:-$daemon_pid}
    programs_of "$holder"
}
all_are_gone() {
    holds "$1 leaves no BPF program loaded" eventually 60 are_gone "${programs[@]}"
}
engine=auto write_config "" ""
start_daemon --config.file="$config"
set_opener "the daemon with the engine auto"
equals "the opener also has CAP_BPF" "$(field "$opener" CapEff)" "$(mask "${needed[@]}" $bpf)"
if [ "$(status_field .cgroups.engine)" != bpf ]; then
    left_out "the engine bpf"
    finish
fi
matches "the opener also has BPF maps and programs open" \
    "$(find "/proc/$opener/fd" -mindepth 1 -printf '%l\n' | sort -u | tr '\n' ' ')" \
    "anon_inode:bpf-map anon_inode:bpf-prog "
kill -STOP "$opener"
mkdir "$parent/waiting"
is_explained() {
    [[ $(failure_of 'collector == "cgroup"') == *"are not watched"*"the opener does not answer"* ]]
}
holds "a cgroup created while the opener is stopped is not watched, and the reason is reported" \
    eventually 60 is_explained
kill -CONT "$opener"
holds "the cgroup is counted once the opener answers" eventually 60 has_cgroup "$below/waiting"
rmdir "$parent/waiting"
programs_of "$opener"
engine=perf write_config "" ""
equals "a reload switches to the engine perf" "$(status_of /-/reload -X POST)" 200
all_are_gone "the switch to perf"
equals "the same opener is still running" "$(opener_of "$daemon_pid")" "$opener"
stop_daemon

engine=bpf write_config "" ""
start_bpf "one process" --no-opener
kill -9 "$daemon_pid"
all_are_gone "a killed daemon without an opener"
start_bpf "an opener"
equals "a daemon with an opener holds no BPF program" "$(program_ids "$daemon_pid")" ""
kill -9 "$daemon_pid"
all_are_gone "a killed daemon"
start_bpf "an opener again"
kill -9 "$holder"
all_are_gone "a killed opener"
holds "the daemon keeps running without its opener" running "$daemon_pid"
stop_daemon
finish
