#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the clean system for run.sh: builds /build/source and its tests without a warning, and runs all unit tests,
# tests/e2e/smoke.sh, and tests/e2e/cgroup.sh with the BPF engine, unless libbpf is too old for this kernel. With
# --clang, perfcountd is also built with clang.
#
# usage: inside.sh CFLAGS [--clang]
set -u -o pipefail

version_of() {
    dpkg-query -W -f '${Version}' "$1" | sed 's/^[0-9]*://; s/-[^-]*$//'
}

printf 'gcc %s, clang %s, glibc %s, systemd %s, libmicrohttpd %s, cmocka %s, headers of Linux %s\n' \
    "$(gcc -dumpfullversion)" "$(clang -dumpversion)" "$(version_of libc6)" "$(version_of libsystemd-dev)" \
    "$(version_of libmicrohttpd-dev)" "$(version_of libcmocka-dev)" "$(version_of linux-libc-dev)"
(cd /build/source && autoreconf -i >/build/autoreconf.log 2>&1) || { cat /build/autoreconf.log && exit 1; }

# build DIRECTORY CONFIGURE-ARGUMENTS...: builds perfcountd and, if `programs` is set, all test programs.
build() {
    mkdir -p "$1" && cd "$1" || return
    { /build/source/configure --enable-werror "${@:2}" && make -j"$(nproc)" all &&
        { [ -z "${programs-}" ] || make -j"$(nproc)" check TESTS=; }; } >build.log 2>&1 </dev/null && return
    grep -m 8 -A 8 -E '(error|warning):' build.log || tail -n 30 build.log
    echo "failed: build in $1"
    return 1
}

# unit TEST: runs a unit test, and prints what it skipped and what failed.
unit() {
    local status=0
    srcdir=/build/source timeout --kill-after=5 120 "tests/unit/$1" >"$1.log" 2>&1 </dev/null || status=$?
    sed -n 's/^ *SKIP: \([a-z0-9_]*: \)\?/SKIP: /p' "$1.log"
    [ "$status" -ne 0 ] && [ "$status" -ne 77 ] || return 0
    echo "failed: tests/unit/$1, exit status $status"
    grep -v -e '^\[ RUN' -e '^\[       OK' "$1.log" | tail -n 20
    return 1
}
export -f unit

# script NAME: runs a script in tests/e2e.
script() {
    local status=0
    PERFCOUNTD=/build/gcc/perfcountd "/build/source/tests/e2e/$1.sh" >"/build/gcc/$1.log" || status=$?
    grep -v '^ok: ' "/build/gcc/$1.log"
    [ $status -eq 0 ] || [ $status -eq 77 ]
}

echo "-- gcc"
failed=0
if programs=yes build /build/gcc CC=gcc "CFLAGS=$1"; then
    cd /build/source/tests/unit && printf '%s\n' test-*.c | sed 's/\.c$//' >/build/gcc/names
    cd /build/gcc && xargs -P "$(nproc)" -I{} bash -c 'unit {}' <names || failed=1
    echo "$(wc -l <names) unit tests"
    script smoke || failed=1
    ENGINE=bpf script cgroup || failed=1
else
    failed=1
fi
if [ "${2-}" = --clang ]; then
    echo "-- clang"
    build /build/clang CC=clang CFLAGS=-O0 || failed=1
fi
exit $failed
