#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the live page. Usage: run.sh [FILE...]; without files, all of them. Those of unit/ need node alone, the
# others a daemon, named by PERFCOUNTD, and a real browser: see browser.mjs.
#
# PAGE_BOARD: the URL of a board's daemon, for board.test.mjs. Exit status: 0 if all tests passed, 1 if not, 77 if they
# were skipped. A test that is skipped is a line "SKIP: reason".
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=../checks.sh
. "$root/tests/checks.sh"

skip() {
    echo "skipped: $*"
    exit 77
}

[ $# -gt 0 ] || set -- "$here"/unit/*.test.mjs "$here"/*.test.mjs
browsers=no
for file; do
    [[ $file == */unit/* ]] || browsers=yes
done
[ $browsers = no ] || find_daemon
export PERFCOUNTD
command -v node >/dev/null || skip "Node.js"
[ "$(node --version | tr -dc '0-9.' | cut -d. -f1)" -ge 18 ] || skip "Node.js 18 or newer"
# The model writes numbers as the reader's language does: numbers.test.mjs has three, the others have English. A browser
# has the language of this machine.
[ $browsers = yes ] || export LC_ALL=en_US.UTF-8
if [ $browsers = yes ]; then
    "$here/install.sh" >&2 || skip "the npm packages of tests/page"
fi
PATH=$PATH:/usr/sbin:/sbin:$root/build/tools/usr/bin:$root/build/tools/usr/sbin
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/perfcountd-page.XXXXXX")
export TMPDIR
trap 'eventually 60 rm -rf "$TMPDIR"' EXIT
apart=()
signal=TERM
if [ $browsers = yes ] && [ "$(id -u)" -eq 0 ]; then
    # When node, the first process of a PID namespace, is killed, the kernel kills the others: browsers are in sessions
    # of their own.
    apart=(unshare --pid --fork --kill-child --mount-proc)
    signal=KILL
    # A network of its own, whose addresses and ports are nobody else's. A board is on the machine's.
    # shellcheck disable=SC2016 # that shell's
    [ -n "${PAGE_BOARD-}" ] ||
        apart+=(--net sh -c 'ip link set lo up && PERFCOUNTD_OWN_LOOPBACK=yes exec "$@"' sh)
fi
# Results as lines of TAP. Reasons of skipped tests become the lines that tests/run.py reads.
exec {results}> >(sed -E 's/^ *ok [0-9]+ - .* # SKIP (.+)$/&\nSKIP: \1/')
filter=$!
# In the background: bash runs a trap only while it waits.
"${apart[@]}" node --test --test-reporter=tap "$@" >&"$results" {results}>&- &
tests=$!
exec {results}>&-
trap 'kill -$signal $tests 2>/dev/null; wait $tests; exit 143' INT TERM
wait $tests
status=$?
wait $filter
exit $status
