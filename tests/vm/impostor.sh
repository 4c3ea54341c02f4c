# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A process that was taken over, in the daemon's place, on the board's kernel: tests/impostor/. A board has what a
# virtual machine does not: PMUs, kprobes, and kernels as old as they get. Sourced after board.sh.

# impostor TITLE: with the configuration of the standard input. Sets attempts, what it printed.
impostor() {
    local status=0
    attempts=$(VM_RUN_TIMEOUT=900 vm_run "cat >/tmp/impostor.yaml <<'END'
$(cat)
END
    impostor --config.file=/tmp/impostor.yaml </dev/null") || status=$?
    if [ $status -eq 0 ]; then
        pass "$1: $(tail -n 1 <<<"$attempts")"
    else
        fail "$1" "exit status $status" "$(grep -E '^(FAIL |skipped)' <<<"$attempts" || tail -n 20 <<<"$attempts")"
    fi
}
# attempted TITLE REGEX: the last impostor made an attempt whose line matches this, and did not skip it.
attempted() {
    holds "$1" grep -qE "^ok   .*$2" <<<"$attempts"
}

test_impostor() {
    local attempts
    daemon_stop
    vm_run 'mkdir -p /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup'
    impostor "an impostor with tracepoints, probes, breakpoints and samples" <<'END'
collectors:
  cpu:
    groups:
      - {name: core, events: "{cycles,instructions}"}
      - {name: raw, events: "r11"}
      - {name: cache, events: "L1-dcache-load-misses"}
      - {name: openat, events: "syscalls:sys_enter_openat"}
      - {name: switches, events: "sched:sched_switch"}
      - {name: probe, events: "uprobe/path=/bin/busybox,offset=0x1000,name=starts/"}
      - {name: kernel, events: "kprobe/func=do_nanosleep,name=sleeps/"}
      - {name: watch, events: "mem:0x7fff0000/4:w"}
opener: {breakpoints: true}
sampler: {enabled: true, event: cycles, tracepoints: ["sched:sched_process_fork"]}
END
    attempted "requests for other kprobes are refused" "a kprobe: got ENOPKG"
    attempted "a counter of a cgroup is harmless" "of a cgroup \(counter\): MODIFY_ATTRIBUTES, another type: got EINVAL"
    attempted "counts of all cgroups cannot be written to" "counts of cgroups \(bpf\): mmap of the page: got EPERM"
    attempted "and show no address of the kernel's" "records of the engine bpf: an address of the kernel's: got done"
    attempted "events without end are refused" "events of a CPU without end: got EDQUOT"
    attempted "so are samples" "samples of another thread without end: got EDQUOT"
    attempted "tallies cannot be hoarded" "tallies whose descriptors are kept: got EBUSY"
    attempted "cycles are harmless" "cycles \(counter\): MODIFY_ATTRIBUTES, another type: got EINVAL"
    attempted "no memory can be read by a filter" "sys_enter_openat: reading memory through a filter: got EEXIST"
    attempted "a uprobe is sealed" "uprobe/.*SET_FILTER of texts: got EEXIST"
    attempted "a kprobe is sealed" "kprobe/.*SET_FILTER of texts: got EEXIST"
    attempted "a sampled tracepoint is sealed" \
        "sched_process_fork \(sampled tracepoint\): SET_FILTER of texts: got EEXIST"
    attempted "samples of cycles are opened" "samples of cycles \(sampler\): ENABLE: got done"
    attempted "a program of root's is not patched" "in the middle of an instruction: got ENOPKG"
    attempted "another address is refused" "a breakpoint in user space: got ENOPKG"
    attempted "the kernel cannot be watched" "address of the kernel: got EPERM"
}

# entry_offset PROGRAM: where its first instruction is in its file.
entry_offset() {
    local entry start
    entry=$(readelf -hW "$1" | awk '/Entry point/ { print $4 }')
    start=$(readelf -lW "$1" | awk '$1 == "LOAD" && $2 ~ /^0x0*$/ { print $3 }')
    printf '0x%x' $((entry - start))
}

# The opener is stopped once between any two of its system calls, while an account changes what the request names.
test_stepped_opener() {
    local attempts status=0 offset deed
    daemon_stop
    offset=$(entry_offset "$VM_BUILD/image/bin/busybox")
    attempts=$(VM_RUN_TIMEOUT=900 vm_run "mkdir -p /tmp/account/in /sys/fs/cgroup /var/lib/containerd
    grep -q ' /sys/fs/cgroup ' /proc/mounts || mount -t cgroup2 cgroup2 /sys/fs/cgroup
    echo +pids >/sys/fs/cgroup/cgroup.subtree_control
    cp /bin/busybox /tmp/account/in/program
    cat >/tmp/account/in/perfcountd.yaml <<'END'
collectors: {cpu: {groups: [{name: probe, events: \"uprobe/path=/tmp/account/in/program,offset=$offset,name=starts/\"}]}}
sampler: {enabled: true}
END
    chown -R 12345:12345 /tmp/account
    IMPOSTOR_STEPS=2 impostor --config.file=/tmp/account/in/perfcountd.yaml </dev/null") || status=$?
    equals "a stopped opener gives nothing away: $(tail -n 1 <<<"$attempts")" "$status" 0
    equals "no attempt of the stepper failed" "$(grep -E '^(FAIL|skip)' <<<"$attempts")" ""
    attempted "an opener that trusts a path would be caught" "an opener that trusts a path is caught: .*got EPERM"
    attempted "a finder that trusts a number would be caught" "a finder that trusts a number is caught: .*got EPERM"
    for deed in "a symbolic link" "a hard link" "a mount" "another directory"; do
        attempted "a file with $deed in its place is not had" "stepped: a file, $deed: .*got done"
        attempted "nor a state file" "stepped: a state file, $deed: .*got done"
        attempted "nor a probe" "a probed program, $deed: .*got done"
    done
    attempted "a number that is used again has no file" "a mapped file, another process: .*got done"
    attempted "and no list of functions" "a list of functions, another process: .*got done"
    attempted "a cgroup of the same name is not counted" "an event of a cgroup, another cgroup: .*got done"
}
