#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs all tests on the emulated boards: fetches and builds what is missing, then runs the boards in two lanes, one
# after the other in each.
#
# usage: run.sh [BOARD... [TEST...]]
#   BOARD   two-6.1, two-5.10, eight-6.1, single-6.1 or single-5.10; or armhf-6.1 or armhf-5.10, with the 32-bit daemon of
#           tests/distro/armhf.sh; or footprint, the board of bench/footprint, which has eight CPUs of two kinds; or hour,
#           whose time jumps while it is idle
#   TEST    the name of a test function without test_, such as truth; without one, all tests of the boards run
#
# tests/vm/lib.sh describes VM_CACHE and VM_BUILD, and truth.sh, hotplug.sh, cgroup.sh and pressure.sh describe the
# variables that begin with their names. IMPOSTOR_KERNELS lists the kernels on which the impostor test runs. Tests are
# short by default; a full run sets TRUTH_SECONDS=60 TRUTH_READINGS=2000 TRUTH_SCRAPES=10000 TRUTH_ENGINES="perf bpf offsets"
# HOTPLUG_TRANSITIONS=1000 CGROUP_PARTS=all PRESSURE_PARTS=all PRESSURE_ROUNDS=60 IMPOSTOR_KERNELS="5.10 6.1".

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

parts=0
# part TEST [ARGUMENTS...]: runs the test if it was requested, and prints how many seconds it took.
part() {
    local started=$SECONDS
    [ ${#chosen[@]} -eq 0 ] || [[ " ${chosen[*]} " == *" ${1#test_} "* ]] || return
    "$@"
    parts=$((parts + 1))
    echo "    $1: $((SECONDS - started)) s"
}

# Tests the checks themselves: none may pass if the board or the daemon does not answer.
test_silence() {
    local outcome
    board_stop
    outcome=$(equals "no text" "$(vm_run cat /tmp/hotplug.log 2>/dev/null)" "")
    contains "a check fails if the board does not answer" "$outcome" "NOT OK"
    outcome=$(holds "no series" not is_served 0)
    contains "a check fails if the daemon does not answer" "$outcome" "NOT OK"
}

# two_kinds KERNEL: runs the tests of a board with two kinds of core.
two_kinds() {
    part test_two_kinds
    part test_plan
    part test_self
    part test_privilege
    part test_opener
    part test_truth
    part test_command
    # The scenarios take minutes for each engine, so they run only if requested or in a full run.
    if [ ${#chosen[@]} -gt 0 ] || [ -n "${TRUTH_ENGINES-}" ]; then part test_scenarios; fi
    part test_tracepoint
    part test_cgroup "$1"
    part test_contention
    part test_sampler
    part test_hindsight
    part test_off_cpu
    part test_off_cpu_hotplug
    part test_sampler_hotplug
    part test_pressure "$1"
    part test_hotplug armv8_cortex_a76 "$([ "$1" = 6.1 ] && echo bpf || echo perf)"
}

board() {
    local noun
    for noun in armhf board bpf cgroup contention discovery hotplug hour impostor metrics off-cpu pressure privilege \
        sampler self tracepoint truth; do
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
        part test_bpf
        part test_stepped_opener
        [[ " ${IMPOSTOR_KERNELS-5.10} " != *" ${1#single-} "* ]] || part test_impostor
        ;;
    armhf-*)
        [ -d "$ARMHF_SYSTEM" ] || die "there is no $ARMHF_SYSTEM: run tests/distro/armhf.sh first"
        overlay=$VM_BUILD/armhf.gz board_start "$1" "${1#armhf-}" 4 cortex-a55 cortex-a76
        part test_armhf
        part test_opener
        part test_tracepoint
        part test_sampler
        ;;
    hour)
        jumps=yes board_start "$1" 6.1 4 cortex-a55 cortex-a76
        part test_hour
        ;;
    footprint)
        # shellcheck source=../../bench/board-footprint.sh
        . "$root/bench/board-footprint.sh"
        pack_vmagent
        board_start "$1" 6.1 8 cortex-a55 cortex-a76
        part test_footprint
        part test_vmagent
        ;;
    *) die "there is no board $1" ;;
    esac
    test_silence
    compares "tests ran on the board" "$parts > 0"
    finish
}

# lane BOARD...: runs the boards one after the other, each with its own log.
lane() {
    local name child status
    # The subshell of a board stops its QEMU on SIGTERM.
    trap 'kill "$child" 2>/dev/null; wait "$child"; exit 143' INT TERM
    for name in "$@"; do
        (board "$name") >"$VM_BUILD/test-$name.log" 2>&1 &
        child=$!
        wait "$child"
        status=$?
        # A call to a check that does not exist must not count as passed.
        ! grep -q ': command not found$' "$VM_BUILD/test-$name.log" || status=127
        echo "$status" >"$VM_BUILD/test-$name.status"
    done
}

boards=() chosen=()
for argument; do
    case $argument in
    *-*.* | footprint | hour) boards+=("$argument") ;;
    *)
        grep -q "part test_$argument\b" "${BASH_SOURCE[0]}" || die "there is no test $argument"
        chosen+=("$argument")
        ;;
    esac
done
[ ${#chosen[@]} -eq 0 ] || [ ${#boards[@]} -gt 0 ] || die "name the board of ${chosen[*]} before it"
[ ${#boards[@]} -gt 0 ] || boards=(two-6.1 two-5.10 eight-6.1 single-6.1 single-5.10)
mkdir -p "$VM_BUILD" || die "cannot write to $VM_BUILD"
rm -f "$VM_BUILD"/vm.log
for name in "${boards[@]}"; do
    rm -f "$VM_BUILD/test-$name".{log,status}
done
"$vm_dir/fetch.sh" || exit
"$vm_dir/build.sh" || exit

# Each emulated board uses one CPU of this machine.
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
