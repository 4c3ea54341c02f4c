#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each of the daemon's processes is stopped for a while (SIGSTOP), as by a debugger or a frozen cgroup. While the daemon
# itself is stopped, scrapes wait; afterwards, they include all counts from that time. While the opener, the symboliser
# or the name reader is stopped, scrapes continue.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "root, to start an opener"
need cc pgrep unshare
# shellcheck source=../e2e/cgroup-lib.sh
. "$here/cgroup-lib.sh"
config=$scratch/stopped.yaml
chmod 711 "$scratch"

# write_config [GROUPS]: writes the configuration, with these additional groups.
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

# child_named NAME: prints the PID of the daemon's child; the kernel truncates names to 15 characters.
child_named() {
    pgrep -P "$daemon_pid" -x "$1"
}

# scraped N: succeeds if N more scrapes were answered since mark_scrapes.
mark_scrapes() {
    scraped_before=$(wc -l <"$scrapes")
}
scraped() {
    [ "$(wc -l <"$scrapes")" -ge $((scraped_before + $1)) ]
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
    get /-/ready -f
}
# enabled_seconds: prints the lowest enabled time of all CPUs.
enabled_seconds() {
    get /metrics | sed -n 's/^perf_cpu_group_enabled_seconds_total{.*group="software"} //p' | sort -g | head -n 1
}
opener_is() {
    [ "$(status_field .opener.state)" = "$1" ]
}

# --- the daemon

check_daemon() {
    local before fetch seconds=3
    before=$(enabled_seconds)
    get "/api/v1/samples?seconds=$((seconds + 3))&frequency=199" >"$scratch/stream" &
    fetch=$!
    start_scraping
    kill -STOP "$daemon_pid"
    sleep $seconds # this time must be counted
    kill -CONT "$daemon_pid"
    back "the daemon was stopped" is_ready
    compares "the daemon was stopped: all of that time is counted" "$(enabled_seconds) - $before >= $seconds"
    served_rightly "the daemon was stopped"
    wait $fetch
    matches "the daemon was stopped: the stream ends normally, and says what was lost" \
        "$(jq -r 'select(.type == "end") | "\(.reason) \(.records) \(.lost) \(.dropped)"' "$scratch/stream")" \
        '^seconds [1-9][0-9]* [0-9]+ [0-9]+$'
}

# --- the opener

beside_opener() {
    local answer
    mkdir "$parent/new"
    "$load" "$parent/new" spin 600000 &
    children+=($!)
    holds "the opener is stopped: the status says so" eventually 60 opener_is late
    write_config '      - {name: more, events: "{page-faults,context-switches}"}'
    answer=$(get /-/reload -X POST -w ' %{http_code}')
    matches "the opener is stopped: a reload is rejected with the reason" "$answer" 'opener does not answer.* 503$'
    equals "the opener is stopped: the cgroup engine is unchanged" "$(engine)" "$engine"
}

check_opener() {
    local engine
    engine=$(engine)
    start_scraping
    kill -STOP "$opener"
    beside_opener
    mark_scrapes
    holds "the opener is stopped: scrapes continue" eventually 60 scraped 5
    kill -CONT "$opener"
    back "the opener was stopped" opener_is running
    back "the opener was stopped: a new cgroup is counted" has_cgroup "$below/new"
    served_rightly "the opener is stopped"
    equals "the opener was stopped: the cgroup engine is unchanged" "$(engine)" "$engine"
    equals "the opener was stopped: a reload succeeds" "$(status_of /-/reload -X POST)" 200
    equals "the opener was stopped: the new group is counted" \
        "$(get '/api/v1/counters?group=more&event=page_faults&cpu=0' |
        jq -c '[.counters[].value >= 0]')" "[true]"
}

# --- the symboliser

# hot_symbols PROGRAM: prints how many of the program's stacks contain the name of its function.
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
    holds "the symboliser names functions" eventually 60 has_symbols hot-one
    symboliser=$(pgrep -P "$daemon_pid" -f symbolise)
    compares "a symboliser is running" "$(wc -w <<<"$symboliser") == 1"
    "$scratch/hot-two" 600 >/dev/null &
    children+=($!)
    start_scraping
    kill -STOP "$symboliser"
    get "/api/v1/folded?seconds=1&frequency=199" >"$scratch/folded" &
    children+=($!)
    mark_scrapes
    holds "the symboliser is stopped: scrapes continue" eventually 60 scraped 5
    kill -CONT "$symboliser" 2>/dev/null # unless the daemon has killed it
    back "the symboliser was stopped: a profile has function names" has_symbols hot-two
    served_rightly "the symboliser is stopped"
}

# --- the name reader

# named CGROUP TEXT: succeeds if the container has this name.
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
    compares "a name reader is running" "$(wc -w <<<"$reader") == 1"
    start_scraping
    kill -STOP "$reader"
    add_container late
    mark_scrapes
    holds "the name reader is stopped: scrapes continue" eventually 60 scraped 5
    kill -CONT "$reader"
    back "the name reader was stopped" named "docker-$(printf late | sha256sum | cut -c1-64).scope" late
    served_rightly "the name reader is stopped"
}

mkdir -p "$scratch/docker/containers"
write_config ""
# Makes the daemon look for Docker containers in a directory of the test.
# shellcheck disable=SC2016 # the inner shell expands it
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
ends_well "the daemon"
holds "the opener ends with the daemon" eventually 60 not running "$opener"
finish
