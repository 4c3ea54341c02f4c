#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the clean system for run.sh: builds /build/source by each compiler of that system without a warning, with its
# tests by gcc, and runs all unit tests and the end-to-end smoke.
#
# usage: inside.sh CFLAGS
set -u -o pipefail

version_of() {
    dpkg-query -W -f '${Version}' "$1" | sed 's/^[0-9]*://; s/-[^-]*$//'
}

printf 'gcc %s, clang %s, glibc %s, systemd %s, libmicrohttpd %s, cmocka %s, headers of Linux %s\n' \
    "$(gcc -dumpfullversion)" "$(clang -dumpversion)" "$(version_of libc6)" "$(version_of libsystemd-dev)" \
    "$(version_of libmicrohttpd-dev)" "$(version_of libcmocka-dev)" "$(version_of linux-libc-dev)"
(cd /build/source && autoreconf -i >/build/autoreconf.log 2>&1) || { cat /build/autoreconf.log && exit 1; }
failed=0
echo "-- gcc"
/build/source/tests/quick.sh /build/gcc CC=gcc "CFLAGS=$1" | grep -v "^passed " || failed=1
echo "-- clang"
/build/source/tests/quick.sh --no-tests /build/clang CC=clang CFLAGS=-O0 | grep -v "^passed " || failed=1
exit $failed
