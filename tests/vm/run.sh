#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All tests of the emulated boards: fetches and builds what is missing, then runs one after the other on two lanes.
#
# usage: run.sh [BOARD...]   where BOARD is one of two-6.1, two-5.10, eight-6.1, single-6.1, single-5.10; or footprint,
# which is for bench/footprint: eight CPUs of two kinds
#
# VM_CACHE, VM_BUILD: see lib.sh. TRUTH_SECONDS=60 TRUTH_READINGS=2000 TRUTH_SCRAPES=10000 HOTPLUG_TRANSITIONS=1000 is
# the full length.

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

board() {
    # shellcheck source=board.sh
    . "$vm_dir/board.sh"
    # shellcheck source=discovery.sh
    . "$vm_dir/discovery.sh"
    # shellcheck source=footprint.sh
    . "$vm_dir/footprint.sh"
    # shellcheck source=hotplug.sh
    . "$vm_dir/hotplug.sh"
    # shellcheck source=impostor.sh
    . "$vm_dir/impostor.sh"
    # shellcheck source=truth.sh
    . "$vm_dir/truth.sh"
    # shellcheck source=privilege.sh
    . "$vm_dir/privilege.sh"
    # shellcheck source=sampler.sh
    . "$vm_dir/sampler.sh"
    # shellcheck source=self.sh
    . "$vm_dir/self.sh"
    case $1 in
    two-*)
        board_start "$1" "${1#two-}" 4 cortex-a55 cortex-a76
        test_two_kinds
        test_plan
        test_self
        test_privilege
        test_opener
        test_truth
        test_sampler
        test_hotplug armv8_cortex_a76
        ;;
    eight-*)
        board_start "$1" "${1#eight-}" 8 cortex-a53 cortex-a72
        test_one_lacks_an_event
        ;;
    single-*)
        board_start "$1" "${1#single-}" 2
        test_single_pmu
        test_footprint
        test_impostor
        ;;
    footprint)
        board_start "$1" 6.1 8 cortex-a55 cortex-a76
        test_footprint
        ;;
    *) die "there is no board $1" ;;
    esac
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
