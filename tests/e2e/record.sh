#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests that `perfcountd record` finds the known profile of a program in each format, as root and as an ordinary user.
# Also tests how a recording ends, what it prints, that a file exists only once it is complete, and recordings by a
# running daemon.
# set: quick
. "$(dirname "$0")/lib.sh"
need cc curl gzip perf pgrep protoc python3 setpriv strip xmllint
[ "$(id -u)" -eq 0 ] || skip "root, to sample all CPUs"
chmod 755 "$scratch"
program=record-hot
cc -O1 -g -fno-omit-frame-pointer -o "$scratch/$program" "$here/hot.c"
# `record` does not use this machine's configuration, and samples an event that every machine has.
echo 'sampler: {event: cpu-clock}' >"$scratch/config.yaml"
mkdir -m 777 "$scratch/files"
cd "$scratch/files" || exit 1

# record ARGUMENTS...: sets status, and said, which is standard error.
user=()
record() {
    "${user[@]}" "$PERFCOUNTD" record --config.file="$scratch/config.yaml" "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    said=$(<"$scratch/err")
}
# nothing_is_left TITLE: checks that neither a complete nor a partial file exists.
nothing_is_left() {
    equals "$1: there is no file" "$(ls -A)" ""
}
# record_hot FORMAT WEIGHTS: records the program, sets truth, and checks the share. It runs long enough for $enough
# samples if the program gets half of a CPU; with fewer samples, the bound of within_points() is wider.
seconds=$((2 * enough / 1999))
record_hot() {
    record --frequency=1999 -o "hot.$1" -- "$scratch/$program" "$seconds"
    equals "$1: the exit status is the program's" "$status" 0
    matches "$1: the message has the number of samples and the name of the file" \
        "$said" "[0-9]+ samples of cpu-clock in [0-9.]+ s: hot.$1"
    truth=$(awk '/hot_/' "$scratch/out" | share)
    truth=${truth% *}
    "$2" "hot.$1" >"$scratch/weights"
    within_points "$1" "$(share <"$scratch/weights")"
}
svg_weights() {
    sed -n 's|.* data-n="\([0-9]*\)"><title>\(hot_[a-z]*\): .*|\1 \2|p' "$1"
}
samples_said() {
    sed -n 's/^perfcountd: \([0-9]*\) samples of.*/\1/p' "$scratch/err"
}

# --- a command, in each format

record_hot svg svg_weights
holds "the flame graph is valid XML" xmllint --noout --nonet hot.svg
equals "the flame graph has all samples" \
    "$(sed -n 's|.*<title>all: \([0-9]*\) samples.*|\1|p' hot.svg)" "$(samples_said)"
contains "the flame graph's title has the command" \
    "$(grep -m 1 '<title>' hot.svg)" "/$program $seconds on $(uname -n): cpu-clock, "
lacks "the flame graph loads no other resource" 'https?://[^w]|href=|src=|@import|url[(]' hot.svg
record_hot folded folded_weights
equals "the stacks have all samples" "$(awk '{ n += $NF } END { print n }' hot.folded)" "$(samples_said)"
record_hot pb.gz protoc_weights
record_hot perf.data script_weights
rm -f hot.*

record -o a.folded -- sh -c "$scratch/$program 1 & $scratch/$program 1; wait; exit 3"
equals "the exit status is the command's" "$status" 3
compares "processes that the command starts are sampled" "$(awk -v name="$program" 'index($0, name) == 1 { n += $NF }
    END { print n + 0 }' a.folded) > 0"
record -o a.folded -- sh -c "$scratch/$program 1; kill -TERM \$\$"
equals "the exit status is 128 plus the signal number" "$status" $((128 + 15))
rm -f a.folded

strip -o "$scratch/bare-hot" "$scratch/$program"
record -o a.folded -- "$scratch/bare-hot" 1
matches "for a stripped program, the message says why functions have no names" "$said" \
    '[0-9]+ samples? without a name for the innermost function: [0-9]+ in bare-hot: the file has no symbols for them; '
rm -f a.folded

# --- how a recording ends

record -o a.svg -- /no/such/command
equals "no such command: exit status" "$status" 127
contains "no such command: the message" "$said" "/no/such/command: cannot be run: No such file"
nothing_is_left "no such command"
record -o a.svg --event=alignment-faults -- true
equals "no samples: exit status" "$status" 1
contains "no samples: the message" \
    "$said" "no sample of alignment-faults, so a.svg is not written: the command had only"
nothing_is_left "no samples"
record -o a.svg --seconds=10m -- "$scratch/$program" 1
equals "the command ends before the time limit: exit status" "$status" 0
# The file is complete once the time limit has passed.
record -o b.folded --seconds=500ms -- sh -c "$scratch/$program 60 >hot & hot=\$!
    until [ -e b.folded ] || ! kill -0 \$hot; do sleep 0.1; done; kill \$hot; wait; $scratch/bare-hot 1"
equals "the time limit ends before the command: record waits for the command" \
    "$status $(grep -c hot_ "$scratch/out")" "0 2"
contains "the command is recorded until the time limit" "$(<b.folded)" "$program;"
lacks "what the command does later is not recorded" '^bare-hot;' b.folded
rm -f a.svg b.folded hot

runs_hot() {
    pgrep -P "$recorder" -x "$program" >/dev/null
}
# Samples are written while the recording is running.
writes() {
    [ -n "$(find . -name "$1.*" -size +0)" ]
}
start_record() {
    "$PERFCOUNTD" record --config.file="$scratch/config.yaml" --frequency=999 "$@" >"$scratch/out" 2>"$scratch/err" &
    recorder=$!
    children+=("$recorder")
}
start_record -o a.folded -- "$scratch/$program" 600
holds "a command runs" eventually 60 runs_hot
hot=$(pgrep -P "$recorder" -x "$program")
holds "the command has used some CPU time" eventually 60 has_cpu_time "$hot" 20
kill -TERM "$recorder"
wait "$recorder"
equals "a signal is passed to the command" "$? $(grep -c hot_ "$scratch/out")" "0 2"
compares "what was recorded until then is kept" "$(folded_weights a.folded | share | cut -d' ' -f2) > 30"
"$scratch/$program" 600 >/dev/null &
hot=$!
children+=("$hot")
start_record -o b.perf.data --pid="$hot" --seconds=600
holds "a process is sampled" eventually 60 writes b.perf.data
ticks=$(awk '{ print $14 }' "/proc/$hot/stat")
holds "the process uses some CPU time during the recording" eventually 60 has_cpu_time "$hot" $((ticks + 20))
kill -INT "$recorder"
wait "$recorder"
equals "SIGINT ends the recording with exit status 0" $? 0
compares "what was recorded until then is kept" "$(script_weights b.perf.data | share | cut -d' ' -f2) > 0"
rm -f ./*
# A signal that is already pending at the start arrives before the recording can begin.
python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
os.kill(os.getpid(), signal.SIGINT)
os.execv(sys.argv[1], sys.argv[1:])' "$PERFCOUNTD" record --config.file="$scratch/config.yaml" \
    --event=alignment-faults -o a.svg 2>"$scratch/err"
equals "a recording interrupted before it begins: the message" "$? $(<"$scratch/err")" \
    "1 perfcountd: interrupted before there was a sample of alignment-faults, so a.svg is not written"
nothing_is_left "a recording interrupted before it begins"

# --- usage

# refused STATUS TEXT ARGUMENTS...: checks that these arguments are rejected.
refused() {
    record "${@:3}"
    equals "refused: ${*:3}" "$status" "$1"
    contains "refused: ${*:3}: the message" "$said" "$2"
    nothing_is_left "${*:3}"
}
refused 2 'ends in .svg (a flame graph), .folded (stacks), .pb.gz (pprof) or .perf.data (perf)' -o a.txt
refused 2 'no file to write' --seconds=1
refused 2 '--seconds: expected seconds, at least 0.001, or a duration' --seconds=5x -o a.svg
refused 2 '--frequency: expected a whole number' --frequency=x -o a.svg
refused 2 '--pid cannot be used with a command to run' --pid=1 -o a.svg -- true
refused 2 '--cgroup cannot be used with a command to run' --cgroup=/ -o a.svg -- true
refused 2 '--url cannot be used with a command to run' --url=unix:/x -o a.svg -- true
refused 2 'goes after "--"' -o a.svg true
refused 2 'there is no PMU "nopmu"' --event=nopmu/x/ -o a.svg --seconds=1
refused 1 'there is no process 4194304' --pid=4194304 -o a.svg
refused 1 'cannot write /no/such/a.svg: No such file' -o /no/such/a.svg -- touch "$scratch/ran"
refused 2 'there is no PMU "nopmu"' --event=nopmu/x/ -o a.svg -- touch "$scratch/ran"
equals "the command has not run" "$(ls "$scratch/ran" 2>&1)" "ls: cannot access '$scratch/ran': No such file or directory"
mkdir a.svg
record -o a.svg -- true
equals "the output is a directory: exit status" "$status" 1
contains "the output is a directory: the message" "$said" 'cannot write a.svg: Is a directory'
rmdir a.svg
mkdir "$scratch/small"
if mount -t tmpfs -o size=8k tmpfs "$scratch/small" 2>/dev/null; then
    record --frequency=999 -o "$scratch/small/a.perf.data" -- "$scratch/$program" 1
    equals "a full file system: exit status" "$status" 1
    matches "a full file system: the message" "$said" 'cannot write .*: No space left'
    equals "a full file system: no file is left" "$(ls -A "$scratch/small")" ""
    umount "$scratch/small"
else
    left_out "a small file system to fill"
fi
# An existing file is replaced only when the new one is complete, and keeps its mode.
echo old >old.folded
chmod 640 old.folded
record -o old.folded --event=alignment-faults -- true
equals "an existing file is kept if no new one is written" "$(<old.folded)" old
record -o old.folded -- "$scratch/$program" 1
equals "an existing file is replaced, and keeps its mode" "$(stat -c %a old.folded) $(grep -cx old old.folded)" "640 0"
rm -f old.folded

# --- a program without frame pointers: all of its stacks are one function deep

cc -O1 -nostdlib -static -fomit-frame-pointer -x c -o "$scratch/bare" - <<'END'
void _start(void)
{
    for (;;)
        ;
}
END
"$scratch/bare" &
bare=$!
children+=("$bare")
# is_called PID NAME: succeeds if the process already runs the program, rather than the shell that starts it.
is_called() {
    grep -qx "$2" "/proc/$1/comm"
}
eventually 60 is_called "$bare" bare
for format in svg folded pb.gz; do
    record --pid="$bare" --seconds=2s --frequency=999 -o "a.$format"
    matches "$format: the message says where stacks end early" \
        "$said" 'stacks end after one function in bare [(]100 % of [0-9]+ samples[)]:'
done
matches "a pprof comment says where stacks end early" \
    "$(protoc_weights a.pb.gz >/dev/null; grep '^comment' "$scratch/fields")" \
    'stacks end after one function in bare'
record --frequency=999 -o a.folded -- "$scratch/$program" 1
lacks "there is no message if callers are known" "in $program" "$scratch/err"
rm -f a.*

# --- an ordinary user

paranoid=$(</proc/sys/kernel/perf_event_paranoid)
install -m 755 "$PERFCOUNTD" "$scratch/perfcountd"
# The limit of locked memory is per user, so the test uses a user id that no other test uses.
user=(setpriv "--reuid=$((50000 + $$ % 10000))" --regid=65534 --clear-groups --inh-caps=-all)
if [ "$paranoid" = 2 ]; then
    PERFCOUNTD=$scratch/perfcountd record_hot svg svg_weights
    contains "the message tells an ordinary user what is missing" "$said" "the kernel's functions are missing"
    equals "the flame graph has no kernel function" "$(grep -c 'class="kernel"' hot.svg)" 0
    rm -f hot.svg
    PERFCOUNTD=$scratch/perfcountd record --url=unix:/no/such/socket --seconds=1 -o a.svg
    matches "without a daemon: exit status and message" "$status $said" '^1 .*no daemon answers on unix:/no/such/socket'
    nothing_is_left "without a daemon"
    if [ ! -e /run/perfcountd.sock ]; then
        PERFCOUNTD=$scratch/perfcountd record --seconds=1 -o a.svg
        matches "an ordinary user needs a daemon to record the whole machine" "$status $said" \
            '^1 perfcountd: this process may not sample: cpu 0 cpu-clock: permission denied .*perf_event_paranoid is 2; .*perfcountd: so a daemon was asked: no daemon answers on unix:/run/perfcountd.sock'
    fi
else
    left_out "kernel.perf_event_paranoid of 2"
fi

# --- recordings by a running daemon

# The number of open events must not depend on the machine's cgroups.
printf '%s\n' 'collectors: {cgroup: {enabled: false}}' \
    'sampler: {enabled: true, event: cpu-clock, allow: everybody}' >"$scratch/daemon.yaml"
start_daemon --config.file="$scratch/daemon.yaml"
idle=$(perf_fds)
for format in svg folded pb.gz perf.data; do
    record --url="$url" --pid="$hot" --seconds=2s --frequency=999 -o "a.$format"
    equals "$format from a daemon: exit status" "$status" 0
    matches "$format from a daemon: the message" "$said" "[1-9][0-9]* samples in 2.0 s: a.$format"
done
compares "the flame graph has the process" "$(svg_weights a.svg | share | cut -d' ' -f2) > 0"
holds "the flame graph is valid XML" xmllint --noout --nonet a.svg
compares "the stacks have the process" "$(folded_weights a.folded | share | cut -d' ' -f2) > 0"
compares "pprof has the process" "$(protoc_weights a.pb.gz | share | cut -d' ' -f2) > 0"
compares "perf.data has the process" "$(script_weights a.perf.data | share | cut -d' ' -f2) > 0"
record --url="$url" --pid="$bare" --seconds=2s --frequency=999 -o a.folded
matches "the message says where stacks end early" \
    "$said" 'stacks end after one function in bare [(]100 % of [0-9]+ samples'
matches "the folded file says where stacks end early" \
    "$(tail -n 1 a.folded)" '^# stacks end after one function in bare .*[a-z]$'
matches "the JSON end record says where stacks end early" \
    "$(get "/api/v1/samples?pid=$bare&seconds=2&frequency=999" | jq -r 'select(.type == "end") | .notes[]')" \
    'stacks end after one function in bare'
rm -f ./*
sleep 600 &
sleeper=$!
children+=("$sleeper")
is_asleep() {
    is_called "$sleeper" sleep && grep -q '^State:.S' "/proc/$sleeper/status"
}
eventually 60 is_asleep
for format in svg folded pb.gz perf.data; do
    refused 1 'no sample of the event in 1.0 s' --url="$url" --pid="$sleeper" --seconds=1 -o "a.$format"
done
holds "without a request, a daemon samples nothing" eventually 60 fds_are "$idle"
start_record --url="$url" --pid="$hot" --seconds=60 -o a.svg
holds "the daemon samples on request" eventually 60 not fds_are "$idle"
kill -INT "$recorder"
wait "$recorder"
equals "SIGINT ends the recording with exit status 1" $? 1
contains "the message says that nothing is kept" \
    "$(<"$scratch/err")" "interrupted: what the daemon had recorded is not kept"
nothing_is_left "a signal"
refused 1 'it answered 404: there is no process 4194304' --url="$url" --pid=4194304 -o a.svg
refused 2 'it answered 400' --url="$url" --event=nopmu/x/ -o a.svg
kill "$hot"
stop_daemon
refused 1 "no daemon answers on $url" --url="$url" -o a.svg
refused 2 'expected http://HOST:PORT or unix:/PATH' --url=ftp://x -o a.svg
finish
