#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The times that are promised, on a machine that does nothing else: of the daemon's end, of scrapes beside clients that
# cost time, of new cgroups, of passwords that are known, over TLS, and of the opener.
. "$(dirname "$0")/lib.sh"
need curl jq openssl
# shellcheck source=cgroup-lib.sh
. "$here/cgroup-lib.sh"
# shellcheck source=tls-lib.sh
. "$here/tls-lib.sh"
need "$(dirname "$PERFCOUNTD")/bench/bench-opener"

milliseconds() {
    echo $((${EPOCHREALTIME/[.,]/} / 1000))
}
# times_of N PATH [CURL-OPTIONS...]: of N scrapes over one connection, in seconds, from the shortest on.
times_of() {
    local i urls=()
    for ((i = 0; i < $1; i++)); do
        urls+=(-o /dev/null "$url$2")
    done
    curl -sS "${client[@]}" "${@:3}" -w '%{time_total}\n' "${urls[@]}" | sort -n
}

# --- the end of the daemon

test_end() {
    local begin
    start_daemon
    get '/api/v1/rates?seconds=60' >/dev/null 2>&1 &
    children+=("$!")
    sleep 0.5
    begin=$(milliseconds)
    stop_daemon
    compares "it ends within a second beside a client that waits, in ms" "$(milliseconds) - $begin < 1000"
    equals "and well" "$daemon_status" 0
}

# --- a new cgroup is counted within 100 ms of its creation, without a scrape

# take_in COUNT: makes new cgroups, and prints for each the milliseconds until the daemon had its counters.
take_in() {
    local i files begin
    for ((i = 0; i < $1; i++)); do
        files=$(open_files "$daemon_pid")
        begin=$(milliseconds)
        mkdir "$parent/new-$i"
        until is_open "$below/new-$i" $((files + $(each 2))) || [ "$(milliseconds)" -gt $((begin + 5000)) ]; do :; done
        echo $(($(milliseconds) - begin))
    done
}
test_cgroups() {
    cgroup_config "$scratch/cgroup.yaml" "include: [\"$below/*\"]" "$faults_group"
    start_daemon --config.file="$scratch/cgroup.yaml"
    take_in 50 | sort -n >"$scratch/delays"
    equals "50 cgroups are counted" "$(cgroups_in watched)" 50
    compares "the slowest of them within 100 ms (the median: $(sed -n 25p "$scratch/delays") ms)" \
        "$(tail -n 1 "$scratch/delays") < 100"
    stop_daemon
}

# --- what a scrape waits for

test_scrapes() {
    local clients=() slowest
    echo 'sampler: {enabled: true, allow: local, event: cpu-clock}' >"$scratch/sampler.yaml"
    start_daemon --config.file="$scratch/sampler.yaml"
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        get '/api/v1/rates?seconds=3' >/dev/null &
        clients+=("$!")
    done
    sleep 0.3
    slowest=$(times_of 50 /metrics | tail -n 1)
    compares "the slowest of 50 scrapes while clients wait for their rates, in s" "$slowest < 0.1"
    wait "${clients[@]}"
    curl -sN "$url/api/v1/samples?frequency=4000&seconds=30" >/dev/null &
    children+=("$!")
    curl -sN "$url/api/v1/samples?frequency=4000&seconds=30" >"$scratch/slow" &
    children+=("$!")
    eventually 5 test -s "$scratch/slow"
    kill -STOP "$!"
    slowest=$(times_of 300 /metrics --rate 50/s | tail -n 3 | head -n 1)
    kill -CONT "$!"
    compares "the 99th percentile of 300 scrapes beside streams, with one that nobody reads, in s" "$slowest < 0.05"
    stop_daemon
}

# --- passwords and TLS

test_credentials() {
    local known unknown
    make_ca ca
    make_certificate server ca server DNS:localhost,IP:127.0.0.1
    # "secret", at the cost that the exporters' manual recommends
    cat >"$scratch/web.yml" <<END_OF_CONFIG
basic_auth_users:
  alice: \$2y\$10\$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u
auth_excluded_paths: [/-/ready]
tls_server_config: {cert_file: $pki/server.pem, key_file: $pki/server.key}
END_OF_CONFIG
    client=(--cacert "$pki/ca.pem")
    start_daemon --web.config.file="$scratch/web.yml"
    times_of 20 /metrics -u alice:secret >"$scratch/known"
    known=$(sed -n 10p "$scratch/known")
    # Each of another name, since a wrong password is remembered, too.
    unknown=$(for i in 1 2 3 4 5; do times_of 1 /metrics -u "carol$i:secret"; done | sort -n | head -n 1)
    compares "a scrape with a password that is known, over TLS and a connection that is kept, in s" "$known < 0.02"
    compares "is sooner answered than the quickest of 5 with one that is not" "$known < $unknown"
    stop_daemon
    client=()
}

test_end
test_cgroups
test_scrapes
test_credentials
"$(dirname "$PERFCOUNTD")/bench/bench-opener" 2000 5 2
equals "opening 2,000 events with the opener takes at most twice as long" "$?" 0
finish
