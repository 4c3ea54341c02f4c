#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the clean system for armhf.sh: builds the unit tests in /build/armhf without a warning, and runs them by
# /build/qemu-arm-static. The last line is "N passed, N failed, N skipped".
#
# usage: armhf-inside.sh
set -u

host=arm-linux-gnueabihf
export LC_ALL=C.UTF-8
names=()

# TEST|REASON: what qemu does not do for a process that it emulates (linux-user/syscall.c).
not_here() {
    cat <<'END'
END
}

reason_of() {
    not_here | sed -n "s/^$1|//p"
}

build() {
    (cd /build/source && autoreconf -i) && mkdir -p /build/armhf && cd /build/armhf &&
        PKG_CONFIG=$host-pkg-config /build/source/configure --host=$host CFLAGS=-O0 --enable-werror &&
        make -j"$(nproc)" "${names[@]/#/tests/unit/}"
}

# try_one TEST: exits with the test's status, and keeps its output.
try_one() {
    timeout 120 /build/qemu-arm-static "tests/unit/$1" >"$1.log" 2>&1 </dev/null
}

for source in /build/source/tests/unit/test-*.c; do
    source=${source##*/}
    names+=("${source%.c}")
done
build >/build/build.log 2>&1 || { tail -n 30 /build/build.log && exit 1; }
cd /build/armhf || exit
passed=0 failed=0 skipped=0
declare -A running=()
for name in "${names[@]}"; do
    [ -z "$(reason_of "$name")" ] || continue
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
        sleep 0.02
    done
    try_one "$name" &
    running[$name]=$!
done
for name in "${names[@]}"; do
    if [ -z "${running[$name]-}" ]; then
        skipped=$((skipped + 1)) && echo "skipped: $name: $(reason_of "$name")"
    elif wait "${running[$name]}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $name"
        grep -v -e '^\[ RUN' -e '^\[       OK' "$name.log" | tail -n 20
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
