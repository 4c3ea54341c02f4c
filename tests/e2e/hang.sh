#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program of another user is on a file system that does not answer: the daemon serves, samples others, and ends.
# set: quick
# alone: daemons of other tests would sample its program, and wait for its file
# packages: libfuse3-dev
. "$(dirname "$0")/lib.sh"
need curl jq cc pgrep setpriv pkg-config
[ "$(id -u)" -eq 0 ] || skip "root, to sample all CPUs and mount a file system"
[ -c /dev/fuse ] || skip "FUSE"
# shellcheck disable=SC2046 # words
cc -O2 -o "$scratch/hang-fs" "$here/hang-fs.c" $(pkg-config --cflags --libs fuse3) || exit 1
cc -O1 -fno-omit-frame-pointer -o "$scratch/hot" "$here/hot.c" || exit 1
chmod 755 "$scratch"
mkdir "$scratch/files" "$scratch/mount"
cp "$scratch/hot" "$scratch/files/hanging"
cp "$scratch/hot" "$scratch/ordinary"

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
unmount() {
    kill -9 "$file_system" # what waits fails
    umount -l "$scratch/mount"
    cleanup
}
trap unmount EXIT
holds "a file system" eventually 60 event mounted

runs() {
    [ "$(readlink "/proc/$started/exe")" = "$1" ]
}
# run_as USER PROGRAM: sets started.
run_as() {
    setpriv --reuid="$1" --regid="$1" --clear-groups "$2" 1000 >/dev/null &
    started=$!
    children+=("$started")
    eventually 60 runs "$2"
}
run_as 12345 "$scratch/mount/hanging"
run_as 12346 "$scratch/ordinary"
ordinary=$started

cat >"$scratch/config.yaml" <<'END'
web: {min_interval: 0s, local_operators: true}
collectors: {cgroup: {enabled: false}}
sampler: {enabled: true, event: cpu-clock, frequency: 199}
END
# has_functions PID: whether the functions of the program are known by their names.
has_functions() {
    get "/api/v1/folded?seconds=1&pid=$1" | grep -q hot_seventy
}

for operation in getattr open flush; do
    echo "-- $operation"
    start_daemon --config.file="$scratch/config.yaml"
    command_fs "hang $operation /hanging"
    get "/api/v1/samples?seconds=2" >"$scratch/samples" &
    stream=$!
    holds "it waits" eventually 60 event "waits $operation /hanging"
    equals "metrics meanwhile" "$(status_of /metrics)" 200
    equals "a reload meanwhile" "$(status_of /-/reload -X POST)" 200
    wait "$stream"
    equals "the stream ends" "$(tail -n 1 "$scratch/samples" | jq -r .reason)" seconds
    holds "programs of others have symbols" eventually 60 has_functions "$ordinary"
    [ "$operation" = flush ] || equals "the file system is not asked twice" \
        "$(grep -cx "waits $operation /hanging" "$scratch/events")" 1
    stop_daemon
    equals "it ends" "$daemon_status" 0
    command_fs answer
    holds "and no process is left" eventually 60 not pgrep -r DRS -x perfcountd-find
    : >"$scratch/events"
done
start_daemon --config.file="$scratch/config.yaml"
holds "once it answers, the program has symbols" eventually 60 has_functions "$(pgrep -x hanging)"
stop_daemon
finish
