#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Between scrapes neither the daemon nor its opener makes a system call, also with a connection open. A system call
# takes a thread that runs, so it is enough that none does. The collector of cgroups is off, since it wakes for cgroups
# that other programs make, and so is the history, which wakes once in its interval.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl pgrep

start_daemon --config.file="$light"
wait_for_answer /metrics
holds "a scrape is answered" grep -q -m 1 '^process_cpu_seconds_total' <&"$waiting"
holds "all threads sleep" eventually 60 all_threads_sleep
# next_timer: seconds until the first of the daemon's timers fires; the connection has one.
next_timer() {
    sed -n 's/^it_value: (\([1-9][0-9]*\),.*/\1/p' "/proc/$daemon_pid/fdinfo/"* | sort -n | head -n 1
}
compares "no timer fires within a minute: seconds" "$(next_timer) > 60"
# Kernel messages of other tests' mounts and devices may wake it.
holds "no thread runs between scrapes" eventually 60 sleeps_through sleep 5
holds "a scrape is a run" not sleeps_through status_of /metrics
stop_daemon
finish
