# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The truth of the numbers: a loop of known length, and many groups on few counters beside one that always counts.
#
# TRUTH_SECONDS, TRUTH_READINGS and TRUTH_SCRAPES make it longer. Sourced after board.sh and hotplug.sh.
# shellcheck disable=SC2154 # set there

TRUTH_SECONDS=${TRUTH_SECONDS:-8}
TRUTH_READINGS=${TRUTH_READINGS:-15}
TRUTH_SCRAPES=${TRUTH_SCRAPES:-60}

# instructions_of CPU EVENT: the total now.
instructions_of() {
    get "/api/v1/counters?cpu=$1&event=$2" -f | jq -e '.counters[0].value'
}

# known_loop CPU: a loop of 500 million instructions on a CPU where nothing else runs. QEMU's counter also has those of
# the other CPUs, where the daemon answers twice.
known_loop() {
    local before after counted
    before=$(instructions_of "$1" instructions_user) && vm_run "spin $1 500" &&
        after=$(instructions_of "$1" instructions_user)
    counted=$((${after:-0} - ${before:-0}))
    within "instructions:u of 500000000 on CPU $1 are $counted, within 0.2 %" "$counted" 500000000 500
}

# within TITLE NUMBER OF PARTS: no further from OF than one of PARTS equal parts of it.
within() {
    local off=$(($2 - $3))
    if [ $((${off#-} * $4)) -le "$3" ]; then
        pass "$1"
    else
        fail "$1" "it is $2, off by $off"
    fi
}

# A loop of 300 million instructions that `perfcountd stat` runs and counts itself, with whatever else runs on the CPU.
stat_of_loop() {
    local counted
    daemon_stop
    vm_run 'cat >/tmp/stat.yaml <<END
collectors: {cpu: {cpus: "3", groups: [{name: loop, events: "{instructions:u,cycles:u}"}]}}
END
        taskset -c 0 perfcountd stat --config.file=/tmp/stat.yaml -- spin 3 300 2>&1' >"$scratch/stat" ||
        fail "stat runs the loop" "$(cat "$scratch/stat")"
    counted=$(awk '$2 == "instructions_user" { gsub(",", "", $1); print $1 }' "$scratch/stat")
    within "stat -- spin: instructions:u of 300000000 are $counted, within 0.5 %" "${counted:-0}" 300000000 200
    contains "it has the IPC beside them" "$(cat "$scratch/stat")" "# ipc_user "
}

known_loops() {
    local user kernel
    daemon_start <<'END'
web: {min_interval: 0s}
collectors:
  cpu:
    groups:
      - {name: loop, events: "{instructions:u,instructions:k,instructions}"}
END
    # On the CPUs that the board's kernel leaves alone, one of each kind.
    known_loop 1
    known_loop 3
    user=$(instructions_of 3 instructions_user)
    kernel=$(instructions_of 3 instructions_kernel)
    within "what is counted in user space and in the kernel makes up all, within 1 %" \
        $((user + kernel)) "$(instructions_of 3 instructions)" 100
}

# Seven counters: the pinned group has three of them, so that four of the twelve groups run at a time.
many_groups() {
    local i
    printf '%s\n' 'web: {min_interval: 0s}' 'collectors:' '  cpu:' '    cpus: "3"' '    groups:' \
        '      - {name: pinned, events: "{r08,r11,r08:u}:D"}'
    for i in 1 2 3 4; do
        printf '      - {name: %s-%s, events: "%s"}\n' all $i r08 cycles $i r11 user $i r08:u
    done
}

multiplexed() {
    local load tolerance output
    # Reads on the CPU of the load: the emulator takes milliseconds for one that needs another CPU to answer.
    many_groups | daemon_cpu=3 daemon_start
    for load in steady:2 changing:5; do
        tolerance=${load#*:} load=${load%:*}
        if output=$(python3 "$vm_dir/truth.py" "$url" "$control" 3 "$load" "$TRUTH_SECONDS" "$TRUTH_READINGS" \
            "$tolerance" 2>&1); then
            pass "multiplexed groups are within $tolerance % of the pinned one under a $load load, and never fall"
        else
            fail "multiplexed groups are within $tolerance % of the pinned one under a $load load, and never fall"
        fi
        printf '%s\n' "$output" | sed 's/^/    /'
    done
}

has_scraped() {
    [ "$(wc -l <"$scratch/scrapes")" -ge "$1" ]
}

# The multiplexed groups, of the CPU and of a cgroup that BPF counts, read over and over under a load that comes and
# goes.
never_falls() {
    cgroup_make load.slice
    {
        many_groups
        printf '%s\n' '  cgroup:' '    engine: bpf' '    include: ["/load.slice"]' '    groups:' \
            '      - {name: r08, events: r08}' '      - {name: r11, events: r11}'
    } | daemon_cpu=3 daemon_start
    # shellcheck disable=SC2016 # the board's
    vm_run 'while :; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 1; done >/dev/null 2>&1 &
        echo $! >/tmp/load.pid
        echo $! >/sys/fs/cgroup/load.slice/cgroup.procs
        taskset -p 8 $!' >/dev/null
    scrape_begin
    holds "$TRUTH_SCRAPES scrapes" eventually $((60 + TRUTH_SCRAPES)) has_scraped "$TRUTH_SCRAPES"
    scrape_end "multiplexed groups"
    # Over all that time: what they were between the last two readings may be starved.
    equals "the groups of the cgroup were multiplexed" "$(get "/api/v1/counters?collector=cgroup" |
        jq "[.counters[] | select(.pmu == \"armv8_cortex_a76\") | .running_ns / .enabled_ns] |
            length > 0 and all(. > 0 and . < 0.9)")" true
    # shellcheck disable=SC2016 # the board's
    vm_run 'pid=$(cat /tmp/load.pid)
        kill $pid
        while grep -q . /sys/fs/cgroup/load.slice/cgroup.procs; do sleep 0.1; done'
    daemon_stop
    cgroup_remove
}

test_truth() {
    known_loops
    stat_of_loop
    multiplexed
    never_falls
}
