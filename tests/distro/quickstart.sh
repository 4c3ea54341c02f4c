#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in a fresh system for run.sh: checks that `./quickstart run` in /build/source installs what it needs, builds, and
# serves.
#
# usage: quickstart.sh
set -u

source=/build/source
log=/build/quickstart-run.log
begin=$SECONDS

listening_or_ended() {
    url=$(sed -n 's|.*listening on \(http://127[^ "]*\)/.*|\1|p' "$log" | head -n 1)
    [ -n "$url" ] || ! kill -0 "$quickstart" 2>/dev/null
}

"$source/quickstart" run --web.listen-address=127.0.0.1:0 >"$log" 2>&1 </dev/null &
quickstart=$!
until listening_or_ended || [ $((SECONDS - begin)) -gt 900 ]; do
    sleep 0.5
done
if [ -z "$url" ] || ! curl -sSf "$url/metrics" | grep '^perfcountd_build_info{'; then
    tail -n 30 "$log"
    echo "./quickstart run does not serve"
    exit 1
fi
echo "./quickstart run serves after $((SECONDS - begin)) s"
kill -TERM $quickstart
wait $quickstart
