# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Takes CPUs offline and online: groups are reopened, totals continue, and nothing leaks. Source it after board.sh and
# cgroup.sh.
# shellcheck disable=SC2154 # set there

HOTPLUG_TRANSITIONS=${HOTPLUG_TRANSITIONS:-60}

switch_cpu() {
    vm_run "echo $2 >/sys/devices/system/cpu/cpu$1/online"
}

# total CPU: prints its cycles, or nothing if they are not served.
total() {
    get /metrics | sed -n "s/^perf_cpu_cycles_total{cpu=\"$1\",.*} //p"
}

is_served() {
    [ -n "$(total "$1")" ]
}

# descriptors: prints how many the daemon has open, once it has closed the connections of earlier requests.
descriptors() {
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'while grep -q ":283A [0-9A-F]*:[0-9A-F]* 0[18] " /proc/net/tcp /proc/net/tcp6; do usleep 10000; done 2>/dev/null
        ls /proc/$(cat /tmp/daemon.pid)/fd 2>/dev/null | wc -l'
}

# shows TEXT COMMAND...: succeeds if the command prints this text.
shows() {
    [ "$("${@:2}")" = "$1" ]
}

# scrape_begin [OPTIONS...]: starts a client that scrapes until scrape_end: see pressure/scraper.py.
scrape_begin() {
    : >"$scratch/scrapes"
    python3 "$root/tests/pressure/scraper.py" "$url" "$scratch/scrapes" "$@" >"$scratch/scrapes.out" 2>&1 &
    scraper=$!
    eventually 60 grep -q . "$scratch/scrapes"
}

# scrape_end TITLE: checks that no scrape failed, no total decreased, and no series was duplicated.
scrape_end() {
    local status=0
    kill -TERM "$scraper"
    wait "$scraper" || status=$?
    if [ $status -eq 0 ]; then
        pass "$1: no total decreases: $(head -n 1 "$scratch/scrapes.out")"
    else
        fail "$1: no total decreases" "$(cat "$scratch/scrapes.out")"
    fi
}

has_ended() {
    ! vm_run "kill -0 \$(cat $1) 2>/dev/null"
}

hotplug_once() {
    local before open closes=5
    # Two of the descriptors are for the cgroup; with bpf, the cgroup uses those of the CPU.
    [ "$engine" != bpf ] || closes=3
    before=$(total 3)
    open=$(descriptors)
    holds "CPU 3 is taken offline" switch_cpu 3 0
    holds "the series of CPU 3 disappear" eventually 60 not is_served 3
    equals "the series of other CPUs stay" \
        "$(places perf_cpu_cycles_total | tr ' ' '\n' | cut -d: -f1 | paste -sd ' ')" "0 1 2"
    equals "the descriptors of CPU 3 are closed" "$(descriptors)" "$((open - closes))"
    equals "the JSON document does not contain CPU 3" "$(get '/api/v1/counters?cpu=3' | jq -c '.counters')" "[]"
    holds "CPU 3 is online again" switch_cpu 3 1
    holds "the series of CPU 3 return" eventually 60 is_served 3
    holds "the total of CPU 3 continues" test "$(total 3)" -ge "$before"
    equals "the series of CPU 3 have the right CPU and PMU" \
        "$(places perf_cpu_cycles_total | tr ' ' '\n' | tail -n 1)" "3:$big_pmu"
    equals "the descriptors of CPU 3 are open again" "$(descriptors)" "$open"
    contains "the log lists the remaining CPUs" "$(vm_run cat /tmp/daemon.log)" "CPUs online: 0-2"
}

# Scrapes while CPU 3 goes offline and online, and compares each total with the previous one. The first time, CPU 3
# stays offline until it is missing from a scrape.
hotplug_often() {
    local open
    open=$(descriptors)
    # shellcheck disable=SC2016 # the board expands it
    vm_run "rm -f /tmp/hotplug.go
        i=0
        while [ \$i -lt $((HOTPLUG_TRANSITIONS / 2)) ]; do
            echo 0 >/sys/devices/system/cpu/cpu3/online
            while [ ! -e /tmp/hotplug.go ]; do sleep 0.1; done
            echo 1 >/sys/devices/system/cpu/cpu3/online
            i=\$((i + 1))
        done >/tmp/hotplug.log 2>&1 &
        echo \$! >/tmp/hotplug.pid"
    scrape_begin
    holds "CPU 3 is missing from a scrape" eventually 60 not is_served 3
    vm_run "touch /tmp/hotplug.go"
    holds "all $HOTPLUG_TRANSITIONS transitions are complete" eventually $((60 + 2 * HOTPLUG_TRANSITIONS)) \
        has_ended /tmp/hotplug.pid
    scrape_end "$HOTPLUG_TRANSITIONS transitions"
    equals "each transition succeeded" "$(vm_run cat /tmp/hotplug.log)" ""
    holds "CPU 3 is served at the end" eventually 60 is_served 3
    holds "no descriptor leaked" eventually 60 shows "$open" descriptors
}

# A CPU is offline when the daemon starts, and comes online later.
hotplug_late() {
    holds "CPU 2 is taken offline before the daemon starts" switch_cpu 2 0
    hotplug_daemon
    equals "CPU 2 is not served, and not reported as a failure" \
        "$(total 2)$(get /api/v1/status | jq -r '.failures[] | select(.cpus == "2") | .message')" ""
    holds "CPU 2 comes online" switch_cpu 2 1
    holds "CPU 2 is served" eventually 60 is_served 2
}

hotplug_daemon() {
    daemon_start <<END
web: {min_interval: 0s}
collectors:
  cpu:
    groups:
      - {name: core, events: "{cycles,instructions}"}
      - {name: software, events: "context-switches"}
  cgroup:
    engine: $engine
    include: ["/load.slice"]
    groups:
      - {name: core, events: "{cycles,instructions}"}
END
}

# test_hotplug BIG-PMU ENGINE: runs all hotplug tests.
test_hotplug() {
    local engine=$2
    big_pmu=$1
    cgroup_make load.slice
    hotplug_daemon
    hotplug_once
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'sh -c "echo \$\$ >/sys/fs/cgroup/load.slice/cgroup.procs; while :; do usleep 20000; done" >/dev/null 2>&1 &
        echo $! >/tmp/load.pid'
    hotplug_often
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'kill $(cat /tmp/load.pid)'
    hotplug_late
    daemon_stop
    cgroup_remove
}
