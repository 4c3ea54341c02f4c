#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds without a warning, runs all unit tests, and the end-to-end smoke with that build, in a few minutes.
#
# usage: [BEGIN=SECONDS] quick.sh [--build-only] DIRECTORY [CONFIGURE-ARGUMENTS...]
#
# configure must have been made. DIRECTORY is where to build; what an earlier run built there stays. The last line is
# "N passed, N failed", with ", N skipped" where some were; above it the seconds since BEGIN (of date +%s) or since this
# was started, and before them each test that failed or was skipped, and why.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
tests=yes
[ "$1" != --build-only ] || { tests=no && shift; }
directory=$1
shift
mkdir -p "$directory" && cd "$directory" || exit
directory=$PWD
begin=${BEGIN:-$(date +%s)}
jobs=$(getconf _NPROCESSORS_ONLN)
passed=0 failed=0 skipped=0

# result passed|failed|skipped NAME LOG
result() {
    printf -v "$1" %d $((${!1} + 1))
    case $1 in
    failed) echo "failed: $2" && { grep -A 4 -E '^NOT OK|(error|warning):' "$3" || tail -n 30 "$3"; } | head -n 30 ;;
    skipped) echo "skipped: $2: $(tail -n 1 "$3" | sed 's/^skipped: //')" ;;
    esac
}

finish() {
    echo "$(($(date +%s) - begin)) s"
    echo "$passed passed, $failed failed$([ $skipped -eq 0 ] || echo ", $skipped skipped")"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
    exit
}

# build ARGUMENTS...: configures only where the arguments have changed.
build() {
    if [ ! -e Makefile ] || [ "$(cat arguments 2>/dev/null)" != "$*" ]; then
        "$root/configure" --enable-werror "$@" || return
        echo "$*" >arguments
    fi
    make -j"$jobs" all && make -j"$jobs" check TESTS=
}

# The unit tests; automake leaves a .trs file for each.
unit_tests() {
    local trs name
    find . -name '*.trs' -delete
    make -k -j"$jobs" check >unit.log 2>&1 </dev/null
    [ -n "$(find . -name '*.trs' -print -quit)" ] || result failed "unit tests: none was run" unit.log
    while read -r trs; do
        name=${trs%.trs}
        case $(sed -n 's/^:global-test-result: //p' "$trs") in
        PASS | XFAIL) result passed "$name" ;;
        SKIP) result skipped "$name" "$name.log" ;;
        *) result failed "$name" "$name.log" ;;
        esac
    done < <(find . -name '*.trs' -printf '%P\n' | sort)
}

smoke() {
    local status=0
    PERFCOUNTD=$directory/perfcountd "$root/tests/e2e/smoke.sh" >smoke.log 2>&1 </dev/null || status=$?
    case $status in
    0) result passed e2e/smoke.sh ;;
    77) result skipped e2e/smoke.sh smoke.log ;;
    *) result failed e2e/smoke.sh smoke.log ;;
    esac
}

if ! build "$@" >build.log 2>&1 </dev/null; then
    result failed "the build" build.log
    finish
fi
result passed "the build"
if [ $tests = yes ]; then
    unit_tests
    smoke
fi
finish
