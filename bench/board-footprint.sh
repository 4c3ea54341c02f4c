# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Measures the memory of the daemon's processes on a board with the built-in configuration, and the time to the first
# scrape. Also measures vmagent from Debian's victoria-metrics package, which pushes from boards behind NAT. Source this
# file after board.sh.

footprint_limit=1900 # KiB of anonymous memory

# Runs on the board: prints a line for each process with its name and its resident and anonymous KiB.
# shellcheck disable=SC2016 # the shell of the board expands the variables
footprint_memory='pid=$(cat /tmp/daemon.pid)
    for i in 1 2 3 4 5 6 7 8 9 10; do
        wget -q -O /dev/null http://127.0.0.1:10298/metrics
        wget -q -O /dev/null http://127.0.0.1:10298/api/v1/counters
    done
    for process in $pid $(cat /proc/$pid/task/$pid/children); do
        awk -v name="$(cat /proc/$process/comm)" '\''$1 == "Rss:" { rss = $2 } $1 == "Pss_Anon:" { anonymous = $2 }
            END { print name, rss, anonymous }'\'' /proc/$process/smaps_rollup
    done'

# Runs on the board: prints the uptime, in seconds, before the daemon starts and after the first scrape. The emulated
# board's clock counts instructions.
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
        awk '{ printf "    start to first scrape %d ms, by the board clock\n", ($2 - $1) * 1000 }'
    compares "anonymous memory is at most $footprint_limit KiB" \
        "$(awk '{ sum += $3 } END { print sum + 0 }' <<<"$processes") > 0 && $(
            awk '{ sum += $3 } END { print sum + 0 }' <<<"$processes") <= $footprint_limit"
}

# pack_vmagent: creates an archive for the board with vmagent, the libraries that the board lacks, and a scrape
# configuration. Its remote write URL cannot be reached, so vmagent also queues samples.
# shellcheck disable=SC2034,SC2154 # board.sh uses or sets these variables
pack_vmagent() {
    local agent=$VM_CACHE/vmagent files=$scratch/vmagent
    if [ ! -e "$agent/usr/bin/vmagent" ]; then
        mkdir -p "$agent"
        (cd "$agent" && APT_CONFIG=$VM_CACHE/apt/apt.conf quietly "could not download victoria-metrics" \
            apt-get -q download victoria-metrics && dpkg-deb -x victoria-metrics_*.deb . && rm victoria-metrics_*.deb) || exit
    fi
    mkdir -p "$files"/{bin,lib,etc}
    cp "$agent/usr/bin/vmagent" "$files/bin/"
    cp -L "$VM_CACHE/sysroot/usr/lib/aarch64-linux-gnu/libzstd.so.1" "$files/lib/"
    sed 's/scrape_interval: 15s/scrape_interval: 5s/' "$root/contrib/fleet/push.yml" >"$files/etc/push.yml"
    sed -n 's/^Environment=//p' "$root/contrib/fleet/perfcountd-push.service" | xargs -n 1 |
        sed 's|%H|board|; s|/etc/perfcountd/|/etc/|; s|/var/lib/|/tmp/|' >"$files/etc/push.env"
    (cd "$files" && find . -mindepth 1 | cpio --quiet -o -H newc -R 0:0) | gzip -1 >"$scratch/vmagent.gz"
    overlay=$scratch/vmagent.gz
}

# Runs on the board: runs vmagent for two minutes, then prints its resident and anonymous KiB and the number of scrapes.
# shellcheck disable=SC2016
footprint_vmagent='env $(cat /etc/push.env) remoteWrite_url=http://127.0.0.1:9/ vmagent -envflag.enable >/tmp/vmagent.log 2>&1 &
    pid=$!
    sleep 120
    awk '\''$1 == "Rss:" { rss = $2 } $1 == "Pss_Anon:" { anonymous = $2 } END { print rss, anonymous }'\'' \
        /proc/$pid/smaps_rollup
    wget -q -O - http://127.0.0.1:8429/metrics | awk '\''/^vm_promscrape_scrapes_total/ { n += $2 } END { print n + 0 }'\''
    kill $pid'

test_vmagent() {
    local measured
    daemon_start </dev/null
    measured=$(VM_RUN_TIMEOUT=1800 vm_run "$footprint_vmagent" | xargs)
    daemon_stop
    awk '{ printf "    %-14s %6d KiB resident, %5d KiB anonymous, after %d scrapes\n", "vmagent", $1, $2, $3 }' <<<"$measured"
    compares "vmagent has scraped the daemon" "${measured##* } > 10"
}
