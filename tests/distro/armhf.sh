#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The unit tests on 32 bits: cross-built for armhf in a clean system, and run by qemu, which emulates one process.
#
# usage: armhf.sh
#
# DISTRO_BUILD, build/distro where it is not set, keeps the build and the logs. Needs root, for the system.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin
DISTRO_BUILD=${DISTRO_BUILD:-$root/build/distro}
directory=$DISTRO_BUILD/armhf
log=$DISTRO_BUILD/armhf.log
tools=qemu-arm-static:qemu-user-static
# shellcheck source=../tree-lib.sh
. "$root/tests/tree-lib.sh"

skip() {
    echo "skipped: $*"
    exit 77
}

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || skip "only amd64's compilers for armhf are used here"
[ "$(id -u)" -eq 0 ] || skip "only root makes systems of other suites"
mkdir -p "$DISTRO_BUILD" || die "cannot write to $DISTRO_BUILD"
install_tools
# The tree that tests/package has, too.
tree=$("$root/tests/tree.sh" package bookworm arm64 armhf) || exit 1
rm -rf "$directory"
copy_sources "$directory/source"
cp "$(command -v qemu-arm-static)" "$directory/"
clean_system "$tree" "$directory" 0:0 /build/source/tests/distro/armhf-inside.sh
