#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the live page. Usage: run.sh [FILE...]; without files, all of them. Those of unit/ need node alone, the
# others a daemon, named by PERFCOUNTD, and a real browser. See browser.mjs.
#
# Exit status: 0 if all tests passed, 1 if not, 77 if they were skipped. A test that is skipped is a line
# "SKIP: reason".

# A network of its own, whose addresses and ports are nobody else's. A board is on the machine's.
if [ -z "${PERFCOUNTD_OWN_LOOPBACK-}${PAGE_URL-}${PAGE_BOARD-}" ] && [ "$(id -u)" -eq 0 ]; then
    PERFCOUNTD_OWN_LOOPBACK=yes exec unshare --net "$0" "$@"
fi
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ -z "${PERFCOUNTD_OWN_LOOPBACK-}" ] || ip link set lo up
for candidate in "${PERFCOUNTD-}" "$root"/build/{plain/,run/,}perfcountd; do
    [ -n "$candidate" ] && [ -x "$candidate" ] && break
done
PERFCOUNTD=$(realpath "$candidate")
export PERFCOUNTD
PATH=$PATH:/usr/sbin:/sbin:$root/build/tools/usr/bin:$root/build/tools/usr/sbin

skip() {
    echo "skipped: $*"
    exit 77
}

if [ $# -gt 0 ]; then
    files=("$@")
else
    files=("$here"/unit/*.test.mjs "$here"/*.test.mjs)
fi
command -v node >/dev/null || skip "there is no node here; ./quickstart test installs it on Debian"
# Results as lines of TAP. Reasons of skipped tests become the lines that run-all.sh counts.
node --test --test-reporter=tap "${files[@]}" |
    sed -E 's/^( *)(not ok .*)$/\1\2/; s/^ *ok [0-9]+ - .* # SKIP (.+)$/&\nSKIP: \1/'
exit "${PIPESTATUS[0]}"
