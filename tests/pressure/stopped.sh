#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each process of the daemon is stopped (SIGSTOP) for a while, as a debugger or a frozen cgroup stops one. While it is
# the daemon, scrapes wait, and all that was counted meanwhile is there afterwards. While it is the opener, symboliser
# or name reader, scrapes go on: one of them waits two seconds for the opener, and the others for nothing.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "only root has an opener"
need cc pgrep unshare
# shellcheck source=../e2e/cgroup-lib.sh
. "$here/cgroup-lib.sh"
seconds=$(for_length 7 30)
patience=2500 # ms: opener/client.h, and as much as a busy machine adds
config=$scratch/stopped.yaml
chmod 711 "$scratch"

# write_config [GROUPS]
write_config() {
    cat >"$config" <<END
web: {min_interval: 0s, local_operators: true}
sampler: {enabled: true, allow: local, frequency: 199}
collectors:
  cpu:
    groups:
      - {name: software, events: "{context-switches,cpu-migrations,minor-faults}"}
$1
  cgroup:
    include: ["$below", "$below/**"]
    groups:
      - {name: software, events: "{task-clock,context-switches,minor-faults}"}
END
}

# child_named NAME: of the daemon; 15 characters, as the kernel keeps them.
child_named() {
    pgrep -P "$daemon_pid" -x "$1"
}

# stopped PID COMMAND...: the process is stopped for the time, and the command is run meanwhile.
stopped() {
    local pid=$1 begin
    shift
    kill -STOP "$pid"
    begin=$(now)
    "$@"
    sleep "$(awk "BEGIN { print ($begin + $seconds > $(now)) * ($begin + $seconds - $(now)) }")"
    kill -CONT "$pid" 2>/dev/null # unless the daemon has ended it
}

status_field() {
    get /api/v1/status | jq -r "$1"
}
engine() {
    status_field .cgroups.engine
}
has_cgroup() {
    [ "$(get "/api/v1/counters?cgroup=$1&event=task_clock" | jq '[.counters[] | select(.value > 0)] | length')" -gt 0 ]
}
is_ready() {
    get /-/ready -f --max-time 1
}
# enabled_seconds: the least of the CPUs.
enabled_seconds() {
    get /metrics | sed -n 's/^perf_cpu_group_enabled_seconds_total{.*group="software"} //p' | sort -g | head -n 1
}
opener_is() {
    [ "$(status_field .opener.state)" = "$1" ]
}

# --- the daemon

check_daemon() {
    local before after fetch
    before=$(enabled_seconds)
    get "/api/v1/samples?seconds=$((seconds + 3))&frequency=199" >"$scratch/stream" &
    fetch=$!
    start_scraping
    stopped "$daemon_pid" :
    back_within 1 "the daemon was stopped" is_ready
    after=$(enabled_seconds)
    compares "the daemon was stopped: all that time is counted" "$after - $before >= $seconds"
    stop_scraping
    equals "the daemon was stopped: no total falls" "$(figure fell)" 0
    wait $fetch
    # Samples that the rings had no room for are said to be lost. A virtual CPU that does not run is not sampled.
    jq -r 'select(.type == "end") | "\(.reason) \(.records) \(.lost) \(.dropped)"' "$scratch/stream" >"$scratch/end"
    matches "the daemon was stopped: the stream ends as asked, and says what it lost" "$(<"$scratch/end")" \
        '^seconds [1-9][0-9]* [0-9]+ [0-9]+$'
    compares "the daemon was stopped: samples of all that time are there, or said to be lost" \
        "$(awk '{ print $2 + $3 + $4 }' "$scratch/end") > 100 * $seconds"
}

# --- the opener

beside_opener() {
    local answer
    mkdir "$parent/new"
    "$load" "$parent/new" spin $((seconds * 1000 + 5000)) &
    children+=($!)
    holds "the opener is stopped: it is said" eventually 6 opener_is late
    write_config '      - {name: more, events: "{page-faults,context-switches}"}'
    answer=$(get /-/reload -X POST -w ' %{http_code}')
    matches "the opener is stopped: nothing is reloaded, and why" "$answer" 'opener does not answer.* 503$'
    equals "the opener is stopped: the engine for cgroups is as before" "$(engine)" "$engine"
}

check_opener() {
    local engine slow
    engine=$(engine)
    start_scraping
    stopped "$opener" beside_opener
    back_within 1 "the opener was stopped" opener_is running
    back_within 1 "the opener was stopped: a cgroup that came meanwhile" has_cgroup "$below/new"
    served_rightly "the opener is stopped" $patience
    slow=$(awk '$2 > 1000' "$scrapes" | wc -l)
    compares "the opener is stopped: one scrape waits" "$slow <= 1"
    equals "the opener was stopped: the engine for cgroups is as before" "$(engine)" "$engine"
    equals "the opener was stopped: a reload works" "$(status_of /-/reload -X POST)" 200
    equals "the opener was stopped: so it counts" "$(get '/api/v1/counters?group=more&event=page_faults&cpu=0' |
        jq -c '[.counters[].value >= 0]')" "[true]"
}

# --- the symboliser

# hot_symbols PROGRAM: how many samples of it have the name of its function.
hot_symbols() {
    get "/api/v1/folded?seconds=1&frequency=199" | grep -c "^$1;.*hot_seventy"
}
has_symbols() {
    [ "$(hot_symbols "$1")" -gt 0 ]
}

check_symboliser() {
    local symboliser
    cc -O1 -g -fno-omit-frame-pointer -o "$scratch/hot-one" "$here/hot.c" && cp "$scratch/hot-one" "$scratch/hot-two"
    "$scratch/hot-one" 600 >/dev/null &
    children+=($!)
    holds "the symboliser names functions" eventually 10 has_symbols hot-one
    symboliser=$(pgrep -P "$daemon_pid" -f symbolise)
    compares "there is a symboliser" "$(wc -w <<<"$symboliser") == 1"
    "$scratch/hot-two" 600 >/dev/null &
    children+=($!)
    start_scraping
    stopped "$symboliser" has_symbols hot-two
    back_within 2 "the symboliser was stopped: a profile of one second has names" has_symbols hot-two
    served_rightly "the symboliser is stopped"
}

# --- the name reader

# named CGROUP TEXT
named() {
    [[ $(get "/api/v1/cgroups" | jq -r ".cgroups[] | select(.cgroup | endswith(\"$1\")) | .container") == "$2" ]]
}

add_container() {
    local id
    id=$(printf '%s' "$1" | sha256sum | cut -c1-64)
    mkdir -p "$scratch/docker/containers/$id" "$parent/docker-$id.scope"
    printf '{"ID": "%s", "Name": "/%s", "Config": {"Image": "example"}}' "$id" "$1" \
        >"$scratch/docker/containers/$id/config.v2.json"
}

check_reader() {
    local reader
    reader=$(child_named perfcountd-name)
    compares "there is a name reader" "$(wc -w <<<"$reader") == 1"
    start_scraping
    stopped "$reader" add_container late
    back_within 1 "the name reader was stopped" named "docker-$(printf late | sha256sum | cut -c1-64).scope" late
    served_rightly "the name reader is stopped"
}

mkdir -p "$scratch/docker/containers"
write_config ""
# The daemon looks for containers of docker in a directory of the test.
# shellcheck disable=SC2016 # of the inner shell
wrapper=(unshare --mount --propagation private bash -c 'mkdir -p "$0/lib/docker" &&
    mount --bind "$0/lib" /var/lib && mount --bind "$0/docker" /var/lib/docker && exec "$@"' "$scratch")
mkdir -p "$scratch/lib"
chmod 755 "$scratch/lib"
start_daemon --config.file="$config"
opener=$(child_named perfcountd-open)
check_daemon
check_opener
check_symboliser
check_reader
stop_daemon
equals "the daemon ends well" "$daemon_status" 0
holds "so does the opener" eventually 2 not running "$opener"
finish
