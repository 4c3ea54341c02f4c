# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Simulates an attacker who took over the daemon's process, on the board's kernel: see tests/impostor/. The boards have
# PMUs, kprobes, and the oldest supported kernels, which a virtual machine may lack. Source it after board.sh.

# impostor TITLE: runs the impostor with the configuration on standard input. Sets attempts, its output.
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
# attempted TITLE REGEX: checks that the last impostor reported an attempt that matches REGEX, and did not skip it.
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
    attempted "a cgroup counter cannot be changed to another type" \
        "of a cgroup \(counter\): MODIFY_ATTRIBUTES, another type: got EINVAL"
    attempted "cgroup counts cannot be written through a mapping" \
        "counts of cgroups \(bpf\): mmap of the page: got EPERM"
    attempted "records of BPF programs show no kernel address" \
        "BPF engine's records: a kernel address: got done"
    attempted "an unlimited number of events is refused" "unlimited CPU events: got EDQUOT"
    attempted "an unlimited number of samples is refused" "unlimited samples of another thread: got EDQUOT"
    attempted "the number of BPF maps for counts is limited" "BPF programs whose descriptors are kept open: got EBUSY"
    attempted "a cycle counter cannot be changed to another type" \
        "cycles \(counter\): MODIFY_ATTRIBUTES, another type: got EINVAL"
    attempted "a filter cannot read memory" "sys_enter_openat: reading memory through a filter: got EEXIST"
    attempted "the filter of a uprobe cannot be changed" "uprobe/.*SET_FILTER of texts: got EEXIST"
    attempted "the filter of a kprobe cannot be changed" "kprobe/.*SET_FILTER of texts: got EEXIST"
    attempted "the filter of a sampled tracepoint cannot be changed" \
        "sched_process_fork \(sampled tracepoint\): SET_FILTER of texts: got EEXIST"
    attempted "samples of cycles are opened" "samples of cycles \(sampler\): ENABLE: got done"
    attempted "a uprobe in the middle of an instruction is refused" "in the middle of an instruction: got ENOPKG"
    attempted "a breakpoint at another address is refused" "a breakpoint in user space: got ENOPKG"
    attempted "a breakpoint in the kernel is refused" "MODIFY_ATTRIBUTES, a kernel address: got EPERM"
}

# entry_offset PROGRAM: prints the file offset of its first instruction.
entry_offset() {
    local entry start
    entry=$(readelf -hW "$1" | awk '/Entry point/ { print $4 }')
    start=$(readelf -lW "$1" | awk '$1 == "LOAD" && $2 ~ /^0x0*$/ { print $3 }')
    printf '0x%x' $((entry - start))
}

# The opener is stopped once between any two of its system calls, and meanwhile an account replaces the object that the
# request names.
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
    equals "a stopped opener reveals nothing: $(tail -n 1 <<<"$attempts")" "$status" 0
    equals "no attempt failed or was skipped" "$(grep -E '^(FAIL|skip)' <<<"$attempts")" ""
    attempted "the test would notice an opener that trusts a path" "an opener that trusts a path is caught: .*got EPERM"
    attempted "the test would notice a finder that trusts a process id" \
        "a finder that trusts a PID is caught: .*got EPERM"
    for deed in "a symbolic link" "a hard link" "a mount" "another directory"; do
        attempted "a file is not opened after $deed replaced it" "stepped: a file, $deed: .*got done"
        attempted "a state file is not opened after $deed replaced it" "stepped: a state file, $deed: .*got done"
        attempted "a uprobe is not opened after $deed replaced the program" "a probed program, $deed: .*got done"
    done
    attempted "a mapped file is not opened after another process got the process id" \
        "a mapped file, another process: .*got done"
    attempted "a perf-PID.map is not opened after another process got the process id" \
        "a list of functions, another process: .*got done"
    attempted "a new cgroup of the same name is not counted" "an event of a cgroup, another cgroup: .*got done"
}
