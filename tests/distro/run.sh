#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# For each Debian release in use on boards, builds perfcountd in a clean system without a warning, and runs its unit
# tests and tests/e2e/smoke.sh.
#
# usage: run.sh [--packages | --others] [SUITE...]
#
# --packages: builds with optimization, and also with clang; tests the Debian package in a container with systemd, and
# `./quickstart run` in a fresh system. --others: skips this machine's suite, which other steps of tests/run.py test.
# SUITE is bullseye, bookworm or trixie (default: all). DISTRO_BUILD (default: build/distro) is the directory for the
# builds and the logs. Needs root to create the systems. Two suites run at a time.
set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin
DISTRO_BUILD=${DISTRO_BUILD:-$root/build/distro}
# shellcheck source=../tree-lib.sh
. "$root/tests/tree-lib.sh"

# compile SUITE: runs inside.sh in a clean system.
compile() {
    local tree directory=$DISTRO_BUILD/$1 flags=(-O0)
    [ $packages = no ] || flags=('-O2 -g' --clang)
    tree=$("$root/tests/tree.sh" compile "$1") || return
    rm -rf "$directory"
    copy_sources "$directory/source"
    clean_system "$tree" "$directory" 0:0 /build/source/tests/distro/inside.sh "${flags[@]}"
}

# package SUITE: builds the suite's package, and tests it in a container that runs that suite.
package() {
    echo "-- package"
    SUITE=$1 PERFCOUNTD=$DISTRO_BUILD/$1/gcc/perfcountd PACKAGE_BUILD=$DISTRO_BUILD/$1-package \
        "$root/tests/package/run.sh" --install-only
}

# fresh SUITE: runs `./quickstart run` in a system where only git is installed.
fresh() {
    local tree directory=$DISTRO_BUILD/$1-fresh
    echo "-- quickstart run"
    tree=$("$root/tests/tree.sh" bare "$1") || return
    rm -rf "$directory"
    copy_sources "$directory/source"
    network=here clean_system "$tree" "$directory" 0:0 /build/source/tests/distro/quickstart.sh
}

# suite SUITE: runs all tests of the suite, and writes their output to its log.
suite() {
    local begin=$SECONDS status=0
    exec >"$DISTRO_BUILD/$1.log" 2>&1
    compile "$1" || status=1
    if [ $packages = yes ]; then
        package "$1" || status=1
        fresh "$1" || status=1
    fi
    echo "$((SECONDS - begin)) s"
    return $status
}

packages=no others=no
case ${1-} in
--packages) packages=yes && shift ;;
--others) others=yes && shift ;;
esac
suites=("$@")
[ $# -gt 0 ] || suites=(bullseye trixie bookworm)
git -C "$root" rev-parse >/dev/null 2>&1 || skip "a git repository"
[ "$(id -u)" -eq 0 ] || skip "root, to create other systems"
here_suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
if [ $others = yes ] && [[ " ${suites[*]} " == *" $here_suite "* ]]; then
    echo "== Debian $here_suite is this machine's"
    mapfile -t suites < <(printf '%s\n' "${suites[@]}" | grep -vxF "$here_suite")
fi
mkdir -p "$DISTRO_BUILD" || die "cannot write to $DISTRO_BUILD"
failed=()
declare -A lane=()
for name in "${suites[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
        sleep 0.2
    done
    suite "$name" &
    lane[$name]=$!
done
for name in "${suites[@]}"; do
    wait "${lane[$name]}" || failed+=("$name")
    echo "== Debian $name"
    cat "$DISTRO_BUILD/$name.log"
done
[ ${#failed[@]} -eq 0 ] || die "failed on ${failed[*]}"
