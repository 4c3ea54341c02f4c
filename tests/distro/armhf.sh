#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests a 32-bit build: cross-builds the daemon and the unit tests for armhf in a clean system; a compiler warning is an
# error. The tests run with qemu-user, which emulates one process on this machine's kernel.
#
# DISTRO_BUILD (default: build/distro) is the directory for the build and the logs; its armhf/system has the daemon and
# the libraries it needs, for the boards armhf-6.1 and armhf-5.10 of tests/vm/run.sh. Needs root to create the clean
# system.
set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin
DISTRO_BUILD=${DISTRO_BUILD:-$root/build/distro}
directory=$DISTRO_BUILD/armhf
log=$DISTRO_BUILD/armhf.log
# shellcheck disable=SC2034 # install_tools
tools=qemu-arm-static:qemu-user-static
# shellcheck source=../tree-lib.sh
. "$root/tests/tree-lib.sh"

git -C "$root" rev-parse >/dev/null 2>&1 || skip "a git repository"
[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || skip "compilers from amd64 to armhf"
[ "$(id -u)" -eq 0 ] || skip "root, to create other systems"
mkdir -p "$DISTRO_BUILD" || die "cannot write to $DISTRO_BUILD"
install_tools
tree=$("$root/tests/tree.sh" package bookworm armhf) || exit 1
rm -rf "$directory"
copy_sources "$directory/source"
cp "$(command -v qemu-arm-static)" "$directory/"
clean_system "$tree" "$directory" 0:0 /build/source/tests/distro/armhf-inside.sh
