# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts of the emulated board share: where things are, how a failure is said, and checks.
#
# VM_CACHE keeps what was fetched (kernels, libraries), keyed by version; VM_BUILD is where the cross build goes.

set -u
export LC_ALL=C

vm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$vm_dir/../.." && pwd)
VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/perfcountd-vm}
VM_BUILD=${VM_BUILD:-$root/build/arm64}
export VM_CACHE VM_BUILD
PATH=$PATH:/usr/sbin:/sbin:$root/build/tools/usr/bin
checks=0
failures=0

say() {
    printf '%s\n' "$*"
}

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# quietly WHAT COMMAND...: its output goes to VM_BUILD/vm.log and is shown only if it fails.
quietly() {
    local what=$1 log=$VM_BUILD/vm.log
    shift
    mkdir -p "$VM_BUILD"
    printf '\n+ %s\n' "$*" >>"$log"
    if ! "$@" >>"$log" 2>&1 </dev/null; then
        tail -n 30 "$log" >&2
        die "$what; all of the output is in $log"
    fi
}

pass() {
    checks=$((checks + 1))
    echo "ok: $1"
}

fail() {
    checks=$((checks + 1))
    failures=$((failures + 1))
    echo "NOT OK: $1"
    [ $# -lt 2 ] || printf '%s\n' "${@:2}" | head -n 20 | cut -c1-500 | sed 's/^/    /'
}

# holds TITLE COMMAND...: the command succeeds. What it prints is shown if it does not.
holds() {
    local title=$1 output
    shift
    if output=$("$@" 2>&1); then
        pass "$title"
    else
        fail "$title" "$* failed" "$output"
    fi
}

# equals TITLE ACTUAL EXPECTED
equals() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        fail "$1" "expected: $3" "got:      $2"
    fi
}

# matches TITLE ACTUAL REGEX
matches() {
    if [[ $2 =~ $3 ]]; then
        pass "$1"
    else
        fail "$1" "expected a match of: $3" "got: $2"
    fi
}

# contains TITLE ACTUAL TEXT
contains() {
    if [[ $2 == *"$3"* ]]; then
        pass "$1"
    else
        fail "$1" "expected in it: $3" "got: $2"
    fi
}

finish() {
    echo "$((checks - failures)) of $checks checks passed"
    [ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
    exit
}

# eventually SECONDS COMMAND...: repeats the command until it succeeds.
eventually() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}
