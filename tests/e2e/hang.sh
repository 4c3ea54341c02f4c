#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program of another user is on a file system that does not answer, or its /proc/PID/maps cannot be read. The daemon
# serves, samples other programs, and exits. If a uprobe in that program is configured, all other events are counted.
# set: quick
# alone: daemons of other tests would sample its program and hang
# packages: libfuse3-dev
#
# usage: [OPERATIONS="getattr open read flush"] hang.sh     the operations that do not answer; default: open
. "$(dirname "$0")/lib.sh"
need curl jq cc nsenter objdump pgrep setpriv pkg-config unshare
read -ra operations <<<"${OPERATIONS-open}"
[ "$(id -u)" -eq 0 ] || skip "root, to sample all CPUs and mount a file system"
[ -c /dev/fuse ] || skip "FUSE"
# shellcheck disable=SC2046 # words
cc -O2 -o "$scratch/hang-fs" "$here/hang-fs.c" $(pkg-config --cflags --libs fuse3) || exit 1
cc -O1 -fno-omit-frame-pointer -o "$scratch/hot" "$here/hot.c" || exit 1
cc -O1 -fno-omit-frame-pointer -o "$scratch/names" "$here/names.c" || exit 1
cc -O2 -pthread -o "$scratch/hang-maps" "$here/hang-maps.c" || exit 1
chmod 755 "$scratch"
mkdir "$scratch/files" "$scratch/files/tmp" "$scratch/mount"
cp "$scratch/hot" "$scratch/files/hanging"
cp "$scratch/hot" "$scratch/ordinary"
head -c 4096 /dev/zero >"$scratch/files/page"
chmod 666 "$scratch/files/page"

mkfifo "$scratch/commands"
"$scratch/hang-fs" "$scratch/files" "$scratch/mount" <"$scratch/commands" >"$scratch/events" &
file_system=$!
exec 7>"$scratch/commands"
event() {
    grep -qx "$1" "$scratch/events"
}
command_fs() {
    echo "$1" >&7
    eventually 60 event "$1"
}
list=
unmount() {
    kill -9 "$file_system" # makes waiting operations fail
    umount -l "$scratch/mount"
    rm -f "$list"
    cleanup
}
trap unmount EXIT
holds "the file system is mounted" eventually 60 event mounted

runs() {
    [ "$(readlink "/proc/$started/exe")" = "$1" ]
}
# run_as USER PROGRAM [COMMAND...]: starts PROGRAM with $argument (default: 1000, in seconds) by means of COMMAND, and
# sets started to its PID.
run_as() {
    "${@:3}" setpriv --reuid="$1" --regid="$1" --clear-groups "$2" "${argument-1000}" >/dev/null &
    started=$!
    children+=("$started")
    eventually 60 runs "$2"
}
run_as 12345 "$scratch/mount/hanging"
hanging=$started
run_as 12346 "$scratch/ordinary"
ordinary=$started

cat >"$scratch/config.yaml" <<'END'
web: {min_interval: 0s, local_operators: true}
collectors: {cgroup: {enabled: false}}
sampler: {enabled: true, event: cpu-clock, frequency: 199}
END
# is_left NAME: succeeds if a process called NAME in this test's process group has not ended.
is_left() {
    pgrep -g 0 -r D,R,S,T -x "$1"
}
# has_functions PID: succeeds if samples of the program have function names.
has_functions() {
    get "/api/v1/folded?seconds=1&pid=$1" | grep -q hot_seventy
}

for operation in "${operations[@]}"; do
    echo "-- $operation"
    start_daemon --config.file="$scratch/config.yaml"
    command_fs "hang $operation /hanging"
    get "/api/v1/samples?seconds=2" >"$scratch/samples" &
    stream=$!
    holds "a process waits for the file system" eventually 60 event "waits $operation /hanging"
    equals "meanwhile metrics are served" "$(status_of /metrics)" 200
    equals "meanwhile a reload succeeds" "$(status_of /-/reload -X POST)" 200
    wait "$stream"
    equals "the stream ends" "$(tail -n 1 "$scratch/samples" | jq -r .reason)" seconds
    holds "other programs have symbols" eventually 60 has_functions "$ordinary"
    [ "$operation" = flush ] || equals "the file system is asked only once" \
        "$(grep -cx "waits $operation /hanging" "$scratch/events")" 1
    stop_daemon
    equals "the daemon exits cleanly" "$daemon_status" 0
    command_fs answer
    holds "no process is left" eventually 60 not is_left perfcountd-find
    : >"$scratch/events"
done

echo "-- maps"
argument=$scratch/mount/page run_as 12348 "$scratch/hang-maps"
unreadable=$started
# waits: succeeds if all three threads of hang-maps are in state D (blocked).
waits() {
    [ "$(cut -d ' ' -f 3 /proc/"$unreadable"/task/*/stat | sort | uniq -c | xargs)" = "3 D" ]
}
command_fs "hang write /page"
holds "the three threads of the process wait for each other" eventually 60 waits
start_daemon --config.file="$scratch/config.yaml"
get "/api/v1/samples?seconds=2" >"$scratch/samples" &
stream=$!
# reads_maps: succeeds if the symboliser is in state D, waiting for the lock of hang-maps. pgrep and ps would wait too.
reads_maps() {
    local pid
    # shellcheck disable=SC2013 # numbers
    for pid in $(cat /proc/"$daemon_pid"/task/*/children); do
        [ "$(cat "/proc/$pid/comm")" = perfcountd-symb ] && grep -q "State:.D" "/proc/$pid/status" && return
    done
    return 1
}
holds "the process that reads the mappings waits too" eventually 60 reads_maps
equals "meanwhile metrics are served" "$(status_of /metrics)" 200
equals "meanwhile a reload succeeds" "$(status_of /-/reload -X POST)" 200
wait "$stream"
equals "the stream ends" "$(tail -n 1 "$scratch/samples" | jq -r .reason)" seconds
holds "other programs have symbols" eventually 60 has_functions "$ordinary"
holds "the threads of the program still wait at the end of the stream" waits
contains "a note in the stream says that mappings could not be read" \
    "$(jq -r 'select(.type == "header") | .notes[]' "$scratch/samples")" "timed out"
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
command_fs answer
holds "no process is left" eventually 60 not is_left perfcountd-find
kill -9 "$unreadable"

start_daemon --config.file="$scratch/config.yaml"
holds "once the file system answers, the program has symbols" eventually 60 has_functions "$hanging"
stop_daemon

# --- the JIT symbol map of a program is in a container whose /tmp does not answer

run_as 12347 "$scratch/names" unshare --mount --propagation private
list=/tmp/perf-$started.map
holds "the program has written its JIT symbol map" eventually 60 grep -q 'early function' "$list"
cp --preserve=ownership "$list" "$scratch/files/tmp"
nsenter -t "$started" -m mount --bind "$scratch/mount/tmp" /tmp || exit 1
for operation in "${operations[@]}"; do
    [ "$operation" != flush ] || continue # the JIT symbol map is not mapped into memory
    echo "-- $operation of a JIT symbol map"
    : >"$scratch/events"
    command_fs "hang $operation $list"
    start_daemon --config.file="$scratch/config.yaml"
    get "/api/v1/samples?seconds=2" >"$scratch/samples" &
    stream=$!
    holds "a process waits for the file system" eventually 60 event "waits $operation $list"
    equals "meanwhile metrics are served" "$(status_of /metrics)" 200
    wait "$stream"
    equals "the stream ends" "$(tail -n 1 "$scratch/samples" | jq -r .reason)" seconds
    holds "other programs have symbols" eventually 60 has_functions "$ordinary"
    stop_daemon
    equals "the daemon exits cleanly" "$daemon_status" 0
    command_fs answer
    holds "no process is left" eventually 60 not is_left perfcountd-find
done

# --- the program of a uprobe is on a file system that does not answer

[ -e /sys/bus/event_source/devices/uprobe ] || {
    left_out "uprobes"
    finish
}
offset=$(objdump -h "$scratch/hot" | awk '$2 == ".init" { print "0x" $6 }')
cat >"$scratch/config.yaml" <<END
web: {min_interval: 0s, local_operators: true}
collectors:
  cgroup: {enabled: false}
  cpu:
    groups:
      - {name: probe, events: "uprobe/path=$scratch/mount/hanging,offset=$offset,name=starts/"}
      - {name: software, events: "context-switches"}
END
# counted EVENT GROUP: prints the event's sum over all CPUs, or null.
counted() {
    get "/api/v1/counters?group=$2&event=$1" | jq '[.counters[].value] | add'
}
is_counted() {
    [ "$(counted "$1" "$2")" != null ]
}
# fails_by REASON: succeeds if the uprobe's group fails for this reason.
fails_by() {
    get /api/v1/status | jq -r '.failures[] | "\(.group) \(.reason) \(.message)"' | grep -q "^probe $1 "
}
for operation in "${operations[@]}"; do
    [ "$operation" = getattr ] || [ "$operation" = open ] || continue # the kernel itself reads the file
    echo "-- $operation of a uprobe's program"
    : >"$scratch/events"
    command_fs "hang $operation /hanging"
    start_daemon --config.file="$scratch/config.yaml"
    holds "a process waits for the file system" eventually 60 event "waits $operation /hanging"
    holds "the reason for the uprobe's failure is reported" eventually 60 fails_by EHOSTDOWN
    holds "other events are counted" is_counted context_switches software
    equals "meanwhile a reload succeeds" "$(status_of /-/reload -X POST)" 200
    holds "other events are still counted" is_counted context_switches software
    if [ "$operation" = open ]; then
        command_fs answer
        holds "once the file system answers, the uprobe is counted" eventually 90 is_counted starts probe
        stop_daemon
    else
        stop_daemon
        command_fs answer
    fi
    equals "the daemon exits cleanly" "$daemon_status" 0
    holds "no process is left" eventually 60 not is_left perfcountd-open
done
finish
