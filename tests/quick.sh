#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds without a warning, runs all unit tests, and the end-to-end smoke with that build, in a few minutes.
#
# usage: [BEGIN=SECONDS] quick.sh [--no-tests] DIRECTORY [CONFIGURE-ARGUMENTS...]
#
# --no-tests: only the product is built. configure must have been made. DIRECTORY is where to build; what an earlier run
# built there stays. The last line is "N passed, N failed, N flaky, N skipped"; above it the seconds since BEGIN (of
# date +%s) or since this was started, and before them each test that failed or was skipped, and why.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
tests=yes
[ "$1" != --no-tests ] || { tests=no && shift; }
directory=$1
shift
mkdir -p "$directory/test" && cd "$directory" || exit
directory=$PWD
logs=$directory/test
jobs=$(getconf _NPROCESSORS_ONLN)
# shellcheck source=steps.sh
. "$root/tests/steps.sh"
steps_begin=$((SECONDS - $(date +%s) + ${BEGIN:-$(date +%s)}))

# built ARGUMENTS...: configures only where the arguments have changed.
built() {
    if [ ! -e Makefile ] || [ "$(cat arguments 2>/dev/null)" != "$*" ]; then
        "$root/configure" --enable-werror "$@" || return
        echo "$*" >arguments
    fi
    make -j"$jobs" all || return
    [ $tests = no ] || make -j"$jobs" check TESTS=
}

if check "the build" built "$@" && [ $tests = yes ]; then
    unit_tests .
    check "e2e smoke" env PERFCOUNTD="$directory/perfcountd" "$root/tests/e2e/smoke.sh"
fi
summary
