#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the page. Usage: run.sh [FILE...]; without files, it runs all of them. Tests in unit/ need only
# node; the others also need a real browser and the daemon, whose path is in PERFCOUNTD: see browser.mjs.
#
# PAGE_BOARD: the URL of a board's daemon, for board.test.mjs. Exit status: 0 if all tests passed, 1 if not, 77 if the
# tests were skipped. For each skipped test, run.sh prints a line "SKIP: reason".
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
# Numbers are formatted for the user's locale: numbers.test.mjs tests three locales, the other unit tests expect
# English. Browser tests use the locale of this machine.
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
    # node becomes the first process of a PID namespace: when it is killed, the kernel kills all others. Killing the
    # process group of node would not be enough, since browsers run in their own sessions.
    apart=(unshare --pid --fork --kill-child --mount-proc)
    signal=KILL
    # A private network namespace avoids conflicts over addresses and ports. The board of PAGE_BOARD is only reachable
    # over the real network.
    # shellcheck disable=SC2016 # expanded by the inner shell
    [ -n "${PAGE_BOARD-}" ] ||
        apart+=(--net sh -c 'ip link set lo up && PERFCOUNTD_OWN_LOOPBACK=yes exec "$@"' sh)
fi
# The results are in TAP format. The reasons of skipped tests become lines "SKIP: reason", which tests/run.py reads.
exec {results}> >(sed -E 's/^ *ok [0-9]+ - .* # SKIP (.+)$/&\nSKIP: \1/')
filter=$!
# node runs in the background, because bash runs traps only while it waits.
"${apart[@]}" node --test --test-reporter=tap "$@" >&"$results" {results}>&- &
tests=$!
exec {results}>&-
trap 'kill -$signal $tests 2>/dev/null; wait $tests; exit 143' INT TERM
wait $tests
status=$?
wait $filter
exit $status
