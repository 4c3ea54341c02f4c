# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Time and hardware press on a daemon that is scraped meanwhile: a clock that is set, a machine that sleeps, CPUs that go
# in the middle of a reading, a capture and a reload. Nothing is lost but what is said to be lost, and all comes back.
# Sourced after board.sh, cgroup.sh and hotplug.sh.
# shellcheck disable=SC2154 # set there

PRESSURE_ROUNDS=${PRESSURE_ROUNDS:-6} # of a CPU that goes and comes
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

# set_clock SECONDS: of the board's CLOCK_REALTIME, from where it is.
set_clock() {
    # shellcheck disable=SC2016 # the board's
    vm_run 'date -s @$(($(date +%s) + '"$1"')) >/dev/null'
}

# created CGROUP: its _created, of OpenMetrics.
created() {
    get /metrics -H 'Accept: application/openmetrics-text' |
        sed -n "s|^perf_cgroup_cycles_user_created{cgroup=\"/$1\",pmu=\"$big\".*} ||p"
}

# ages: how far the times that the daemon writes now are from the board's clock, in seconds.
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
        holds "clock: it is set by $((step / year)) years" set_clock "$step"
        compares "clock: what is read then has the time that it is then" "$(ages) < $year / 2"
    done
    vm_run 'mkdir /sys/fs/cgroup/b.slice'
    holds "clock: a cgroup that is made then is seen" eventually 60 has_cgroup b.slice
    now=$(vm_run date +%s)
    compares "clock: and was created then" "$(created b.slice) > $now - 600 && $(created b.slice) <= $now + 1"
    wait "${fetches[@]}"
    holds "clock: it is set right" set_clock $((-year))
    scrape_end "clock: back and forth by a year"
    equals "clock: an older cgroup was created when it was" "$(created a.slice)" "$before"
    equals "clock: the daemon was started when it was" "$(process_start)" "$start"
    compares "clock: rates are of four seconds, and not of a year" "$(jq .seconds "$scratch/rates") >= 4 && \
        $(jq .seconds "$scratch/rates") < $year / 2"
    compares "clock: rates are of what can be" \
        "$(jq '[.rates[].events.cycles // empty] | max' "$scratch/rates") < 1.05e9"
    equals "clock: a stream lasts as it was asked, and loses nothing" \
        "$(tail -n 1 "$scratch/stream" | jq -r '"\(.reason) \(.lost) \(.dropped)"')" "seconds 0 0"
    equals "clock: its times do not jump" "$(jq -c 'select(.type == "sample") | .time' "$scratch/stream" | sort -n |
        awk 'NR == 1 { first = $1 } { last = $1 } END { print (NR > 10 && last - first < '"$year"' / 2) }')" 1
    cgroup_remove
}

has_cgroup() {
    [ -n "$(created "$1")" ]
}

# sleep_board SECONDS: the machine sleeps for that long, and its real-time clock wakes it.
sleep_board() {
    vm_run "echo 0 >/sys/class/rtc/rtc0/wakealarm
        (sleep 0.5; echo +$1 >/sys/class/rtc/rtc0/wakealarm; echo freeze >/sys/power/state; echo \$? >/tmp/slept) \
            >/dev/null 2>&1 &
        rm -f /tmp/slept"
}

has_slept() {
    [ "$(VM_RUN_TIMEOUT=5 vm_run 'cat /tmp/slept 2>/dev/null')" = 0 ]
}

# has_woken: it has slept. Meanwhile it does not answer.
has_woken() {
    eventually 300 has_slept || return
    : >"$silence"
}

is_paused() {
    [ "$(get /api/v1/status | jq .paused)" = true ]
}

# While the machine sleeps, a stream and rates wait, and a pause ends. A scrape that the sleep has cut off is given up.
pressure_sleep() {
    local fetches=()
    pressure_daemon
    scrape_begin --timeout 1 --failures
    get '/api/v1/rates?seconds=3&cpu=0' >"$scratch/rates" &
    fetches+=($!)
    get '/api/v1/samples?seconds=3&frequency=50&cpu=0,1' >"$scratch/stream" &
    fetches+=($!)
    holds "sleep: the board goes to sleep" sleep_board 5
    holds "sleep: it has slept, and is awake" has_woken
    wait "${fetches[@]}"
    scrape_end "sleep: for five seconds"
    compares "sleep: rates are of the seconds that they say" "$(jq .seconds "$scratch/rates") >= 3 && \
        $(jq '[.rates[].events.cycles // empty] | max' "$scratch/rates") < 1.05e9"
    equals "sleep: a stream goes on, and loses nothing" \
        "$(tail -n 1 "$scratch/stream" | jq -r '"\(.reason) \(.lost) \(.dropped)"')" "seconds 0 0"
    equals "sleep: all CPUs are counted" "$(get /metrics | grep -c '^perf_cpu_cycles_total{.*} [1-9]')" 4
    vm_run 'wget -q -O /dev/null --post-data= "http://127.0.0.1:10298/api/v1/pause?seconds=4"'
    holds "sleep: nothing is counted in a pause" is_paused
    holds "sleep: the board goes to sleep in the pause" sleep_board 5
    holds "sleep: it has slept in the pause" has_woken
    holds "sleep: the pause has ended" eventually 60 not is_paused
}

goes_on() {
    awk -v now="$(total "$1")" -v before="$2" 'BEGIN { exit !(now > before) }'
}

# As a deep sleep is: the other CPUs are taken away without a word to anybody, and the clocks stand still, all but the
# one that a pause goes by. The kernel waits five seconds, by instructions, which takes the emulator a minute.
pressure_deep() {
    local before cpu
    pressure_daemon
    for cpu in 0 1 2 3; do before[cpu]=$(total $cpu); done
    scrape_begin --timeout 1 --failures
    vm_run 'wget -q -O /dev/null --post-data= "http://127.0.0.1:10298/api/v1/pause?seconds=4"
        rm -f /tmp/slept
        (sleep 0.5; echo core >/sys/power/pm_test; echo disk >/sys/power/state; echo $? >/tmp/slept
            echo none >/sys/power/pm_test) >/dev/null 2>&1 &'
    holds "deep sleep: it has slept" has_woken
    scrape_end "deep sleep"
    holds "deep sleep: the pause has ended" eventually 60 not is_paused
    for cpu in 0 1 2 3; do
        holds "deep sleep: CPU $cpu is counted, and its total goes on" eventually 60 goes_on $cpu "${before[cpu]}"
    done
    equals "deep sleep: nothing is starved or failed" \
        "$(get /api/v1/status | jq -c '.starved, .failures' | xargs)" "[] []"
}

# CPU 3 goes and comes all the time. Meanwhile captures begin and end, and configurations come, each with a group more
# or less.
pressure_churn() {
    local open reloads
    cgroup_make a.slice
    pressure_daemon
    # The first stream reads the kernel's symbols.
    get '/api/v1/samples?max=1&cpu=0' >/dev/null
    open=$(events_open)
    scrape_begin --restarts 'group="extra"'
    # shellcheck disable=SC2016 # the board's
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
    # shellcheck disable=SC2016 # the board's
    while vm_run 'kill -0 $(cat /tmp/churn.pid) 2>/dev/null' >/dev/null; do
        get '/api/v1/samples?seconds=0.3&frequency=50' -f >>"$scratch/captures"
    done
    holds "churn: CPU 3 is served in the end" eventually 60 is_served 3
    scrape_end "churn: CPU 3 goes $PRESSURE_ROUNDS times in the middle of readings, captures and reloads"
    equals "churn: each transition worked" "$(vm_run cat /tmp/churn.log)" ""
    reloads=$(vm_run 'grep -c "configuration reloaded" /tmp/daemon.log')
    compares "churn: configurations came" "$reloads >= $PRESSURE_ROUNDS / 2"
    equals "churn: each capture ends as it was asked, and has lost nothing" \
        "$(jq -r 'select(.type == "end") | "\(.reason) \(.lost) \(.dropped) \(.malformed)"' "$scratch/captures" |
            sort -u)" "seconds 0 0 0"
    holds "churn: no descriptor leaked" eventually 60 shows "$open" events_open
    cgroup_remove
}

# test_pressure KERNEL: each kernel has a part of it, or with PRESSURE_PARTS=all, all.
test_pressure() {
    local part parts="clock churn"
    [ "$1" = 6.1 ] || parts="sleep"
    [ "${PRESSURE_PARTS-}" != all ] || parts="clock sleep deep churn"
    for part in $parts; do
        "pressure_$part"
    done
    daemon_stop
}
