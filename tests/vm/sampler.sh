# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Samples cycles on both kinds of core at once: a program with a known profile runs on a CPU of each kind, and its
# profile is found in the board's streams and in what this machine's perf makes of them.
#
# Source it after board.sh and hotplug.sh.
# shellcheck disable=SC2154 # set there

# sampler_share: reads lines "WEIGHT SYMBOL" and prints the first function's percentage of the weight of both functions,
# and the weight of both.
sampler_share() {
    awk '$NF == "hot_seventy" { a += $1 } $NF == "hot_thirty" { b += $1 }
        END { printf "%.2f %d\n", (a + b > 0 ? 100 * a / (a + b) : 0), a + b }'
}

# check_share WHAT FILE: checks that the first function has 70 %, within five standard deviations: see $enough in lib.sh.
check_share() {
    local share n
    read -r share n <<<"$(sampler_share <"$2")"
    compares "$1: 70 % in one function, of $n samples" "$n > 1000 && ($share - 70) ^ 2 < (5 * 45.8) ^ 2 / $n"
}

# samples_of FILE CPU EXPRESSION: prints the jq expression for each of the program's samples on the CPU.
samples_of() {
    jq -r "select(.type == \"sample\" and .comm == \"hot\" and .cpu == $2) | $3" "$1"
}

# sampler_limit PERCENT: limits the CPU time that sampling may take in the kernel; 0 means no limit. In the emulator
# interrupts take so long that the kernel would lower the sample rate and throttle.
sampler_limit() {
    vm_run "cd /proc/sys/kernel && echo 25 >perf_cpu_time_max_percent && echo 100000 >perf_event_max_sample_rate &&
        echo $1 >perf_cpu_time_max_percent" || die "the board does not accept the sampling limit"
}

test_sampler() {
    local cpu kind n span period fetches=() kinds=([1]=little [3]=big) end
    daemon_start <<'END'
sampler: {enabled: true}
END
    # Over QEMU's network the host is a remote client.
    equals "a remote client gets no samples" "$(get '/api/v1/samples?max=1' -o /dev/null -w '%{http_code}')" 403
    daemon_start <<'END'
sampler: {enabled: true, allow: everybody}
END
    sampler_limit 0
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'for cpu in 1 3; do taskset -c $cpu hot 100 >/dev/null 2>&1 & done'
    get "/api/v1/samples?seconds=5&frequency=999&cpu=1,3" >"$scratch/frequency" &
    fetches+=($!)
    get "/api/v1/perf.data?seconds=5&frequency=999&cpu=1,3" >"$scratch/perf.data" &
    fetches+=($!)
    get "/api/v1/samples?seconds=5&period=4000000&cpu=1,3" >"$scratch/period" &
    fetches+=($!)
    wait "${fetches[@]}"
    vm_run 'killall hot'
    sampler_limit 25

    matches "the event is cycles" "$(head -n 1 "$scratch/frequency" | jq -r '.event')" '^cycles'
    end=$(tail -n 1 "$scratch/frequency")
    equals "no sample is lost" "$(jq -r '"\(.reason) \(.lost) \(.dropped)"' <<<"$end")" "seconds 0 0"
    equals "nothing is throttled" "$(jq -r 'select(.type == "throttle") | .type' "$scratch/period" | head -n 1)" ""
    for cpu in 1 3; do
        kind=${kinds[cpu]}
        samples_of "$scratch/frequency" $cpu '"1 \(.symbol)"' >"$scratch/weights"
        check_share "$kind core" "$scratch/weights"
        # A cycle of the emulated cores takes a nanosecond, so 999 Hz is a period of about a million cycles. The
        # emulator overshoots while it runs the other CPUs, which the kernel compensates for.
        period=$(samples_of "$scratch/frequency" $cpu .period | sort -n | awk '{ v[NR] = $1 }
            END { print v[int((NR + 1) / 2)] + 0 }')
        compares "$kind core: the kernel finds a period for the frequency" "$period > 1e5 && $period < 1e7"
        equals "$kind core: each sample has the requested period" \
            "$(samples_of "$scratch/period" $cpu .period | sort -u)" 4000000
        # The program had the CPU from its first sample to its last, however long that was on the board.
        read -r n span <<<"$(samples_of "$scratch/period" $cpu .time | sort -n | awk '{ v[NR] = $1 }
            END { print NR, v[NR] - v[1] }')"
        compares "$kind core: the number of samples fits the cycles of $span s" \
            "$n > 500 && $n * 4e6 > 0.8e9 * $span && $n * 4e6 < 1.2e9 * $span"
    done

    if command -v perf >/dev/null; then
        # The board's image has the program's symbols.
        perf script -i - --symfs "$VM_BUILD/image" -F comm,cpu,ip,sym -G <"$scratch/perf.data" >"$scratch/script" \
            2>"$scratch/complaints"
        for cpu in 1 3; do
            awk -v cpu="[00$cpu]" '$1 == "hot" && $2 == cpu { print 1, $NF }' "$scratch/script" >"$scratch/weights"
            check_share "${kinds[cpu]} core, by perf script" "$scratch/weights"
        done
        perf report -i - --stdio --header-only <"$scratch/perf.data" >"$scratch/header" 2>&1
        matches "perf knows the architecture" "$(<"$scratch/header")" 'arch : aarch64'
    else
        left_out "perf, to read the board's stream"
    fi
}

# timer_interrupts: prints how many timer interrupts CPU 2 has had.
timer_interrupts() {
    vm_run "awk '/arch_timer/ { n += \$4 } END { print n }' /proc/interrupts"
}

# idle_interrupts: prints how many timer interrupts CPU 2 has in a second while nothing runs there.
idle_interrupts() {
    local before after
    before=$(vm_run 'cat /proc/uptime; taskset 1 true'; timer_interrupts)
    vm_run 'taskset 1 sleep 10'
    after=$(vm_run 'cat /proc/uptime; taskset 1 true'; timer_interrupts)
    awk -v before="$before" -v after="$after" 'BEGIN {
        n = split(before, b); m = split(after, a); printf "%.1f\n", (a[m] - b[n]) / (a[1] - b[1]) }'
}

# runs_at_rest: prints how often threads of the daemon's processes ran in 20 s in which no program started.
runs_at_rest() {
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'rm -f /tmp/never; mkfifo /tmp/never; exec 3<>/tmp/never
        threads=$(for pid in $(pidof perfcountd); do echo /proc/$pid/task/*/status; done)
        runs() {
            n=0
            for thread in $threads; do
                while read -r key number; do
                    case $key in *voluntary_ctxt_switches:) n=$((n + number)) ;; esac
                done <$thread
            done
        }
        read -r -t 5 -u 3 nothing; runs; before=$n
        read -r -t 20 -u 3 nothing; runs; echo $((n - before))'
}

# work_seconds: prints how long a fixed amount of work on all four CPUs takes. The emulator runs one CPU at a time, so
# this is the sum of the CPUs' times, and the work is interrupted four times as often as if the CPUs ran at the same
# time.
work_seconds() {
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'cat /proc/uptime; for cpu in 0 1 2 3; do spin $cpu 600 & done; wait; cat /proc/uptime' |
        awk '{ last = now; now = $1 } END { printf "%.2f\n", now - last }'
}

# hindsight_start SETTINGS: starts a daemon with these settings of sampler.hindsight, and waits until it has released
# the memory that its start needed, which it does after a minute.
hindsight_start() {
    daemon_start <<END
collectors: {cgroup: {enabled: false}}
history: {enabled: false}
sampler: {enabled: true, allow: everybody, hindsight: {$1}}
END
    vm_run 'sleep 65'
}

# Past samples of a program that has ended have its profile, within five standard deviations. An idle CPU wakes up for
# each sample; busy CPUs lose little time.
test_hindsight() {
    local share n idle sampled alone at_default at_99
    hindsight_start 'enabled: false'
    idle=$(idle_interrupts)
    alone=$(work_seconds)
    hindsight_start 'enabled: true'
    sampled=$(idle_interrupts)
    at_default=$(work_seconds)
    compares "hindsight: an idle CPU has fewer than 40 additional timer interrupts per second" \
        "$sampled < $idle + 40 && $sampled > $idle"
    equals "hindsight: while no program starts, the daemon does not run" "$(runs_at_rest)" 0
    hindsight_start 'enabled: true, frequency: 99, seconds: 600, memory: 32MiB'
    at_99=$(work_seconds)
    compares "hindsight: four busy CPUs lose less than 1 % at 19 Hz" "$at_default < 1.01 * $alone"
    compares "hindsight: four busy CPUs lose less than 2 % at 99 Hz" "$at_99 < 1.02 * $alone"
    vm_run 'taskset -c 3 hot 6 >/dev/null'
    equals "hindsight: the program has ended" "$(vm_run 'pidof hot')" ""
    get '/api/v1/folded?last=600' | sed -nE 's/^hot;.*;(hot_[a-z]+) ([0-9]+)$/\2 \1/p' >"$scratch/weights"
    read -r share n <<<"$(sampler_share <"$scratch/weights")"
    compares "hindsight: $share of 70 % in one function, of $n samples" \
        "$n > 100 && ($share - 70) ^ 2 * $n <= (5 * 45.8) ^ 2"
    daemon_stop
}

# stretches FILE: prints how many samples CPU 3 has in each stretch without a pause of half a second, as "N N".
stretches() {
    samples_of "$1" 3 .time | sort -n | awk 'NR > 1 && $1 - last > 0.5 { printf "%d ", n; n = 0 }
        { n++; last = $1 }
        END { print n + 0 }'
}

# events_open: prints how many perf events the daemon has open. Other descriptors are left out, since the daemon opens
# symbol files now and then.
events_open() {
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'ls -l /proc/$(cat /tmp/daemon.pid)/fd 2>/dev/null | grep -c perf_event'
}

# A stream of all CPUs except the daemon's continues while CPU 3 goes offline and online: the program on CPU 3 has
# samples before and after, and CPU 3 has none in between.
test_sampler_hotplug() {
    local fetch open end
    daemon_start <<'END'
collectors: {cpu: {groups: [{name: core, events: "{cycles,instructions}"}]}, cgroup: {enabled: false}}
sampler: {enabled: true, allow: everybody}
END
    sampler_limit 0
    # The first stream waits until the kernel's symbols are read.
    get "/api/v1/samples?max=10&period=4000000" -f >"$scratch/first"
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'taskset -c 3 hot 300 >/dev/null 2>&1 & echo $! >/tmp/hot.pid'
    get "/api/v1/samples?period=4000000&cpu=1-3" -f -N >"$scratch/hotplug" &
    fetch=$!
    holds "sampling: CPU 3 is sampled" eventually 60 grep -q '"cpu":3' "$scratch/hotplug"
    open=$(events_open)
    vm_run 'sleep 1'
    holds "sampling: CPU 3 goes offline" switch_cpu 3 0
    # The three descriptors are those of two counters and the sampler's event.
    holds "sampling: the descriptors of CPU 3 are closed" eventually 60 shows $((open - 3)) events_open
    vm_run 'sleep 1'
    holds "sampling: CPU 3 is online again" switch_cpu 3 1
    # shellcheck disable=SC2016 # the board expands it; the kernel has reset the program's affinity
    vm_run 'taskset -p 8 $(cat /tmp/hot.pid) && sleep 1; killall hot'
    holds "sampling: the descriptors of CPU 3 are open again" eventually 60 shows "$open" events_open
    daemon_stop
    wait $fetch
    sampler_limit 25
    matches "sampling: CPU 3 has samples before and after it was offline, and none meanwhile" \
        "$(stretches "$scratch/hotplug")" \
        '^[1-9][0-9]+ [1-9][0-9]+$'
    end=$(tail -n 1 "$scratch/hotplug")
    equals "sampling: the stream continues until the daemon exits, and nothing was lost" \
        "$(jq -r '"\(.type) \(.reason) \(.lost) \(.dropped) \(.malformed)"' <<<"$end")" "end shutdown 0 0 0"
    equals "sampling: the stream has as many records as its end record says" "$(jq .records <<<"$end")" \
        "$(jq -c 'select(.time and .type != "header" and .type != "end") | 1' "$scratch/hotplug" | wc -l)"
}
