#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A flood of wrong passwords, at the cost that the exporters' manual recommends: a right one is served meanwhile.
. "$(dirname "$0")/lib.sh"
need curl /usr/bin/python3
. "$here/flood-lib.sh"

write_web_config
start_daemon --web.config.file="$scratch/web.yml"
pid=$daemon_pid
host=${url#http://}
/usr/bin/python3 "$here/flood.py" "${host%:*}" "${host##*:}" 64 5 1.5 "$pid" >"$scratch/figures" 2>&1 ||
    fail "flood.py" "$(cat "$scratch/figures")"
sed 's/^/    /' "$scratch/figures"
compares "wrong ones are checked and refused" "$(figure wrong_401) > 0"
compares "those that do not fit are asked to come again" "$(figure wrong_503) > $(figure wrong_401)"
equals "no wrong one had another answer" "$(figure wrong_other)" 0
equals "no right one was refused" "$(figure right_refused)" 0
if [ -z "${SANITIZED-}" ]; then
    compares "scrapes stay under twice their latency in the flood" "$(figure ratio_of_medians) < 2"
    compares "memory is flat, kB" "$(figure memory_peak_kB) - $(figure memory_before_kB) < 3000"
fi
lacks "no password is in the log" '127[.]0[.]1[.][0-9]+-[0-9]|secret' "$daemon_log"
stop_daemon
equals "it ends well" "$daemon_status" 0
finish
