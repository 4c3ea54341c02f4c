# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Scrapes a daemon while the clock is set, the machine sleeps, and CPUs go offline during a reading, a capture and a
# reload. The daemon reports whatever is lost, and recovers completely. Source it after board.sh, cgroup.sh and
# hotplug.sh.
# shellcheck disable=SC2154 # set there

PRESSURE_ROUNDS=${PRESSURE_ROUNDS:-6} # rounds of taking a CPU offline and online
year=31536000

pressure_daemon() {
    daemon_start <<'END'
web: {min_interval: 0s, local_operators: true}
collectors:
  cpu:
    groups:
      - {name: core, events: "{cycles,instructions}"}
      - {name: software, events: "context-switches"}
  cgroup:
    include: ["/*.slice"]
    groups:
      - {name: core, events: "{cycles:u,instructions:u}"}
sampler: {enabled: true, allow: everybody, event: cpu-clock}
END
}

# set_clock SECONDS: changes the board's CLOCK_REALTIME by this many seconds.
set_clock() {
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'date -s @$(($(date +%s) + '"$1"')) >/dev/null'
}

# created CGROUP: prints its _created timestamp from OpenMetrics.
created() {
    get /metrics -H 'Accept: application/openmetrics-text' |
        sed -n "s|^perf_cgroup_cycles_user_created{cgroup=\"/$1\",pmu=\"$big\".*} ||p"
}

# ages: prints how far the daemon's current timestamps are from the board's clock, in seconds.
ages() {
    local now
    now=$(vm_run date +%s)
    get /api/v1/counters | jq "(.timestamp - $now) | fabs | floor"
}

process_start() {
    get /metrics | sed -n 's/^process_start_time_seconds //p'
}

pressure_clock() {
    local before start fetches=() step now
    cgroup_make a.slice
    pressure_daemon
    cgroup_spin 3 a.slice 1
    before=$(created a.slice)
    start=$(process_start)
    scrape_begin
    get '/api/v1/rates?seconds=4&cpu=0' >"$scratch/rates" &
    fetches+=($!)
    get '/api/v1/samples?seconds=4&frequency=50&cpu=0,1' >"$scratch/stream" &
    fetches+=($!)
    for step in $((-year)) $((2 * year)); do
        holds "clock: the clock is changed by $((step / year)) years" set_clock "$step"
        compares "clock: a reading has the new time" "$(ages) < $year / 2"
    done
    vm_run 'mkdir /sys/fs/cgroup/b.slice'
    holds "clock: a new cgroup is noticed" eventually 60 has_cgroup b.slice
    now=$(vm_run date +%s)
    compares "clock: a new cgroup was created at the new time" \
        "$(created b.slice) > $now - 600 && $(created b.slice) <= $now + 1"
    wait "${fetches[@]}"
    holds "clock: the clock is set back" set_clock $((-year))
    scrape_end "clock: back and forth by a year"
    equals "clock: the creation time of an older cgroup is unchanged" "$(created a.slice)" "$before"
    equals "clock: the start time of the daemon is unchanged" "$(process_start)" "$start"
    compares "clock: rates are computed over four seconds, not over a year" "$(jq .seconds "$scratch/rates") >= 4 && \
        $(jq .seconds "$scratch/rates") < $year / 2"
    compares "clock: rates are plausible" \
        "$(jq '[.rates[].events.cycles // empty] | max' "$scratch/rates") < 1.05e9"
    equals "clock: a stream ends after the requested time, and loses nothing" \
        "$(tail -n 1 "$scratch/stream" | jq -r '"\(.reason) \(.lost) \(.dropped)"')" "seconds 0 0"
    equals "clock: timestamps of a stream do not jump" \
        "$(jq -c 'select(.type == "sample") | .time' "$scratch/stream" | sort -n |
        awk 'NR == 1 { first = $1 } { last = $1 } END { print (NR > 10 && last - first < '"$year"' / 2) }')" 1
    cgroup_remove
}

has_cgroup() {
    [ -n "$(created "$1")" ]
}

# sleep_board SECONDS: suspends the machine for that long; its real-time clock wakes it.
sleep_board() {
    vm_run "echo 0 >/sys/class/rtc/rtc0/wakealarm
        (sleep 0.5; echo +$1 >/sys/class/rtc/rtc0/wakealarm; echo freeze >/sys/power/state; echo \$? >/tmp/slept) \
            >/dev/null 2>&1 &
        rm -f /tmp/slept"
}

has_slept() {
    [ "$(VM_RUN_TIMEOUT=5 vm_run 'cat /tmp/slept 2>/dev/null')" = 0 ]
}

# has_woken: succeeds once the machine has slept. While it sleeps, it does not answer.
has_woken() {
    eventually 300 has_slept || return
    : >"$silence"
}

is_paused() {
    [ "$(get /api/v1/status | jq .paused)" = true ]
}

# While the machine sleeps, a stream and rates wait, and a pause ends. The client gives up a scrape that the sleep
# interrupts.
pressure_sleep() {
    local fetches=()
    pressure_daemon
    scrape_begin --timeout 1 --failures
    get '/api/v1/rates?seconds=3&cpu=0' >"$scratch/rates" &
    fetches+=($!)
    get '/api/v1/samples?seconds=3&frequency=50&cpu=0,1' >"$scratch/stream" &
    fetches+=($!)
    holds "sleep: the board goes to sleep" sleep_board 5
    holds "sleep: the board has slept and is awake" has_woken
    wait "${fetches[@]}"
    scrape_end "sleep: for five seconds"
    compares "sleep: rates match the seconds that they report" "$(jq .seconds "$scratch/rates") >= 3 && \
        $(jq '[.rates[].events.cycles // empty] | max' "$scratch/rates") < 1.05e9"
    equals "sleep: a stream continues, and loses nothing" \
        "$(tail -n 1 "$scratch/stream" | jq -r '"\(.reason) \(.lost) \(.dropped)"')" "seconds 0 0"
    equals "sleep: all CPUs are counted" "$(get /metrics | grep -c '^perf_cpu_cycles_total{.*} [1-9]')" 4
    vm_run 'wget -q -O /dev/null --post-data= "http://127.0.0.1:10298/api/v1/pause?seconds=4"'
    holds "sleep: the daemon is paused" is_paused
    holds "sleep: the board goes to sleep during the pause" sleep_board 5
    holds "sleep: the board has slept during the pause" has_woken
    holds "sleep: the pause has ended" eventually 60 not is_paused
}

goes_on() {
    awk -v now="$(total "$1")" -v before="$2" 'BEGIN { exit !(now > before) }'
}

# Simulates a deep sleep: the other CPUs are removed without notification, and all clocks stop except the one that a
# pause uses. The kernel waits in a busy loop for five seconds, which takes the emulator a minute.
pressure_deep() {
    local before cpu
    pressure_daemon
    for cpu in 0 1 2 3; do before[cpu]=$(total $cpu); done
    scrape_begin --timeout 1 --failures
    vm_run 'wget -q -O /dev/null --post-data= "http://127.0.0.1:10298/api/v1/pause?seconds=4"
        rm -f /tmp/slept
        (sleep 0.5; echo core >/sys/power/pm_test; echo disk >/sys/power/state; echo $? >/tmp/slept
            echo none >/sys/power/pm_test) >/dev/null 2>&1 &'
    holds "deep sleep: the board has slept" has_woken
    scrape_end "deep sleep"
    holds "deep sleep: the pause has ended" eventually 60 not is_paused
    for cpu in 0 1 2 3; do
        holds "deep sleep: CPU $cpu is counted, and its total continues" eventually 60 goes_on $cpu "${before[cpu]}"
    done
    equals "deep sleep: no event is starved or failed" \
        "$(get /api/v1/status | jq -c '.starved, .failures' | xargs)" "[] []"
}

# CPU 3 goes offline and online repeatedly while captures begin and end, and reloads add and remove a group.
pressure_churn() {
    local open reloads
    cgroup_make a.slice
    pressure_daemon
    # The first stream reads the kernel's symbols.
    get '/api/v1/samples?max=1&cpu=0' >/dev/null
    open=$(events_open)
    scrape_begin --restarts 'group="extra"'
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'i=0
        while [ $i -lt '"$PRESSURE_ROUNDS"' ]; do
            echo 0 >/sys/devices/system/cpu/cpu3/online
            usleep $((i % 5 * 40000))
            echo 1 >/sys/devices/system/cpu/cpu3/online
            usleep $((i % 3 * 150000))
            i=$((i + 1))
        done >/tmp/churn.log 2>&1 &
        echo $! >/tmp/churn.pid
        cp /etc/perfcountd.yaml /tmp/one.yaml
        sed "s/^  cgroup:/      - {name: extra, events: cpu-migrations}\n&/" /tmp/one.yaml >/tmp/two.yaml
        while kill -0 $(cat /tmp/churn.pid) 2>/dev/null; do
            for name in two one; do
                cat /tmp/$name.yaml >/etc/perfcountd.yaml
                kill -HUP $(cat /tmp/daemon.pid)
                usleep 130000
            done
        done >>/tmp/churn.log 2>&1 &'
    # shellcheck disable=SC2016 # the board expands it
    while vm_run 'kill -0 $(cat /tmp/churn.pid) 2>/dev/null' >/dev/null; do
        get '/api/v1/samples?seconds=0.3&frequency=50' -f >>"$scratch/captures"
    done
    holds "churn: CPU 3 is served at the end" eventually 60 is_served 3
    scrape_end "churn: CPU 3 goes offline $PRESSURE_ROUNDS times during readings, captures and reloads"
    equals "churn: each transition succeeded" "$(vm_run cat /tmp/churn.log)" ""
    reloads=$(vm_run 'grep -c "configuration reloaded" /tmp/daemon.log')
    compares "churn: the configuration was reloaded" "$reloads >= $PRESSURE_ROUNDS / 2"
    equals "churn: each capture ends after the requested time, and loses nothing" \
        "$(jq -r 'select(.type == "end") | "\(.reason) \(.lost) \(.dropped) \(.malformed)"' "$scratch/captures" |
            sort -u)" "seconds 0 0 0"
    holds "churn: no descriptor leaked" eventually 60 shows "$open" events_open
    cgroup_remove
}

# test_pressure KERNEL: runs some parts on each kernel, or all parts with PRESSURE_PARTS=all.
test_pressure() {
    local part parts="clock churn"
    [ "$1" = 6.1 ] || parts="sleep"
    [ "${PRESSURE_PARTS-}" != all ] || parts="clock sleep deep churn"
    for part in $parts; do
        "pressure_$part"
    done
    daemon_stop
}
