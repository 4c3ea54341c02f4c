#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The opener: the rights of the two processes, the truth of counts through it, its refusals, and which of both outlives
# the other.
. "$(dirname "$0")/lib.sh"
need cc curl jq pgrep prlimit python3 setpriv
[ "$(id -u)" -eq 0 ] || skip "only root has privileges to part with"
. "$here/cgroup-lib.sh"
beside=$(dirname "$PERFCOUNTD")
chmod 755 "$scratch"

# field PID NAME: of /proc/PID/status.
field() {
    awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/status"
}
opener_of() {
    pgrep -P "$1"
}
# set_opener: the opener of the daemon at hand.
set_opener() {
    opener=$(opener_of "$daemon_pid")
    equals "${1-the daemon} has one child" "$(wc -w <<<"$opener")" 1
    [ -n "$opener" ] || finish
}
no_capabilities() {
    local set
    for set in CapInh CapPrm CapEff CapBnd CapAmb; do
        equals "the daemon, $1: $set" "$(field "$daemon_pid" $set)" 0000000000000000
    done
    equals "the daemon, $1: NoNewPrivs" "$(field "$daemon_pid" NoNewPrivs)" 1
}
status_field() {
    get /api/v1/status | jq -r "$1"
}
value() {
    get "/api/v1/counters?group=$2&event=$1" | jq '[.counters[].value] | add'
}

# --- root: the rights of both

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
$@
  cgroup:
    engine: ${engine-perf}
    include: ["$below/**"]
    $faults_group
END
}
write_config "      - {name: probe, events: \"uprobe/path=$probed,offset=$offset,name=starts/\"}"
probes=yes
probe_is_missing() {
    "$PERFCOUNTD" plan --json --config.file="$config" | jq -e '.missing[] | select(.group == "probe")'
}
if [ -e /sys/bus/event_source/devices/uprobe ]; then
    holds "a uprobe can be set" not probe_is_missing
else
    left_out "this kernel has no uprobes"
    write_config ""
    probes=no
fi
start_daemon --config.file="$config"
set_opener "root's daemon"
no_capabilities "of root"
needed=0000004000200004 # CAP_PERFMON, CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH
equals "the opener: CapEff" "$(field "$opener" CapEff)" $needed
equals "the opener: CapPrm" "$(field "$opener" CapPrm)" $needed
equals "the opener: CapBnd" "$(field "$opener" CapBnd)" $needed
equals "the opener: CapInh" "$(field "$opener" CapInh)" 0000000000000000
equals "the opener: CapAmb" "$(field "$opener" CapAmb)" 0000000000000000
equals "the opener: NoNewPrivs" "$(field "$opener" NoNewPrivs)" 1
equals "the opener: its real user is the daemon's, its effective one root" \
    "$(awk '$1 == "Uid:" { print ($2 > 0) ($3 == 0) ($4 == 0) }' "/proc/$opener/status")" 111
equals "the daemon: not uid 0 in any way" "$(awk '$1 == "Uid:" { print ($2 > 0) ($3 > 0) ($4 > 0) ($5 > 0) }' \
    "/proc/$daemon_pid/status")" 1111
equals "the daemon: nor of a group of root's" "$(awk '$1 == "Gid:" { print ($2 > 0) ($3 > 0) ($4 > 0) ($5 > 0) }
    $1 == "Groups:" { print NF }' "/proc/$daemon_pid/status" | tr '\n' ' ')" "1111 1 "
equals "the daemon: its system calls are filtered" "$(field "$daemon_pid" Seccomp)" 2
for process in "$daemon_pid" "$opener"; do
    equals "process $process is not dumpable: what it has is root's" "$(stat -c %u "/proc/$process/environ")" 0
done
equals "the opener: its system calls are filtered" "$(field "$opener" Seccomp)" 2
equals "the opener: its name" "$(tr -d '\0' <"/proc/$opener/cmdline")" perfcountd-opener
files=$(find "/proc/$opener/fd" -mindepth 1 -printf '%l\n' | sed 's/\[.*//' | sort -u | tr '\n' ' ')
matches "the opener: it has a socket, standard error and nothing else" "$files" \
    "^/dev/null ([^ ]*\.log )?(pipe: )?socket: $"
equals "the status names it" "$(status_field .opener.state,.opener.pid | paste -sd ' ')" "running $opener"
contains "with its capabilities" "$(status_field '.opener.capabilities | join(" ")')" cap_perfmon

# --- what each process takes: as /proc has it

# stat_field PID N: of /proc/PID/stat, whose name has no blanks here.
stat_field() {
    awk -v n="$2" '{ print $n }' "/proc/$1/stat"
}
# process_value NAME PROCESS: of perfcountd_process_NAME.
process_value() {
    get /metrics | awk -v series="perfcountd_process_$1{process=\"$2\"}" '$1 == series { print $2 }'
}
# process_is PROCESS PID: what changes on its own is compared while it can be no more than that.
process_is() {
    local pid=$2 page ticks before
    page=$(getconf PAGESIZE)
    ticks=$(getconf CLK_TCK)
    before=$(awk -v t="$ticks" '{ print ($14 + $15) / t }' "/proc/$pid/stat")
    sleep 1.1 # the age that a reading may have
    compares "$1: CPU time" "$(process_value cpu_seconds_total "$1") - $before >= 0 &&
        $(process_value cpu_seconds_total "$1") - $before < 1"
    equals "$1: resident memory" "$(process_value resident_memory_bytes "$1")" $(($(stat_field "$pid" 24) * page))
    equals "$1: virtual memory" "$(process_value virtual_memory_bytes "$1")" "$(stat_field "$pid" 23)"
    equals "$1: threads" "$(process_value threads "$1")" "$(field "$pid" Threads)"
    # Both with two digits behind the point: the metric leaves a last 0 out.
    equals "$1: start" "$(process_value start_time_seconds "$1" | awk '{ printf "%.2f", $1 }')" "$(
        awk -v t="$ticks" -v boot="$(awk '$1 == "btime" { print $2 }' /proc/stat)" \
            '{ printf "%.2f", boot + $22 / t }' "/proc/$pid/stat")"
    equals "$1: the status has it" "$(get /api/v1/status | jq -r ".processes[] | select(.process == \"$1\") |
        \"\(.pid) \(.virtual_bytes)\"")" "$pid $(stat_field "$pid" 23)"
}
process_is opener "$opener"
equals "no symboliser runs, so it is not there" "$(get /metrics | grep -c 'process="symboliser"')" 0
equals "nor in the status, where the users are" \
    "$(get /api/v1/status | jq -c '[.processes[] | [.process, .uid]]')" \
    "[[\"daemon\",$(field "$daemon_pid" Uid)],[\"opener\",0]]"
equals "its jail leaves it the idle time of each CPU" \
    "$(get /api/v1/status | jq -c '[.machine.cpu_idle_seconds[] | select(.seconds > 0) | .cpu]')" \
    "$(grep -o '^cpu[0-9]*' /proc/stat | jq -Rc '[., inputs] | map(ltrimstr("cpu") | select(. != "") | tonumber)')"
own_value() {
    get /metrics | awk -v name="$1" '$1 == name { print $2 }'
}
equals "the daemon: threads" "$(own_value process_threads)" "$(field "$daemon_pid" Threads)"
equals "the daemon: virtual memory" "$(own_value process_virtual_memory_bytes)" "$(stat_field "$daemon_pid" 23)"
equals "the daemon: no limit of it, 2^64 - 1" "$(own_value process_virtual_memory_max_bytes)" 18446744073709551615

# --- counts through it

faults=$(value minor_faults software)
forks=$(value sched_sched_process_fork trace)
for _ in $(seq 100); do "$probed"; done
compares "minor faults of 100 processes" "$(value minor_faults software) - $faults > 2000"
compares "100 forks, by a tracepoint" "$(value sched_sched_process_fork trace) - $forks >= 100"
if [ $probes = yes ]; then
    equals "100 starts, by a uprobe whose path went through the opener" "$(value starts probe)" 100
fi
mkdir "$parent/a"
holds "a new cgroup is counted" eventually 10 has_cgroup "$below/a"
fault "$below/a" 5000
compares "5,000 faults in it" "$(count "$below/a") >= 5000 && $(count "$below/a") < 6000"
sum=$(get /api/v1/events | jq '[.[] | select(.kind == "tracepoint")] | length')
compares "tracepoints are listed" "$sum > 100"

# --- reload

write_config '      - {name: later, events: "{page-faults,cpu-migrations}"}'
kill -HUP "$daemon_pid"
has_later() {
    [ "$(value page_faults later)" != null ]
}
holds "SIGHUP opens the new group" eventually 5 has_later
holds "the opener does not end by signals that all get" kill -HUP "$opener"
for signal in INT TERM QUIT; do
    kill -$signal "$opener"
done
sleep 0.3
equals "it is the same opener" "$(opener_of "$daemon_pid")" "$opener"

# --- an opener that is stopped, or slow

failure_of_cgroups() {
    status_field '.failures[] | select(.collector == "cgroup") | .message'
}
opener_is() {
    [ "$(status_field .opener.state)" = "$1" ]
}
kill -STOP "$opener"
mkdir "$parent/late"
holds "one that is stopped: the status says that it is late" eventually 10 opener_is late
started=$(date +%s%N)
for _ in $(seq 20); do get /metrics >/dev/null; done
compares "20 scrapes take less than 5 s while it is" "$(date +%s%N) - $started < 5000000000"
contains "an event that could not be opened is missing, with the reason" \
    "$(failure_of_cgroups)" "the opener does not answer"
compares "open counters go on counting" "$(value minor_faults software) > 0"
matches "a reload is refused, since nothing could be opened" "$(get /-/reload -X POST -w ' %{http_code}')" \
    'the opener does not answer.* 503$'
compares "and the unchanged groups go on" "$(value minor_faults software) > 0"
kill -CONT "$opener"
holds "it goes on: the new cgroup is counted" eventually 10 has_cgroup "$below/late"
holds "it is not late any more" opener_is running
all_are_there() {
    [[ $(status_field .failures[].message) != *"does not answer"* ]]
}
holds "nothing is missing for that reason" eventually 10 all_are_there
rmdir "$parent/late"

# --- the daemon outlives its opener

kill -9 "$opener"
is_lost() {
    [ "$(status_field .opener.state)" = lost ]
}
holds "after kill -9 of the opener the status says so" eventually 5 is_lost
equals "so does the log, once" "$(grep -c 'the opener is gone' "$daemon_log")" 1
contains "with the reason" "$(grep 'the opener is gone' "$daemon_log")" \
    "process $opener was ended by signal 9 (Killed);"
no_zombie() {
    [ -z "$(opener_of "$daemon_pid")" ]
}
holds "no zombie is left" eventually 5 no_zombie
faults=$(value minor_faults software)
for _ in $(seq 20); do "$probed"; done
compares "open counters go on counting" "$(value minor_faults software) > $faults"
mkdir "$parent/b"
cgroup_is_reported() {
    [[ $(status_field '.failures[] | select(.collector == "cgroup") | .message') == *"the opener is gone"* ]]
}
holds "a new cgroup is not counted, with the reason" eventually 5 cgroup_is_reported
equals "a scrape is answered" "$(status_of /metrics)" 200
write_config '      - {name: never, events: "{page-faults}"}'
equals "a reload is taken" "$(status_of /-/reload -X POST)" 200
contains "its new groups are missing, with the reason" \
    "$(status_field '.failures[] | select(.group == "never") | .message')" "the opener is gone"
contains "and the remedy" "$(status_field '.failures[] | select(.group == "never") | .message')" "restart perfcountd"
compares "unchanged groups go on" "$(value minor_faults software) > $faults"
stop_daemon
equals "it ends well" "$daemon_status" 0
rmdir "$parent/b"

# --- under a service manager the daemon ends with its opener, and is started again

# The manager's part: its socket, whose messages go to $scratch/notified, and the variables by which the process knows.
python3 - "$scratch/notify.sock" >"$scratch/notified" <<'END' &
import socket
import sys

receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
while True:
    print(receiver.recv(4096).decode(), flush=True)
END
children+=("$!")
holds "the socket of messages is there" eventually 5 test -S "$scratch/notify.sock"
chmod 777 "$scratch/notify.sock"
# start_managed PID: by its variables the manager started the process PID; "own" is its own.
start_managed() {
    # shellcheck disable=SC2016 # the shell in there expands it
    wrapper=(sh -c 'pid=$1; [ "$pid" != own ] || pid=$$; shift
        SYSTEMD_EXEC_PID=$pid NOTIFY_SOCKET='"$scratch/notify.sock"' exec "$@"' sh "$1")
    start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$scratch/http.sock"
    wrapper=()
    set_opener "a daemon that a manager started"
}
# A client that has read the head of an answer that is longer than a unix socket holds (net.core.wmem_default) when the
# opener is killed, and reads the rest 0.3 s later. Prints how many bytes there were, and how many are missing.
slow_client() {
    python3 - "$scratch/http.sock" "$1" <<'END'
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
time.sleep(0.3)
while len(body) < length and (part := client.recv(65536)):
    body += part
print(length, length - len(body))
END
}

start_managed own
get /api/v1/events >/dev/null # the next time it is answered at once
read -r bytes missing < <(slow_client "$opener")
compares "an answer is longer than a socket holds" "$bytes > $(cat /proc/sys/net/core/wmem_default)"
equals "a client that was getting it gets all of it" "$missing" 0
holds "the daemon ends" eventually 5 not running "$daemon_pid"
wait "$daemon_pid"
equals "with a failure" "$?" 1
matches "the log says why, and what comes" "$(grep 'the opener is gone' "$daemon_log")" \
    "process $opener was ended by signal 9 \(Killed\); perfcountd ends with exit status 1.*starts it again"
matches "so does the status line" "$(grep '^STATUS=' "$scratch/notified" | tail -n 1)" \
    '^STATUS=the opener is gone, perfcountd ends so that it is started again; counting'
equals "the manager hears that it stops" "$(tail -n 1 "$scratch/notified")" STOPPING=1
# Variables that were inherited from a shell or script that a manager started.
start_managed 1
kill -9 "$opener"
holds "the variables of another process: it is lost" eventually 5 is_lost
sleep 0.5
holds "and the daemon goes on" running "$daemon_pid"
stop_daemon
equals "until it is stopped" "$daemon_status" 0

# --- probes are set only where the configuration had one at the start

if [ $probes = yes ]; then
    write_config ""
    start_daemon --config.file="$config"
    set_opener "a daemon without probes"
    write_config "      - {name: probe, events: \"uprobe/path=$probed,offset=$offset,name=starts/\"}"
    equals "a probe is added later" "$(status_of /-/reload -X POST)" 200
    contains "it is missing, with the reason" \
        "$(status_field '.failures[] | select(.group == "probe") | .message')" \
        "the configuration did not have this event when perfcountd started"
    equals "the opener lives" "$(status_field .opener.state)" running
    stop_daemon
    write_config ""
fi

# --- the opener does not outlive its daemon

ends_with() {
    start_daemon --config.file="$config"
    set_opener
    kill "-$1" "$daemon_pid"
    # On a busy machine the kernel takes its time to close counters, of tracepoints above all.
    holds "the daemon ends by $1" eventually 10 not running "$daemon_pid"
    holds "the opener ends soon after it" eventually 2 not running "$opener"
    wait "$daemon_pid" 2>/dev/null
}
ends_with KILL
ends_with TERM
start_daemon --config.file="$config"
set_opener
kill -STOP "$opener"
stop_daemon
equals "a daemon whose opener was stopped ends" "$daemon_status" 0
holds "so does the opener" eventually 2 not running "$opener"

# --- the user that it becomes

echo 'user: games' >"$config"
start_daemon --config.file="$config"
equals "user: games" "$(id -un "$(field "$daemon_pid" Uid)")" games
stop_daemon
for name in root 0 no-such-user; do
    echo "user: $name" >"$config"
    "$PERFCOUNTD" --config.file="$config" --web.listen-address=127.0.0.1:0 >"$scratch/refused" 2>&1
    equals "user: $name does not start: exit status" "$?" 2
    contains "with a sentence" "$(cat "$scratch/refused")" "user: "
    "$PERFCOUNTD" check-config "$config" >/dev/null 2>&1
    equals "check-config refuses it too" "$?" 2
done
write_config ""

# --- without

wrapper=(prlimit --as=$((1 << 50)) --)
start_daemon --config.file="$config" --no-opener
wrapper=()
equals "--no-opener: one process" "$(opener_of "$daemon_pid")" ""
equals "nothing is said of another" "$(get /metrics | grep -c '^perfcountd_process_')" 0
equals "a limit of its virtual memory" "$(own_value process_virtual_memory_max_bytes)" $((1 << 50))
equals "which the status says" "$(status_field .opener.state)" none
compares "and which counts" "$(value minor_faults software) >= 0"
stop_daemon

# --- nobody

nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
wrapper=("${nobody[@]}" --bounding-set=-all --inh-caps=-all)
chmod 644 "$config"
start_daemon --config.file="$config"
equals "nobody without capabilities: one process" "$(opener_of "$daemon_pid")" ""
equals "which the status says" "$(status_field .opener.state)" none
stop_daemon

# split_as CAPABILITIES: nobody with these. cap_38 is CAP_PERFMON, which setpriv of Debian 11 knows by number alone.
split_as() {
    wrapper=("${nobody[@]}" --inh-caps="$1" --ambient-caps="$1")
    start_daemon --config.file="$config"
    set_opener "nobody's daemon with $1"
}
write_config '      - {name: later, events: "{page-faults,cpu-migrations}"}'
split_as +cap_38,+sys_admin,+dac_read_search,+setpcap
no_capabilities "of nobody"
equals "nobody's opener keeps the capabilities that it needs" "$(field "$opener" CapEff)" $needed
equals "and its bounding set is no larger" "$(field "$opener" CapBnd)" $needed
faults=$(value minor_faults software)
forks=$(value sched_sched_process_fork trace)
for _ in $(seq 50); do "$probed"; done
compares "faults are counted" "$(value minor_faults software) - $faults > 1000"
compares "forks, too: the number of the tracepoint came from the opener" \
    "$(value sched_sched_process_fork trace) - $forks >= 50"
compares "and the list of tracepoints" \
    "$(get /api/v1/events | jq '[.[] | select(.kind == "tracepoint")] | length') == $sum"
stop_daemon
split_as +cap_38,+sys_admin
equals "without CAP_SETPCAP the daemon's CapEff is 0 all the same" "$(field "$daemon_pid" CapEff)" 0000000000000000
equals "and CapPrm" "$(field "$daemon_pid" CapPrm)" 0000000000000000
contains "a tracepoint that is root's is missing, with the reason" \
    "$(status_field '.failures[] | select(.group == "trace") | .message')" "grant CAP_DAC_READ_SEARCH"
stop_daemon
wrapper=()

# --- samples

# A program of a stranger's that only root can read; and who may see the kernel's symbols.
cc -O1 -fno-omit-frame-pointer -o "$scratch/hot" "$here/hot.c" || fail "hot.c compiles"
chmod 711 "$scratch/hot"
setpriv --reuid=games --regid=games --clear-groups "$scratch/hot" 600 >/dev/null &
hot=$!
children+=("$hot")
kernel_is_shown() {
    grep -q -m 1 '^0*[1-9a-f][0-9a-f]* T _text$' /proc/kallsyms
}
# samples: into the files $scratch/samples (all records) and $scratch/hot-samples (a JSON array of hot's).
samples() {
    get "/api/v1/folded?seconds=1" >/dev/null # which ends when the tables of symbols are made
    get "/api/v1/samples?seconds=2&frequency=500" >"$scratch/samples"
    jq -c 'select(.type == "sample" and .comm == "hot")' "$scratch/samples" | jq -s . >"$scratch/hot-samples"
}
# Of hot's samples in user space, the share with a symbol of its own; the program waits for nothing.
hot_share() {
    jq '[.[] | select(.symbol | type == "string")] as $known
        | ([$known[] | select(.symbol | test("^hot_"))] | length) / ([length, 1] | max)' "$scratch/hot-samples"
}
note() {
    jq -r 'select(.type == "header") | .notes // [] | .[]' "$scratch/samples"
}
# add_sampler true|false: to the configuration.
add_sampler() {
    echo "sampler: {enabled: $1}" >>"$config"
}
sampling=0000004400280004 # those of counting, CAP_SYS_PTRACE, CAP_SYSLOG

write_config ""
add_sampler true
start_daemon --config.file="$config"
set_opener "a daemon that samples"
no_capabilities "which samples"
for set in CapEff CapPrm CapBnd; do
    equals "its opener: $set" "$(field "$opener" $set)" $sampling
done
samples
compares "a stranger's program has samples" "$(jq length "$scratch/hot-samples") > 20"
compares "with the symbols of a file that only root can read" "$(hot_share) > 0.5"
if kernel_is_shown; then
    compares "the kernel's symbols as well" "$(jq -r 'select(.type == "sample") | ., (.callchain // [])[] |
        select(.module == "[kernel.kallsyms]" and .symbol != "[unknown]") | .symbol' "$scratch/samples" | wc -l) > 10"
    # Other programs of this machine may be large.
    equals "the header misses nothing" "$(note | grep -v '^of large programs only the largest functions')" ""
fi
symboliser=$(pgrep -P "$daemon_pid" | grep -vx "$opener")
holds "one process reads the files of strangers" test -n "$symboliser"
equals "it has no capabilities: CapEff" "$(field "$symboliser" CapEff)" 0000000000000000
equals "and CapPrm" "$(field "$symboliser" CapPrm)" 0000000000000000
equals "its system calls are filtered" "$(field "$symboliser" Seccomp)" 2
process_is symboliser "$symboliser"
spent=$(process_value cpu_seconds_total symboliser)
compares "it has taken time" "$spent > 0"
kill -9 "$symboliser"
holds "it ends" eventually 5 not running "$symboliser"
sleep 1.1
equals "then it has no memory" "$(process_value resident_memory_bytes symboliser)" ""
compares "and keeps its time" "$(process_value cpu_seconds_total symboliser) - $spent >= 0"
# Another program, which has no table yet.
cp "$scratch/hot" "$scratch/hot2"
setpriv --reuid=games --regid=games --clear-groups "$scratch/hot2" 600 >/dev/null &
children+=("$!")
samples
again=$(pgrep -P "$daemon_pid" | grep -vx "$opener")
holds "the next request starts another" test -n "$again" -a "$again" != "$symboliser"
sleep 1.1
equals "whose memory is there" "$(process_value resident_memory_bytes symboliser)" \
    $(($(stat_field "$again" 24) * $(getconf PAGESIZE)))
compares "its time goes on from there" "$(process_value cpu_seconds_total symboliser) - $spent > 0"
stop_daemon

write_config ""
start_daemon --config.file="$config"
set_opener "a daemon that does not sample"
equals "its opener keeps no more than it needs" "$(field "$opener" CapEff)" $needed
equals "samples are refused" "$(status_of /api/v1/samples?seconds=1)" 403
add_sampler true
equals "the sampler is enabled later" "$(status_of /-/reload -X POST)" 200
equals "samples are refused" "$(status_of /api/v1/samples?seconds=1)" 403
equals "with the reason and the remedy" "$(get /api/v1/samples?seconds=1 | jq -r .error)" \
    "the sampler was enabled after perfcountd had started; restart perfcountd"
compares "it counts all the same" "$(value minor_faults software) >= 0"
stop_daemon

write_config ""
add_sampler true
split_as +cap_38,+sys_admin,+dac_read_search,+setpcap,+sys_ptrace,+syslog
equals "nobody's opener for samples" "$(field "$opener" CapEff)" $sampling
samples
compares "nobody's daemon has a stranger's symbols" "$(hot_share) > 0.5"
stop_daemon
split_as +cap_38,+sys_admin,+dac_read_search,+setpcap
equals "without CAP_SYS_PTRACE and CAP_SYSLOG" "$(field "$opener" CapEff)" $needed
samples
compares "it samples all the same" "$(jq length "$scratch/hot-samples") > 20"
# Newer kernels show mappings to CAP_PERFMON as well.
maps_are_shown() {
    "${nobody[@]}" --inh-caps=+cap_38 --ambient-caps=+cap_38 cat "/proc/$hot/maps" >/dev/null 2>&1
}
if maps_are_shown; then
    compares "with the mappings that CAP_PERFMON shows" "$(hot_share) >= 0"
else
    contains "and says which capability is missing" "$(note)" "grant CAP_SYS_PTRACE"
fi
if kernel_is_shown && ! "${nobody[@]}" grep -q -m 1 '^0*[1-9a-f][0-9a-f]* T _text$' /proc/kallsyms; then
    contains "and that the kernel hides itself" "$(note)" "grant CAP_SYSLOG"
fi
stop_daemon
wrapper=()

# --- its refusals; times.sh has its cost

"$beside/tests/e2e/opener-refusals" >"$scratch/refusals"
equals "each forbidden request is refused" "$?" 0
cat "$scratch/refusals"
# --- the program that counts cgroups: its maps, programs and links are all that the opener has besides

engine=auto write_config ""
start_daemon --config.file="$config"
set_opener "the daemon with the engine auto"
equals "the opener: CAP_BPF as well" "$(field "$opener" CapEff)" 000000c000200004
if [ "$(status_field .cgroups.engine)" = bpf ]; then
    matches "and what bpf(2) gave it" "$(find "/proc/$opener/fd" -mindepth 1 -printf '%l\n' | sort -u | tr '\n' ' ')" \
        "anon_inode:bpf-map anon_inode:bpf-prog "
    kill -STOP "$opener"
    mkdir "$parent/waiting"
    is_explained() {
        [[ $(failure_of_cgroups) == *"are not watched"*"the opener does not answer"* ]]
    }
    holds "a cgroup that comes while it is stopped is not watched, with the reason" eventually 10 is_explained
    kill -CONT "$opener"
    holds "and is counted once it answers" eventually 10 has_cgroup "$below/waiting"
    rmdir "$parent/waiting"
else
    left_out "the engine bpf does not count here: $(status_field .cgroups.engine_reason)"
fi
stop_daemon
"$beside/tests/e2e/opener-tally" >"$scratch/tally"
case $? in
0) pass "the opener loads the program that counts cgroups, in its filter" ;;
77) left_out "$(sed -n 's/^skipped: //p' "$scratch/tally" | head -n 1)" ;;
*) fail "the opener loads the program that counts cgroups, in its filter" "$(cat "$scratch/tally")" ;;
esac
finish
