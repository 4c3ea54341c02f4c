# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests how the daemon measures its own cost on the board: user-space readings of its own task's counters agree with
# read(2), on both kinds of core and across them. If reads in user space are not permitted, read(2) is used. Source it
# after board.sh.
# shellcheck disable=SC2154 # set there

# selfcount is built here and sent to the board, since only this test needs it.
self_hand_over() {
    quietly "could not build selfcount" aarch64-linux-gnu-gcc "--sysroot=$(realpath "$VM_CACHE/sysroot")" -O2 -Wall \
        -Wextra -Werror -I"$root" -include "$VM_BUILD/config.h" -o "$scratch/selfcount" "$vm_dir/guest/selfcount.c" \
        "$VM_BUILD/libperfcountd.a"
    quietly "could not strip selfcount" aarch64-linux-gnu-strip "$scratch/selfcount"
    {
        echo "base64 -d >/bin/selfcount <<'END' && chmod 755 /bin/selfcount"
        base64 "$scratch/selfcount"
        echo END
    } >"$scratch/script" # too large for an argument of vm_run
    curl -sS --max-time 120 --data-binary "@$scratch/script" "$control" | grep -qx 'status 0' ||
        die "the board does not accept the program"
}

# self_allow FILE VALUE: sets a sysctl in /proc/sys/kernel.
self_allow() {
    vm_run "echo $2 >/proc/sys/kernel/$1" || die "cannot set kernel.$1"
}

# own METRIC: prints the current perfcountd_self_METRIC, or nothing if it is not served.
own() {
    get '/metrics?collect[]=self' | sed -n "s/^perfcountd_self_$1 //p"
}

self_grows() {
    local before
    before=$(own "$1")
    [ -n "$before" ] && [ "$before" -gt 0 ] && eventually 60 self_exceeds "$1" "$before"
}
self_exceeds() {
    [ "$(own "$1")" -gt "$2" ]
}

# self_refuted LINES USER: prints those lines of selfcount that have a wrong reading, or a number of user-space
# readings that does not match the regular expression USER.
self_refuted() {
    grep -vE "^(cycles|instructions) cpu=[0-9]+ user=$2 wrong=0 " <<<"$1"
}

# self_readings TITLE USER CPU...: checks selfcount's readings on these CPUs.
self_readings() {
    local title=$1 lines
    lines=$(vm_run "selfcount ${*:3}")
    if [ "$(grep -c . <<<"$lines")" = $((2 * ($# - 2))) ] && ! self_refuted "$lines" "$2" >/dev/null; then
        pass "$title"
    else
        fail "$title" "$lines"
    fi
}

self_many_groups() {
    local i
    echo 'collectors: {cpu: {groups: ['
    for i in 1 2 3 4 5; do
        echo "{name: g$i, events: 'r11,r8'},"
    done
    echo ']}}'
}

self_allowed() {
    self_allow perf_user_access 1
    self_readings "own cost, permitted: a user-space reading is between two read(2) calls" '(100|9[0-9])' 0 1 2 3 0 3
    matches "own cost, then forbidden: the instruction traps, and read(2) is used" \
        "$(vm_run 'selfcount 0 forbid' | grep before)" \
        "cycles before=1 after=0,0 grew=1"$'\n'"instructions before=1 after=0,0 grew=1"
    daemon_start </dev/null
    equals "own cost, permitted: the daemon reads its own counters without a system call" "$(own user_reads)" 1
    equals "own cost, permitted: the kernel's work for the daemon is counted" "$(own kernel_counted)" 1
    holds "own cost, permitted: the daemon's cycles increase" self_grows cycles_total
    holds "own cost, permitted: the daemon's instructions increase" self_grows instructions_total
    equals "own cost, permitted: no group of the collector cpu is multiplexed" \
        "$(get /metrics | sed -n 's/^perfcountd_groups{collector="cpu",state="multiplexed"} //p')" 0
    self_allow perf_user_access 0
    holds "own cost, then forbidden: the daemon's cycles still increase" self_grows cycles_total
    equals "own cost, then forbidden: the daemon uses read(2)" "$(own user_reads)" 0
}

self_multiplexed() {
    self_allow perf_user_access 1
    self_many_groups | daemon_start
    self_readings "own cost: user-space readings are correct while other groups use the counters" '[0-9]+' \
        0 2 1 3 0 3
}

self_forbidden() {
    vm_run "[ ! -e /proc/sys/kernel/perf_user_access ] || echo 0 >/proc/sys/kernel/perf_user_access" ||
        die "cannot forbid reads in user space"
    self_readings "own cost, not permitted: every reading uses read(2)" 0 0 2
    daemon_start </dev/null
    equals "own cost, not permitted: the daemon uses read(2)" "$(own user_reads)" 0
    holds "own cost, not permitted: the daemon's cycles increase" self_grows cycles_total
    holds "own cost, not permitted: the daemon's instructions increase" self_grows instructions_total
}

# At level 3, Debian's kernel forbids an unprivileged process even its own counters.
self_unprivileged() {
    local why='collector="self",group="self",event="cycles",pmu="armv8_cortex_a55",reason="EACCES"'
    self_allow perf_event_paranoid 2
    daemon_start drop none </dev/null
    equals "own cost, unprivileged at level 2: only user mode is counted" "$(own kernel_counted)" 0
    holds "own cost, unprivileged at level 2: instructions increase" self_grows instructions_total
    self_allow perf_event_paranoid 3
    daemon_start drop none </dev/null
    equals "own cost, unprivileged at level 3: there are no series" "$(own cycles_total)$(own user_reads)" ""
    matches "own cost, unprivileged at level 3: the reason is reported" "$(get /metrics)" \
        "perfcountd_events_unavailable\{$why\} 1"
    matches "own cost, unprivileged at level 3: the log says once that the events are the daemon's own" \
        "$(vm_run 'grep -c "own cost" /tmp/daemon.log; cat /tmp/daemon.log')" \
        "^1"$'\n'".* perfcountd's own thread \(own cost\): \
cycles, instructions: permission denied \(EACCES\): kernel.perf_event_paranoid is 3"
}

# Runs on a board with two kinds of core, whatever its kernel supports.
test_self() {
    self_hand_over
    self_forbidden
    if vm_run "[ -e /proc/sys/kernel/perf_user_access ]"; then
        self_allowed
        self_multiplexed
        self_allow perf_user_access 0
    fi
    self_unprivileged
    daemon_stop
}
