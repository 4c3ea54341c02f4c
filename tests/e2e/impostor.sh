#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process that was taken over, in the daemon's place after the split, tries everything that a stranger would try: see
# tests/impostor/impostor.h. Started by root, with several configurations.
# set: quick
. "$(dirname "$0")/lib.sh"
need objdump
[ "$(id -u)" -eq 0 ] || skip "root, to part with privileges"
impostor=$(dirname "$PERFCOUNTD")/tests/impostor/impostor
need "$impostor" # make check TESTS= builds it
chmod 755 "$scratch"
# It reads and writes the memory of others, and a sanitizer's own calls would be denied with it.
cp "$impostor" "$scratch/impostor"

# impostor TITLE FLAGS...: with the configuration of the standard input, unless there is none.
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
# attempted TITLE TEXT: the last impostor made an attempt whose line contains this, and did not skip it.
attempted() {
    holds "$1" grep -qE "^ok   .*$2" "$scratch/attempts"
}

skipped=0
config=$scratch/perfcountd.yaml
probed=$scratch/probed
cp /bin/true "$probed"
offset=$(objdump -h "$probed" | awk '$2 == ".init" { print "0x" $6 }')

# The built-in configuration counts and does no more: it gets no tracepoint, no probe, no samples, no breakpoint.
# It runs where docker seems to be: a container's file with a secret in it, that only root may read.
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
attempted "docker's names are read" "docker's, names without secrets: got done"
attempted "a user's names are read" "a user's, names without secrets: got done"
attempted "another user's are not" "state file: for another user: got EBADRQC"
attempted "a link to root's file is not followed" "state file: a link to /etc/shadow: got EBADRQC"
attempted "directories of tracefs are not handed out" "the file \"/sys/kernel/tracing/events\": got EBADRQC"
attempted "requests for tracepoints are refused" "a tracepoint that is not configured: got ENOPKG"
attempted "samples are refused" "a sample period: got EUNATCH"
attempted "and those that are overwritten" "samples that are overwritten: got EUNATCH"
attempted "counters are opened" "a counter of a CPU: got done"
attempted "events without end are refused" "events of a CPU without end: got EDQUOT"
attempted "also those of cgroups" "events of a cgroup without end: got EDQUOT"
attempted "and where others keep them" "events beside as many that an accomplice keeps: got EDQUOT"
bpf_is_guarded() {
    attempted "counts of all cgroups cannot be written to" "counts of cgroups \(bpf\): mmap of the page: got EPERM"
    attempted "nor changed by a system call" "records of CPUs \(bpf\): BPF_MAP_UPDATE_ELEM: got EPERM"
    attempted "they show no address of the kernel's" "records of the engine bpf: an address of the kernel's: got done"
    attempted "tallies cannot be hoarded" "tallies whose descriptors are kept: got EBUSY"
    attempted "events are fewer beside them" "events of a CPU without end, after a BPF program: got EDQUOT"
}
if [ -e /sys/kernel/btf/vmlinux ]; then
    bpf_is_guarded
else
    left_out "BTF, for the engine bpf"
fi

# On a kernel without BTF, another program first reads the memory of the kernel, to find the offsets.
cgroups=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
cat >"$scratch/without-types" <<END
#!/bin/sh -e
mkdir -p $cgroups/test-impostor
echo \$\$ >$cgroups/test-impostor/cgroup.procs
[ ! -e /sys/kernel/btf ] || mount -t tmpfs none /sys/kernel/btf
exec "\$@"
END
chmod +x "$scratch/without-types"
wrapper=(unshare --mount "$scratch/without-types")
impostor "a kernel without BTF" --config.file="$config"
wrapper=()
bpf_is_guarded
eventually 60 rmdir "$cgroups/test-impostor"

# All kinds of descriptors, and samples.
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
attempted "samples without end are refused" "samples of another thread without end: got EDQUOT"
attempted "overwritten samples are those of whole CPUs" "overwritten samples of the process 1: got EBADRQC"
attempted "and a stranger may do no more with them" "overwritten samples of cpu-clock \(sampler\): mmap of a ring"
attempted "samples of the clock are opened" "samples of cpu-clock \(sampler\): ENABLE"
attempted "a finder is asked for shared memory" "a finder: memory that processes share"
if [ -e /sys/kernel/tracing/events/syscalls/sys_enter_openat ]; then
    attempted "no memory can be read by a filter" "sys_enter_openat: reading memory through a filter: got EEXIST"
    attempted "nor by one on a sampled tracepoint" \
        "samples of sched:sched_process_fork \(sampled tracepoint\): SET_FILTER of texts: got EEXIST"
else
    left_out "tracepoints of system calls"
fi
if [ -e /sys/bus/event_source/devices/uprobe ]; then
    attempted "a program of root's is not patched" "in the middle of an instruction: got ENOPKG"
    attempted "the probe of the configuration is harmless" "uprobe/.*SET_FILTER of texts: got EEXIST"
else
    left_out "uprobes"
fi
attempted "and lives" "root's process lives in the end"

# Breakpoints: as configured, and only where the key says so. And a user that is named.
breakpoint='collectors: {cpu: {groups: [{name: watch, events: "mem:0x7fff0000/4:w"}]}}'
echo "$breakpoint" >"$config"
impostor "a breakpoint without opener.breakpoints" --config.file="$config"
printf '%s\n' "$breakpoint" 'opener: {breakpoints: true}' 'user: games' >"$config"
holds "there is the user games" getent passwd games
impostor "a breakpoint with opener.breakpoints, user: games" --config.file="$config"
attempted "it is not root" "state: it is not root: got done"
attempted "another address is refused" "a breakpoint in user space: got ENOPKG"
attempted "the kernel is refused" "a breakpoint that writing to the kernel meets: got EBADRQC"

# The program of a probe belongs to an account, which puts a link to root's shell in its place.
if [ -e /sys/bus/event_source/devices/uprobe ]; then
    mkdir "$scratch/theirs"
    cp "$probed" "$scratch/theirs/program"
    chown -R 12345:12345 "$scratch/theirs"
    cat >"$config" <<END
collectors: {cpu: {groups: [{name: probe, events: "uprobe/path=$scratch/theirs/program,offset=$offset,name=starts/"}]}}
END
    impostor "a probe in a program of a stranger's" --config.file="$config"
    attempted "its link is not followed" "that a stranger put in its place: got EBADRQC"
fi

# The opener is stopped at each of its system calls, while an account changes what the request names.
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
attempted "an opener that trusts a path would be caught" "stepped: an opener that trusts a path is caught: .*got EPERM"
attempted "a finder that trusts a number would be caught" "a finder that trusts a number is caught: .*got EPERM"
for deed in "a symbolic link" "a hard link" "a mount" "another directory"; do
    attempted "a file with $deed in its place is not had" "stepped: a file, $deed: .*got done"
    attempted "nor a state file" "stepped: a state file, $deed: .*got done"
    [ ! -e /sys/bus/event_source/devices/uprobe ] || attempted "nor a probe" "a probed program, $deed: .*got done"
done
attempted "a number that is used again has no file" "a mapped file, another process: .*got done"
attempted "and no list of functions" "a list of functions, another process: .*got done"
attempted "a cgroup of the same name is not counted" "an event of a cgroup, another cgroup: .*got done"

# One process has what it was started with: there is nothing to try.
timeout --foreground 60 "$scratch/impostor" --no-opener >"$scratch/attempts" 2>&1 </dev/null
equals "--no-opener: there is nothing to try" "$?" 77
contains "which it says" "$(<"$scratch/attempts")" "there is no split here"

# The real jails of the symboliser and of the reader of container runtimes' files leave nothing but what reading an open
# file takes. That the real processes are in them is checked by tests/unit.
for process in symboliser reader; do
    "$(dirname "$PERFCOUNTD")/tests/impostor/symboliser-impostor" $process >"$scratch/attempts"
    equals "$process: each attempt has the result that it must have" "$?" 0
    compares "$process: there are many of them" "$(grep -c '^ok' "$scratch/attempts") > 60"
done
[ $skipped -eq 0 ] || left_out "what $skipped attempts of the impostor need"
finish
