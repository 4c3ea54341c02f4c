#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two daemons for long, with all that clients and machines do, mixed: nothing grows, no total falls, no scrape fails.
# One counts cgroups by perf, over HTTP; the other one by BPF, over TLS, on a machine with containers.
#
# usage: [DURATION=60] [SEED=N] [HOTPLUG=yes] run.sh      DURATION in seconds; the same seed makes the same plan
# shellcheck source=../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
here=$root/tests/e2e
need curl jq cc openssl unshare /usr/bin/python3
# shellcheck source=../e2e/cgroup-lib.sh
. "$here/cgroup-lib.sh"
# shellcheck source=../e2e/tls-lib.sh
. "$here/tls-lib.sh"

duration=${DURATION-60}
seed=${SEED-$((RANDOM * 32768 + RANDOM))}
soak=$root/tests/soak/soak.py
export PYTHONDONTWRITEBYTECODE=1
echo "DURATION=$duration SEED=$seed"
plan() {
    /usr/bin/python3 "$soak" --plan 20 "$1" | sha256sum
}
holds "its judges notice a leak, and a total that falls" /usr/bin/python3 "$root/tests/soak/self-test.py"
equals "the same seed makes the same plan" "$(plan "$seed")" "$(plan "$seed")"
compares "another one another plan" "\"$(plan "$seed")\" != \"$(plan "$((seed + 1))")\""

environment=$(unit_environment)
export "${environment?}"
echo "$environment, as the service has it"
make_ca ca
make_certificate server ca server DNS:localhost,IP:127.0.0.1
chmod -R a+rX "$scratch"
program=$scratch/program
cc -O2 -pthread -o "$program" "$root/tests/soak/program.c" || exit 1

# target NAME ENGINE [CA]: the daemon that was just started, as soak.py has it.
target() {
    jq -n --arg name "$1" --arg engine "$2" --arg ca "${3-}" --arg config "$scratch/$1.yaml" \
        --argjson pid "$daemon_pid" --argjson port "${url##*:}" \
        '$ARGS.named | if .ca == "" then del(.ca) else . end' >"$scratch/$1.target"
}
begin_with='{"web": {"local_operators": true}, "sampler": {"enabled": true, "event": "cpu-clock"}}'
echo "$begin_with" | tee "$scratch/perf.yaml" >"$scratch/bpf.yaml"
start_daemon --config.file="$scratch/perf.yaml"
pids=("$daemon_pid") logs=("$daemon_log")
target perf perf

docker=$scratch/lib/docker/containers
mkdir -p "$docker"
printf 'tls_server_config: {cert_file: pki/server.pem, key_file: pki/server.key}\n' >"$scratch/web.yml"
# shellcheck disable=SC2016 # the inner shell's
wrapper=(unshare --mount --propagation private
    bash -c 'mount --bind "$1" /var/lib && shift && exec "$@"' x "$scratch/lib")
client=(--cacert "$pki/ca.pem")
start_daemon --config.file="$scratch/bpf.yaml" --web.config.file="$scratch/web.yml"
wrapper=()
pids+=("$daemon_pid") logs+=("$daemon_log")
target bpf bpf "$pki/ca.pem"

# shellcheck disable=SC2154 # what the libraries have
jq -n --slurpfile targets <(cat "$scratch/perf.target" "$scratch/bpf.target") --arg root "$hierarchy" \
    --arg below "$below" --arg scratch "$scratch" --arg program "$program" --arg load "$load" --arg docker "$docker" \
    --argjson hotplug "$([ "${HOTPLUG-no}" = yes ] && echo true || echo false)" \
    '{targets: $targets, machine: {$root, $below, $scratch, $program, $load, $docker}, $hotplug}' >"$scratch/setup"
/usr/bin/python3 "$soak" "$scratch/setup" "$duration" "$seed" &
children+=("$!")
wait $!
equals "the soak comes to its end" $? 0

# of FILTER: of the figures.
of() {
    jq -r "$1" "$scratch/setup.figures"
}
jq . "$scratch/setup.figures"
equals "nothing was wrong" "$(of .n_complaints)" 0
for name in perf bpf; do
    daemon=".daemons.$name"
    compares "$name: scrapes came" "$(of $daemon.scrapes) > $duration / 2"
    equals "$name: no scrape failed" "$(of $daemon.failed)" 0
    equals "$name: no total fell" "$(of $daemon.falls)" 0
    compares "$name: totals were compared" "$(of $daemon.compared) > 1000"
    # A connection of a client that has just gone may be there still.
    compares "$name: it has no more descriptors than before" "$(of $daemon.descriptors_growth) <= 2"
    compares "$name: nor watches" "$(of $daemon.watches_growth) <= 0"
    # Its caches fill, each up to a bound of its own.
    while read -r process most; do
        compares "$name, $process: it has at most 10 MB of memory" "$most <= 10240"
    done < <(of "$daemon.memory | to_entries[] | \"\(.key) \(.value.most)\"")
    [ "$duration" -lt 3600 ] ||
        compares "$name: memory was read at rest" "$(of "$daemon.memory.daemon.readings | length") >= 8"
    while read -r process slope error rise; do
        if [ "$duration" -ge 3600 ]; then
            compares "$name, $process: memory rises by at most 50 kB an hour in the last half" \
                "$slope - 2 * $error <= 50"
            # Of 50 kB an hour eight hours are sure; one hour is of more, and says of how much.
            compares "$name, $process: a rise of $(jq -n "50 + 2 * $error") kB an hour would have been seen" \
                "$error * $duration / 28800 <= 25"
        elif [ "$duration" -ge 1200 ]; then
            compares "$name, $process: memory rises by at most 400 kB in the last half" "$rise <= 400"
        fi
    done < <(of "$daemon.memory | to_entries[] | select(.value.readings) |
        [.key, .value.kB_an_hour, .value.error, .value.rise_kB] | join(\" \")")
done
compares "the slowest scrape took less than 2 s: $(of .slowest)" "$(of .slowest_ms) < 2000"
for i in 0 1; do
    daemon_pid=${pids[i]} daemon_log=${logs[i]}
    stop_daemon
    equals "daemon $((i + 1)) ends well" "$daemon_status" 0
done
finish
