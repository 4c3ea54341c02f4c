#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the clean system for armhf.sh: builds the daemon and the unit tests for armhf, where a compiler warning is an
# error, and runs each test with /build/qemu-arm-static. The last line is "N passed, N failed, N skipped"; a test that
# skips some of its parts passes. The daemon and the libraries it needs are copied to /build/system, for
# tests/vm/armhf.sh.
set -u

host=arm-linux-gnueabihf
jobs=$(nproc)
begin=$SECONDS
names=() passed=0 failed=0 skipped=0
declare -A running=()

build() {
    (cd /build/source && autoreconf -i) && mkdir -p /build/armhf && cd /build/armhf &&
        PKG_CONFIG=$host-pkg-config /build/source/configure --host=$host CFLAGS=-O0 --enable-werror &&
        make -j"$jobs" perfcountd "${names[@]/#/tests/unit/}"
}

# libpfm4, libdw and libbpf are loaded at run time. The dynamic linker lists the libraries that they and the daemon
# need.
collect() {
    local system=/build/system.new linker=/lib/ld-linux-armhf.so.3 file libraries
    mkdir -p "$system"/{bin,lib/arm-linux-gnueabihf} && cp /build/armhf/perfcountd "$system/bin/" &&
        cp -L $linker "$system/lib/" || return
    libraries=$(for file in libpfm.so.4 libdw.so.1 libbpf.so.1; do
        echo "/usr/lib/arm-linux-gnueabihf/$file"
    done)
    for file in /build/armhf/perfcountd $libraries; do
        [ -e "$file" ] || return
        libraries+=$'\n'$(/build/qemu-arm-static $linker --list "$file" | awk '$2 == "=>" && $3 ~ "^/" { print $3 }') || return
    done
    sort -u <<<"$libraries" | xargs cp -L -t "$system/lib/arm-linux-gnueabihf/" && mv -T "$system" /build/system
}

# run TEST: runs the test, and exits with its exit status.
run() {
    srcdir=/build/source exec timeout --kill-after=5 1800 \
        /build/qemu-arm-static "tests/unit/$1" >"$1.log" 2>&1 </dev/null
}

# judge TEST STATUS: counts the result of a test, and prints its output if it failed.
judge() {
    if [ "$2" -ne 0 ] && [ "$2" -ne 77 ]; then
        failed=$((failed + 1))
        echo "failed: tests/unit/$1, exit status $2"
        grep -v -e '^\[ RUN' -e '^\[       OK' "$1.log" | tail -n 20
        return
    fi
    [ "$2" -eq 77 ] || passed=$((passed + 1))
    skipped=$((skipped + $(grep -c '^ *SKIP: ' "$1.log")))
}

for source in /build/source/tests/unit/test-*.c; do
    source=${source##*/}
    names+=("${source%.c}")
done
{ build && collect; } >/build/build.log 2>&1 </dev/null || { tail -n 30 /build/build.log && exit 1; }
cd /build/armhf || exit
echo "built in $((SECONDS - begin)) s"
for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        sleep 0.02
    done
    run "$name" &
    running[$name]=$!
done
for name in "${names[@]}"; do
    status=0
    wait "${running[$name]}" || status=$?
    judge "$name" $status
done
[ $skipped -eq 0 ] || echo "SKIP: what $skipped parts of the tests need, but qemu-user lacks"
echo "$((SECONDS - begin)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
