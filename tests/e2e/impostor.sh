#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An attacker who took over the daemon's process after the split from the opener tries everything that must be refused:
# see tests/impostor/impostor.h. Started by root, with several configurations.
# set: quick
. "$(dirname "$0")/lib.sh"
need objdump
[ "$(id -u)" -eq 0 ] || skip "root, to drop privileges"
impostor=$(dirname "$PERFCOUNTD")/tests/impostor/impostor
need "$impostor" # make check TESTS= builds it
chmod 755 "$scratch"
# The impostor must be built without sanitizers: it accesses the memory of other processes, and the filters would deny a
# sanitizer's own system calls.
cp "$impostor" "$scratch/impostor"

# impostor TITLE FLAGS...: runs the impostor with these flags; each of its attempts must have the expected result.
impostor() {
    local title=$1 status=0
    shift
    timeout --foreground --kill-after=5 400 "${wrapper[@]}" "$scratch/impostor" "$@" >"$scratch/attempts" 2>&1 \
        </dev/null || status=$?
    if [ $status -eq 0 ]; then
        pass "$title: $(tail -n 1 "$scratch/attempts")"
        skipped=$((skipped + $(grep -c '^skip ' "$scratch/attempts")))
    else
        fail "$title" "exit status $status" "$(grep -E '^(FAIL |skipped)' "$scratch/attempts" ||
            tail -n 20 "$scratch/attempts")"
    fi
}
# attempted TITLE TEXT: checks that the last impostor made, and did not skip, an attempt whose line matches TEXT.
attempted() {
    holds "$1" grep -qE "^ok   .*$2" "$scratch/attempts"
}

skipped=0
config=$scratch/perfcountd.yaml
probed=$scratch/probed
cp /bin/true "$probed"
offset=$(objdump -h "$probed" | awk '$2 == ".init" { print "0x" $6 }')

# With the built-in configuration the daemon only counts: the opener refuses tracepoints, probes, samples and
# breakpoints. The namespace simulates Docker: a container's state file with a secret in it, which only root may read.
cat >"$scratch/with-docker" <<'END'
#!/bin/sh -e
mount -t tmpfs -o mode=0755 tmpfs /var/lib
container=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
umask 077
mkdir -p /var/lib/docker/containers/$container
echo '{"ID":"'$container'","Name":"/the-name","Config":{"Env":["PASSWORD=the-secret"],"Image":"the-image",
    "Cmd":["the-secret"],"Labels":{"token":"the-secret"}}}' >/var/lib/docker/containers/$container/config.v2.json
chmod 0711 /var/lib/docker
exec "$@"
END
chmod +x "$scratch/with-docker"
echo '{}' >"$config"
wrapper=(unshare --mount "$scratch/with-docker")
impostor "the built-in configuration" --config.file="$config"
wrapper=()
attempted "container names are read from Docker's state files" "docker's, names without secrets: got done"
attempted "container names are read from a user's files" "a user's, names without secrets: got done"
attempted "another user's files are not read" "state file: for another user: got EBADRQC"
attempted "a link to root's file is not followed" "state file: a link to /etc/shadow: got EBADRQC"
attempted "tracefs directories are not handed out" "the file \"/sys/kernel/tracing/events\": got EBADRQC"
attempted "requests for tracepoints are refused" "a tracepoint that is not configured: got ENOPKG"
attempted "samples are refused" "a sample period: got EUNATCH"
attempted "overwritten samples are refused" "samples that are overwritten: got EUNATCH"
attempted "counters are opened" "a counter of a CPU: got done"
attempted "an unlimited number of events is refused" "unlimited CPU events: got EDQUOT"
attempted "an unlimited number of cgroup events is refused" "unlimited cgroup events: got EDQUOT"
attempted "an unlimited number of events is refused even if an accomplice keeps them" \
    "events in addition to those that an accomplice keeps: got EDQUOT"
bpf_is_guarded() {
    attempted "counts of cgroups cannot be written through a mapping" \
        "counts of cgroups \(bpf\): mmap of the page: got EPERM"
    attempted "records of CPUs cannot be changed by a system call" \
        "records of CPUs \(bpf\): BPF_MAP_UPDATE_ELEM: got EPERM"
    attempted "BPF records contain no kernel address" "BPF engine's records: a kernel address: got done"
    attempted "the number of BPF maps for counts is limited" "BPF programs whose descriptors are kept open: got EBUSY"
    attempted "BPF maps reduce the number of events allowed" \
        "unlimited CPU events, after a BPF program: got EDQUOT"
}
if [ -e /sys/kernel/btf/vmlinux ]; then
    bpf_is_guarded
else
    left_out "BTF, for the engine bpf"
fi

# On a kernel without BTF, a separate program first reads kernel memory to find the offsets.
cgroups=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
own_cgroup=$cgroups/test-impostor-$$
cat >"$scratch/without-types" <<END
#!/bin/sh -e
mkdir -p $own_cgroup
echo \$\$ >$own_cgroup/cgroup.procs
[ ! -e /sys/kernel/btf ] || mount -t tmpfs none /sys/kernel/btf
exec "\$@"
END
chmod +x "$scratch/without-types"
wrapper=(unshare --mount "$scratch/without-types")
impostor "a kernel without BTF" --config.file="$config"
wrapper=()
bpf_is_guarded
eventually 60 rmdir "$own_cgroup"

# A configuration with all kinds of descriptors, and samples.
counting='      - {name: software, events: "{context-switches,minor-faults}"}
      - {name: core, events: "{cycles,instructions}"}
      - {name: raw, events: "r11"}
      - {name: cache, events: "L1-dcache-load-misses"}'
tracepoints='      - {name: openat, events: "syscalls:sys_enter_openat"}
      - {name: switches, events: "sched:sched_switch"}'
[ ! -e /sys/bus/event_source/devices/msr ] || counting+=$'\n      - {name: msr, events: "msr/tsc/"}'
[ ! -e /sys/bus/event_source/devices/uprobe ] ||
    tracepoints+=$'\n      - {name: probe, events: "uprobe/path='$probed,offset=$offset',name=starts/"}'
[ ! -e /sys/bus/event_source/devices/kprobe ] ||
    tracepoints+=$'\n      - {name: kernel, events: "kprobe/func=do_nanosleep,name=sleeps/"}'
cat >"$config" <<END
collectors:
  cpu:
    groups:
$counting
$tracepoints
sampler: {enabled: true, tracepoints: ["sched:sched_process_fork"], hindsight: {enabled: true}}
END
impostor "tracepoints, probes and samples" --config.file="$config" --web.listen-address="unix:$scratch/socket"
attempted "other tracepoints are refused" "a tracepoint that is not configured: got ENOPKG"
attempted "an unlimited number of samples is refused" "unlimited samples of another thread: got EDQUOT"
attempted "overwritten samples are refused for a process" "overwritten samples of process 1: got EBADRQC"
attempted "overwritten samples cannot be read by another process" \
    "overwritten samples of cpu-clock \(sampler\): mmap of a ring"
attempted "clock samples are opened" "samples of cpu-clock \(sampler\): ENABLE"
attempted "shared memory of other processes is refused" "a finder: memory shared by processes"
if [ -e /sys/kernel/tracing/events/syscalls/sys_enter_openat ]; then
    attempted "a filter cannot read memory" "sys_enter_openat: reading memory through a filter: got EEXIST"
    attempted "a filter on a sampled tracepoint cannot read memory" \
        "samples of sched:sched_process_fork \(sampled tracepoint\): SET_FILTER of texts: got EEXIST"
else
    left_out "tracepoints of system calls"
fi
if [ -e /sys/bus/event_source/devices/uprobe ]; then
    attempted "a uprobe in the middle of an instruction is refused" "in the middle of an instruction: got ENOPKG"
    attempted "the configured uprobe cannot be misused" "uprobe/.*SET_FILTER of texts: got EEXIST"
else
    left_out "uprobes"
fi
attempted "root's process is still alive at the end" "root's process still runs at the end"

# Breakpoints are opened as configured, and only if opener.breakpoints is set. The last configuration names a user.
breakpoint='collectors: {cpu: {groups: [{name: watch, events: "mem:0x7fff0000/4:w"}]}}'
echo "$breakpoint" >"$config"
impostor "a breakpoint without opener.breakpoints" --config.file="$config"
printf '%s\n' "$breakpoint" 'opener: {breakpoints: true}' 'user: games' >"$config"
holds "the user games exists" getent passwd games
impostor "a breakpoint with opener.breakpoints, user: games" --config.file="$config"
attempted "the daemon is not root" "state: it is not root: got done"
attempted "a breakpoint at another address is refused" "a breakpoint in user space: got ENOPKG"
attempted "a breakpoint in the kernel is refused" "a breakpoint on writes to the kernel: got EBADRQC"

# The probed program belongs to another account, which replaces it with a link to root's shell.
if [ -e /sys/bus/event_source/devices/uprobe ]; then
    mkdir "$scratch/theirs"
    cp "$probed" "$scratch/theirs/program"
    chown -R 12345:12345 "$scratch/theirs"
    cat >"$config" <<END
collectors: {cpu: {groups: [{name: probe, events: "uprobe/path=$scratch/theirs/program,offset=$offset,name=starts/"}]}}
END
    impostor "a probe in another account's program" --config.file="$config"
    attempted "a link that replaced the program is not followed" "that a stranger put in its place: got EBADRQC"
fi

# The opener is stopped at each of its system calls, while an account replaces the files that the request names.
mkdir -p "$scratch/account/in"
cp "$probed" "$scratch/account/in/program"
cat >"$scratch/account/in/perfcountd.yaml" <<END
sampler: {enabled: true}
END
[ ! -e /sys/bus/event_source/devices/uprobe ] || cat >>"$scratch/account/in/perfcountd.yaml" <<END
collectors:
  cpu: {groups: [{name: probe, events: "uprobe/path=$scratch/account/in/program,offset=$offset,name=starts/"}]}
END
chown -R 12345:12345 "$scratch/account"
wrapper=(env IMPOSTOR_STEPS=1 unshare --mount "$scratch/with-docker")
impostor "a stopped opener" --config.file="$scratch/account/in/perfcountd.yaml"
wrapper=()
attempted "the test would notice an opener that trusts a path" \
    "stepped: an opener that trusts a path is caught: .*got EPERM"
attempted "the test would notice a finder that trusts a process id" \
    "a finder that trusts a PID is caught: .*got EPERM"
for deed in "a symbolic link" "a hard link" "a mount" "another directory"; do
    attempted "a file is not opened after $deed replaced it" "stepped: a file, $deed: .*got done"
    attempted "a state file is not opened after $deed replaced it" "stepped: a state file, $deed: .*got done"
    [ ! -e /sys/bus/event_source/devices/uprobe ] || attempted \
        "a uprobe is not opened after $deed replaced the program" "a probed program, $deed: .*got done"
done
attempted "a mapped file is not opened after another process got the process id" \
    "a mapped file, another process: .*got done"
attempted "a perf-PID.map is not opened after another process got the process id" \
    "a list of functions, another process: .*got done"
attempted "a new cgroup of the same name is not counted" "an event of a cgroup, another cgroup: .*got done"

# Without an opener there is only one process, so the impostor has nothing to try.
timeout --foreground 60 "$scratch/impostor" --no-opener >"$scratch/attempts" 2>&1 </dev/null
equals "--no-opener: the impostor has nothing to try" "$?" 77
contains "--no-opener: the impostor's message" "$(<"$scratch/attempts")" "the daemon is not split"

# The sandboxes of the symboliser and of the state file reader permit only what is needed to read an open file.
# tests/unit checks that the real processes are in them.
for process in symboliser reader; do
    "$(dirname "$PERFCOUNTD")/tests/impostor/symboliser-impostor" $process >"$scratch/attempts"
    equals "$process: each attempt has the expected result" "$?" 0
    compares "$process: there are more than 60 attempts" "$(grep -c '^ok' "$scratch/attempts") > 60"
done
[ $skipped -eq 0 ] || left_out "what $skipped attempts of the impostor need"
finish
