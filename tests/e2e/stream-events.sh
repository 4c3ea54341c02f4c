#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The events that a client of a stream may name; no name ends the daemon or changes what a program does.
. "$(dirname "$0")/lib.sh"
need curl jq objdump
[ "$(id -u)" -eq 0 ] || skip "only root may set probes and sample the machine"
config=$scratch/perfcountd.yaml
chmod 755 "$scratch"

# A program of root's that runs, and the offset of its first instruction.
probed=$scratch/probed
cp "$(command -v sleep)" "$probed"
"$probed" 600 &
probed_pid=$!
children+=("$probed_pid")
offset=$(objdump -h "$probed" 2>/dev/null | awk '$2 == ".init" { print "0x" $6 }')
# write_config [GROUP]: with a group of collectors.cpu, or none.
write_config() {
    cat >"$config" <<END
web: {local_operators: true}
collectors:
  cgroup: {enabled: false}
  cpu: {groups: [${1-}]}
sampler: {enabled: true, event: cpu-clock, tracepoints: ["sched:sched_switch"]}
END
}
query() {
    "$1" /api/v1/samples -G --data-urlencode seconds=0.2 --data-urlencode "event=$2"
}
# answers EVENT STATUS: to a stream of it.
answers() {
    equals "$1" "$(query status_of "$1")" "$2"
}
exit_status() {
    "$PERFCOUNTD" "$@" >/dev/null 2>&1
    echo $?
}

write_config
start_daemon --config.file="$config"
answers cpu-clock 200

# --- a number where the kernel would read a pointer

for event in uprobe/config1=0x41414141/ kprobe/config1=0x41414141/ uprobe/config=1,config1=0x10000/ \
    uprobe/path=/bin/sh,config1=0x41414141/; do
    answers "$event" 400
    holds "after it the daemon lives" running "$daemon_pid"
    equals "and answers" "$(status_of /-/healthy)" 200
    printf 'collectors: {cpu: {groups: [{name: a, events: "%s"}]}}\n' "$event" >"$scratch/bad.yaml"
    equals "check-config refuses it" "$(exit_status check-config "$scratch/bad.yaml")" 2
    equals "so does a start" "$(exit_status --config.file="$scratch/bad.yaml" --web.listen-address=127.0.0.1:0)" 2
done

# --- what is for the configuration alone

for event in "uprobe/path=$probed,offset=$offset/" "uprobe/path=$probed,offset=0x1/" kprobe/func=vfs_read/ \
    kprobe/addr=0x1000/ mem:0x1000:w mem:0xffffffff81000000:w breakpoint/config1=0x1000,config2=8/ \
    syscalls:sys_enter_openat tracepoint/config=1/ '{cpu-clock,mem:0x1000:w}' '{cpu-clock,sched:sched_process_fork}'; do
    answers "$event" 403
    contains "with the reason" "$(query get "$event" | jq -r .error)" "is not for clients"
done
holds "the program goes on" running "$probed_pid"
if get /api/v1/events | jq -e 'any(.[]; .name == "sched:sched_switch")' >/dev/null; then
    answers sched:sched_switch 200
else
    echo "no tracepoint is sampled: this machine lists none"
fi
stop_daemon
equals "the daemon ends well" "$daemon_status" 0

# --- one probe of the configuration is no permission for others

write_config "{name: probe, events: \"uprobe/path=$probed,offset=$offset,name=starts/\"}"
start_daemon --config.file="$config"
starts() {
    get "/api/v1/counters?group=probe" | jq '[.counters[].value] | add'
}
if [ "$(starts)" != null ]; then
    for event in "uprobe/path=$probed,offset=0x1/" "uprobe/path=$probed,offset=$offset/" \
        "uprobe/path=/bin/true,offset=$offset/"; do
        answers "$event" 403
    done
    before=$(starts)
    "$probed" 0
    "$probed" 0
    sleep 0.2 # web.min_interval
    equals "the configured one counts" "$(($(starts) - before))" 2
    holds "the program that runs goes on" running "$probed_pid"
else
    if [ -e /sys/bus/event_source/devices/uprobe ]; then
        fail "a uprobe can be set" "$(get /api/v1/status | jq -r '.failures[].message')"
    else
        left_out "this kernel has no uprobes"
    fi
fi
stop_daemon
finish
