# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Time and hardware press on a daemon that is scraped meanwhile: a clock that is set, a machine that sleeps, counters
# that another program takes, CPUs that go in the middle of a reading, a capture and a reload. Nothing is lost but what
# is said to be lost, and all is back within a second.
# Sourced after board.sh, cgroup.sh, contention.sh and hotplug.sh.
# shellcheck disable=SC2154 # set there

PRESSURE_ROUNDS=${PRESSURE_ROUNDS:-6} # of a CPU that goes and comes; make check-vm-long: 60
# A board's second is longer where this machine has no CPU for it.
PRESSURE_BACK=${PRESSURE_BACK:-1}
year=31536000

monotonic_now() {
    python3 -c 'import time; print("%.3f" % time.monotonic())'
}

has_scraped() {
    [ "$(grep -c 'ok$' "$scratch/watch.log")" -ge "$1" ]
}

# watch_begin [WATCH-OPTIONS...]: scrapes from now on, until watch_end.
watch_begin() {
    : >"$scratch/watch.log"
    # shellcheck disable=SC2154 # the script's
    python3 "$vm_dir/watch.py" "$url" "$scratch/watch.log" "$@" &
    watch_pid=$!
    eventually 20 has_scraped 3
    watch_begun=$(monotonic_now)
}

# watch_over: the pressure is over.
watch_over() {
    watch_ended=$(monotonic_now)
}

# watch_end TITLE [JUDGE-OPTIONS...]: two seconds after watch_over(), it has been as watch.py says.
watch_end() {
    local title=$1 output
    shift
    sleep 2
    kill "$watch_pid"
    wait "$watch_pid"
    if output=$(python3 "$vm_dir/watch.py" --judge "$@" -- "$scratch/watch.log" "$watch_begun" "$watch_ended" 2>&1)
    then
        pass "$title: $output"
    else
        fail "$title" "$output"
    fi
}

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
    watch_begin
    get '/api/v1/rates?seconds=4&cpu=0' >"$scratch/rates" &
    fetches+=($!)
    get '/api/v1/samples?seconds=4&frequency=50&cpu=0,1' >"$scratch/stream" &
    fetches+=($!)
    for step in $((-year)) $((2 * year)); do
        sleep 1
        holds "clock: it is set by $((step / year)) years" set_clock "$step"
        compares "clock: what is read then has the time that it is then" "$(ages) <= 5"
    done
    vm_run 'mkdir /sys/fs/cgroup/b.slice'
    holds "clock: a cgroup that is made then is seen" eventually 10 has_cgroup b.slice
    now=$(vm_run date +%s)
    compares "clock: and was created then" "$(created b.slice) > $now - 60 && $(created b.slice) <= $now + 1"
    wait "${fetches[@]}"
    holds "clock: it is set right" set_clock $((-year))
    watch_over
    watch_end "clock: back and forth by a year" --back "$PRESSURE_BACK"
    equals "clock: an older cgroup was created when it was" "$(created a.slice)" "$before"
    equals "clock: the daemon was started when it was" "$(process_start)" "$start"
    compares "clock: rates are of four seconds" "$(jq .seconds "$scratch/rates") >= 4 && \
        $(jq .seconds "$scratch/rates") < 6"
    compares "clock: rates are of what can be" \
        "$(jq '[.rates[].events.cycles // empty] | max' "$scratch/rates") < 1.05e9"
    equals "clock: a stream lasts as it was asked, and loses nothing" \
        "$(tail -n 1 "$scratch/stream" | jq -r '"\(.reason) \(.lost) \(.dropped)"')" "seconds 0 0"
    equals "clock: its times do not jump" "$(jq -c 'select(.type == "sample") | .time' "$scratch/stream" | sort -n |
        awk 'NR == 1 { first = $1 } { last = $1 } END { print (NR > 10 && last - first < 30) }')" 1
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

# has_woken SECONDS: it sleeps, and wakes within that time. Meanwhile it does not answer.
has_woken() {
    sleep 2
    eventually "$1" has_slept || return
    : >"$silence"
}

is_paused() {
    [ "$(get /api/v1/status | jq .paused)" = true ]
}

# While the machine sleeps, a stream and rates wait, and a pause ends. A scrape that the sleep has cut off is given up.
pressure_sleep() {
    local fetches=()
    pressure_daemon
    watch_begin --timeout 1
    get '/api/v1/rates?seconds=3&cpu=0' >"$scratch/rates" &
    fetches+=($!)
    get '/api/v1/samples?seconds=3&frequency=50&cpu=0,1' >"$scratch/stream" &
    fetches+=($!)
    holds "sleep: the board goes to sleep" sleep_board 5
    holds "sleep: it has slept, and is awake" has_woken 60
    watch_over
    wait "${fetches[@]}"
    watch_end "sleep: for five seconds" --hangs --back "$PRESSURE_BACK"
    compares "sleep: rates are of the seconds that they say" "$(jq .seconds "$scratch/rates") >= 3 && \
        $(jq '[.rates[].events.cycles // empty] | max' "$scratch/rates") < 1.05e9"
    equals "sleep: a stream goes on, and loses nothing" \
        "$(tail -n 1 "$scratch/stream" | jq -r '"\(.reason) \(.lost) \(.dropped)"')" "seconds 0 0"
    equals "sleep: all CPUs are counted" "$(get /metrics | grep -c '^perf_cpu_cycles_total{.*} [1-9]')" 4
    vm_run 'wget -q -O /dev/null --post-data= "http://127.0.0.1:10298/api/v1/pause?seconds=4"'
    holds "sleep: nothing is counted in a pause" is_paused
    holds "sleep: the board goes to sleep in the pause" sleep_board 5
    holds "sleep: it has slept in the pause" has_woken 60
    holds "sleep: the pause has ended" eventually 1 not is_paused
}

# As a deep sleep is: the other CPUs are taken away without a word to anybody, and the clocks stand still, all but the
# one that a pause goes by. The kernel waits five seconds, by instructions, which takes the emulator a minute.
pressure_deep() {
    local before cpu
    pressure_daemon
    for cpu in 0 1 2 3; do before[cpu]=$(total $cpu); done
    watch_begin --timeout 1
    vm_run 'wget -q -O /dev/null --post-data= "http://127.0.0.1:10298/api/v1/pause?seconds=4"
        rm -f /tmp/slept
        (sleep 0.5; echo core >/sys/power/pm_test; echo disk >/sys/power/state; echo $? >/tmp/slept
            echo none >/sys/power/pm_test) >/dev/null 2>&1 &'
    holds "deep sleep: it has slept" has_woken 300
    watch_over
    watch_end "deep sleep" --hangs --back "$PRESSURE_BACK"
    holds "deep sleep: the pause has ended" eventually 1 not is_paused
    sleep 1
    for cpu in 0 1 2 3; do
        compares "deep sleep: CPU $cpu is counted, and its total has gone on" "$(total $cpu) > ${before[cpu]}"
    done
    equals "deep sleep: nothing is starved or failed" \
        "$(get /api/v1/status | jq -c '.starved, .failures' | xargs)" "[] []"
}

# Another program takes all counters of a CPU for a while.
pressure_starved() {
    local begun
    pressure_daemon
    watch_begin
    hold_counters
    equals "starved: cycles of CPU 3 are not served, and nothing can be taken for a zero" "$(total 3)" ""
    equals "starved: it is said" "$(get '/api/v1/counters?cpu=3&event=cycles' | jq -r '.counters[].state')" starved
    contains "starved: and why" "$(cause cpu core)" "other groups or programs hold the counters that it needs"
    contains "starved: the others are served" "$(get /metrics | grep '^perf_cpu_cycles_total')" 'cpu="0"'
    sleep 2
    release_counters
    watch_over
    begun=$watch_ended
    holds "starved: CPU 3 is served when the counters are free" eventually 20 is_served 3
    compares "starved: within a second" "$(monotonic_now) - $begun < $PRESSURE_BACK"
    watch_end "starved: counters of CPU 3 are taken and given back" --back "$PRESSURE_BACK"
    equals "starved: nothing is, afterwards" "$(get /api/v1/status | jq -c .starved)" "[]"
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
    watch_begin --restarts 'group="extra"'
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
    watch_over
    holds "churn: CPU 3 is served in the end" eventually 20 is_served 3
    compares "churn: within a second" "$(monotonic_now) - $watch_ended < $PRESSURE_BACK"
    watch_end "churn: CPU 3 goes $PRESSURE_ROUNDS times in the middle of readings, captures and reloads" \
        --back "$PRESSURE_BACK"
    equals "churn: each transition worked" "$(vm_run cat /tmp/churn.log)" ""
    reloads=$(vm_run 'grep -c "configuration reloaded" /tmp/daemon.log')
    compares "churn: configurations came" "$reloads >= $PRESSURE_ROUNDS / 2"
    equals "churn: each capture ends as it was asked, and has lost nothing" \
        "$(jq -r 'select(.type == "end") | "\(.reason) \(.lost) \(.dropped) \(.malformed)"' "$scratch/captures" |
            sort -u)" "seconds 0 0 0"
    holds "churn: no descriptor leaked" eventually 10 shows "$open" events_open
    cgroup_remove
}

# test_pressure KERNEL: each kernel has a part of it, or with PRESSURE_PARTS=all, which make check-vm-long sets, all.
test_pressure() {
    local part parts="clock churn"
    [ "$1" = 6.1 ] || parts="sleep"
    [ "${PRESSURE_PARTS-}" != all ] || parts="clock sleep deep starved churn"
    for part in $parts; do
        "pressure_$part"
    done
    daemon_stop
}
