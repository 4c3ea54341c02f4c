#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All tests of the emulated boards: fetches and builds what is missing, then runs one after the other on two lanes.
#
# usage: run.sh [BOARD...]   where BOARD is one of two-6.1, two-5.10, eight-6.1, single-6.1, single-5.10; or footprint,
# which is for bench/footprint: eight CPUs of two kinds
#
# VM_CACHE, VM_BUILD: see lib.sh. TRUTH_SECONDS, TRUTH_READINGS, TRUTH_SCRAPES, HOTPLUG_TRANSITIONS, CGROUP_PARTS: see
# truth.sh, hotplug.sh and cgroup.sh; PRESSURE_PARTS, PRESSURE_ROUNDS: see pressure.sh; IMPOSTOR_KERNELS:
# those with a stranger in the daemon's place. The scripts have short lengths; the full ones are
# TRUTH_SECONDS=60 TRUTH_READINGS=2000 TRUTH_SCRAPES=10000 HOTPLUG_TRANSITIONS=1000 CGROUP_PARTS=all PRESSURE_PARTS=all
# PRESSURE_ROUNDS=60 IMPOSTOR_KERNELS="5.10 6.1".

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# part TEST [ARGUMENTS...]: and the seconds it took here.
part() {
    local started=$SECONDS
    "$@"
    echo "    $1: $((SECONDS - started)) s"
}

# A check of the rig: none passes on a board or a daemon that does not answer.
test_silence() {
    local outcome
    board_stop
    outcome=$(equals "no text" "$(vm_run cat /tmp/hotplug.log 2>/dev/null)" "")
    contains "a check fails if the board does not answer" "$outcome" "NOT OK"
    outcome=$(holds "no series" not is_served 0)
    contains "a check fails if the daemon does not answer" "$outcome" "NOT OK"
}

# two_kinds KERNEL
two_kinds() {
    part test_two_kinds
    part test_plan
    part test_self
    part test_privilege
    part test_opener
    part test_truth
    part test_tracepoint
    part test_cgroup "$1"
    part test_contention
    part test_sampler
    part test_sampler_hotplug
    part test_pressure "$1"
    part test_hotplug armv8_cortex_a76 "$([ "$1" = 6.1 ] && echo bpf || echo perf)"
}

board() {
    local noun
    for noun in board cgroup contention discovery hotplug impostor metrics pressure privilege sampler self \
        tally tracepoint truth; do
        # shellcheck source=/dev/null
        . "$vm_dir/$noun.sh"
    done
    case $1 in
    two-*)
        board_start "$1" "${1#two-}" 4 cortex-a55 cortex-a76
        two_kinds "${1#two-}"
        [ "$1" = two-5.10 ] || part test_metrics
        ;;
    eight-*)
        board_start "$1" "${1#eight-}" 8 cortex-a53 cortex-a72
        part test_one_lacks_an_event
        ;;
    single-*)
        board_start "$1" "${1#single-}" 2
        part test_single_pmu
        part test_tally
        [[ " ${IMPOSTOR_KERNELS-5.10} " != *" ${1#single-} "* ]] || part test_impostor
        ;;
    footprint)
        # shellcheck source=../../bench/board-footprint.sh
        . "$root/bench/board-footprint.sh"
        board_start "$1" 6.1 8 cortex-a55 cortex-a76
        part test_footprint
        ;;
    *) die "there is no board $1" ;;
    esac
    test_silence
    finish
}

# lane BOARD...: one after the other, each with a log of its own.
lane() {
    local name child status
    # A board ends its QEMU on SIGTERM.
    trap 'kill "$child" 2>/dev/null; wait "$child"; exit 143' INT TERM
    for name in "$@"; do
        (board "$name") >"$VM_BUILD/test-$name.log" 2>&1 &
        child=$!
        wait "$child"
        status=$?
        # A check that does not exist is not one that held.
        ! grep -q ': command not found$' "$VM_BUILD/test-$name.log" || status=127
        echo "$status" >"$VM_BUILD/test-$name.status"
    done
}

boards=("$@")
[ $# -gt 0 ] || boards=(two-6.1 two-5.10 eight-6.1 single-6.1 single-5.10)
mkdir -p "$VM_BUILD" || die "cannot write to $VM_BUILD"
rm -f "$VM_BUILD"/vm.log "$VM_BUILD"/test-*.log "$VM_BUILD"/test-*.status
"$vm_dir/fetch.sh" || exit
"$vm_dir/build.sh" || exit

# An emulated board takes one CPU of this machine.
odd=() even=() all=0
for i in "${!boards[@]}"; do
    if [ $((i % 2)) -eq 0 ]; then even+=("${boards[i]}"); else odd+=("${boards[i]}"); fi
done
lane "${even[@]}" &
lanes=($!)
lane "${odd[@]}" &
lanes+=($!)
trap 'kill "${lanes[@]}" 2>/dev/null; wait; exit 143' INT TERM
wait

for name in "${boards[@]}"; do
    echo "== $name"
    cat "$VM_BUILD/test-$name.log"
    [ "$(cat "$VM_BUILD/test-$name.status")" = 0 ] || { all=1; echo "FAILED: $name"; }
done
exit $all
