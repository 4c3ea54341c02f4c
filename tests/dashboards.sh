#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every query of the dashboards in contrib/grafana on a Prometheus that scrapes a daemon on this machine and one on
# an emulated board with two kinds of core. Then tests the board's page in a browser. With --page, only the page is
# tested. If set, PICTURES is the directory for the README's pictures, and GALLERY the directory for screenshots of each
# view.
#
# PERFCOUNTD is the path of the daemon for this machine. vm/lib.sh describes VM_CACHE and VM_BUILD.

# shellcheck disable=SC2154 # board.sh sets the variables
# shellcheck source=vm/board.sh
. "$(dirname "${BASH_SOURCE[0]}")/vm/board.sh"
scrape_seconds=4     # an emulated board is slow
here_pid=
prometheus_pid=

stop_all() {
    local pid
    for pid in $prometheus_pid $here_pid; do
        kill "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    board_cleanup
}
trap stop_all EXIT

# start_board: starts a board with the default configuration, with services and a container that alternately work and
# sleep.
start_board() {
    board_start dashboards 6.1 4 cortex-a55 cortex-a76
    vm_run 'mkdir -p /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && cd /sys/fs/cgroup &&
        echo +pids >cgroup.subtree_control && mkdir system.slice && echo +pids >system.slice/cgroup.subtree_control &&
        mkdir system.slice/db.service system.slice/load.service system.slice/log.service system.slice/rest.service \
            lxc.payload.web' ||
        board_failed "cannot create cgroups on the board"
    daemon_start <<<"sampler: {enabled: true, allow: everybody}"
    # shellcheck disable=SC2016 # the shell of the board expands the variables
    vm_run 'start() {
            taskset -c "$2" sh -c "echo \$\$ >/sys/fs/cgroup/$1/cgroup.procs; shift; exec spin \$*" x "$@" >/dev/null 2>&1 &
        }
        start system.slice/log.service 0 changing 7200
        start system.slice/db.service 1 changing 7200
        start lxc.payload.web 2 changing 7200
        start system.slice/load.service 3 changing 7200' || board_failed "cannot run the load on the board"
}

# start_here: starts a daemon with the default groups, and, so that the panels about failures have data, an event that
# no machine has and a pattern that matches no cgroup.
start_here() {
    cat >"$scratch/here.yaml" <<'END'
collectors:
  cpu:
    groups:
      - {preset: overview}
      - {name: software, events: "{context-switches,cpu-migrations,minor-faults,major-faults}"}
      - {name: missing, events: "no_such_pmu/event=1/"}
  cgroup: {include: ["/no-such-cgroup/*"]}
END
    "$PERFCOUNTD" run --config.file="$scratch/here.yaml" --web.listen-address="127.0.0.1:$1" \
        >"$scratch/here.log" 2>&1 </dev/null &
    here_pid=$!
    eventually 30 curl -sf "http://127.0.0.1:$1/-/ready" ||
        die "the daemon on this machine does not start: $(cat "$scratch/here.log")"
}

# start_prometheus PORT HERE_PORT: starts Prometheus and waits until it is ready.
start_prometheus() {
    cat >"$scratch/prometheus.yml" <<END
global:
  {scrape_interval: ${scrape_seconds}s, scrape_timeout: ${scrape_seconds}s, evaluation_interval: ${scrape_seconds}s}
rule_files: ["$root/contrib/prometheus/rules.yml"]
scrape_configs:
  - job_name: perfcountd
    static_configs:
      - {targets: ["127.0.0.1:$2"], labels: {instance: here}}
      - {targets: ["${url#http://}"], labels: {instance: board.example.org}}
END
    prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" --log.level=warn \
        --web.listen-address="127.0.0.1:$1" >"$scratch/prometheus.log" 2>&1 </dev/null &
    prometheus_pid=$!
    eventually 30 curl -sf "http://127.0.0.1:$1/-/ready" ||
        die "Prometheus does not start: $(cat "$scratch/prometheus.log")"
}

# good_scrapes URL: succeeds if the last six scrapes of both machines succeeded.
good_scrapes() {
    local good="min_over_time(up[$((6 * scrape_seconds))s]) == 1 and count_over_time(up[$((6 * scrape_seconds))s]) >= 6"
    [ "$(curl -sf --data-urlencode "query=count($good)" "$1/api/v1/query" | jq -r '.data.result[0].value[1]')" = 2 ]
}

for program in prometheus curl jq python3; do
    command -v "$program" >/dev/null || die "$program is missing; ./quickstart test installs it on Debian"
done
[ -x "${PERFCOUNTD-}" ] || die "set PERFCOUNTD to the path of the daemon for this machine"
"$root/tests/vm/fetch.sh" && "$root/tests/vm/build.sh" || exit
start_board
ask_queries() {
    local ports
    read -r -a ports <<<"$(free_ports)"
    start_here "${ports[0]}"
    start_prometheus "${ports[1]}" "${ports[0]}"
    holds "both machines are scraped" eventually 600 good_scrapes "http://127.0.0.1:${ports[1]}"
    holds "each query of each dashboard has data" python3 "$root/tests/contrib/query-dashboards.py" \
        "http://127.0.0.1:${ports[1]}" "$scrape_seconds" board.example.org \
        "$root/tests/contrib/dashboards-absent.tsv" \
        "$root"/contrib/grafana/{fleet,board,containers}.json
    kill "$prometheus_pid"
    wait "$prometheus_pid" 2>/dev/null
    prometheus_pid=
}
[ "${1-}" = --page ] || ask_queries
# recorded: succeeds if the board's history has more than a minute of readings, one every 10 s.
recorded() {
    curl -sf "$url/api/v1/history" | jq -e '[.seconds[] | select(. != null)] | length > 7' >/dev/null
}
holds "the board records its history" eventually 600 recorded
holds "the page shows the board" env PAGE_BOARD="$url" "$root/tests/page/run.sh" "$root/tests/page/board.test.mjs"
finish
