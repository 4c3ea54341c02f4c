#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Between scrapes neither the daemon nor its opener makes a system call, even with an open connection. A thread must run
# to make one, so the test checks that none runs. The cgroup collector is off, since it wakes for cgroups that other
# programs create, and so is the history, which wakes once per interval.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl pgrep

start_daemon --config.file="$light"
wait_for_answer /metrics
holds "a scrape is answered" grep -q -m 1 '^process_cpu_seconds_total' <&"$waiting"
holds "all threads sleep" eventually 60 all_threads_sleep
# next_timer: prints the seconds until the first of the daemon's timers expires; the connection has one.
next_timer() {
    sed -n 's/^it_value: (\([1-9][0-9]*\),.*/\1/p' "/proc/$daemon_pid/fdinfo/"* | sort -n | head -n 1
}
compares "no timer expires within a minute" "$(next_timer) > 60"
# Kernel messages about other tests' mounts and devices may wake the daemon.
holds "no thread runs between scrapes" eventually 60 sleeps_through sleep 5
holds "a thread runs during a scrape" not sleeps_through status_of /metrics
stop_daemon
finish
