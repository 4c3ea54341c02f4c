# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sets directories for the scripts of the emulated boards.
#
# VM_CACHE has what was fetched (kernels, libraries), by version; VM_BUILD has the cross build; ARMHF_SYSTEM has the
# 32-bit daemon and its libraries, which tests/distro/armhf.sh puts there.

set -u
export LC_ALL=C

vm_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$vm_dir/../.." && pwd)
# shellcheck source=../checks.sh
. "$root/tests/checks.sh"
# shellcheck source=../tree-lib.sh
. "$root/tests/tree-lib.sh"
VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-${HOME:-$root/build}/.cache}/perfcountd-vm}
VM_BUILD=${VM_BUILD:-$root/build/arm64}
ARMHF_SYSTEM=${ARMHF_SYSTEM:-$root/build/distro/armhf/system}
export VM_CACHE VM_BUILD ARMHF_SYSTEM
# shellcheck disable=SC2034 # for tree-lib.sh
log=$VM_BUILD/vm.log
PATH=$PATH:/usr/sbin:/sbin:$root/build/tools/usr/bin

say() {
    printf '%s\n' "$*"
}
