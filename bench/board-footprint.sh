# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The memory that the daemon takes on a board with the built-in configuration, both processes together, and how long it
# takes to its first scrape.
# Sourced after board.sh.

footprint_limit=1900 # KiB of anonymous memory

# The board runs this: a line for each process with its name, resident and anonymous KiB.
# shellcheck disable=SC2016 # the board's
footprint_memory='pid=$(cat /tmp/daemon.pid)
    for i in 1 2 3 4 5 6 7 8 9 10; do
        wget -q -O /dev/null http://127.0.0.1:10298/metrics
        wget -q -O /dev/null http://127.0.0.1:10298/api/v1/counters
    done
    for process in $pid $(cat /proc/$pid/task/$pid/children); do
        awk -v name="$(cat /proc/$process/comm)" '\''$1 == "Rss:" { rss = $2 } $1 == "Pss_Anon:" { anonymous = $2 }
            END { print name, rss, anonymous }'\'' /proc/$process/smaps_rollup
    done'

# The same way, with the seconds from the start to the end of the first scrape. The clock of a board is of instructions.
# shellcheck disable=SC2016
footprint_start='now() { cut -d" " -f1 /proc/uptime; }
    begin=$(now)
    taskset -c 0 perfcountd run --config.file=/etc/perfcountd.yaml >/dev/null 2>&1 &
    pid=$!
    until wget -q -O /dev/null http://127.0.0.1:10298/metrics 2>/dev/null; do :; done
    echo "$begin $(now)"
    kill $pid
    while kill -0 $pid 2>/dev/null; do sleep 0.1; done'

test_footprint() {
    local processes
    daemon_start </dev/null
    processes=$(vm_run "$footprint_memory")
    daemon_stop
    awk '{
            printf "    %-14s %6d KiB resident, %5d KiB anonymous\n", $1, $2, $3
            resident += $2
            anonymous += $3
        }
        END { printf "    %-14s %6d KiB resident, %5d KiB anonymous\n", "in all", resident, anonymous }' <<<"$processes"
    vm_run "$footprint_start" |
        awk '{ printf "    start to first scrape %d ms, by the clock of the board\n", ($2 - $1) * 1000 }'
    compares "anonymous memory is at most $footprint_limit KiB" \
        "$(awk '{ sum += $3 } END { print sum + 0 }' <<<"$processes") > 0 && $(
            awk '{ sum += $3 } END { print sum + 0 }' <<<"$processes") <= $footprint_limit"
}
