# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts of the emulated board share: where things are, and how a failure is said.
#
# VM_CACHE keeps what was fetched (kernels, libraries), keyed by version; VM_BUILD is where the cross build goes.

set -u
export LC_ALL=C

vm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$vm_dir/../.." && pwd)
# shellcheck source=../checks.sh
. "$root/tests/checks.sh"
VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/perfcountd-vm}
VM_BUILD=${VM_BUILD:-$root/build/arm64}
export VM_CACHE VM_BUILD
PATH=$PATH:/usr/sbin:/sbin:$root/build/tools/usr/bin

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
