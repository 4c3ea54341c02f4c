# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests the accuracy of counts: a loop of known length is counted, and many groups on few counters are compared with a
# group that always counts.
#
# TRUTH_SECONDS, TRUTH_READINGS and TRUTH_SCRAPES make the test longer; TRUTH_SCENARIOS (a regular expression for names)
# and TRUTH_ENGINES select scenarios. Source it after board.sh and hotplug.sh.
# shellcheck disable=SC2154 # set there

TRUTH_SECONDS=${TRUTH_SECONDS:-8}
TRUTH_READINGS=${TRUTH_READINGS:-15}
TRUTH_SCRAPES=${TRUTH_SCRAPES:-60}

# total_of CPU EVENT: prints the current total.
total_of() {
    get "/api/v1/counters?cpu=$1&event=$2" -f | jq -e '.counters[0].value'
}

# measure_loop CPU: runs a loop of 500 million instructions, of two cycles each (-icount shift=1), and prints its
# instructions and cycles.
measure_loop() {
    local instructions cycles
    instructions=$(total_of "$1" instructions_user) && cycles=$(total_of "$1" cycles_user) && vm_run "spin $1 500" &&
        echo $(($(total_of "$1" instructions_user) - instructions)) $(($(total_of "$1" cycles_user) - cycles))
}

# known_loop CPU: counts such a loop on an otherwise idle CPU. QEMU's counter includes some instructions of other CPUs,
# such as those for the daemon's responses, and more of them on a busy host, but it never lacks any. So the smallest of
# up to five counts is compared.
known_loop() {
    local counted cycles more more_cycles _
    for _ in 1 2 3 4 5; do
        read -r more more_cycles < <(measure_loop "$1") || break
        [ "${counted:-$more}" -lt "$more" ] || counted=$more
        [ "${cycles:-$more_cycles}" -lt "$more_cycles" ] || cycles=$more_cycles
        [ "$counted" -gt 501000000 ] || [ "$cycles" -gt 1002000000 ] || break
    done
    within "CPU $1 counts ${counted:-0} instructions:u of 500000000, within 0.2 %" "${counted:-0}" 500000000 500
    within "CPU $1 counts ${cycles:-0} cycles:u, twice as many, within 0.2 %" "${cycles:-0}" 1000000000 500
}

# within TITLE NUMBER EXPECTED PARTS: checks that NUMBER differs from EXPECTED by at most EXPECTED / PARTS.
within() {
    local off=$(($2 - $3))
    if [ $((${off#-} * $4)) -le "$3" ]; then
        pass "$1"
    else
        fail "$1" "it is $2, off by $off"
    fi
}

# stat_of MILLIONS: runs and counts a loop with `perfcountd stat`; the loop starts on one kind of CPU and moves to the
# other. Prints the user-space instructions on each PMU, one per line.
stat_of() {
    vm_run "taskset -c 0 perfcountd stat -e instructions:u,cycles:u -- spin 3 $1 2>&1" >"$scratch/stat" ||
        fail "perfcountd stat runs the loop" "$(cat "$scratch/stat")"
    awk '$2 == "instructions_user" { gsub(",", "", $1); print $1 }' "$scratch/stat"
}

sum() {
    awk '{ sum += $1 } END { printf "%d\n", sum }' <<<"$1"
}

# big ROWS: prints the last row, which is for the kind of core on which the loop runs.
big() {
    tail -n 1 <<<"$1"
}

# least_of MILLIONS: prints the smallest of ten counts of a loop by `perfcountd stat`, on the PMU where it runs.
least_of() {
    vm_run "for i in 1 2 3 4 5 6 7 8 9 10; do taskset -c 0 perfcountd stat -e instructions:u -- spin 3 $1 2>&1; done" |
        awk '$2 == "instructions_user" && ++n % 2 == 0 { gsub(",", "", $1); print $1 }' | sort -n | head -n 1
}

# `perfcountd stat` runs and counts a loop of 300 million instructions. The PMU also counts the program's move to its
# CPU and its exit, and QEMU adds some instructions of other CPUs, but never removes any. Most of ten loops that take
# less than a tenth of a second have no such addition, so the smallest count is exact.
stat_of_loop() {
    local longer more less
    daemon_stop
    longer=$(stat_of 300)
    more=$(least_of 30)
    less=$(least_of 10)
    equals "stat -- spin: each kind of core has a row" "$(grep -c . <<<"$longer")" 2
    within "stat counts $(sum "$longer") instructions:u of 300000000, within 0.5 %" "$(sum "$longer")" 300000000 200
    within "stat counts $(big "$longer") of them on the loop's PMU, within 0.5 %" "$(big "$longer")" 300000000 200
    equals "20000000 more instructions are counted exactly" $((${more:-0} - ${less:-0})) 20000000
    contains "stat prints the IPC" "$(cat "$scratch/stat")" "# ipc_user "
    equals "no count is an estimate" "$(grep -c '%)' "$scratch/stat")" 0
}

known_loops() {
    local user kernel
    daemon_start <<'END'
web: {min_interval: 0s}
collectors:
  cpu:
    groups:
      - {name: loop, events: "{instructions:u,instructions:k,instructions,cycles:u}"}
END
    # The loops run on one isolated CPU of each kind.
    known_loop 1
    known_loop 3
    user=$(total_of 3 instructions_user)
    kernel=$(total_of 3 instructions_kernel)
    within "user space and kernel add up to the total, within 1 %" \
        $((user + kernel)) "$(total_of 3 instructions)" 100
}

# There are seven counters: the pinned group has three of them, so four of the twelve groups run at a time.
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
    # The daemon runs on the CPU of the load: in the emulator, reading from another CPU takes milliseconds.
    many_groups | daemon_cpu=3 daemon_start
    for load in steady:2 changing:5; do
        tolerance=${load#*:} load=${load%:*}
        if output=$(python3 "$vm_dir/truth.py" "$url" "$control" 3 "$load" "$TRUTH_SECONDS" "$TRUTH_READINGS" \
            "$tolerance" 2>&1); then
            pass "multiplexed groups are within $tolerance % of the pinned one under a $load load, and never decrease"
        else
            fail "multiplexed groups are within $tolerance % of the pinned one under a $load load, and never decrease"
        fi
        printf '%s\n' "$output" | sed 's/^/    /'
    done
}

has_scraped() {
    [ "$(wc -l <"$scratch/scrapes")" -ge "$1" ]
}

# Reads the multiplexed groups, of the CPU and of a cgroup that BPF counts, repeatedly under an intermittent load.
never_falls() {
    cgroup_make load.slice
    {
        many_groups
        printf '%s\n' '  cgroup:' '    engine: bpf' '    include: ["/load.slice"]' '    groups:' \
            '      - {name: r08, events: r08}' '      - {name: r11, events: r11}'
    } | daemon_cpu=3 daemon_start
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'while :; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 1; done >/dev/null 2>&1 &
        echo $! >/tmp/load.pid
        echo $! >/sys/fs/cgroup/load.slice/cgroup.procs
        taskset -p 8 $!' >/dev/null
    scrape_begin
    holds "the client scrapes $TRUTH_SCRAPES times" eventually $((60 + TRUTH_SCRAPES)) has_scraped "$TRUTH_SCRAPES"
    scrape_end "multiplexed groups"
    # The check covers the whole time, since the groups may be starved between the last two readings.
    equals "the groups of the cgroup were multiplexed" "$(get "/api/v1/counters?collector=cgroup" |
        jq "[.counters[] | select(.pmu == \"armv8_cortex_a76\") | .running_ns / .enabled_ns] |
            length > 0 and all(. > 0 and . < 0.9)")" true
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'pid=$(cat /tmp/load.pid)
        kill $pid
        while grep -q . /sys/fs/cgroup/load.slice/cgroup.procs; do sleep 0.1; done'
    daemon_stop
    cgroup_remove
}

# scenario NAME PERCENT[:FAULTS[:LOOKS]] INCLUDE GROUPS CGROUPS BESIDE STEP...: a task runs the steps (guest/spin.c) in
# cgroups that $engine counts, while BESIDE runs on the board: see truth.py. GROUPS are separated by blanks. If INCLUDE
# has "/", the CPUs are counted, too. A PERCENT above 3 applies only to the children of /t.slice; for /t.slice itself it
# is 0.5.
scenario() {
    local name=$1 bound=$2 include=$3 groups=$4 cgroups=$5 beside=$6 output i=0 events list cpus='{enabled: false}'
    shift 6
    [[ $name =~ ${TRUTH_SCENARIOS-} ]] || return
    list=$(for events in $groups; do
        printf '      - {name: g%s, events: "%s"}\n' $((i += 1)) "$events"
    done)
    [[ $include != *'"/"'* ]] || cpus=$'\n    groups:\n'$list
    # shellcheck disable=SC2086 # words
    cgroup_make $cgroups
    printf '%s\n' 'web: {min_interval: 0s, local_operators: true}' 'collectors:' "  cpu: $cpus" '  cgroup:' \
        "    engine: ${engine/offsets/bpf}" "    include: [$include]" '    groups:' "$list" | engine_start
    if output=$(python3 "$vm_dir/truth.py" "$url" "$control" scenario "$name" "$bound" "$beside" wait=/tmp/task.go \
        "$@" 2>&1); then
        pass "$engine, $name: within $bound %"
    else
        fail "$engine, $name: within $bound %"
    fi
    printf '%s\n' "$output" | sed 's/^/    /'
}

# Each row runs with each engine. A group and the task's own two pinned events fit into the six counters and the cycle
# counter, even if the group counts two levels of cgroups.
# shellcheck disable=SC2016 # the board's shell expands them
scenarios() {
    local hard='{cycles:u,instructions:u}' soft='{task-clock,page-faults}' three='{r08:u,r11:u,r10:u}'
    local all='"/t.slice", "/t.slice/**"' deep='' jobs i
    local mine='pid=$(cat /tmp/task.pid); cd /sys/fs/cgroup/t.slice; busy() { [ ! -e /tmp/task.over ]; }'
    for i in $(seq 19); do deep+=/$i; done
    mapfile -t jobs < <(for i in $(seq 200); do printf '%s\n' into=t.slice/c"$i" loop=0.5 faults=10; done)

    scenario "a task moves itself" 0.5 "$all" "$hard $soft" "t.slice t.slice/a t.slice/b" "" \
        into=t.slice/a loop=20 faults=500 into=t.slice/b loop=20 faults=300 into=t.slice loop=20 faults=100
    scenario "three levels" 0.5 "$all" "instructions:u $soft" "t.slice t.slice/a t.slice/a/b" "" \
        into=t.slice/a/b loop=20 faults=500 into=t.slice/a loop=20 faults=300 into=t.slice/a/b loop=20 into=t.slice \
        loop=20
    # With bpf, a running task is attributed to its old cgroup until the next reading; this test does not bound that
    # time.
    scenario "another task moves it while it runs" "$([ "$engine" = perf ] && echo 1:0:20 || echo 1000:100:20)" "$all" \
        "$hard $soft" "t.slice t.slice/a t.slice/b" \
        "$mine; "'while busy; do echo $pid >b/cgroup.procs; usleep 50000; echo $pid >a/cgroup.procs; usleep 50000; done' \
        into=t.slice/a follow=200 faults=100
    scenario "from one kind of core to the other" 0.5 '"/t.slice"' "$hard $soft" t.slice \
        "$mine; "'while busy; do for cpu in 2 8 1 4; do taskset -p $cpu $pid; usleep 30000; done; done' \
        into=t.slice loop=20 cpu=1 loop=20 faults=100 cpu=3 loop=200 faults=100
    # Nothing is counted on a CPU that comes online until the daemon has opened its counters there. On Linux 5.10, while
    # a CPU goes offline, tasks continue to run there after its counters are closed.
    scenario "its CPU goes offline and returns" 0.5 '"/t.slice"' "$hard $soft" t.slice \
        "$mine; "'count() { ls -l /proc/$(cat /tmp/daemon.pid)/fd | grep -c perf_event; }; events=$(count)
            for i in 1 2 3; do case $(uname -r) in 5.10*) taskset -p 7 $pid ;; esac
            echo 0 >/sys/devices/system/cpu/cpu3/online; usleep 50000
            while busy && [ $(count) -ge $events ]; do usleep 10000; done
            echo 1 >/sys/devices/system/cpu/cpu3/online
            while busy && [ $(count) -lt $events ]; do usleep 10000; done; usleep 100000
            taskset -p 8 $pid; usleep 50000; done' \
        into=t.slice loop=200 faults=100
    scenario "2 groups take turns" 2 '"/t.slice"' "$three $three $soft" t.slice "" into=t.slice loop=300 faults=100
    scenario "5 groups take turns" 2 '"/t.slice"' "$three $three $three $three $three $soft" t.slice "" \
        into=t.slice loop=1200 faults=100
    scenario "20 levels" 0.5 "$all" "$([ "$engine" = perf ] || echo "$hard") $soft" "-p t.slice$deep" "" \
        into="t.slice$deep" loop=20 faults=500 into=t.slice loop=20
    scenario "20 levels below the counted cgroup" 0.5 '"/t.slice"' "$hard $soft" "-p t.slice$deep" "" \
        into="t.slice$deep" loop=20 faults=500 into=t.slice loop=20
    # With perf, up to 4 faults more than the task's own were seen; with bpf, none.
    scenario "200 cgroups for 1 ms each" "$([ "$engine" = perf ] && echo 3:10 || echo 3)" "$all" "$hard $soft" \
        "t.slice $(echo t.slice/c{1..200})" "" "${jobs[@]}"
    scenario "a task executes programs" 0.5 "$all" "$hard $soft" "t.slice t.slice/a t.slice/b" "" \
        into=t.slice/a faults=100 exec loop=20 into=t.slice/b exec faults=100 loop=20 exec into=t.slice/a loop=20
    scenario "a pause" 0.5 '"/t.slice"' "$hard $soft" t.slice \
        'ask() { printf "$1 /api/v1/pause HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" |
            nc 127.0.0.1 10298; }
        until [ -e /tmp/task.first ]; do usleep 20000; done; ask POST; : >/tmp/task.paused
        until [ -e /tmp/task.second ]; do usleep 20000; done; ask DELETE; : >/tmp/task.resumed' \
        into=t.slice loop=20 faults=100 out make=/tmp/task.first wait=/tmp/task.paused loop=20 faults=50 \
        make=/tmp/task.second wait=/tmp/task.resumed in loop=20 faults=100
    scenario "five reloads" 0.5 "$all" "$hard $soft" "t.slice t.slice/a" \
        'daemon=$(cat /tmp/daemon.pid); cp /etc/perfcountd.yaml /tmp/task.yaml
        for i in 1 2 3 4 5; do
            cp /tmp/task.yaml /etc/perfcountd.yaml
            [ $((i % 2)) = 0 ] || echo "      - {name: more, events: context-switches}" >>/etc/perfcountd.yaml
            kill -HUP $daemon; usleep 80000
        done' into=t.slice/a loop=900 faults=100
    scenario "the root and the CPUs" 0.5 '"/"' "$hard $soft" t.slice "" into=t.slice loop=100 faults=500
}

# Runs all rows with each engine.
test_scenarios() {
    local engine
    for engine in ${TRUTH_ENGINES-perf bpf offsets}; do
        scenarios
    done
    daemon_stop
    cgroup_remove
}

# Runs stat as a user who may only count user space.
stat_of_nobody() {
    local counted
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'before=$(cat /proc/sys/kernel/perf_event_paranoid)
        echo 2 >/proc/sys/kernel/perf_event_paranoid
        drop none perfcountd stat -e instructions,context-switches -- spin 3 300 2>&1
        echo $before >/proc/sys/kernel/perf_event_paranoid' >"$scratch/stat"
    counted=$(awk '$2 == "instructions_user" { gsub(",", "", $1); sum += $1 } END { print sum }' "$scratch/stat")
    within "stat of a user counts $counted user-space instructions of 300000000, within 0.5 %" \
        "${counted:-0}" 300000000 200
    contains "a user is told that the kernel is not counted" \
        "$(cat "$scratch/stat")" "not counted: what the command does in the kernel"
    contains "a user is told which event is not counted" \
        "$(cat "$scratch/stat")" "not counted: context-switches: this happens"
}

test_command() {
    stat_of_loop
    stat_of_nobody
}

test_truth() {
    known_loops
    multiplexed
    never_falls
}
