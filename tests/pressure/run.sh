#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each test of pressure: those that mostly wait beside each other, then those that take the CPUs or all cgroups,
# alone. The arguments go to each of them: --long plays for longer. The figures of all are printed; exit status 1
# where one failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
logs=$(mktemp -d "${TMPDIR:-/tmp}/perfcountd-pressure.XXXXXX")
trap 'rm -rf "$logs"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 143' INT TERM

# play SCRIPT ARGUMENTS...: leaves its status and output in $logs.
play() {
    local begin=$SECONDS
    "$here/$1" "${@:2}" >"$logs/$1.out" 2>&1 </dev/null
    echo "$?" >"$logs/$1.status"
    echo "$((SECONDS - begin))" >"$logs/$1.seconds"
}

# conclude SCRIPT: what it found. Fails where it failed.
conclude() {
    local status
    status=$(cat "$logs/$1.status")
    echo "== $1: $(cat "$logs/$1.seconds") s"
    case $status in
    77) echo "SKIP: $1: $(tail -n 1 "$logs/$1.out" | sed 's/^skipped: //')" ;;
    *) grep -vE '^ok: ' "$logs/$1.out" ;;
    esac
    grep -E '^ok: .*(the slowest of them|seconds until)' "$logs/$1.out"
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ]
}

play stopped.sh "$@" &
stopped=$!
waiting=()
for script in descriptors.sh slow-clients.sh disk.sh; do
    play $script "$@" &
    waiting+=($!)
done
wait "${waiting[@]}"
for script in cpu.sh memory.sh; do
    play $script "$@"
done
wait $stopped
for script in kernel-limits.sh cgroups.sh; do
    play $script "$@"
done
failed=0
for script in descriptors.sh slow-clients.sh disk.sh stopped.sh cpu.sh kernel-limits.sh memory.sh cgroups.sh; do
    conclude $script || failed=$((failed + 1))
done
echo "$failed of 8 scripts failed"
[ $failed -eq 0 ]
